/*
 * Who goes on: the sets of tasks that can, the choice among them, and what is
 * left where nobody can.
 */
#include <stdlib.h>

#include "src/explore/schedule/explorer_state.h"

void tsr_task_put(tsr_explorer_t *e, int task, tsr_task_state_t state)
{
	tsr_task_t *t = tsr_task_of(e, task);
	if (t->state == state)
		return;
	if (t->state == TSR_TASK_READY)
		tsr_taskset_remove(&e->ready, task);
	if (t->state == TSR_TASK_SPINS)
		tsr_taskset_remove(&e->back, task);
	if (state == TSR_TASK_READY) {
		tsr_taskset_add(&e->ready, task);
		e->grown = true;
	}
	if (state == TSR_TASK_SPINS)
		tsr_taskset_add(&e->back, task);
	t->state = state;
}

void tsr_task_dirty(tsr_explorer_t *e, tsr_live_t *live)
{
	if (live->dirty)
		return;
	if (e->dirty_count == e->dirty_room) {
		const int room = e->dirty_room ? 2 * e->dirty_room : 64;
		int *more = realloc(e->dirty, (size_t)room * sizeof *more);
		if (!more) {
			e->failed = true;
			return;
		}
		e->dirty = more;
		e->dirty_room = room;
	}
	live->dirty = true;
	e->dirty[e->dirty_count++] = live->number;
}

/** Looks again at the awaits that may have become ready, or are no longer. */
static void settle(tsr_explorer_t *e)
{
	for (int i = 0; i < e->dirty_count; i++) {
		const tsr_task_t *task = tsr_task_of(e, e->dirty[i]);
		tsr_live_t *live = task->live;
		if (!live)
			continue; /* has ended since */
		live->dirty = false;
		if (live->await)
			tsr_task_put(e, live->number,
				     live->expired || live->await->ready(live->await->context)
					     ? TSR_TASK_READY
					     : TSR_TASK_BLOCKED);
		else if (task->state == TSR_TASK_SPINS && !live->weary)
			tsr_task_put(e, live->number, TSR_TASK_READY);
	}
	e->dirty_count = 0;
}

void tsr_explorer_finish(tsr_explorer_t *e, tsr_explorer_end_t end)
{
	if (!e->ended)
		e->end = end;
	e->ended = true;
}

/* ------------------------------------------------------------------ choices */

static const tsr_pending_t *pending_of(const void *context, int task)
{
	return tsr_task_of(context, task)->live->pending;
}

/** A wait that may expire at any time could have gone on without any write. */
static bool forced(const void *context, int task)
{
	const tsr_await_t *await = tsr_task_of(context, task)->live->await;
	return await && await->forced && await->deadline != TSR_DEADLINE_ANY &&
	       await->forced(await->context);
}

static int choose(tsr_explorer_t *e, const tsr_taskset_t *tasks, int current)
{
	const tsr_runnable_t runnable = {.tasks = tasks,
					 .current = current,
					 .grown = e->grown,
					 .pending = pending_of,
					 .forced = forced,
					 .context = e};
	const int chosen = e->config.strategy
				   ? tsr_strategy_choose(e->config.strategy, TSR_CHOICE_TASK,
							 tasks->count, &runnable)
				   : 0;

	e->grown = false;
	if (chosen < 0) {
		tsr_explorer_finish(e, TSR_EXPLORER_PRUNED);
		return TSR_NO_TASK;
	}
	return tsr_runnable_task(&runnable, chosen);
}

/**
 * The spinners in turn, each for a step. Where memory changes at each turn of a
 * loop, in no regular order: else one of them might find a lock taken whenever
 * its turn comes. There is nothing to choose, but the strategy is told who goes
 * on.
 */
