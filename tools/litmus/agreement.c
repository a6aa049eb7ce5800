/*
 * A witness that is to agree with another: its states and races are those of
 * the other, which are within the axioms.
 */
#include <stdio.h>
#include <string.h>

#include "tools/litmus/suite.h"

/** Whether each state of `some` is one of `all`; else `why` has the first that is not. */
static bool within(const litmus_test_t *test, const litmus_result_t *some,
		   const litmus_result_t *all, const char *what, const char *who, char *why,
		   size_t size)
{
	char text[1024];

	for (int i = 0; i < some->count; i++) {
		if (litmus_result_has(test, all, some->states[i].values))
			continue;
		litmus_print_state(test, some->states[i].values, text, sizeof text);
		snprintf(why, size, "%s '%.900s', which %s", what, text, who);
		return false;
	}
	return true;
}

/**
 * With races the states are no promise. Where not all schedules are seen, not
 * all races need be.
 */
static bool agree(const litmus_test_t *test, const litmus_witness_t *witness,
		  const litmus_result_t *shown, const litmus_result_t *like, char *why, size_t size)
{
	if (witness->exhaustive ? shown->races != like->races
				: (shown->races & ~like->races) != 0) {
		snprintf(why, size, "%s, but '%s' has %s", suite_race_names(shown->races),
			 witness->like->name, suite_race_names(like->races));
		return false;
	}
	if (like->races)
		return true;
	return within(test, shown, like, "it shows",
		      "the witness that it should agree with does not show", why, size) &&
	       (!witness->exhaustive ||
		within(test, like, shown, "it does not show",
		       "the witness that it should agree with shows", why, size));
}

/** What the axioms allow, load buffering or not, without races. */
static tsr_status_t ask_axioms(const litmus_test_t *test, const litmus_options_t *options,
			       const char *variant, litmus_result_t *result)
{
	litmus_options_t own = *options;

	own.axioms = variant;
	return litmus_axioms.run(test, &own, result);
}

/**
 * A race-free test, in which load buffering shows or does not: it is missing
 * from what is shown, and there is to be a warning.
 */
static bool count_buffering(const litmus_test_t *test, const litmus_result_t *shown,
			    const litmus_result_t *allowed, const litmus_result_t *in_order,
			    suite_buffering_t *buffering, char *why, size_t size)
{
	const bool shows = !within(test, allowed, in_order, "the axioms allow",
				   "it does not show, and it does not warn", why, size);

	buffering->tests[shows]++;
	buffering->warned[shows] += shown->warned;
	return !shows || shown->warned;
}

tsr_status_t suite_compare_like(const litmus_test_t *test, const litmus_options_t *options,
				const litmus_witness_t *witness, const litmus_result_t *shown,
				suite_buffering_t *buffering, bool *agree_out, char *why,
				size_t size)
{
	litmus_result_t like = {.count = 0}, allowed = {.count = 0}, in_order = {.count = 0};

	tsr_status_t status = witness->like->run(test, options, &like);
	bool agrees = status == TSR_OK && agree(test, witness, shown, &like, why, size);
	if (agrees && !like.races) {
		status = ask_axioms(test, options, NULL, &allowed);
		if (status == TSR_OK)
			status = ask_axioms(test, options, "porf", &in_order);
		agrees = status == TSR_OK &&
			 within(test, shown, &allowed, "it shows", "the axioms forbid", why, size);
		if (agrees && witness->exhaustive)
			agrees = count_buffering(test, shown, &allowed, &in_order, buffering, why,
						 size);
	}
	*agree_out = agrees;
	litmus_result_free(&like);
	litmus_result_free(&allowed);
	litmus_result_free(&in_order);
	return status;
}

void suite_print_buffering(const suite_buffering_t *buffering)
{
	printf("load buffering: warned of in %d of %d race-free tests that may show it, and in %d "
	       "of %d that may not\n",
	       buffering->warned[1], buffering->tests[1], buffering->warned[0],
	       buffering->tests[0]);
}
