#include "model/memory/language/weaken.h"

#include <stdio.h>
#include <string.h>

/** The orders one step below, -1 where there are fewer than two. */
static void orders_below(const litmus_instruction_t *i, int below[2])
{
	const bool single = i->op == LITMUS_LOAD || i->op == LITMUS_STORE;

	below[0] = below[1] = -1;
	switch (i->order) {
	case LITMUS_SC:
		below[0] = i->op == LITMUS_LOAD    ? LITMUS_ACQ
			   : i->op == LITMUS_STORE ? LITMUS_REL
						   : LITMUS_ACQREL;
		break;
	case LITMUS_ACQREL:
		below[0] = LITMUS_ACQ;
		below[1] = LITMUS_REL;
		break;
	case LITMUS_ACQ:
	case LITMUS_REL:
		below[0] = LITMUS_RLX;
		break;
	case LITMUS_RLX:
		below[0] = single ? LITMUS_NA : -1;
		break;
	default:
		break;
	}
}

/** A fence that orders nothing is none: a move to a register that nobody reads takes its place. */
static void remove_fence(litmus_thread_t *thread, litmus_instruction_t *fence)
{
	fence->op = LITMUS_MOV;
	fence->reg = thread->registers < LITMUS_MAX_REGISTERS ? thread->registers++ : 0;
	fence->value = (litmus_value_t){LITMUS_COPY, {-1, 0}, {-1, 0}};
}

/**
 * Takes the `step`-th step of one instruction; false, with `step` less by those
 * it has, where it has not so many.
 */
static bool weaken_instruction(litmus_thread_t *thread, litmus_instruction_t *i, int *step,
			       char *what)
{
	static const litmus_order_t failures[] = {
		[LITMUS_ACQ] = LITMUS_RLX, [LITMUS_SC] = LITMUS_ACQ};
	int below[2];

	if (!litmus_is_ordered(i))
		return false;
	orders_below(i, below);
	for (int k = 0; k < 2; k++) {
		if (below[k] < 0 || (*step)-- != 0)
			continue;
		snprintf(what, LITMUS_MAX_TEXT, "line %d: %s to %s", i->line,
			 litmus_order_name(i->order), litmus_order_name((litmus_order_t)below[k]));
		i->order = (litmus_order_t)below[k];
		if (i->order == LITMUS_NA)
			i->scope = LITMUS_WI;
		if (i->order == LITMUS_RLX && i->op == LITMUS_FENCE)
			remove_fence(thread, i);
		return true;
	}
	if (i->op == LITMUS_CAS && (i->failure == LITMUS_ACQ || i->failure == LITMUS_SC) &&
	    (*step)-- == 0) {
		snprintf(what, LITMUS_MAX_TEXT, "line %d: failure %s to %s", i->line,
			 litmus_order_name(i->failure), litmus_order_name(failures[i->failure]));
		i->failure = failures[i->failure];
		return true;
	}
	if (i->order != LITMUS_NA && i->scope > LITMUS_WAVE && (*step)-- == 0) {
		snprintf(what, LITMUS_MAX_TEXT, "line %d: %s to %s", i->line,
			 litmus_scope_name(i->scope), litmus_scope_name(i->scope - 1));
		i->scope--;
		return true;
	}
	return false;
}

/** Takes a step of `test` itself. */
static bool weaken_in_place(litmus_test_t *test, int *step, char *what)
{
	for (int t = 0; t < test->threads; t++)
		for (int n = 0; n < test->thread[t].count; n++)
			if (weaken_instruction(&test->thread[t], &test->thread[t].code[n], step,
					       what))
				return true;
	return false;
}

int litmus_weakenings(const litmus_test_t *test)
{
	char what[LITMUS_MAX_TEXT];
	litmus_test_t copy = *test;
	const int many = 1 << 20;
	int step = many;

	weaken_in_place(&copy, &step, what);
	return many - step;
}

void litmus_weaken(const litmus_test_t *test, int step, litmus_test_t *weaker_out, char *what)
{
	*weaker_out = *test;
	weaken_in_place(weaker_out, &step, what);
}
