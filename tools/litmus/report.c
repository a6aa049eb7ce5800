/* How tessera litmus tells what a test showed: in herd's and litmus7's lines, and as JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "tools/litmus/suite.h"

static const char *const races[] = {"datarace", "scoperace"};
static const char *const firsts[LITMUS_FIRSTS] = {"local", "remote", "mixed"};

static void print_states(const litmus_test_t *test, const litmus_witness_t *witness,
			 const litmus_result_t *result)
{
	char text[1024];

	if (result->schedules)
		printf("Schedules %" PRIu64 " (%" PRIu64 " of them left as equal to another)\n",
		       result->schedules, result->pruned);
	printf(witness->exhaustive ? "States %d\n" : "Histogram (%d states)\n", result->count);
	for (int i = 0; i < result->count; i++) {
		const litmus_state_t *state = &result->states[i];
		litmus_print_state(test, state->values, text, sizeof text);
		if (witness->exhaustive)
			printf("%s\n", text);
		else
			printf("%-8" PRIu64 "%c>%s\n", state->count,
			       litmus_holds(test, test->question, state->values) ? '*' : ':', text);
	}
}

void suite_print(const litmus_test_t *test, const litmus_witness_t *witness,
		 const litmus_result_t *result)
{
	static const char *const asked[] = {"Allowed", "Forbidden", "Required"};
	static const char *const quantifiers[] = {"exists", "~exists", "forall"};
	char text[2048];
	uint64_t positive, negative;
	suite_verdict_t verdict = suite_observe(test, result, &positive, &negative);
	bool holds = test->quantifier == LITMUS_EXISTS   ? verdict != SUITE_NEVER
		     : test->quantifier == LITMUS_FORALL ? verdict == SUITE_ALWAYS
							 : verdict == SUITE_NEVER;

	litmus_print_term(test, test->question, text, sizeof text);
	printf("Test %s %s\n", test->name, asked[test->quantifier]);
	print_states(test, witness, result);
	printf("%s\nWitnesses\nPositive: %" PRIu64 " Negative: %" PRIu64 "\n", holds ? "Ok" : "No",
	       positive, negative);
	for (unsigned i = 0; i < 2; i++) {
		if (result->races & 1u << i)
			printf("Flag %s\n", races[i]);
	}
	printf("Condition %s (%s)\n", quantifiers[test->quantifier], text);
	for (int i = 0; i < LITMUS_FIRSTS; i++)
		if (result->sightings[i])
			printf("First accesses %s: %" PRIu64 " of %" PRIu64 "\n", firsts[i],
			       result->positive[i], result->sightings[i]);
	if (result->shared)
		printf("Devices of the test shared a GPU, where they took turns: what goes on "
		       "between these could not show\n");
	if (result->warned)
		printf("Warning load-buffering\n");
	if (result->cut)
		printf("Loops were left after as many rounds as --unroll says: what more of them "
		       "show is not here\n");
	printf("Observation %s %s %" PRIu64 " %" PRIu64 "\n\n", test->name,
	       suite_verdict_name(verdict), positive, negative);
}

/**
 * {local: {holds, of}, ...}: how often the question held by where first
 * accesses went; null where that was not counted.
 */
static json_t *first_accesses(const litmus_result_t *result)
{
	json_t *object = NULL;

	for (int i = 0; i < LITMUS_FIRSTS; i++) {
		if (!result->sightings[i])
			continue;
		object = object ? object : json_object();
		json_object_set_new(object, firsts[i],
				    json_pack("{s:I, s:I}", "holds",
					      (json_int_t)result->positive[i], "of",
					      (json_int_t)result->sightings[i]));
	}
	return object;
}

json_t *suite_json(const litmus_test_t *test, const litmus_witness_t *witness,
		   const litmus_result_t *result, suite_judgement_t judgement)
{
	char text[1024];
	uint64_t positive, negative;
	suite_verdict_t verdict = suite_observe(test, result, &positive, &negative);
	json_t *outcomes = json_array(), *counts = json_array(), *found = json_array();

	for (int i = 0; i < result->count; i++) {
		litmus_print_state(test, result->states[i].values, text, sizeof text);
		json_array_append_new(outcomes, json_string(text));
		json_array_append_new(counts, json_integer((json_int_t)result->states[i].count));
	}
	for (unsigned i = 0; i < 2; i++) {
		if (result->races & 1u << i)
			json_array_append_new(found, json_string(races[i]));
	}
	json_t *object =
		json_pack("{s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:o}", "name", test->name, "on",
			  witness->name, "observation", suite_verdict_name(verdict), "positive",
			  (json_int_t)positive, "negative", (json_int_t)negative, "races", found,
			  "outcomes", outcomes, "counts", counts);
	json_t *first = first_accesses(result);
	if (object && first)
		json_object_set_new(object, "first_accesses", first);
	if (object && result->shared)
		json_object_set_new(object, "shared_gpu", json_true());
	if (object && judgement != SUITE_UNJUDGED)
		json_object_set_new(object, "agrees", json_boolean(judgement == SUITE_AGREES));
	return object;
}
