/* Waits of kernels: for flags, and for the other workers of a block. */
#include "src/base/compare.h"
#include "src/explore/elsewhere.h"
#include "src/explore/exploration_state.h"
#include "src/explore/links.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"

/* ------------------------------------------------------------------ flags */

/** A wait as the explorer asks about it. */
typedef struct flag_await {
	tsr_exploration_t *x;
	const tsr_flag_wait_t *wait;
	tsr_views_access_t access;
	uint32_t number;
	int area;
	size_t offset;
} flag_await_t;

static size_t offset_of(const flag_await_t *f, int flag)
{
	return f->offset + (size_t)flag * f->wait->word_bytes;
}

static tsr_ordered_t ordered_of(const flag_await_t *f, int flag)
{
	const tsr_area_t *area = &f->x->areas[f->area];
	return (tsr_ordered_t){f->number,
			       &f->access,
			       area,
			       {area->region, offset_of(f, flag), f->wait->word_bytes}};
}

/**
 * The `n`-th choice of those that satisfy the wait for one flag, or -1;
 * `*count_out` where they all were looked at.
 */
static int satisfying(const flag_await_t *f, int flag, int n, int *count_out)
{
	const tsr_ordered_t ordered = ordered_of(f, flag);
	return f->x->memory->satisfying(f->x, &ordered, f->wait, n, count_out);
}

static bool flag_ready(const void *context)
{
	const flag_await_t *f = context;
	int count;
	for (int flag = 0; flag < f->wait->count; flag++)
		if (satisfying(f, flag, 0, &count) >= 0)
			return true;
	return false;
}

/**
 * One message alone satisfies it, the newest; and that is the last that was
 * written, as none was put before another. A word that carries its own flag may
 * be overwritten before it is taken.
 */
static bool flag_forced(const void *context)
{
	const flag_await_t *f = context;
	int count = 0;
	if (f->wait->count != 1 || f->wait->shift > 0 || f->x->inserted ||
	    f->x->options.weak != TSR_CHECK_WEAK_VIEW)
		return false;
	return satisfying(f, 0, 0, &count) == 0 && satisfying(f, 0, 1, &count) < 0;
}

/**
 * Whether the wait is over for values alone that have been overwritten. Whoever
 * polls may have looked before they came, and again when they were gone.
 */
static bool is_for_gone(const flag_await_t *f)
{
	const tsr_area_t *area = &f->x->areas[f->area];
	if (f->x->options.weak != TSR_CHECK_WEAK_VIEW || f->wait->shift > 0)
		return false;
	for (int flag = 0; flag < f->wait->count; flag++)
		if (tsr_flag_holds(f->wait,
				   tsr_area_value(area, offset_of(f, flag), f->wait->word_bytes)))
			return false; /* the newest does */
	return true;
}

/** Whether the wait is a part of tsr_lock or tsr_lock_until. */
static bool is_for_lock(const flag_await_t *f)
{
	const char *call = f->x->operations[f->number].site.call;
	return call && strncmp(call, "tsr_lock", strlen("tsr_lock")) == 0;
}

static void flag_describe(const void *context, char *sentence, size_t bytes)
{
	const flag_await_t *f = context;
	tsr_area_t *area = &f->x->areas[f->area];
	const int self = f->x->operations[f->number].task;
	const bool marked = f->wait->shift > 0;
	const uint64_t value =
		tsr_area_value(area, f->offset, f->wait->word_bytes) >> f->wait->shift;
	char from[TSR_WHO_TEXT] = "any rank", of[48] = "", place[TSR_PLACE_TEXT];
	(void)tsr_area_text(area, f->offset, f->wait->word_bytes, place);
	if (f->wait->from >= 0)
		(void)tsr_who_text(f->wait->from, f->wait->team_from, f->wait->team, from);
	if (!area->shared && area->rank != tsr_explorer_who(f->x->explorer, self)->rank)
		snprintf(of, sizeof of, " of rank %d%s", area->rank, tsr_of_world(f->wait->team));
	if (is_for_lock(f) && f->wait->from >= 0 && value == (uint64_t)f->wait->team_from + 1) {
		snprintf(sentence, bytes, "waits for lock %s%s, which %s holds", place, of, from);
		return;
	}
	snprintf(sentence, bytes, "waits for %s%s%s %s %" PRIu64 " from %s; it%s is %" PRIu64,
		 marked               ? "marked word "
		 : f->wait->count > 1 ? "one of several flags from "
				      : "flag ",
		 place, of, marked ? "of epoch" : tsr_cmp_name(f->wait->cmp), f->wait->value, from,
		 marked ? "s epoch" : "", value);
}

