/* The axioms as a witness: every final state that they allow, and whether any execution that they allow has a race. */
#include <string.h>

#include "model/memory/axioms.h"
#include "model/memory/candidates.h"
#include "model/memory/witness.h"

typedef struct judging {
	const litmus_test_t *test;
	const axioms_t *axioms;
	litmus_result_t *result;
	tsr_status_t status;
} judging_t;

static bool judge_candidate(const execution_t *x, derived_t *derived, void *context)
{
	judging_t *judging = context;
	relation_t data, scope;

	if (axioms_judge(judging->axioms, x, derived) != AXIOM_NONE)
		return true;
	if (judging->test->filter >= 0 && !litmus_holds(judging->test, judging->test->filter, x->values))
		return true;
	axioms_races(x, derived, &data, &scope);
	judging->result->races |= (rel_is_empty(data) ? 0 : LITMUS_DATA_RACE) | (rel_is_empty(scope) ? 0 : LITMUS_SCOPE_RACE);
	judging->status = litmus_result_add(judging->test, judging->result, x->values, 1);
	return judging->status == TSR_OK;
}

static tsr_status_t judge(const litmus_test_t *test, const litmus_options_t *options, litmus_result_t *result)
{
	judging_t judging = {.test = test, .result = result, .status = TSR_OK};
	tsr_status_t status = axioms_find(options->axioms, &judging.axioms);

	if (status != TSR_OK)
		return status;
	candidates_t what = {
		.test = test, .axioms = judging.axioms, .unroll = options->unroll, .visit = judge_candidate, .context = &judging};
	status = candidates_visit(&what, &result->cut);
	for (int i = 0; i < result->count; i++)
		result->states[i].count = 1;
	return judging.status != TSR_OK ? judging.status : status;
}

const litmus_witness_t litmus_axioms = {
	.name = "axioms",
	.summary = "every final state that the model allows",
	.exhaustive = true,
	.exact = true,
	.run = judge,
};
