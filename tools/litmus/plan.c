/* From a litmus test to what the kernel plays: its steps, and who plays them where. */
#include <string.h>

#include "tessera/program.h"
#include "tools/litmus/plan.h"

static const int8_t orders[] = {
	[LITMUS_NA] = LITMUS_RUN_PLAIN,       [LITMUS_RLX] = LITMUS_RUN_RELAXED,
	[LITMUS_ACQ] = LITMUS_RUN_ACQUIRE,    [LITMUS_REL] = LITMUS_RUN_RELEASE,
	[LITMUS_ACQREL] = LITMUS_RUN_ACQ_REL, [LITMUS_SC] = LITMUS_RUN_SEQ_CST,
};

static const int8_t functions[] = {
	[LITMUS_COPY] = LITMUS_RUN_COPY,   [LITMUS_ADD] = LITMUS_RUN_SUM,
	[LITMUS_XOR] = LITMUS_RUN_XOR,     [LITMUS_AND] = LITMUS_RUN_AND,
	[LITMUS_OR] = LITMUS_RUN_OR,       [LITMUS_EQ] = LITMUS_RUN_EQUAL,
	[LITMUS_NEQ] = LITMUS_RUN_UNEQUAL, [LITMUS_MIN] = LITMUS_RUN_MIN,
	[LITMUS_MAX] = LITMUS_RUN_MAX,
};

static const int8_t operations[] = {
	[LITMUS_LOAD] = LITMUS_RUN_LOAD,   [LITMUS_STORE] = LITMUS_RUN_STORE,
	[LITMUS_RMW] = LITMUS_RUN_ADD,     [LITMUS_CAS] = LITMUS_RUN_CAS,
	[LITMUS_FENCE] = LITMUS_RUN_FENCE, [LITMUS_MOV] = LITMUS_RUN_MOVE,
	[LITMUS_BRANCH] = LITMUS_RUN_JUMP,
};

static tsr_status_t refuse(const litmus_test_t *test, const litmus_instruction_t *i,
			   const char *why)
{
	return tsr_error(TSR_ERR_UNSUPPORTED, "%s: line %d: %s", test->name, i->line, why);
}

static litmus_run_operand_t operand(litmus_operand_t from)
{
	return (litmus_run_operand_t){(int32_t)from.number, from.reg};
}

static bool is_small(litmus_operand_t from)
{
	return from.reg >= 0 || (from.number >= INT32_MIN && from.number <= INT32_MAX);
}

/**
 * The steps of what reads and writes in one: an addition to what was read, or
 * an exchange for what does not depend on it.
 */
static tsr_status_t plan_rmw(const litmus_test_t *test, const litmus_instruction_t *i,
			     litmus_run_step_t *step)
{
	bool by_a = i->value.a.reg == i->reg,
	     by_b = i->value.function != LITMUS_COPY && i->value.b.reg == i->reg;

	if (!by_a && !by_b) {
		step->op = LITMUS_RUN_XCHG;
		return TSR_OK;
	}
	if (i->value.function != LITMUS_ADD || (by_a && by_b))
		return refuse(test, i,
			      "only additions and exchanges are run: write it as one of them");
	step->a = operand(by_a ? i->value.b : i->value.a);
	step->function = LITMUS_RUN_COPY;
	return TSR_OK;
}

static tsr_status_t plan_access(const litmus_test_t *test, const litmus_instruction_t *i,
				litmus_run_step_t *step)
{
	static const int8_t scopes[LITMUS_SCOPES] = {[LITMUS_WG] = LITMUS_RUN_BLOCK,
						     [LITMUS_AGENT] = LITMUS_RUN_DEVICE,
						     [LITMUS_SYSTEM] = LITMUS_RUN_SYSTEM};

	if (i->order != LITMUS_NA && i->scope < LITMUS_WG)
		return refuse(test, i,
			      "the device API has no scope narrower than the block: use wg");
	step->order = orders[i->order];
	step->scope = scopes[i->scope];
	step->failure = orders[i->op == LITMUS_CAS ? i->failure : LITMUS_RLX];
	step->expected = operand(i->expected);
	if (i->op == LITMUS_FENCE)
		return TSR_OK;
	if (i->address.function != LITMUS_COPY || i->address.a.reg >= 0)
		return refuse(test, i, "computed addresses are not run: name the location");
	step->location = (int8_t)litmus_location(test, i->address.a.number);
	return i->op == LITMUS_RMW ? plan_rmw(test, i, step) : TSR_OK;
}

