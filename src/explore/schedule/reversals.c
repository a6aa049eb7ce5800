/* A run's events, what comes before what, and which pairs of them could be the other way round. */
#include "src/explore/schedule/reversals.h"

#include <stdlib.h>
#include <string.h>

/*
 * All seq_cst operations touch it, as they have one order. No object of a
 * caller has this number.
 */
#define SEQ_CST_OBJECT UINT64_MAX

/* ------------------------------------------------------------------ noting */

/** An array of `room` items with one more behind `count`, or null. */
static void *roomy(void *array, size_t count, size_t *room, size_t bytes)
{
	if (count < *room)
		return array;
	const size_t wider = *room ? 2 * *room : 256;
	void *more = realloc(array, wider * bytes);
	if (more)
		*room = wider;
	return more;
}

static bool add_touch(tsr_reversals_t *run, uint64_t object, bool writes)
{
	tsr_touch_t *touch = roomy(run->touch, run->touches, &run->touch_room, sizeof *touch);
	if (!touch)
		return false;
	run->touch = touch;
	run->touch[run->touches++] = (tsr_touch_t){object, writes};
	return true;
}

static bool add_touches(tsr_reversals_t *run, const tsr_pending_t *pending)
{
	bool good = true;
	if (pending->kind != TSR_PENDING_LOCAL && pending->kind != TSR_PENDING_FENCE)
		for (int i = 0; good && i <= pending->more_count; i++)
			good = add_touch(run, i ? pending->more[i - 1] : pending->object,
					 pending->kind != TSR_PENDING_READ);
	return good && (!pending->seq_cst || add_touch(run, SEQ_CST_OBJECT, true));
}

static bool know_tasks(tsr_reversals_t *run, const tsr_taskset_t *able)
{
	int most = -1;
	for (int task = tsr_taskset_after(able, -1); task >= 0;
	     task = tsr_taskset_after(able, task))
		most = task;
	if (most < run->tasks)
		return tsr_taskset_reserve(&run->able, most + 1);
	tsr_doer_t *doer = realloc(run->doer, ((size_t)most + 1) * sizeof *doer);
	if (!doer)
		return false;
	run->doer = doer;
	while (run->tasks <= most)
		run->doer[run->tasks++] = (tsr_doer_t){TSR_NO_EVENT, TSR_NO_EVENT};
	return tsr_taskset_reserve(&run->able, most + 1);
}

/** Who could go on and cannot any more, though he did not; `able` is null where nobody can. */
static bool note_disabled(tsr_reversals_t *run, const tsr_taskset_t *able)
{
	const int last = run->events - 1;
	size_t room = (size_t)run->disabled_room;

	for (int task = tsr_taskset_after(&run->able, -1); task >= 0;
	     task = tsr_taskset_after(&run->able, task)) {
		if ((able && tsr_taskset_has(able, task)) || run->event[last].task == task)
			continue;
		tsr_disabled_t *more =
			roomy(run->disabled, (size_t)run->disabled_count, &room, sizeof *more);
		if (!more)
			return false;
		run->disabled = more;
		run->disabled_room = (int)room;
		run->disabled[run->disabled_count++] = (tsr_disabled_t){last, task};
	}
	return true;
}

bool tsr_reversals_look(tsr_reversals_t *run, const tsr_taskset_t *able)
{
	const int last = run->events - 1;

	if (!know_tasks(run, able) || !note_disabled(run, able))
		return false;
	for (int task = tsr_taskset_after(able, -1); task >= 0;
	     task = tsr_taskset_after(able, task))
		if (!tsr_taskset_has(&run->able, task))
			run->doer[task].since = last;
	if (run->able.words)
		tsr_taskset_clear(&run->able);
	for (int task = tsr_taskset_after(able, -1); task >= 0;
	     task = tsr_taskset_after(able, task))
		tsr_taskset_add(&run->able, task);
	run->looked = run->events;
	return true;
}

