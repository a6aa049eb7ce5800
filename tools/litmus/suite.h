/*
 * tessera litmus, inside: what is asked (options), where tests come from
 * (input), what they must show (judge), how it is told.
 */
#ifndef TESSERA_TOOLS_LITMUS_SUITE_H
#define TESSERA_TOOLS_LITMUS_SUITE_H

#include <jansson.h>
#include <stdbool.h>

#include "model/memory/witness.h"

/* ------------------------------------------------------------------ options */

typedef struct suite_options {
	char **paths; /* null-terminated: what is left of the arguments */
	const litmus_witness_t *witness;
	litmus_options_t litmus;
	bool why, verbose, interleaved;
	const char *drawing; /* a file that ends in .dot or .svg, or null */
	const char *through; /* lanes or api, or null: not said */
	const char *json, *csv;
	const char *expect; /* a table of verdicts, or null */
} suite_options_t;

/** TOOL_OK, or TOOL_MISUSED after one sentence. `*help_out`: the help was asked for and printed. */
int suite_options_parse(int argc, char **argv, suite_options_t *options_out, bool *help_out);

/** The witnesses that there are; ends with a null pointer. */
extern const litmus_witness_t *const suite_witnesses[];

/* ------------------------------------------------------------------ input */

typedef struct suite_case {
	const char *source; /* how errors call it */
	/* of an oracle's test: it counts more than the one in the text; else null */
	const char *name;
	const char *text;
	json_t *answer; /* of an oracle: null where it has none */
} suite_case_t;

/** Called for each test. */
typedef void (*suite_fn)(const suite_case_t *one, void *context);

/**
 * Visits a test, the tests of an oracle (.jsonl), or those below a folder
 * (.litmus, in the order of their names). False where one cannot be read, after
 * one sentence on stderr; the others are visited all the same.
 */
bool suite_visit(const char *path, suite_fn visit, void *context);

/**
 * Reads a table "test,verdict,races,..." (Allowed or Forbidden; races joined by
 * '+', or '-') as answers by name. Null: unreadable.
 */
json_t *suite_read_table(const char *path);

/** A test that waits for the others, and what it has shown at last. */
typedef struct suite_kept {
	char *source;
	json_t *answer;
	litmus_test_t *test;
	litmus_result_t result;
	tsr_status_t status;
} suite_kept_t;

/**
 * For a witness that takes all tests in one go (run_all). Zeroed: empty. To be
 * freed in any case.
 */
typedef struct suite_batch {
	suite_kept_t *kept;
	int count, room;
} suite_batch_t;

/** Errors: TSR_ERR_NO_MEMORY; of a run those of the witness's run_all. */
tsr_status_t suite_batch_keep(suite_batch_t *batch, const suite_case_t *one,
			      const litmus_test_t *test);
tsr_status_t suite_batch_run(suite_batch_t *batch, const suite_options_t *options);
void suite_batch_free(suite_batch_t *batch);

/* ------------------------------------------------------------------ judge */

typedef enum suite_verdict { SUITE_NEVER, SUITE_SOMETIMES, SUITE_ALWAYS } suite_verdict_t;

/**
 * How many of the states satisfy the question: all of them, some, or none.
 * Sightings of each kind.
 */
suite_verdict_t suite_observe(const litmus_test_t *test, const litmus_result_t *result,
			      uint64_t *positive_out, uint64_t *negative_out);

const char *suite_verdict_name(suite_verdict_t verdict);

typedef enum suite_judgement { SUITE_UNJUDGED, SUITE_AGREES, SUITE_DIFFERS } suite_judgement_t;

/**
 * Compares what the witness showed with what the test says itself (Expect=, or
 * Expect_WITNESS= where it has that), and with an oracle's answer where it is
 * not null. `why` gets the first difference.
 */
suite_judgement_t suite_judge(const litmus_test_t *test, const litmus_witness_t *witness,
			      const litmus_result_t *result, const json_t *answer, char *why,
			      size_t size);

/** "no race", "datarace", ... of LITMUS_DATA_RACE and LITMUS_SCOPE_RACE. */
const char *suite_race_names(unsigned races);

/**
 * Race-free tests by whether load buffering shows in them ([1]), as far as the
 * axioms say: all, and those that were warned of.
 */
typedef struct suite_buffering {
	int tests[2], warned[2];
} suite_buffering_t;

/**
 * Compares what was shown with what the witness that it is to agree with shows,
 * and with what the axioms allow. Where it does not agree, `why` gets the first
 * difference. Errors: those of the other witnesses' runs.
 */
tsr_status_t suite_compare_like(const litmus_test_t *test, const litmus_options_t *options,
				const litmus_witness_t *witness, const litmus_result_t *shown,
				suite_buffering_t *buffering, bool *agree_out, char *why,
				size_t size);
void suite_print_buffering(const suite_buffering_t *buffering);

/**
 * How often the view machine's states of race-free tests are all that it should
 * show; [1]: of tests with seq_cst.
 */
typedef struct suite_views {
	int tests[2], equal[2];
} suite_views_t;

/**
 * Compares the machine's states with those of the axioms and acyclic (po | rf).
 * Errors: those of the axioms' run.
 */
tsr_status_t suite_measure_views(const litmus_test_t *test, const litmus_options_t *options,
				 const litmus_result_t *shown, suite_views_t *views);
void suite_print_views(const suite_views_t *views);

/**
 * How much of what is weak, allowed but not an interleaving, the cache machine
 * shows of race-free tests.
 */
typedef struct suite_cache {
	int tests, weak, shown;
	int interleavings, missing; /* outcomes of interleavings, which it has to show */
} suite_cache_t;

/**
 * Compares the machine's states with those of the axioms and of interleavings.
 * Errors: those of their runs.
 */
tsr_status_t suite_measure_cache(const litmus_test_t *test, const litmus_options_t *options,
				 const litmus_result_t *shown, suite_cache_t *cache);
void suite_print_cache(const suite_cache_t *cache);

/* ------------------------------------------------------------------ report */

/** Prints herd's lines of one test. */
void suite_print(const litmus_test_t *test, const litmus_witness_t *witness,
		 const litmus_result_t *result);

/** The same as an object, with the oracle's fields. Null where there is no memory. */
json_t *suite_json(const litmus_test_t *test, const litmus_witness_t *witness,
		   const litmus_result_t *result, suite_judgement_t judgement);

#endif
