/*
 * Sequential consistency as a witness: threads take turns, and each load sees
 * the last store. What is not in it is weak.
 */
#include "model/memory/budget.h"
#include "model/memory/witnesses/steps.h"
#include "model/memory/witnesses/visited.h"

typedef struct point {
	steps_t steps;
	uint64_t value[LITMUS_MAX_LOCATIONS];
} point_t;

typedef struct exploration {
	const litmus_test_t *test;
	const litmus_options_t *options;
	litmus_result_t *result;
	visited_t visited;
	budget_t budget;
	ahead_t ahead;
	tsr_status_t status;
} exploration_t;

static bool enter(exploration_t *e, const point_t *point)
{
	uint64_t digest[2] = {1, 0};
	bool fresh = false;

	steps_digest(e->test, &e->ahead, &point->steps, digest);
	for (int x = 0; x < e->test->locations; x++)
		tsr_views_mix(digest, point->value[x]);
	e->status = budget_spent(&e->budget) ? budget_give_up(&e->budget)
					     : visited_add(&e->visited, digest, &fresh);
	return fresh;
}

static void act(const steps_access_t *next, point_t *point)
{
	const tsr_views_access_t *access = &next->access;
	uint64_t *value = &point->value[access->kind == TSR_VIEWS_FENCE ? 0 : access->location],
		 old = *value, updated;

	if (access->kind == TSR_VIEWS_STORE)
		*value = access->value;
	else if (access->kind == TSR_VIEWS_UPDATE && access->update(access->context, old, &updated))
		*value = updated;
	steps_take(next, &point->steps, old);
}

static void finish(exploration_t *e, const point_t *point)
{
	const litmus_test_t *test = e->test;
	int64_t values[LITMUS_MAX_OBSERVED];

	for (int i = 0; i < test->observed_count; i++) {
		const litmus_observed_t *what = &test->observed[i];
		values[i] = what->thread >= 0 ? point->steps.reg[what->thread][what->index]
					      : (int64_t)point->value[what->index];
	}
	if (test->filter < 0 || litmus_holds(test, test->filter, values))
		e->status = litmus_result_add(test, e->result, values, 1);
}

static void explore(exploration_t *e, const point_t *point)
{
	bool ended = true;

	if (!enter(e, point))
		return;
	for (int t = 0; t < e->test->threads && e->status == TSR_OK; t++) {
		point_t to = *point;
		steps_access_t next;
		if (steps_ended(e->test, &point->steps, t))
			continue;
		ended = false;
		e->status = steps_decode(e->test, &point->steps, t, &next);
		if (e->status != TSR_OK)
			return;
		act(&next, &to);
		if (steps_settle(e->test, e->options, &to.steps, t, e->result))
			explore(e, &to);
	}
	if (ended)
		finish(e, point);
}

static tsr_status_t run(const litmus_test_t *test, const litmus_options_t *options,
			litmus_result_t *result)
{
	exploration_t e = {.test = test,
			   .options = options,
			   .result = result,
			   .budget = budget_begin(test, options)};
	point_t point = {.value = {0}};
	bool given_up = false;

	ahead_find(test, &e.ahead);
	steps_begin(test, &point.steps);
	for (int x = 0; x < test->locations; x++)
		point.value[x] = (uint64_t)test->initial[x];
	e.status = visited_create(&e.visited);
	for (int t = 0; t < test->threads && e.status == TSR_OK; t++)
		given_up = !steps_settle(test, options, &point.steps, t, result) || given_up;
	if (e.status == TSR_OK && !given_up)
		explore(&e, &point);
	for (int i = 0; i < result->count; i++)
		result->states[i].count = 1;
	visited_destroy(&e.visited);
	return e.status;
}

const litmus_witness_t litmus_interleaving = {
	.name = "interleaving",
	.summary = "sequential consistency: threads take turns; judges no races",
	.run = run,
};
