/* The view machine as a witness: every run that can be chosen is tried, each state once. */
#include <stdlib.h>
#include <string.h>

#include "model/memory/visited.h"
#include "model/memory/witness.h"
#include "src/views/views.h"
#include "tessera/program.h"

/** A point in a run: the memory, and where each thread is. */
typedef struct point {
	tsr_views_t *views;
	unsigned races;
	int pc[LITMUS_MAX_THREADS];
	int64_t reg[LITMUS_MAX_THREADS][LITMUS_MAX_REGISTERS];
	int rounds[LITMUS_MAX_THREADS][LITMUS_MAX_INSTRUCTIONS]; /* how often each backward jump was taken */
} point_t;

typedef struct exploration {
	const litmus_test_t *test;
	const litmus_options_t *options;
	litmus_result_t *result;
	visited_t visited;
	tsr_status_t status; /* of what ended the exploration, if anything did */
} exploration_t;

/* ------------------------------------------------------------------ a thread's own steps */

static int64_t operand(const point_t *point, int thread, litmus_operand_t which)
{
	return which.reg >= 0 ? point->reg[thread][which.reg] : which.number;
}

static int64_t evaluate(const point_t *point, int thread, const litmus_value_t *value)
{
	return litmus_apply(value->function, operand(point, thread, value->a), operand(point, thread, value->b));
}

/** A jump. Backwards it is taken `unroll` times, after which the run is given up: its thread does not end. */
static bool jump(exploration_t *e, point_t *point, int thread, const litmus_instruction_t *branch)
{
	int *pc = &point->pc[thread];

	if (branch->target <= *pc && ++point->rounds[thread][*pc] > e->options->unroll) {
		e->result->cut = true;
		return false;
	}
	*pc = branch->target;
	return true;
}

/** Runs a thread up to its next access, fence or end. Moves and branches concern nobody else. False: the run is given up. */
static bool settle(exploration_t *e, point_t *point, int thread)
{
	const litmus_thread_t *program = &e->test->thread[thread];

	while (point->pc[thread] < program->count) {
		const litmus_instruction_t *next = &program->code[point->pc[thread]];
		if (next->op == LITMUS_MOV) {
			point->reg[thread][next->reg] = evaluate(point, thread, &next->value);
		} else if (next->op == LITMUS_BRANCH) {
			if (evaluate(point, thread, &next->value) != 0) {
				if (!jump(e, point, thread, next))
					return false;
				continue;
			}
		} else {
			break;
		}
		point->pc[thread]++;
	}
	return true;
}

/* ------------------------------------------------------------------ accesses */

static const tsr_views_order_t orders[] = {
	[LITMUS_NA] = TSR_VIEWS_PLAIN,    [LITMUS_RLX] = TSR_VIEWS_RELAXED,    [LITMUS_ACQ] = TSR_VIEWS_ACQUIRE,
	[LITMUS_REL] = TSR_VIEWS_RELEASE, [LITMUS_ACQREL] = TSR_VIEWS_ACQ_REL, [LITMUS_SC] = TSR_VIEWS_SEQ_CST,
};

static const tsr_views_scope_t scopes[] = {
	[LITMUS_WI] = TSR_VIEWS_THREAD,    [LITMUS_WAVE] = TSR_VIEWS_WAVE,     [LITMUS_WG] = TSR_VIEWS_BLOCK,
	[LITMUS_AGENT] = TSR_VIEWS_DEVICE, [LITMUS_SYSTEM] = TSR_VIEWS_SYSTEM,
};

/** What an update writes may depend on registers, and on what it reads by the name of the register that gets it. */
typedef struct update_context {
	const point_t *point;
	const litmus_instruction_t *instruction;
	int thread;
} update_context_t;

static bool update(const void *context, uint64_t old, uint64_t *value_out)
{
	const update_context_t *c = context;
	const litmus_instruction_t *instruction = c->instruction;
	litmus_value_t value = instruction->value;

	if (instruction->op == LITMUS_CAS && (int64_t)old != operand(c->point, c->thread, instruction->expected))
		return false;
	if (instruction->op == LITMUS_RMW && value.a.reg == instruction->reg)
		value.a = (litmus_operand_t){-1, (int64_t)old};
	if (instruction->op == LITMUS_RMW && value.b.reg == instruction->reg)
		value.b = (litmus_operand_t){-1, (int64_t)old};
	*value_out = (uint64_t)evaluate(c->point, c->thread, &value);
	return true;
}

static bool decode(exploration_t *e, const point_t *point, update_context_t *context, tsr_views_access_t *access)
{
	const litmus_instruction_t *next = context->instruction;

	*access = (tsr_views_access_t){
		.kind = next->op == LITMUS_LOAD    ? TSR_VIEWS_LOAD
			: next->op == LITMUS_STORE ? TSR_VIEWS_STORE
			: next->op == LITMUS_FENCE ? TSR_VIEWS_FENCE
						   : TSR_VIEWS_UPDATE,
		.order = orders[next->order],
		.failure = orders[next->op == LITMUS_CAS ? next->failure : next->order],
		.scope = scopes[next->scope],
		.update = update,
		.context = context,
		.site = (uint32_t)next->line,
	};
	if (next->op == LITMUS_FENCE)
		return true;
	const int64_t address = evaluate(point, context->thread, &next->address);
	access->location = litmus_location(e->test, address);
	if (access->location < 0) {
		e->status =
			tsr_error(TSR_ERR_ARGUMENT, "%s: line %d reads or writes %lld, which is no location: add only zeros to one",
				  e->test->name, next->line, (long long)address);
		return false;
	}
	access->value = (uint64_t)evaluate(point, context->thread, &next->value);
	return true;
}

/* ------------------------------------------------------------------ the search */

