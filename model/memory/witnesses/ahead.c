#include "model/memory/witnesses/ahead.h"

#include <string.h>

_Static_assert(LITMUS_MAX_REGISTERS <= 32 && LITMUS_MAX_LOCATIONS <= 32 &&
		       LITMUS_MAX_INSTRUCTIONS <= 64,
	       "a bit for each");

static uint32_t register_of(litmus_operand_t operand)
{
	return operand.reg >= 0 ? UINT32_C(1) << operand.reg : 0;
}

static uint32_t registers_of(const litmus_value_t *value)
{
	return register_of(value->a) | (value->function == LITMUS_COPY ? 0 : register_of(value->b));
}

/** The location that an access names; all of them where it computes its address. */
static uint32_t locations_of(const litmus_test_t *test, const litmus_instruction_t *in)
{
	const bool named = in->address.function == LITMUS_COPY && in->address.a.reg < 0;
	const int location = named ? litmus_location(test, in->address.a.number) : -1;

	return location >= 0 ? UINT32_C(1) << location : (UINT32_C(1) << test->locations) - 1;
}

static bool accesses(litmus_op_t op)
{
	return op == LITMUS_LOAD || op == LITMUS_STORE || op == LITMUS_RMW || op == LITMUS_CAS;
}

static uint32_t read_by(const litmus_instruction_t *in)
{
	uint32_t registers =
		in->op == LITMUS_LOAD || in->op == LITMUS_FENCE ? 0 : registers_of(&in->value);

	registers |= accesses(in->op) ? registers_of(&in->address) : 0;
	return registers | (in->op == LITMUS_CAS ? register_of(in->expected) : 0);
}

static uint32_t written_by(const litmus_instruction_t *in)
{
	return in->op == LITMUS_STORE || in->op == LITMUS_FENCE || in->op == LITMUS_BRANCH
		       ? 0
		       : UINT32_C(1) << in->reg;
}

/** Adds what `more` may do. Returns whether any of it is new. */
static bool join(ahead_point_t *point, const ahead_point_t *more)
{
	const ahead_point_t had = *point;

	point->registers |= more->registers;
	point->reads |= more->reads;
	point->writes |= more->writes;
	point->atomic_writes |= more->atomic_writes;
	point->sc_reads |= more->sc_reads;
	point->sc_writes |= more->sc_writes;
	point->sc_fences |= more->sc_fences;
	point->acquire_fences |= more->acquire_fences;
	point->releases |= more->releases;
	point->jumps |= more->jumps;
	return point->registers != had.registers || point->reads != had.reads ||
	       point->writes != had.writes || point->atomic_writes != had.atomic_writes ||
	       point->sc_reads != had.sc_reads || point->sc_writes != had.sc_writes ||
	       point->sc_fences != had.sc_fences || point->acquire_fences != had.acquire_fences ||
	       point->releases != had.releases || point->jumps != had.jumps;
}

static void add_access(const litmus_test_t *test, const litmus_instruction_t *in,
		       ahead_point_t *point)
{
	const uint32_t there = locations_of(test, in);
	const bool seq_cst =
		in->order == LITMUS_SC || (in->op == LITMUS_CAS && in->failure == LITMUS_SC);

	if (in->op != LITMUS_STORE) {
		point->reads |= there;
		point->sc_reads |= seq_cst ? there : 0;
	}
	if (in->op != LITMUS_LOAD) {
		point->writes |= there;
		point->sc_writes |= seq_cst ? there : 0;
		point->atomic_writes |= in->order != LITMUS_NA ? there : 0;
	}
}

static bool releases(litmus_order_t order)
{
	return order == LITMUS_REL || order == LITMUS_ACQREL || order == LITMUS_SC;
}

static void add_fence(const litmus_instruction_t *in, ahead_point_t *point)
{
	point->sc_fences |= in->order == LITMUS_SC;
	point->acquire_fences |= in->order != LITMUS_REL;
	point->releases |= releases(in->order);
}

/** From an instruction on: what it does, and what comes after it. */
static ahead_point_t from(const litmus_test_t *test, const litmus_instruction_t *in, int number,
			  const ahead_point_t *at)
{
	ahead_point_t point = at[number + 1];

	if (in->op == LITMUS_BRANCH)
		(void)join(&point, &at[in->target]);
	if (in->op == LITMUS_BRANCH && in->target <= number)
		point.jumps |= UINT64_C(1) << number;
	point.registers = (point.registers & ~written_by(in)) | read_by(in);
	if (accesses(in->op))
		add_access(test, in, &point);
	if (in->op == LITMUS_FENCE)
		add_fence(in, &point);
	if (in->op == LITMUS_STORE || in->op == LITMUS_RMW || in->op == LITMUS_CAS)
		point.releases |= releases(in->order);
	return point;
}

/** Backwards, again where a jump back has found more. */
static void find_thread(const litmus_test_t *test, int thread, ahead_point_t *at)
{
	const litmus_thread_t *code = &test->thread[thread];
	bool changed = true;

	for (int i = 0; i < test->observed_count; i++)
		if (test->observed[i].thread == thread)
			at[code->count].registers |= UINT32_C(1) << test->observed[i].index;
	while (changed) {
		changed = false;
		for (int i = code->count - 1; i >= 0; i--) {
			const ahead_point_t point = from(test, &code->code[i], i, at);
			changed |= join(&at[i], &point);
		}
	}
}

void ahead_find(const litmus_test_t *test, ahead_t *ahead_out)
{
	memset(ahead_out, 0, sizeof *ahead_out);
	for (int t = 0; t < test->threads; t++)
		find_thread(test, t, ahead_out->at[t]);
}