static int next_spinner(tsr_explorer_t *e)
{
	const int next = tsr_taskset_after(&e->back, e->back_at);
	const uint64_t nth = tsr_spread(e->steps) % (uint64_t)e->back.count;
	e->back_at = next >= 0 ? next : tsr_taskset_after(&e->back, -1);
	if (tsr_task_of(e, e->back_at)->live->weary)
		e->back_at = tsr_taskset_nth(&e->back, (int)nth);
	tsr_taskset_clear(&e->chosen);
	tsr_taskset_add(&e->chosen, e->back_at);
	return choose(e, &e->chosen, TSR_NO_TASK);
}

/**
 * Of those whose deadlines may expire, one whose deadline does; false where
 * there are none. Not a choice of task: it is to be made only because nobody
 * could go on, so that it swaps with nothing.
 */
static bool expire(tsr_explorer_t *e)
{
	tsr_taskset_clear(&e->chosen);
	for (int task = tsr_taskset_after(&e->alive, -1); task >= 0;
	     task = tsr_taskset_after(&e->alive, task)) {
		const tsr_await_t *await = tsr_task_of(e, task)->live->await;
		if (await && await->deadline != TSR_DEADLINE_NONE)
			tsr_taskset_add(&e->chosen, task);
	}
	const int n = e->chosen.count;
	if (!n)
		return false;
	const int nth =
		n > 1 && e->config.strategy
			? tsr_strategy_choose(e->config.strategy, TSR_CHOICE_EXPIRE, n, NULL)
			: 0;
	const int task = tsr_taskset_nth(&e->chosen, nth);
	if (nth > 0)
		tsr_digest_choice(e, tsr_task_of(e, task)->live, TSR_CHOICE_EXPIRE, nth);
	tsr_task_of(e, task)->live->expired = true;
	tsr_task_put(e, task, TSR_TASK_READY);
	tsr_explorer_news(e);
	return true;
}

/** What is late arrives, and whoever waits looks again. False: nobody can go on for that. */
static bool late_arrives(tsr_explorer_t *e)
{
	if (!e->config.late || !e->config.late(e->config.context))
		return false;
	for (int task = tsr_taskset_after(&e->alive, -1); task >= 0;
	     task = tsr_taskset_after(&e->alive, task))
		tsr_task_dirty(e, tsr_task_of(e, task)->live);
	settle(e);
	return e->ready.count > 0;
}

/* ------------------------------------------------------------------ livelocks that are known */

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

/** Of the sites at which tasks are, each counted once, whoever they are. */
static uint64_t key_of_sites(const tsr_explorer_t *e)
{
	enum { MOST = 64 };
	uint64_t site[MOST], key = 0;
	int sites = 0;
	for (int task = tsr_taskset_after(&e->alive, -1); task >= 0;
	     task = tsr_taskset_after(&e->alive, task)) {
		const tsr_source_t *at = tsr_spin_site(e, tsr_task_of(e, task)->live);
		uint64_t one = UINT64_C(0xcbf29ce484222325);
		int i = 0;
		if (at)
			one = hash_text(hash_text(one, at->call), at->file) * 31 +
			      (uint64_t)at->line;
		while (i < sites && site[i] != one)
			i++;
		if (i == sites && sites < MOST) {
			site[sites++] = one;
			key += one * UINT64_C(0x9e3779b97f4a7c15);
		}
	}
	return key;
}

/** The run may be a livelock: notes how it stands. True: it is a known one, and ends here. */
static bool is_known(tsr_explorer_t *e, tsr_early_t *early)
{
	*early = (tsr_early_t){
		.key = key_of_sites(e),
		.steps = e->steps,
		.choices = e->config.strategy ? tsr_strategy_choices(e->config.strategy) : 0};
	tsr_explorer_digest(e, early->digest);
	return e->config.known && e->config.known(e->config.context, early->key);
}

/**
 * Whether spinners alone have gone on for so long, and changed nothing, that
 * nothing will ever change.
 */
static bool is_still(tsr_explorer_t *e)
{
	e->idle++;
	const bool early = e->idle > TSR_IDLE_EARLY;
	if (early && !e->idle_early && is_known(e, &e->idled))
		e->idle = UINT32_MAX; /* until something changes */
	e->idle_early = early;
	return e->idle > TSR_IDLE_BOUND + 64 * (uint64_t)e->back.count;
}

