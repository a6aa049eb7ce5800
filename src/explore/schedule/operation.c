/* What a task does: points, awaits and choices. */
#include <stdlib.h>
#include <string.h>

#include "src/explore/schedule/explorer_state.h"

static bool writes(tsr_pending_kind_t kind)
{
	return kind == TSR_PENDING_WRITE || kind == TSR_PENDING_UPDATE;
}

/* ------------------------------------------------------------------ steps */

/**
 * The operation begins: it is kept, as the caller's may be gone when it is
 * asked what the operation did.
 */
static void step_begins(tsr_explorer_t *e, tsr_live_t *live, const tsr_pending_t *pending)
{
	live->last = *pending;
	live->said = live->valued = false;
	live->pending = NULL;
	if (pending->more_count > live->more_room) {
		uint64_t *more = realloc(live->more, (size_t)pending->more_count * sizeof *more);
		e->failed = e->failed || !more;
		live->last.more_count = more ? pending->more_count : 0;
		live->more_room = more ? pending->more_count : live->more_room;
		live->more = more ? more : live->more;
	}
	if (live->last.more_count)
		memcpy(live->more, pending->more,
		       (size_t)live->last.more_count * sizeof *live->more);
	live->last.more = live->more;
}

void tsr_explorer_acted(tsr_explorer_t *e, const tsr_acted_t *acted)
{
	tsr_live_t *live = e->running;

	if (live->said || e->unwinding)
		return;
	live->said = true;
	if (live->last.seq_cst)
		tsr_digest_seq_cst(e, live);
	if (live->last.kind == TSR_PENDING_LOCAL || live->last.kind == TSR_PENDING_FENCE)
		return;
	for (int i = 0; i <= live->last.more_count; i++) {
		tsr_object_t *object =
			tsr_object_of(e, i ? live->last.more[i - 1] : live->last.object);
		if (!object)
			return;
		tsr_digest_step(e, live, object, acted);
		if (acted->wrote)
			tsr_object_wake(e, object, acted->changed);
	}
	tsr_spin_acted(e, live, acted);
}

void tsr_step_over(tsr_explorer_t *e, tsr_live_t *live)
{
	const bool wrote = writes(live->last.kind);
	if (!live->said)
		tsr_explorer_acted(e, &(tsr_acted_t){.wrote = wrote, .changed = wrote});
}

void tsr_explorer_wake(tsr_explorer_t *e, uint64_t number)
{
	tsr_object_t *object = tsr_object_of(e, number);
	tsr_idle_ends(e);
	if (object)
		tsr_object_wake(e, object, true);
}

void tsr_explorer_point(tsr_explorer_t *e, const tsr_pending_t *pending)
{
	tsr_live_t *live = e->running;

	tsr_step_over(e, live);
	live->pending = pending;
	if (live->has_forked) {
		live->point = *pending;
		live->pending = &live->point;
	}
	if (tsr_spins(e, live, pending) && !tsr_spin_insists(e, live))
		tsr_spin_back(e, live);
	else
		tsr_task_put(e, live->number, TSR_TASK_READY);
	tsr_explorer_go_on(e);
	if (live->waiters)
		tsr_waiters_leave(live);
	step_begins(e, live, pending);
}

int tsr_explorer_choose(tsr_explorer_t *e, tsr_choice_t kind, int n)
{
	tsr_live_t *live = e->running;

	if (n < 2 || !e->config.strategy || e->unwinding ||
	    (live->newest && (kind == TSR_CHOICE_MESSAGE || kind == TSR_CHOICE_CACHE)))
		return 0;
	const int chosen = tsr_strategy_choose(e->config.strategy, kind, n, NULL);
	live->asked += kind == TSR_CHOICE_CACHE;
	if (chosen > 0)
		tsr_digest_choice(e, live, kind, chosen);
	return chosen;
}

/* ------------------------------------------------------------------ awaits */

static void enter_await(tsr_explorer_t *e, tsr_live_t *live, const tsr_await_t *await)
{
	if (live->has_forked) {
		live->waits = *await;
		await = &live->waits;
	}
	const tsr_pending_t *pending = &await->pending;

	live->pending = pending;
	live->await = await;
	live->newest = live->expired = false;
	tsr_waiters_enter(e, live, &pending->object, 1);
	if (pending->more_count) {
		uint64_t *all = malloc(((size_t)pending->more_count + 1) * sizeof *all);
		e->failed = e->failed || !all;
		if (all) {
			all[0] = pending->object;
			memcpy(all + 1, pending->more, (size_t)pending->more_count * sizeof *all);
			tsr_waiters_enter(e, live, all, pending->more_count + 1);
			free(all);
		}
	}
}

/** Whether the await need wait no longer; else the task is blocked until it need not. */
static bool over(tsr_explorer_t *e, tsr_live_t *live)
{
	const tsr_await_t *await = live->await;
	const bool over = live->expired || await->ready(await->context);
	tsr_task_put(e, live->number, over ? TSR_TASK_READY : TSR_TASK_BLOCKED);
	return over;
}

tsr_awaited_t tsr_explorer_await(tsr_explorer_t *e, const tsr_await_t *await)
{
	tsr_live_t *live = e->running;

	tsr_step_over(e, live);
	enter_await(e, live, await);
	if (!over(e, live) && await->deadline == TSR_DEADLINE_ANY &&
	    tsr_explorer_choose(e, TSR_CHOICE_EXPIRE, 2)) {
		live->expired = true;
		over(e, live);
	}
	do
		tsr_explorer_go_on(e);
	while (!e->unwinding && !over(e, live));
	tsr_waiters_leave(live);
	live->await = NULL;
	step_begins(e, live, &await->pending);
	live->said = live->expired; /* then it has done nothing */
	return e->unwinding ? TSR_AWAIT_ENDED : live->expired ? TSR_AWAIT_EXPIRED : TSR_AWAIT_OK;
}