static void explore(exploration_t *e, point_t *point);

/** Whether the state is seen for the first time. */
static bool enter(exploration_t *e, const point_t *point)
{
	uint64_t digest[2] = {point->races, 0};

	tsr_views_digest(point->views, digest);
	for (int t = 0; t < e->test->threads; t++) {
		const litmus_thread_t *program = &e->test->thread[t];
		tsr_views_mix(digest, (uint64_t)point->pc[t]);
		for (int r = 0; r < program->registers; r++)
			tsr_views_mix(digest, (uint64_t)point->reg[t][r]);
		for (int i = 0; i < program->count; i++)
			tsr_views_mix(digest, (uint64_t)point->rounds[t][i]);
	}
	bool fresh = false;
	if (e->status == TSR_OK)
		e->status = visited_add(&e->visited, digest, &fresh);
	return fresh;
}

static void act(exploration_t *e, const point_t *from, int thread, const tsr_views_access_t *access, int choice)
{
	const litmus_instruction_t *instruction = &e->test->thread[thread].code[from->pc[thread]];
	tsr_views_event_t event;
	point_t to = *from;

	e->status = tsr_views_copy(from->views, &to.views);
	if (e->status != TSR_OK)
		return;
	e->status = tsr_views_act(to.views, thread, access, choice, &event);
	to.races |= event.races;
	if (access->kind == TSR_VIEWS_LOAD || access->kind == TSR_VIEWS_UPDATE)
		to.reg[thread][instruction->reg] = (int64_t)event.value;
	to.pc[thread]++;
	if (e->status == TSR_OK && settle(e, &to, thread))
		explore(e, &to);
	tsr_views_destroy(to.views);
}

/** Every choice that the next access of a thread has. */
static void branch_out(exploration_t *e, const point_t *point, int thread)
{
	update_context_t context = {point, &e->test->thread[thread].code[point->pc[thread]], thread};
	tsr_views_access_t access;

	if (!decode(e, point, &context, &access))
		return;
	const int choices = tsr_views_choices(point->views, thread, &access);
	for (int choice = 0; choice < choices && e->status == TSR_OK; choice++)
		act(e, point, thread, &access, choice);
}

static void finish(exploration_t *e, const point_t *point)
{
	const litmus_test_t *test = e->test;
	int64_t values[LITMUS_MAX_OBSERVED];

	for (int i = 0; i < test->observed_count; i++) {
		const litmus_observed_t *what = &test->observed[i];
		values[i] = what->thread >= 0 ? point->reg[what->thread][what->index]
					      : (int64_t)tsr_views_newest(point->views, what->index);
	}
	if (test->filter >= 0 && !litmus_holds(test, test->filter, values))
		return;
	e->result->races |= (point->races & TSR_VIEWS_DATA_RACE ? LITMUS_DATA_RACE : 0u) |
			    (point->races & TSR_VIEWS_SCOPE_RACE ? LITMUS_SCOPE_RACE : 0u);
	if (e->status == TSR_OK)
		e->status = litmus_result_add(test, e->result, values, 1);
}

static bool at_own_fence(const exploration_t *e, const point_t *point, int thread)
{
	const litmus_thread_t *program = &e->test->thread[thread];
	const litmus_instruction_t *next = &program->code[point->pc[thread]];

	return point->pc[thread] < program->count && next->op == LITMUS_FENCE && next->order != LITMUS_SC;
}

static void explore(exploration_t *e, point_t *point)
{
	bool ended = true;

	if (!enter(e, point))
		return;
	/* A fence that is not seq_cst reads and changes nothing but its thread's own: it need not be interleaved. */
	for (int t = 0; t < e->test->threads; t++) {
		if (at_own_fence(e, point, t)) {
			branch_out(e, point, t);
			return;
		}
	}
	for (int t = 0; t < e->test->threads && e->status == TSR_OK; t++) {
		if (point->pc[t] >= e->test->thread[t].count)
			continue;
		ended = false;
		branch_out(e, point, t);
	}
	if (ended)
		finish(e, point);
}

/* ------------------------------------------------------------------ the witness */

static tsr_status_t begin(const litmus_test_t *test, point_t *point)
{
	tsr_views_place_t places[LITMUS_MAX_THREADS];

	for (int t = 0; t < test->threads; t++) {
		for (int s = 0; s < LITMUS_SCOPES; s++)
			places[t].instance[scopes[s]] = test->thread[t].instance[s];
		memcpy(point->reg[t], test->thread[t].initial, sizeof point->reg[t]);
	}
	tsr_status_t status = tsr_views_create(places, test->threads, test->locations, 0, &point->views);
	for (int x = 0; status == TSR_OK && x < test->locations; x++)
		tsr_views_initialise(point->views, x, (uint64_t)test->initial[x]);
	return status;
}

static tsr_status_t run(const litmus_test_t *test, const litmus_options_t *options, litmus_result_t *result)
{
	exploration_t e = {.test = test, .options = options, .result = result};
	point_t point = {.views = NULL};
	bool given_up = false;

	e.status = begin(test, &point);
	if (e.status == TSR_OK)
		e.status = visited_create(&e.visited);
	for (int t = 0; t < test->threads && e.status == TSR_OK; t++)
		given_up = !settle(&e, &point, t) || given_up;
	if (e.status == TSR_OK && !given_up)
		explore(&e, &point);
	for (int i = 0; i < result->count; i++)
		result->states[i].count = 1; /* several ways to one state are no frequency */
	visited_destroy(&e.visited);
	tsr_views_destroy(point.views);
	return e.status;
}

const litmus_witness_t litmus_views = {
	.name = "views",
	.summary = "the view machine, explored exhaustively",
	.exhaustive = true,
	.run = run,
};