bool tsr_reversals_step(tsr_reversals_t *run, const tsr_runnable_t *runnable, int task, int node)
{
	const tsr_pending_t *pending = runnable->pending(runnable->context, task);
	size_t room = (size_t)run->event_room;

	tsr_event_t *event = roomy(run->event, (size_t)run->events, &room, sizeof *event);
	if (!event)
		return false;
	run->event = event;
	run->event_room = (int)room;
	tsr_doer_t *doer = &run->doer[task];
	const size_t first = run->touches;
	if (!add_touches(run, pending))
		return false;
	/* Waits for flags are ordered by the flag, whoever raised it; those of hosts and new tasks
	 * have no object that says so. */
	const bool hidden = pending->kind == TSR_PENDING_LOCAL || pending->kind == TSR_PENDING_MEET;
	const int enabler = hidden ? doer->since : TSR_NO_EVENT;
	run->event[run->events] = (tsr_event_t){
		.task = task,
		.node = node,
		.previous = doer->last,
		.enabler = enabler,
		.touch = first,
		.touches = (int)(run->touches - first),
		.forced = runnable->forced && runnable->forced(runnable->context, task)};
	doer->last = run->events++;
	return true;
}

void tsr_reversals_free(tsr_reversals_t *run)
{
	free(run->event);
	free(run->touch);
	free(run->disabled);
	free(run->doer);
	tsr_taskset_free(&run->able);
	*run = (tsr_reversals_t){0};
}

/* ------------------------------------------------------------------ what was done to an object */

/** Events in a list. */
typedef struct link {
	int event, next; /* -1: the last */
} link_t;

typedef struct history {
	uint64_t object;
	int write; /* the last event that wrote, or TSR_NO_EVENT */
	int reads; /* those since: the first link, or -1 */
	bool used;
} history_t;

/** The pass over all events. */
typedef struct pass {
	const tsr_reversals_t *run;
	/* of each event, by task: the latest of its events that comes before or is it, plus one */
	int *clock;
	history_t *history; /* an open table */
	size_t slots;       /* a power of two */
	link_t *link;
	int links;
	int *candidate; /* for the event at hand: what it may be reversed with */
	int candidates;
	/* for a reversal: of each task, its first event without the one that is reversed; or
	 * TSR_NO_EVENT */
	int *first;
	int *begins;
	tsr_reversal_fn fn;
	void *context;
} pass_t;

