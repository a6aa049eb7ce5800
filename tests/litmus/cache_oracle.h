/*
 * The cache machine against the axioms, over the generated tests of the oracle:
 * for the tests of the machine on one node and on several.
 */
#ifndef TESSERA_TESTS_LITMUS_CACHE_ORACLE_H
#define TESSERA_TESTS_LITMUS_CACHE_ORACLE_H

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "model/memory/witnesses/witness_of_caches.h"
#include "tessera/program.h"

static const litmus_options_t options = {.unroll = 2};

/* ------------------------------------------------------------------ the oracle's tests */

/** Told of each test; false ends the reading. */
typedef bool (*test_fn)(const litmus_test_t *test, void *context);

/** A file by its path from this folder, which is found from where the build runs its tests. */
static inline FILE *open_from_here(const char *name)
{
	char path[512];

	snprintf(path, sizeof path, "%.*s/%s", (int)(strrchr(__FILE__, '/') - __FILE__), __FILE__,
		 name);
	FILE *file = fopen(path, "r");
	cr_assert(file != NULL, "cannot read %s", path);
	return file;
}

/** The generated tests. Returns how many were visited. */
static inline int visit_generated(test_fn visit, void *context)
{
	static char line[1 << 16];
	static litmus_test_t test;
	FILE *file = open_from_here("../../model/memory/oracle/litmus.jsonl");
	bool more = true;
	int count = 0;

	while (more && fgets(line, sizeof line, file)) {
		json_t *one = json_loads(line, 0, NULL);
		const char *text = json_string_value(json_object_get(one, "litmus"));
		cr_assert(text && litmus_parse("oracle", text, &test) == TSR_OK, "%s",
			  tsr_last_error());
		more = visit(&test, context);
		count++;
		json_decref(one);
	}
	fclose(file);
	return count;
}

/* ------------------------------------------------------------------ comparing */

typedef struct comparison {
	cache_variant_t variant;
	int most_threads;   /* of the tests to look at */
	bool until_unsound; /* the first such ends the comparison */
	int tests;          /* race-free ones */
	/* tests with an outcome that the axioms forbid, and such that lack one of interleavings */
	int unsound, losing;
	char first[LITMUS_MAX_NAME];
} comparison_t;

static inline bool within(const litmus_test_t *test, const litmus_result_t *a,
			  const litmus_result_t *b)
{
	for (int i = 0; i < a->count; i++)
		if (!litmus_result_has(test, b, a->states[i].values))
			return false;
	return true;
}

static inline void run_all(const litmus_test_t *test, const cache_variant_t *variant,
			   litmus_result_t *shown, litmus_result_t *in_turns)
{
	cr_assert(cache_explore(test, &options, variant, shown) == TSR_OK, "%s: %s", test->name,
		  tsr_last_error());
	cr_assert(litmus_interleaving.run(test, &options, in_turns) == TSR_OK, "%s: %s", test->name,
		  tsr_last_error());
}

static inline bool compare(const litmus_test_t *test, void *context)
{
	comparison_t *c = context;
	litmus_result_t allowed = {.count = 0}, in_turns = {.count = 0}, shown = {.count = 0};

	if (test->threads > c->most_threads)
		return true;
	cr_assert(litmus_axioms.run(test, &options, &allowed) == TSR_OK, "%s: %s", test->name,
		  tsr_last_error());
	if (!allowed.races) {
		run_all(test, &c->variant, &shown, &in_turns);
		if (!within(test, &shown, &allowed) && c->unsound++ == 0)
			snprintf(c->first, sizeof c->first, "%s", test->name);
		c->losing += !within(test, &in_turns, &shown);
		c->tests++;
	}
	litmus_result_free(&allowed);
	litmus_result_free(&in_turns);
	litmus_result_free(&shown);
	return !(c->until_unsound && c->unsound);
}

static inline void expect_sound(const cache_variant_t *variant, int most_threads, int least)
{
	comparison_t c = {.variant = *variant, .most_threads = most_threads};

	cr_expect_eq(visit_generated(compare, &c), 2000);
	cr_expect(c.tests >= least, "%d race-free tests", c.tests);
	cr_expect_eq(c.unsound, 0, "%d tests show what the axioms forbid, such as %s", c.unsound,
		     c.first);
	cr_expect_eq(c.losing, 0, "%d tests lack an interleaving", c.losing);
}

/* ------------------------------------------------------------------ one test */

/** Reads a test, by its path from this folder. */
static inline void read_test(const char *path, litmus_test_t *test_out)
{
	static char text[1 << 14];
	FILE *file = open_from_here(path);

	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	fclose(file);
	cr_assert(litmus_parse(path, text, test_out) == TSR_OK, "%s", tsr_last_error());
}

/** Whether the outcome that a test asks for is shown. */
static inline bool shows(const char *path, const cache_variant_t *variant)
{
	static litmus_test_t test;
	litmus_result_t result = {.count = 0};
	bool shown = false;

	read_test(path, &test);
	cr_assert(cache_explore(&test, &options, variant, &result) == TSR_OK, "%s",
		  tsr_last_error());
	for (int i = 0; i < result.count; i++)
		shown = shown || litmus_holds(&test, test.question, result.states[i].values);
	litmus_result_free(&result);
	return shown;
}

#endif
