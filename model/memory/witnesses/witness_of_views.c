/* The view machine as a witness: every run that can be chosen is tried, each state once. */
#include <stdlib.h>
#include <string.h>

#include "model/memory/budget.h"
#include "model/memory/witnesses/steps.h"
#include "model/memory/witnesses/visited.h"
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
	ahead_t ahead;
	tsr_status_t status; /* of what ended the exploration, if anything did */
} exploration_t;

/* ------------------------------------------------------------------ the search */

static void explore(exploration_t *e, point_t *point);

/** What a thread may still do, in the machine's words. */
static tsr_views_future_t future_of(const ahead_point_t *ahead)
{
	return (tsr_views_future_t){
		.locations = ahead->reads | ahead->writes,
		.writes = ahead->atomic_writes != 0,
		.releases = ahead->releases,
		.acquires = ahead->acquire_fences,
		.seq_cst = ahead->sc_fences || ahead->sc_reads || ahead->sc_writes,
	};
}

/** Whether the state is seen for the first time. */
static bool enter(exploration_t *e, const point_t *point)
{
	uint64_t digest[2] = {point->races, 0};
	tsr_views_future_t futures[LITMUS_MAX_THREADS];

	for (int t = 0; t < e->test->threads; t++)
		futures[t] = future_of(&e->ahead.at[t][point->steps.pc[t]]);
	tsr_views_digest_ahead(point->views, futures, digest);
	steps_digest(e->test, &e->ahead, &point->steps, digest);
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
	if (e->status == TSR_OK &&
	    steps_settle(e->test, e->options, &to.steps, next->thread, e->result)) {
		if (steps_ended(e->test, &to.steps, next->thread))
			e->status = tsr_views_end_thread(to.views, next->thread, NULL);
		explore(e, &to);
	}
	tsr_views_destroy(to.views);
}

/** Whether some thread may still read the location. */
static bool is_read_again(const exploration_t *e, const point_t *point, int location)
{
	for (int t = 0; t < e->test->threads; t++)
		if (e->ahead.at[t][point->steps.pc[t]].reads >> location & 1)
			return true;
	return false;
}

/**
 * Every choice that the next access of a thread has. Of a store to what nobody
 * reads again two are enough: it is the last one, or another is. Where it comes
 * among the others makes no difference to the stores that follow.
 */
static void branch_out(exploration_t *e, const point_t *point, const steps_access_t *next)
{
	int choices = tsr_views_choices(point->views, next->thread, &next->access);

	if (next->access.kind == TSR_VIEWS_STORE && choices > 2 &&
	    !is_read_again(e, point, next->access.location))
		choices = 2;
	for (int choice = 0; choice < choices && e->status == TSR_OK; choice++)
		act(e, point, next, choice);
}

static void finish(exploration_t *e, const point_t *point)
{
	const litmus_test_t *test = e->test;
	int64_t values[LITMUS_MAX_OBSERVED];

	for (int i = 0; i < test->observed_count; i++) {
		const litmus_observed_t *what = &test->observed[i];
		values[i] = what->thread >= 0
				    ? point->steps.reg[what->thread][what->index]
				    : (int64_t)tsr_views_newest(point->views, what->index);
	}
	if (test->filter >= 0 && !litmus_holds(test, test->filter, values))
		return;
	e->result->races |= (point->races & TSR_VIEWS_DATA_RACE ? LITMUS_DATA_RACE : 0u) |
			    (point->races & TSR_VIEWS_SCOPE_RACE ? LITMUS_SCOPE_RACE : 0u);
	if (e->status == TSR_OK)
		e->status = litmus_result_add(test, e->result, values, 1);
}

/* ------------------------------------------------------------------ who has to be tried */

/**
 * Whether an access can be affected by what comes ahead of a thread. It cannot,
 * where each run in which some of that comes first is one, state and races
 * alike, in which the access comes first and the machine chooses accordingly.
 * So a store is never affected:
 * it takes the place among the others that it would have had, and who comes
 * later and must not see it chooses an older message. What reads is affected by
 * stores to its location. What is seq_cst and writes is affected by those that
 * it bounds: seq_cst accesses to its location, and seq_cst fences. A seq_cst
 * fence bounds all that is seq_cst.
 */
