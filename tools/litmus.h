/* tessera litmus, inside: what is asked (options), where tests come from (input), what they must show (judge), how it is told. */
#ifndef TESSERA_TOOLS_LITMUS_H
#define TESSERA_TOOLS_LITMUS_H

#include <jansson.h>
#include <stdbool.h>

#include "model/memory/witness.h"

/* ------------------------------------------------------------------ options */

typedef struct suite_options {
	char **paths; /* null-terminated: what is left of the arguments */
	const litmus_witness_t *witness;
	litmus_options_t litmus;
	bool why, verbose;
	const char *drawing; /* a file that ends in .dot or .svg, or null */
	const char *json;
	const char *expect; /* a table of verdicts, or null */
} suite_options_t;

/** TOOL_OK, or TOOL_MISUSED after one sentence. `*help_out`: the help was asked for and printed. */
int suite_options_parse(int argc, char **argv, suite_options_t *options_out, bool *help_out);

/** The witnesses that there are; ends with a null pointer. */
extern const litmus_witness_t *const suite_witnesses[];

/* ------------------------------------------------------------------ input */

typedef struct suite_case {
	const char *source; /* how errors call it */
	const char *name;   /* of an oracle's test: it counts more than the one in the text; else null */
	const char *text;
	json_t *answer; /* of an oracle: null where it has none */
} suite_case_t;

/** Called for each test. */
typedef void (*suite_fn)(const suite_case_t *one, void *context);

/**
 * Visits a test, the tests of an oracle (.jsonl), or those below a folder (.litmus, in the order of their names). False where one
 * cannot be read, after one sentence on stderr; the others are visited all the same.
 */
bool suite_visit(const char *path, suite_fn visit, void *context);

/** Reads a table "test,verdict,races,..." (Allowed or Forbidden; races joined by '+', or '-') as answers by name. Null: unreadable.
 */
json_t *suite_read_table(const char *path);

/* ------------------------------------------------------------------ judge */

typedef enum suite_verdict { SUITE_NEVER, SUITE_SOMETIMES, SUITE_ALWAYS } suite_verdict_t;

/** How many of the states satisfy the question: all of them, some, or none. Sightings of each kind. */
suite_verdict_t suite_observe(const litmus_test_t *test, const litmus_result_t *result, uint64_t *positive_out,
			      uint64_t *negative_out);

const char *suite_verdict_name(suite_verdict_t verdict);

typedef enum suite_judgement { SUITE_UNJUDGED, SUITE_AGREES, SUITE_DIFFERS } suite_judgement_t;

/**
 * Compares what the witness showed with what the test says itself (Expect=, or Expect_WITNESS= where it has that), and with an
 * oracle's answer where it is not null. `why` gets the first difference.
 */
suite_judgement_t suite_judge(const litmus_test_t *test, const litmus_witness_t *witness, const litmus_result_t *result,
			      const json_t *answer, char *why, size_t size);

/* ------------------------------------------------------------------ report */

/** Prints herd's lines of one test. */
void suite_print(const litmus_test_t *test, const litmus_witness_t *witness, const litmus_result_t *result);

/** The same as an object, with the oracle's fields. Null where there is no memory. */
json_t *suite_json(const litmus_test_t *test, const litmus_witness_t *witness, const litmus_result_t *result,
		   suite_judgement_t judgement);

#endif
