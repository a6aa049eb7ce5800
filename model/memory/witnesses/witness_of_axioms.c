/*
 * The axioms as a witness: every final state that they allow, and whether any
 * execution that they allow has a race.
 */
#include <string.h>

#include "model/memory/axioms/axioms.h"
#include "model/memory/axioms/candidates.h"
#include "model/memory/witness.h"

typedef struct judging {
	const litmus_test_t *test;
	litmus_result_t *result;
	tsr_status_t status;
} judging_t;

static unsigned races_of(const execution_t *x, const derived_t *derived)
{
	relation_t data, scope;

	axioms_races(x, derived, &data, &scope);
	return (rel_is_empty(data) ? 0 : LITMUS_DATA_RACE) |
	       (rel_is_empty(scope) ? 0 : LITMUS_SCOPE_RACE);
}

/** Not what the filter leaves out, nor what would add neither a state nor a race. */
static bool wants(const execution_t *x, derived_t *derived, void *context)
{
	const judging_t *judging = context;

	if (judging->test->filter >= 0 &&
	    !litmus_holds(judging->test, judging->test->filter, x->values))
		return false;
	return !litmus_result_has(judging->test, judging->result, x->values) ||
	       (races_of(x, derived) & ~judging->result->races);
}

static bool add(const execution_t *x, derived_t *derived, void *context)
{
	judging_t *judging = context;

	judging->result->races |= races_of(x, derived);
	judging->status = litmus_result_add(judging->test, judging->result, x->values, 1);
	return judging->status == TSR_OK;
}

static tsr_status_t judge(const litmus_test_t *test, const litmus_options_t *options,
			  litmus_result_t *result)
{
	judging_t judging = {.test = test, .result = result, .status = TSR_OK};
	const axioms_t *axioms;
	tsr_status_t status = axioms_find(options->axioms, &axioms);

	if (status != TSR_OK)
		return status;
	budget_t budget = budget_begin(test, options);
	candidates_t what = {.test = test,
			     .axioms = axioms,
			     .unroll = options->unroll,
			     .visit = add,
			     .wants = wants,
			     .context = &judging,
			     .budget = &budget};
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