/** Whether there have been so many steps that there will be no end. */
static bool is_endless(tsr_explorer_t *e)
{
	const uint64_t bound = e->config.step_bound;
	if (!bound || (e->steps != bound / TSR_STEPS_EARLY && e->steps <= bound))
		return false;
	return e->steps > bound || is_known(e, &e->stepped);
}

static void finish_livelock(tsr_explorer_t *e, tsr_explorer_end_t end, const tsr_early_t *early)
{
	if (!e->ended)
		e->early = early;
	tsr_explorer_finish(e, end);
}

/** Nobody is ready. */
static int next_of_last(tsr_explorer_t *e)
{
	if (late_arrives(e))
		return choose(e, &e->ready, TSR_NO_TASK);
	if (e->back.count && !is_still(e))
		return next_spinner(e);
	if (expire(e))
		return choose(e, &e->ready, TSR_NO_TASK);
	finish_livelock(e, TSR_EXPLORER_STUCK, e->back.count ? &e->idled : NULL);
	return TSR_NO_TASK;
}

/** All that are alive in turn, and the end after so many steps. */
static int next_unwinding(tsr_explorer_t *e)
{
	if (e->steps >= e->last_step)
		tsr_explorer_finish(e, TSR_EXPLORER_BOUND);
	if (e->ended)
		return TSR_NO_TASK;
	const int next = tsr_taskset_after(&e->alive, e->back_at);
	return e->back_at = next >= 0 ? next : tsr_taskset_after(&e->alive, -1);
}

/** Whether the running task goes on alone, without a choice. */
static bool insists(tsr_explorer_t *e)
{
	if (e->insists == TSR_NO_TASK)
		return false;
	if (e->running && e->running->number == e->insists && e->insist_left > 0 &&
	    tsr_taskset_has(&e->ready, e->insists)) {
		e->insist_left--;
		return true;
	}
	e->insists = TSR_NO_TASK;
	return false;
}

/** Who goes on; TSR_NO_TASK: the run has ended. */
static int next_task(tsr_explorer_t *e)
{
	e->steps++;
	if (e->failed)
		tsr_explorer_finish(e, TSR_EXPLORER_FAILED);
	else if (!e->alive.count)
		tsr_explorer_finish(e, TSR_EXPLORER_DONE);
	if (e->unwinding)
		return next_unwinding(e);
	if (is_endless(e))
		finish_livelock(e, TSR_EXPLORER_BOUND, &e->stepped);
	if (e->ended)
		return TSR_NO_TASK;
	settle(e);
	if (!e->ready.count)
		return next_of_last(e);
	if (insists(e))
		return e->insists;
	const bool can = e->running && tsr_taskset_has(&e->ready, e->running->number);
	return choose(e, &e->ready, can ? e->running->number : TSR_NO_TASK);
}

/* ------------------------------------------------------------------ switches */

/** Makes `task` the running one: its fibre, or null for outside. */
static tsr_fibre_t *hand_over(tsr_explorer_t *e, int task)
{
	tsr_live_t *to = task == TSR_NO_TASK ? NULL : tsr_task_of(e, task)->live;

	e->switches++;
	if (e->config.switched)
		e->config.switched(e->config.context, e->running ? e->running->number : TSR_NO_TASK,
				   task);
	e->running = to;
	return to ? to->fibre : NULL;
}

void tsr_explorer_go_on(tsr_explorer_t *e)
{
	const int next = next_task(e);
	if (next != (e->running ? e->running->number : TSR_NO_TASK))
		tsr_fibre_switch(e->fibres, hand_over(e, next));
}

void tsr_explorer_leave(tsr_explorer_t *e)
{
	tsr_live_t *live = e->running;
	tsr_fibre_t *next = hand_over(e, next_task(e));

	free(live->waiter);
	free(live->more);
	free(live);
	tsr_fibre_leave(e->fibres, next);
}
