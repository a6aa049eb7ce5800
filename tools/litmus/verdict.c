/*
 * What a witness showed against what is right: the test's own expectation, and
 * an oracle's answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/litmus/suite.h"

suite_verdict_t suite_observe(const litmus_test_t *test, const litmus_result_t *result,
			      uint64_t *positive_out, uint64_t *negative_out)
{
	uint64_t count[2] = {0};

	for (int i = 0; i < result->count; i++)
		count[litmus_holds(test, test->question, result->states[i].values)] +=
			result->states[i].count;
	*positive_out = count[1];
	*negative_out = count[0];
	return count[1] == 0 ? SUITE_NEVER : count[0] == 0 ? SUITE_ALWAYS : SUITE_SOMETIMES;
}

const char *suite_verdict_name(suite_verdict_t verdict)
{
	static const char *const names[] = {"Never", "Sometimes", "Always"};
	return names[verdict];
}

/* ------------------------------------------------------------------ the test's own expectation */

static suite_judgement_t judge_expectation(const litmus_test_t *test,
					   const litmus_witness_t *witness,
					   const litmus_result_t *result, char *why, size_t size)
{
	char key[64];
	uint64_t positive, negative;
	suite_verdict_t verdict = suite_observe(test, result, &positive, &negative);
	const char *shown = result->races ? "racy" : suite_verdict_name(verdict);

	snprintf(key, sizeof key, "Expect_%s", witness->name);
	const char *expected = litmus_info(test, key);
	if (!expected && witness->like) {
		snprintf(key, sizeof key, "Expect_%s", witness->like->name);
		expected = litmus_info(test, key);
	}
	if (!expected)
		expected = litmus_info(test, "Expect");
	if (!expected)
		return SUITE_UNJUDGED;
	if (strcmp(expected, shown) == 0)
		return SUITE_AGREES;
	/* Whoever only runs a test sees no races, and need not see all that is allowed. */
	if (!witness->exhaustive &&
	    (strcmp(expected, "racy") == 0 || strcmp(expected, "Sometimes") == 0))
		return SUITE_AGREES;
	snprintf(why, size, "expected %s, but it is %s", expected, shown);
	return SUITE_DIFFERS;
}

/* ------------------------------------------------------------------ an oracle's answer */

static unsigned races_of(const json_t *races)
{
	unsigned found = 0;
	size_t i;
	json_t *race;

	json_array_foreach(races, i, race)
	{
		found |= strcmp(json_string_value(race) ? json_string_value(race) : "",
				"scoperace") == 0
				 ? LITMUS_SCOPE_RACE
				 : LITMUS_DATA_RACE;
	}
	return found;
}

/**
 * A final state as an oracle writes it, "1:r0=0; [x]=1;". What it does not
 * mention may be anything.
 */
typedef struct answer_state {
	bool given[LITMUS_MAX_OBSERVED];
	int64_t values[LITMUS_MAX_OBSERVED];
} answer_state_t;

static bool read_pair(const litmus_test_t *test, const char *name, const char *value,
		      answer_state_t *state)
{
	char text[LITMUS_MAX_NAME + 8];
	char *end;

	for (int i = 0; i < test->observed_count; i++) {
		litmus_print_observed(test, i, text, sizeof text);
		if (strcmp(text, name) != 0)
			continue;
		state->given[i] = true;
		state->values[i] = strtoll(value, &end, 10);
		for (int l = 0; l < test->locations && end == value; l++) {
			if (strcmp(test->location[l], value) == 0)
				state->values[i] = LITMUS_ADDRESS(l);
		}
		return true;
	}
	return false;
}

