/*
 * How much of the model the view machine shows: its states against those of the
 * axioms with load buffering left out.
 */
#include <stdio.h>
#include <string.h>

#include "tools/litmus/suite.h"

static bool has_seq_cst(const litmus_test_t *test)
{
	for (int t = 0; t < test->threads; t++) {
		for (int n = 0; n < test->thread[t].count; n++) {
			const litmus_instruction_t *i = &test->thread[t].code[n];
			bool ordered = i->op != LITMUS_MOV && i->op != LITMUS_BRANCH;
			if (ordered && (i->order == LITMUS_SC ||
					(i->op == LITMUS_CAS && i->failure == LITMUS_SC)))
				return true;
		}
	}
	return false;
}

/** Both are in ascending order. */
static bool same_states(const litmus_test_t *test, const litmus_result_t *a,
			const litmus_result_t *b)
{
	const size_t bytes = (size_t)test->observed_count * sizeof(int64_t);

	for (int i = 0; i < a->count && a->count == b->count; i++)
		if (memcmp(a->states[i].values, b->states[i].values, bytes) != 0)
			return false;
	return a->count == b->count;
}

tsr_status_t suite_measure_views(const litmus_test_t *test, const litmus_options_t *options,
				 const litmus_result_t *shown, suite_views_t *views)
{
	litmus_options_t in_order = *options;
	litmus_result_t expected = {.count = 0};
	const bool seq_cst = has_seq_cst(test);

	if (shown->races)
		return TSR_OK;
	in_order.axioms = "porf";
	tsr_status_t status = litmus_axioms.run(test, &in_order, &expected);
	if (status == TSR_OK) {
		views->tests[seq_cst]++;
		views->equal[seq_cst] += same_states(test, shown, &expected);
	}
	litmus_result_free(&expected);
	return status;
}

void suite_print_views(const suite_views_t *views)
{
	printf("equal to the axioms with acyclic (po | rf): %d of %d race-free tests without "
	       "seq_cst, %d of %d with it\n",
	       views->equal[0], views->tests[0], views->equal[1], views->tests[1]);
	if (views->equal[1] < views->tests[1])
		printf("the others show less: the machine orders seq_cst operations as it executes "
		       "them, the axioms need no such "
		       "order\n");
}