static tsr_status_t plan_step(const litmus_test_t *test, const litmus_thread_t *thread, int at,
			      litmus_run_step_t *step)
{
	const litmus_instruction_t *i = &thread->code[at];
	const bool writes_register = i->op == LITMUS_LOAD || i->op == LITMUS_RMW ||
				     i->op == LITMUS_CAS || i->op == LITMUS_MOV;

	if (!is_small(i->value.a) || !is_small(i->value.b) || !is_small(i->expected))
		return refuse(
			test, i,
			"addresses and large numbers are not run as values: use small numbers");
	if (i->op == LITMUS_BRANCH && i->target <= at)
		return refuse(test, i, "loops are not run: unroll it");
	*step = (litmus_run_step_t){
		.op = operations[i->op],
		.reg = writes_register ? (int8_t)i->reg : -1,
		.function = functions[i->value.function],
		.target = (int8_t)i->target,
		.a = operand(i->value.a),
		.b = operand(i->value.b),
	};
	return i->op == LITMUS_MOV || i->op == LITMUS_BRANCH ? TSR_OK : plan_access(test, i, step);
}

/** The index of the first thread that shares an instance of `scope` with this one. */
static int first_in(const litmus_test_t *test, int thread, litmus_scope_t scope)
{
	int other = 0;

	while (test->thread[other].instance[scope] != test->thread[thread].instance[scope])
		other++;
	return other;
}

/**
 * Gives a thread its device, and a worker of a block of it: the one of the
 * threads that it shares one with.
 */
static void place_thread(litmus_plan_t *plan, int thread)
{
	const litmus_test_t *test = plan->test;
	const int first_here = first_in(test, thread, LITMUS_AGENT),
		  first_beside = first_in(test, thread, LITMUS_WG);
	const int device = first_here < thread ? plan->device[first_here] : plan->devices++;
	litmus_run_args_t *args = &plan->args[device];
	int class = plan->classes[device], worker = 0;

	plan->device[thread] = device;
	if (first_beside < thread) {
		plan->split = true;
		for (class = 0; args->player[class][0] != first_beside; class ++)
			;
		while (args->player[class][worker] >= 0)
			worker++;
	} else {
		plan->classes[device]++;
	}
	args->player[class][worker] = thread;
}

static tsr_status_t plan_thread(litmus_plan_t *plan, int t, litmus_run_args_t *common)
{
	const litmus_test_t *test = plan->test;
	const litmus_thread_t *thread = &test->thread[t];

	if (thread->count > LITMUS_RUN_STEPS || thread->registers > LITMUS_RUN_REGISTERS)
		return tsr_error(
			TSR_ERR_UNSUPPORTED,
			"%s: thread %d has %d steps and %d registers, and %d and %d can be run",
			test->name, t, thread->count, thread->registers, LITMUS_RUN_STEPS,
			LITMUS_RUN_REGISTERS);
	common->steps[t] = thread->count;
	for (int r = 0; r < thread->registers; r++)
		common->initial[t][r] = (int32_t)thread->initial[r];
	for (int at = 0; at < thread->count; at++) {
		tsr_status_t status = plan_step(test, thread, at, &common->step[t][at]);
		if (status != TSR_OK)
			return status;
	}
	place_thread(plan, t);
	return TSR_OK;
}

tsr_status_t litmus_plan(const litmus_test_t *test, litmus_plan_t *plan_out)
{
	litmus_run_args_t common;

	if (test->threads > LITMUS_RUN_THREADS || test->locations > LITMUS_RUN_LOCATIONS)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "%s: %d threads and %d locations, and %d and %d can be run",
				 test->name, test->threads, test->locations, LITMUS_RUN_THREADS,
				 LITMUS_RUN_LOCATIONS);
	memset(plan_out, 0, sizeof *plan_out);
	memset(&common, 0, sizeof common);
	plan_out->test = test;
	for (int d = 0; d < LITMUS_RUN_THREADS; d++)
		memset(plan_out->args[d].player, -1, sizeof plan_out->args[d].player);
	for (int t = 0; t < test->threads; t++) {
		tsr_status_t status = plan_thread(plan_out, t, &common);
		if (status != TSR_OK)
			return status;
	}
	for (int d = 0; d < plan_out->devices; d++) {
		litmus_run_args_t *args = &plan_out->args[d];
		memcpy(common.player, args->player, sizeof common.player);
		*args = common;
		args->classes = plan_out->classes[d];
		args->players = test->threads;
	}
	return TSR_OK;
}