/**
 * Whether the rank waits for itself, and has signalled others in its own place:
 * none of its blocks is to signal any more.
 */
static bool is_skipped(const flag_await_t *f)
{
	const int self = f->x->operations[f->number].task;
	const int rank = tsr_explorer_who(f->x->explorer, self)->rank;
	return f->wait->from == rank && f->wait->count == 1 && f->wait->shift == 0 &&
	       tsr_raised_elsewhere(f->x, rank, f->area, f->offset) > 0;
}

/** Whoever is to signal; on the own rank that is another worker, elsewhere anybody of that rank. */
static void flag_blockers(const void *context, tsr_blocker_fn tell, void *argument)
{
	const flag_await_t *f = context;
	if (is_skipped(f)) /* for itself alone, and so for nobody */
		tell(argument, (tsr_blocker_t){TSR_BLOCKER_TASK, f->x->operations[f->number].task});
	else if (f->wait->from >= 0)
		tell(argument, (tsr_blocker_t){TSR_BLOCKER_WORKERS, f->wait->from});
	else
		tell(argument, (tsr_blocker_t){TSR_BLOCKER_ANYBODY, 0});
}

/** One of the flags that satisfy the wait, and what it is seen to be. */
static int choose_flag(const flag_await_t *f, int *choice_out)
{
	int flags = 0, chosen = 0, count = 0;
	for (int flag = 0; flag < f->wait->count; flag++)
		flags += satisfying(f, flag, 0, &count) >= 0;
	int skip = tsr_explorer_choose(f->x->explorer, TSR_CHOICE_FLAG, flags);
	for (int i = 0; i < f->wait->count; i++) {
		const int flag = (f->wait->start + i) % f->wait->count;
		if (satisfying(f, flag, 0, &count) < 0)
			continue;
		chosen = flag;
		if (skip-- == 0)
			break;
	}
	(void)satisfying(f, chosen, -1, &count);
	*choice_out =
		satisfying(f, chosen,
			   tsr_explorer_choose(f->x->explorer, TSR_CHOICE_MESSAGE, count), &count);
	return chosen;
}

/**
 * Chooses whether the wait has missed values that are gone: then it has seen
 * what is there now, and nothing older is left for it. A lock that is taken
 * again is given back again, and the wait names the first holder.
 */
static bool misses(const flag_await_t *f, uint64_t begin)
{
	const tsr_views_access_t look = {
		.kind = TSR_VIEWS_LOAD, .order = TSR_VIEWS_RELAXED, .scope = f->wait->scope};
	int count;
	if (!is_for_gone(f) || is_for_lock(f) ||
	    tsr_explorer_choose(f->x->explorer, TSR_CHOICE_FLAG, 2) == 0)
		return false;
	for (int flag = 0; flag < f->wait->count; flag++)
		if (satisfying(f, flag, 0, &count) > 0)
			(void)tsr_exploration_act_now(f->x, f->number, &look, f->area,
						      offset_of(f, flag), f->wait->word_bytes, 0,
						      begin);
	return true;
}

/**
 * A wait looks at its words at once. What nobody has written by then may end it:
 * fresh memory holds anything.
 */
static void judge_unwritten(const flag_await_t *f)
{
	for (int flag = 0; flag < f->wait->count && !f->x->areas[f->area].shared; flag++) {
		const tsr_ordered_t ordered = ordered_of(f, flag);
		const tsr_shadow_found_t found = {.unwritten = true,
						  .unwritten_offset = ordered.word.offset,
						  .unwritten_bytes = ordered.word.bytes};
		if (!tsr_shadow_is_unwritten(f->x->shadow, &ordered.word))
			continue;
		tsr_exploration_judge(f->x, f->number, f->area, false, &found);
		return;
	}
}

static void watch_flags(tsr_exploration_t *x, tsr_flag_watch_t *watch)
{
	const size_t end = watch->offset + watch->bytes;
	if (!x->watches || watch->offset < x->watched_begin)
		x->watched_begin = watch->offset;
	if (!x->watches || end > x->watched_end)
		x->watched_end = end;
	watch->link = &x->watches;
	watch->next = x->watches;
	if (watch->next)
		watch->next->link = &watch->next;
	x->watches = watch;
}

static void unwatch_flags(const tsr_flag_watch_t *watch)
{
	*watch->link = watch->next;
	if (watch->next)
		watch->next->link = watch->link;
}

/**
 * A wait as others find it while the caller does not run. It is in none of the
 * caller's frames, where a fork of the caller may be.
 */
