/* The view machine as a witness: every run that can be chosen is tried, each state once. */
#include <stdlib.h>
#include <string.h>

#include "model/memory/budget.h"
#include "model/memory/steps.h"
#include "model/memory/visited.h"
#include "src/views/views.h"
#include "tessera/program.h"

/** A point in a run: the memory, and where each thread is. */
typedef struct point {
	tsr_views_t *views;
	unsigned races;
	steps_t steps;
} point_t;

typedef struct exploration {
	const litmus_test_t *test;
	const litmus_options_t *options;
	litmus_result_t *result;
	visited_t visited;
	budget_t budget;
	tsr_status_t status; /* of what ended the exploration, if anything did */
} exploration_t;

/* ------------------------------------------------------------------ the search */

static void explore(exploration_t *e, point_t *point);

/** Whether the state is seen for the first time. */
static bool enter(exploration_t *e, const point_t *point)
{
	uint64_t digest[2] = {point->races, 0};

	tsr_views_digest(point->views, digest);
	steps_digest(e->test, &point->steps, digest);
	bool fresh = false;
	if (e->status == TSR_OK && budget_spent(&e->budget))
		e->status = budget_give_up(&e->budget);
	if (e->status == TSR_OK)
		e->status = visited_add(&e->visited, digest, &fresh);
	return fresh;
}

static void act(exploration_t *e, const point_t *from, const steps_access_t *next, int choice)
{
	tsr_views_event_t event = {0};
	point_t to = *from;

	e->status = tsr_views_copy(from->views, &to.views);
	if (e->status != TSR_OK)
		return;
	e->status = tsr_views_act(to.views, next->thread, &next->access, choice, &event);
	to.races |= event.races;
	steps_take(next, &to.steps, event.value);
	if (e->status == TSR_OK && steps_settle(e->test, e->options, &to.steps, next->thread, e->result))
		explore(e, &to);
	tsr_views_destroy(to.views);
}

/** Every choice that the next access of a thread has. */
static void branch_out(exploration_t *e, const point_t *point, int thread)
{
	steps_access_t next;

	e->status = steps_decode(e->test, &point->steps, thread, &next);
	if (e->status != TSR_OK)
		return;
	const int choices = tsr_views_choices(point->views, thread, &next.access);
	for (int choice = 0; choice < choices && e->status == TSR_OK; choice++)
		act(e, point, &next, choice);
}

static void finish(exploration_t *e, const point_t *point)
{
	const litmus_test_t *test = e->test;
	int64_t values[LITMUS_MAX_OBSERVED];

	for (int i = 0; i < test->observed_count; i++) {
		const litmus_observed_t *what = &test->observed[i];
		values[i] = what->thread >= 0 ? point->steps.reg[what->thread][what->index]
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
	const litmus_instruction_t *next = &e->test->thread[thread].code[point->steps.pc[thread]];

	return !steps_ended(e->test, &point->steps, thread) && next->op == LITMUS_FENCE && next->order != LITMUS_SC;
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
		if (steps_ended(e->test, &point->steps, t))
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

	steps_begin(test, &point->steps);
	for (int t = 0; t < test->threads; t++)
		for (int s = 0; s < LITMUS_SCOPES; s++)
			places[t].instance[steps_scope((litmus_scope_t)s)] = test->thread[t].instance[s];
	tsr_status_t status = tsr_views_create(places, test->threads, test->locations, 0, &point->views);
	for (int x = 0; status == TSR_OK && x < test->locations; x++)
		tsr_views_initialise(point->views, x, (uint64_t)test->initial[x]);
	return status;
}

static tsr_status_t run(const litmus_test_t *test, const litmus_options_t *options, litmus_result_t *result)
{
	exploration_t e = {.test = test, .options = options, .result = result, .budget = budget_begin(test, options)};
	point_t point = {.views = NULL};
	bool given_up = false;

	e.status = begin(test, &point);
	if (e.status == TSR_OK)
		e.status = visited_create(&e.visited);
	for (int t = 0; t < test->threads && e.status == TSR_OK; t++)
		given_up = !steps_settle(test, options, &point.steps, t, result) || given_up;
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
