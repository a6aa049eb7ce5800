#include "model/memory/witnesses/steps.h"

#include <string.h>

#include "tessera/program.h"

/* ------------------------------------------------------------------ a thread's own steps */

static int64_t operand(const steps_t *steps, int thread, litmus_operand_t which)
{
	return which.reg >= 0 ? steps->reg[thread][which.reg] : which.number;
}

static int64_t evaluate(const steps_t *steps, int thread, const litmus_value_t *value)
{
	return litmus_apply(value->function, operand(steps, thread, value->a),
			    operand(steps, thread, value->b));
}

static bool jump(const litmus_options_t *options, steps_t *steps, int thread,
		 const litmus_instruction_t *branch, litmus_result_t *result)
{
	int *pc = &steps->pc[thread];

	if (branch->target <= *pc && ++steps->rounds[thread][*pc] > options->unroll) {
		result->cut = true;
		return false;
	}
	*pc = branch->target;
	return true;
}

bool steps_settle(const litmus_test_t *test, const litmus_options_t *options, steps_t *steps,
		  int thread, litmus_result_t *result)
{
	const litmus_thread_t *program = &test->thread[thread];

	while (steps->pc[thread] < program->count) {
		const litmus_instruction_t *next = &program->code[steps->pc[thread]];
		if (next->op == LITMUS_MOV) {
			steps->reg[thread][next->reg] = evaluate(steps, thread, &next->value);
		} else if (next->op == LITMUS_BRANCH) {
			if (evaluate(steps, thread, &next->value) != 0) {
				if (!jump(options, steps, thread, next, result))
					return false;
				continue;
			}
		} else {
			break;
		}
		steps->pc[thread]++;
	}
	return true;
}

/* ------------------------------------------------------------------ accesses */

static const tsr_views_order_t orders[] = {
	[LITMUS_NA] = TSR_VIEWS_PLAIN,       [LITMUS_RLX] = TSR_VIEWS_RELAXED,
	[LITMUS_ACQ] = TSR_VIEWS_ACQUIRE,    [LITMUS_REL] = TSR_VIEWS_RELEASE,
	[LITMUS_ACQREL] = TSR_VIEWS_ACQ_REL, [LITMUS_SC] = TSR_VIEWS_SEQ_CST,
};

tsr_views_scope_t steps_scope(litmus_scope_t scope)
{
	static const tsr_views_scope_t scopes[] = {
		[LITMUS_WI] = TSR_VIEWS_THREAD,     [LITMUS_WAVE] = TSR_VIEWS_WAVE,
		[LITMUS_WG] = TSR_VIEWS_BLOCK,      [LITMUS_AGENT] = TSR_VIEWS_DEVICE,
		[LITMUS_SYSTEM] = TSR_VIEWS_SYSTEM,
	};
	return scopes[scope];
}

/**
 * What an update writes may depend on registers, and on what it reads by the
 * name of the register that gets it.
 */
static bool update(const void *context, uint64_t old, uint64_t *value_out)
{
	const steps_access_t *a = context;
	const litmus_instruction_t *instruction = a->instruction;
	litmus_value_t value = instruction->value;

	if (instruction->op == LITMUS_CAS &&
	    (int64_t)old != operand(a->steps, a->thread, instruction->expected))
		return false;
	if (instruction->op == LITMUS_RMW && value.a.reg == instruction->reg)
		value.a = (litmus_operand_t){-1, (int64_t)old};
	if (instruction->op == LITMUS_RMW && value.b.reg == instruction->reg)
		value.b = (litmus_operand_t){-1, (int64_t)old};
	*value_out = (uint64_t)evaluate(a->steps, a->thread, &value);
	return true;
}

static tsr_views_kind_t kind_of(litmus_op_t op)
{
	return op == LITMUS_LOAD    ? TSR_VIEWS_LOAD
	       : op == LITMUS_STORE ? TSR_VIEWS_STORE
	       : op == LITMUS_FENCE ? TSR_VIEWS_FENCE
				    : TSR_VIEWS_UPDATE;
}

tsr_status_t steps_decode(const litmus_test_t *test, const steps_t *steps, int thread,
			  steps_access_t *out)
{
	const litmus_instruction_t *next = &test->thread[thread].code[steps->pc[thread]];

	*out = (steps_access_t){steps, next, thread, {.kind = kind_of(next->op)}};
	out->access.order = orders[next->order];
	out->access.failure = orders[next->op == LITMUS_CAS ? next->failure : next->order];
	out->access.scope = steps_scope(next->scope);
	out->access.update = update;
	out->access.context = out;
	out->access.site = (uint32_t)next->line;
	if (next->op == LITMUS_FENCE)
		return TSR_OK;
	const int64_t address = evaluate(steps, thread, &next->address);
	out->access.location = litmus_location(test, address);
	if (out->access.location < 0)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s: line %d reads or writes %lld, which is no location: add only "
				 "zeros to one",
				 test->name, next->line, (long long)address);
	out->access.value = (uint64_t)evaluate(steps, thread, &next->value);
	return TSR_OK;
}

void steps_mark_unread(const ahead_t *ahead, steps_access_t *a)
{
	const litmus_instruction_t *instruction = a->instruction;
	const litmus_value_t *sum = &instruction->value;
	const bool a_is_old = sum->a.reg == instruction->reg,
		   b_is_old = sum->b.reg == instruction->reg;

	if (instruction->op != LITMUS_RMW || sum->function != LITMUS_ADD || a_is_old == b_is_old ||
	    ahead->at[a->thread][a->steps->pc[a->thread] + 1].registers >> instruction->reg & 1)
		return;
	a->access.adds = true;
	a->access.value = (uint64_t)operand(a->steps, a->thread, a_is_old ? sum->b : sum->a);
}

void steps_take(const steps_access_t *access, steps_t *steps, uint64_t value)
{
	if (access->access.kind == TSR_VIEWS_LOAD || access->access.kind == TSR_VIEWS_UPDATE)
		steps->reg[access->thread][access->instruction->reg] = (int64_t)value;
	steps->pc[access->thread]++;
}

/* ------------------------------------------------------------------ all threads */

void steps_begin(const litmus_test_t *test, steps_t *steps)
{
	memset(steps, 0, sizeof *steps);
	for (int t = 0; t < test->threads; t++)
		memcpy(steps->reg[t], test->thread[t].initial, sizeof steps->reg[t]);
}

void steps_digest(const litmus_test_t *test, const ahead_t *ahead, const steps_t *steps,
		  uint64_t digest[2])
{
	for (int t = 0; t < test->threads; t++) {
		const ahead_point_t *point = &ahead->at[t][steps->pc[t]];
		tsr_views_mix(digest, (uint64_t)steps->pc[t]);
		for (uint32_t left = point->registers; left; left &= left - 1)
			tsr_views_mix(digest, (uint64_t)steps->reg[t][__builtin_ctz(left)]);
		for (uint64_t left = point->jumps; left; left &= left - 1)
			tsr_views_mix(digest, (uint64_t)steps->rounds[t][__builtin_ctzll(left)]);
	}
}