typedef struct flag_waiter {
	flag_await_t f;
	tsr_flag_wait_t wait;
	tsr_flag_watch_t watch;
	uint64_t more[]; /* objects of the flags after the first */
} flag_waiter_t;

static flag_waiter_t *begin_wait(tsr_exploration_t *x, const tsr_op_site_t *site,
				 const tsr_flag_wait_t *wait)
{
	const size_t bytes = (size_t)wait->count * wait->word_bytes;
	flag_waiter_t *w = malloc(sizeof *w + (size_t)wait->count * sizeof w->more[0]);
	if (!w)
		tsr_explorer_stop(x->explorer);
	flag_await_t *f = &w->f;
	w->wait = *wait;
	*f = (flag_await_t){.x = x, .wait = &w->wait};
	f->access = (tsr_views_access_t){
		.kind = TSR_VIEWS_LOAD, .order = wait->order, .scope = wait->scope};
	tsr_exploration_place(x, site, wait->flags, bytes, &f->area, &f->offset);
	f->number = tsr_operation_at(x, site, TSR_FINDING_WAIT, wait->order, wait->scope);
	tsr_operation_touch(x, f->number, f->area, f->offset, bytes);
	for (int i = 0; i < wait->count - 1; i++)
		w->more[i] = tsr_area_object(&x->areas[f->area], offset_of(f, i + 1));
	w->watch = (tsr_flag_watch_t){.object = tsr_area_object(&x->areas[f->area], f->offset),
				      .area = f->area,
				      .offset = f->offset,
				      .bytes = bytes,
				      .wait = &w->wait,
				      .operation = f->number};
	return w;
}

/** Waits until a flag is chosen that is there. False: the deadline has expired. */
static bool await_flag(const flag_waiter_t *w, const tsr_op_site_t *site, uint64_t begin,
		       int *which_out, int *choice_out)
{
	const flag_await_t *f = &w->f;
	const tsr_await_t await = {
		.kind = TSR_AWAIT_FLAG,
		.pending = {.kind = TSR_PENDING_READ,
			    .object = w->watch.object,
			    .more = w->more,
			    .more_count = w->wait.count - 1,
			    .site = {site->call, site->file, site->line}},
		.deadline = w->wait.deadline ? TSR_DEADLINE_ANY : TSR_DEADLINE_NONE,
		.ready = flag_ready,
		.forced = flag_forced,
		.describe = flag_describe,
		.blockers = flag_blockers,
		.context = f,
	};
	bool enough = false;
	do {
		if (tsr_explorer_await(f->x->explorer, &await) != TSR_AWAIT_OK)
			return false;
		if (misses(f, begin))
			continue;
		*which_out = choose_flag(f, choice_out);
		const tsr_ordered_t ordered = ordered_of(f, *which_out);
		if (f->x->memory->arrive(f->x, &ordered, f->wait, &enough) != TSR_OK)
			tsr_explorer_stop(f->x->explorer);
	} while (!enough);
	return true;
}

tsr_flag_end_t tsr_exploration_wait_flag(tsr_exploration_t *x, const tsr_op_site_t *site,
					 const tsr_flag_wait_t *wait, int *which_out,
					 uint64_t *seen_out)
{
	flag_waiter_t *w = begin_wait(x, site, wait);
	const flag_await_t *f = &w->f;
	const uint64_t begin = tsr_trace_now(x);
	int choice = 0;
	judge_unwritten(f);
	watch_flags(x, &w->watch);
	const bool came = await_flag(w, site, begin, which_out, &choice);
	unwatch_flags(&w->watch);
	if (came) {
		*seen_out = tsr_exploration_act_now(x, f->number, &f->access, f->area,
						    offset_of(f, *which_out), wait->word_bytes,
						    choice, begin);
		tsr_links_wanted(x, f->number, wait);
		w->watch.offset = offset_of(f, *which_out);
		tsr_raised_by_another(x, &w->watch);
	}
	free(w);
	return came ? TSR_FLAG_OK : TSR_FLAG_EXPIRED;
}

/* ------------------------------------------------------------------ the meeting of a block */

typedef struct meet_await {
	const tsr_exploration_t *x;
	const tsr_block_meeting_t *meeting;
	uint32_t phase;
	int count;
} meet_await_t;

/** The task of a worker of that block. */
static int task_of(const tsr_block_meeting_t *meeting, int worker)
{
	return worker == 0 ? meeting->first_task : meeting->second_task + worker - 1;
}

static bool meet_ready(const void *context)
{
	const meet_await_t *m = context;
	return m->meeting->phase != m->phase;
}