static bool read_state(const litmus_test_t *test, const char *text, answer_state_t *state_out)
{
	char copy[4096];
	char *rest = NULL;

	*state_out = (answer_state_t){0};
	if (!text || strlen(text) >= sizeof copy)
		return false;
	strcpy(copy, text);
	for (char *pair = strtok_r(copy, "; ", &rest); pair; pair = strtok_r(NULL, "; ", &rest)) {
		char *equals = strchr(pair, '=');
		if (!equals)
			return false;
		*equals = '\0';
		if (!read_pair(test, pair, equals + 1, state_out))
			return false;
	}
	return true;
}

static bool same_state(const litmus_test_t *test, const answer_state_t *answer,
		       const int64_t *values)
{
	for (int i = 0; i < test->observed_count; i++) {
		if (answer->given[i] && answer->values[i] != values[i])
			return false;
	}
	return true;
}

/** The difference of two sets of states, if there is one, as a sentence. */
static bool states_differ(const litmus_test_t *test, const litmus_witness_t *witness,
			  const litmus_result_t *result, const json_t *outcomes, char *why,
			  size_t size)
{
	char text[1024];
	bool *explained = calloc((size_t)result->count + 1, sizeof *explained);
	bool differ = !explained;
	size_t i;
	json_t *outcome;

	json_array_foreach(outcomes, i, outcome)
	{
		answer_state_t answer;
		bool shown = false;
		if (differ)
			break;
		if (!read_state(test, json_string_value(outcome), &answer)) {
			snprintf(why, size, "the oracle's outcome '%s' is no state of this test",
				 json_string_value(outcome));
			differ = true;
			break;
		}
		for (int s = 0; s < result->count; s++) {
			if (same_state(test, &answer, result->states[s].values))
				shown = explained[s] = true;
		}
		if (!shown && witness->exact) {
			snprintf(why, size, "it does not show '%s'", json_string_value(outcome));
			differ = true;
		}
	}
	for (int s = 0; s < result->count && !differ; s++) {
		if (!explained[s]) {
			litmus_print_state(test, result->states[s].values, text, sizeof text);
			snprintf(why, size, "it shows '%s', which the oracle does not allow", text);
			differ = true;
		}
	}
	free(explained);
	return differ;
}

const char *suite_race_names(unsigned races)
{
	static const char *const names[] = {"no race", "datarace", "scoperace",
					    "datarace and scoperace"};
	return names[races];
}

static suite_judgement_t judge_answer(const litmus_test_t *test, const litmus_witness_t *witness,
				      const litmus_result_t *result, const json_t *answer,
				      char *why, size_t size)
{
	const json_t *outcomes = json_object_get(answer, "outcomes"),
		     *races = json_object_get(answer, "races");
	const char *verdict = json_string_value(json_object_get(answer, "verdict"));
	uint64_t positive, negative;

	if (races && witness->exhaustive && races_of(races) != result->races) {
		snprintf(why, size, "%s, but the oracle has %s", suite_race_names(result->races),
			 suite_race_names(races_of(races)));
		return SUITE_DIFFERS;
	}
	/* Who runs a test need not show all that a race may do. */
	if (verdict && witness->exhaustive && !(witness->runs && result->races)) {
		bool allowed = suite_observe(test, result, &positive, &negative) != SUITE_NEVER;
		if (allowed != (strcmp(verdict, "Allowed") == 0)) {
			snprintf(why, size, "%s, but the table has %s",
				 allowed ? "Allowed" : "Forbidden", verdict);
			return SUITE_DIFFERS;
		}
	}
	if (outcomes && !(races && races_of(races)) &&
	    states_differ(test, witness, result, outcomes, why, size))
		return SUITE_DIFFERS;
	return SUITE_AGREES;
}

suite_judgement_t suite_judge(const litmus_test_t *test, const litmus_witness_t *witness,
			      const litmus_result_t *result, const json_t *answer, char *why,
			      size_t size)
{
	suite_judgement_t judgement = judge_expectation(test, witness, result, why, size);

	if (judgement == SUITE_DIFFERS || !answer)
		return judgement;
	return judge_answer(test, witness, result, answer, why, size);
}