static history_t *history_of(pass_t *p, uint64_t object)
{
	size_t i = (size_t)((object * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (p->slots - 1);
	while (p->history[i].used && p->history[i].object != object)
		i = (i + 1) & (p->slots - 1);
	if (!p->history[i].used)
		p->history[i] = (history_t){object, TSR_NO_EVENT, -1, true};
	return &p->history[i];
}

static int *clock_of(const pass_t *p, int event)
{
	return p->clock + (size_t)event * (size_t)p->run->tasks;
}

/** Whether the event `a` comes before `b`, or is it. */
static bool before(const pass_t *p, int a, int b)
{
	return clock_of(p, b)[p->run->event[a].task] > a;
}

static void join(const pass_t *p, int event, int with)
{
	int *clock = clock_of(p, event);
	const int *other = clock_of(p, with);
	for (int t = 0; t < p->run->tasks; t++)
		clock[t] = clock[t] > other[t] ? clock[t] : other[t];
}

/* ------------------------------------------------------------------ reversals */

/**
 * Whether nothing of what lies between `first` and the event `f` comes before
 * it: so that its task can begin with it.
 */
static bool begins(const pass_t *p, int f)
{
	const int *clock = clock_of(p, f);
	for (int t = 0; t < p->run->tasks; t++)
		if (p->first[t] != TSR_NO_EVENT && clock[t] > p->first[t])
			return false;
	return true;
}

/**
 * Tells who can begin what comes from event `e` on up to `second`, without `e`
 * and what comes after it.
 */
static void tell(const pass_t *p, int e, int second)
{
	const tsr_event_t *event = p->run->event;
	int count = 0;

	if (event[e].node == TSR_NO_NODE)
		return;
	for (int t = 0; t < p->run->tasks; t++)
		p->first[t] = TSR_NO_EVENT;
	for (int f = e + 1; f <= second; f++) {
		if (p->first[event[f].task] != TSR_NO_EVENT || (f < second && before(p, e, f)))
			continue;
		if (begins(p, f))
			p->begins[count++] = event[f].task;
		p->first[event[f].task] = f;
	}
	if (count)
		p->fn(p->context, event[e].node, p->begins, count);
}

/** Of a task the last one: what it did before comes before that. */
static void add_candidate(pass_t *p, int event)
{
	for (int i = 0; i < p->candidates; i++)
		if (p->candidate[i] >= event &&
		    p->run->event[p->candidate[i]].task == p->run->event[event].task)
			return;
	p->candidate[p->candidates++] = event;
}

/**
 * What the event depends on: the last write of what it touches, and what has
 * read that since where it writes.
 */
static void find_candidates(pass_t *p, int event)
{
	const tsr_event_t *e = &p->run->event[event];

	p->candidates = 0;
	for (int i = 0; i < e->touches; i++) {
		const tsr_touch_t *touch = &p->run->touch[e->touch + (size_t)i];
		const history_t *history = history_of(p, touch->object);
		if (history->write != TSR_NO_EVENT)
			add_candidate(p, history->write);
		for (int l = touch->writes ? history->reads : -1; l >= 0; l = p->link[l].next)
			add_candidate(p, p->link[l].event);
	}
}

/** Whether a candidate comes before the event by another way. */
static bool between(const pass_t *p, int event, int candidate)
{
	bool found = before(p, candidate, event);
	for (int i = 0; !found && i < p->candidates; i++)
		found = p->candidate[i] != candidate && before(p, candidate, p->candidate[i]);
	return found;
}

static void note_touches(pass_t *p, int event)
{
	const tsr_event_t *e = &p->run->event[event];

	for (int i = 0; i < e->touches; i++) {
		const tsr_touch_t *touch = &p->run->touch[e->touch + (size_t)i];
		history_t *history = history_of(p, touch->object);
		if (touch->writes) {
			history->write = event;
			history->reads = -1;
		} else {
			p->link[p->links] = (link_t){event, history->reads};
			history->reads = p->links++;
		}
	}
}

/** One event: its clock, and whom it can be reversed with. */
static void take(pass_t *p, int event, bool telling)
{
	const tsr_event_t *e = &p->run->event[event];

	if (e->previous != TSR_NO_EVENT)
		join(p, event, e->previous);
	if (e->enabler != TSR_NO_EVENT)
		join(p, event, e->enabler);
	find_candidates(p, event);
	int reversible = 0;
	for (int i = 0; i < p->candidates; i++) {
		const int candidate = p->candidate[i];
		if (between(p, event, candidate))
			continue;
		p->candidate[i] = p->candidate[reversible];
		p->candidate[reversible++] = candidate;
	}
	for (int i = 0; i < p->candidates; i++)
		join(p, event, p->candidate[i]);
	clock_of(p, event)[e->task] = event + 1;
	for (int i = 0; telling && !e->forced && i < reversible; i++)
		tell(p, p->candidate[i], event);
	note_touches(p, event);
}

static bool open_pass(pass_t *p)
{
	const size_t events = (size_t)p->run->events + 1, tasks = (size_t)p->run->tasks + 1;

	for (p->slots = 64; p->slots < 2 * p->run->touches; p->slots *= 2)
		continue;
	p->clock = calloc(events * tasks, sizeof *p->clock);
	p->history = calloc(p->slots, sizeof *p->history);
	p->link = calloc(p->run->touches + 1, sizeof *p->link);
	p->candidate = calloc(events + p->run->touches, sizeof *p->candidate);
	p->first = calloc(tasks, sizeof *p->first);
	p->begins = calloc(tasks, sizeof *p->begins);
	return p->clock && p->history && p->link && p->candidate && p->first && p->begins;
}

bool tsr_reversals_tell(tsr_reversals_t *run, int from, tsr_reversal_fn fn, void *context)
{
	pass_t p = {.run = run, .fn = fn, .context = context};
	bool good = open_pass(&p);

	if (good && run->looked < run->events) /* nobody could go on after the last event */
		good = note_disabled(run, NULL);
	for (int i = 0; good && i < run->events; i++)
		take(&p, i, i >= from);
	for (int i = 0; good && i < run->disabled_count; i++) {
		const tsr_disabled_t *d = &run->disabled[i];
		if (run->event[d->event].node != TSR_NO_NODE)
			fn(context, run->event[d->event].node, &d->task, 1);
	}
	free(p.clock);
	free(p.history);
	free(p.link);
	free(p.candidate);
	free(p.first);
	free(p.begins);
	return good;
}