/** Also names the workers that have ended: they will not come. */
static void meet_describe(const void *context, char *sentence, size_t bytes)
{
	const meet_await_t *m = context;
	int used = snprintf(sentence, bytes,
			    "waits for the block's other workers: %u of %d have come to this call",
			    (unsigned)m->meeting->arrived, m->count);
	const char *before = "; ended: worker";
	for (int i = 0; i < m->count && used > 0 && (size_t)used < bytes; i++) {
		if (!tsr_explorer_ended(m->x->explorer, task_of(m->meeting, i)))
			continue;
		used += snprintf(sentence + used, bytes - (size_t)used, "%s %d", before, i);
		before = ", worker";
	}
}

static void meet_blockers(const void *context, tsr_blocker_fn tell, void *argument)
{
	const meet_await_t *m = context;
	for (int i = 0; i < m->count; i++)
		if (m->meeting->came[i] == m->phase)
			tell(argument, (tsr_blocker_t){TSR_BLOCKER_TASK, task_of(m->meeting, i)});
}

/** Two workers of a block have come to different calls: each takes the other's for its own. */
static _Noreturn void meet_apart(tsr_exploration_t *x, const tsr_op_site_t *site,
				 const tsr_block_meeting_t *meeting)
{
	int other = 0; /* the worker that has come to this phase */
	while (meeting->came[other] != meeting->phase + 1)
		other++;
	tsr_finding_t finding = {
		.class = TSR_FINDING_MISUSE,
		.accesses = 2,
		.message = "the workers of a block meet in two calls: each of these is a call of "
			   "the whole block",
		.missing = "not all workers of the block make each of these calls",
		.change = "let all workers of the block make each call with the block, in the same "
			  "order; what one worker does alone it calls with the worker"};
	finding.access[0] = tsr_access_at(x, site);
	finding.access[1] = tsr_access_at(x, &meeting->first);
	finding.access[1].who.worker = other;
	tsr_exploration_found(x, &finding);
	tsr_explorer_stop(x->explorer);
}

/** The caller has come to the meeting's phase. */
static void come(tsr_exploration_t *x, const tsr_op_site_t *site, tsr_block_meeting_t *meeting,
		 int worker, int count)
{
	if (meeting->arrived == 0)
		meeting->first = *site;
	else if (strcmp(meeting->first.call, site->call) != 0)
		meet_apart(x, site, meeting);
	meeting->came[worker] = meeting->phase + 1;
	if (++meeting->arrived == (uint32_t)count) {
		meeting->arrived = 0;
		meeting->phase++;
	}
}

/** Waits for those who have not come. The await is in no frame: as flag_waiter_t. */
static void await_others(const meet_await_t *m, const tsr_pending_t *pending)
{
	meet_await_t *context = malloc(sizeof *context);
	if (!context)
		tsr_explorer_stop(m->x->explorer);
	*context = *m;
	const tsr_await_t await = {
		.kind = TSR_AWAIT_MEETING,
		.pending = *pending,
		.ready = meet_ready,
		.describe = meet_describe,
		.blockers = meet_blockers,
		.context = context,
	};
	(void)tsr_explorer_await(m->x->explorer, &await);
	free(context);
}

void tsr_exploration_meet(tsr_exploration_t *x, const tsr_op_site_t *site,
			  tsr_block_meeting_t *meeting, int count)
{
	const tsr_task_who_t *who = tsr_explorer_who(x->explorer, tsr_explorer_self(x->explorer));
	meeting->first_task = tsr_actor(x)->first_worker;
	meeting->second_task = tsr_actor(x)->other_worker;
	const uint64_t object = UINT64_C(1) << 62 | tsr_block_number(who);
	const tsr_pending_t pending = {.kind = TSR_PENDING_MEET,
				       .object = object,
				       .site = {site->call, site->file, site->line}};
	tsr_explorer_point(x->explorer, &pending);
	const meet_await_t m = {x, meeting, meeting->phase, count};
	/* who comes to the next phase has taken the last but one */
	tsr_edge_t **edge = &meeting->edge[m.phase & 1];
	if (!*edge && tsr_exploration_edge(x, edge) != TSR_OK)
		tsr_explorer_stop(x->explorer);
	tsr_exploration_give(x, *edge);
	if (x->memory->meet(x) != TSR_OK)
		tsr_explorer_stop(x->explorer);
	come(x, site, meeting, who->worker, count);
	/* a meeting changes no memory */
	tsr_explorer_value(x->explorer, object, 0, 0);
	tsr_explorer_acted(x->explorer, &(tsr_acted_t){.wrote = true, .changed = true});
	if (m.phase == meeting->phase)
		await_others(&m, &pending);
	tsr_exploration_take(x, *edge);
}