static bool is_affected(const steps_access_t *next, const ahead_point_t *ahead)
{
	const tsr_views_access_t *access = &next->access;
	const bool seq_cst =
		access->order == TSR_VIEWS_SEQ_CST || access->failure == TSR_VIEWS_SEQ_CST;
	uint32_t there = 0;

	if (access->kind == TSR_VIEWS_FENCE)
		return seq_cst && (ahead->sc_fences || ahead->sc_reads || ahead->sc_writes);
	if (access->kind != TSR_VIEWS_STORE)
		there |= ahead->writes;
	if (access->kind != TSR_VIEWS_LOAD && seq_cst)
		there |= ahead->sc_reads | ahead->sc_writes;
	return (there >> access->location & 1) ||
	       (access->kind != TSR_VIEWS_LOAD && seq_cst && ahead->sc_fences);
}

/**
 * The threads of which one has to come first where `thread` is one of them:
 * nothing that the others may do affects their next.
 */
static unsigned close_over(const exploration_t *e, const point_t *point, const steps_access_t *next,
			   unsigned unended, int thread)
{
	unsigned chosen = 1u << thread, open = chosen;

	while (open) {
		const int t = __builtin_ctz(open);
		open &= open - 1;
		for (unsigned others = unended & ~chosen; others; others &= others - 1) {
			const int other = __builtin_ctz(others);
			if (!is_affected(&next[t], &e->ahead.at[other][point->steps.pc[other]]))
				continue;
			chosen |= 1u << other;
			open |= 1u << other;
		}
	}
	return chosen;
}

/** The fewest threads whose next accesses have to be tried here, of those that have not ended. */
static unsigned choose_threads(const exploration_t *e, const point_t *point,
			       const steps_access_t *next, unsigned unended)
{
	unsigned best = unended;

	for (unsigned left = unended; left && best & (best - 1); left &= left - 1) {
		const unsigned chosen = close_over(e, point, next, unended, __builtin_ctz(left));
		if (__builtin_popcount(chosen) < __builtin_popcount(best))
			best = chosen;
	}
	return best;
}

static void explore(exploration_t *e, point_t *point)
{
	steps_access_t next[LITMUS_MAX_THREADS];
	unsigned unended = 0;

	if (!enter(e, point))
		return;
	for (int t = 0; t < e->test->threads && e->status == TSR_OK; t++) {
		if (steps_ended(e->test, &point->steps, t))
			continue;
		unended |= 1u << t;
		e->status = steps_decode(e->test, &point->steps, t, &next[t]);
	}
	if (e->status == TSR_OK && !unended)
		finish(e, point);
	for (unsigned left = choose_threads(e, point, next, unended); left && e->status == TSR_OK;
	     left &= left - 1)
		branch_out(e, point, &next[__builtin_ctz(left)]);
}

/* ------------------------------------------------------------------ the witness */

static tsr_status_t begin(const litmus_test_t *test, point_t *point)
{
	tsr_views_place_t places[LITMUS_MAX_THREADS];

	steps_begin(test, &point->steps);
	for (int t = 0; t < test->threads; t++)
		for (int s = 0; s < LITMUS_SCOPES; s++)
			places[t].instance[steps_scope((litmus_scope_t)s)] =
				test->thread[t].instance[s];
	tsr_status_t status =
		tsr_views_create(places, test->threads, test->locations, 0, &point->views);
	for (int x = 0; status == TSR_OK && x < test->locations; x++)
		tsr_views_initialise(point->views, x, (uint64_t)test->initial[x]);
	return status;
}

static tsr_status_t run(const litmus_test_t *test, const litmus_options_t *options,
			litmus_result_t *result)
{
	exploration_t e = {.test = test,
			   .options = options,
			   .result = result,
			   .budget = budget_begin(test, options)};
	point_t point = {.views = NULL};
	bool given_up = false;

	ahead_find(test, &e.ahead);
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
