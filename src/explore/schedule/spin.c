/*
 * Whether a task only spins. There are two kinds of evidence:
 *
 *   Reads:   it reads the same message at one line again and again.
 *   Barren:  it does many operations while memory only takes states that it had
 *            before, as in a loop that locks, looks and unlocks.
 */
#include "src/explore/schedule/explorer_state.h"

enum { BARREN = 16 }; /* spin_bound times this: barren operations that make a task a spinner */

static tsr_seen_t *seen_at(tsr_live_t *live, uint64_t object, int line)
{
	for (int i = 0; i < TSR_SEEN; i++)
		if (live->seen[i].total && live->seen[i].object == object &&
		    live->seen[i].site.line == line)
			return &live->seen[i];
	return NULL;
}

/** Notes that the last operation read a message and left all as it was. */
static void note_seen(tsr_live_t *live, uint64_t message)
{
	tsr_seen_t *seen = seen_at(live, live->last.object, live->last.site.line);
	if (!seen) {
		seen = &live->seen[live->seen_next++ % TSR_SEEN];
		*seen = (tsr_seen_t){.object = live->last.object,
				     .site = live->last.site,
				     .updates = live->last.kind == TSR_PENDING_UPDATE,
				     .message = message};
	}
	if (seen->message != message)
		seen->streak = seen->total = 0;
	if (seen->stamp != live->stamp)
		seen->streak = 0;
	seen->message = message;
	seen->stamp = live->stamp;
	seen->streak++;
	seen->total++;
}

/**
 * Whether the operation that comes is one more turn of a loop that waits. A
 * task that has changed something in between may count turns: it is believed
 * for longer.
 */
static bool reads_the_same(const tsr_explorer_t *e, tsr_live_t *live, const tsr_pending_t *pending)
{
	if (pending->kind != TSR_PENDING_READ && pending->kind != TSR_PENDING_UPDATE)
		return false;
	const tsr_seen_t *seen = seen_at(live, pending->object, pending->site.line);
	const int bound = e->config.spin_bound;
	return seen &&
	       ((seen->streak >= bound && seen->stamp == live->stamp) || seen->total >= 16 * bound);
}

/** What the loop looks at by a read, rather than by an update as of a lock that is taken. */
static bool says_more(const tsr_seen_t *seen, const tsr_seen_t *than)
{
	return seen->updates != than->updates ? than->updates : seen->total > than->total;
}

const tsr_source_t *tsr_spin_site(const tsr_explorer_t *e, const tsr_live_t *live)
{
	const tsr_seen_t *best = NULL;
	for (int i = 0; i < TSR_SEEN && !live->await; i++)
		if (live->seen[i].total >= e->config.spin_bound &&
		    (!best || says_more(&live->seen[i], best)))
			best = &live->seen[i];
	return best ? &best->site : live->pending ? &live->pending->site : NULL;
}

/* ------------------------------------------------------------------ states of memory */

static uint64_t of_value(uint64_t object, uint64_t value)
{
	return tsr_spread(tsr_spread(object) + value);
}

void tsr_explorer_value(tsr_explorer_t *e, uint64_t object, uint64_t before, uint64_t after)
{
	e->states.now += of_value(object, after) - of_value(object, before);
	e->running->valued = true;
}

/** Memory has a new state: those that stand back because it had none go on. */
static void is_new(tsr_explorer_t *e)
{
	e->news++;
	tsr_idle_ends(e);
	for (int task = tsr_taskset_after(&e->back, -1); task >= 0;
	     task = tsr_taskset_after(&e->back, task))
		if (tsr_task_of(e, task)->live->weary)
			tsr_task_put(e, task, TSR_TASK_READY);
}

void tsr_explorer_news(tsr_explorer_t *e)
{
	is_new(e);
	e->states.now += of_value(UINT64_MAX, e->news); /* no state before this one comes back */
}

/** Whether memory is in one of its latest states again; a new state is noted. */
static bool was_before(tsr_states_t *states)
{
	for (uint32_t i = 0; i < TSR_STATES; i++)
		if (states->seen[i] == states->now)
			return true;
	states->seen[states->next++ % TSR_STATES] = states->now;
	return false;
}

static bool accesses(tsr_pending_kind_t kind)
{
	return kind == TSR_PENDING_READ || kind == TSR_PENDING_WRITE || kind == TSR_PENDING_UPDATE;
}

static bool is_barren(const tsr_explorer_t *e, const tsr_live_t *live)
{
	return live->news == e->news && live->barren >= BARREN * e->config.spin_bound;
}

/** Counts the task's operations since memory had a new state. */
static void count_barren(const tsr_explorer_t *e, tsr_live_t *live)
{
	if (live->news != e->news)
		live->barren = 0;
	live->news = e->news;
	live->barren++;
}

/* ------------------------------------------------------------------ both */

void tsr_spin_acted(tsr_explorer_t *e, tsr_live_t *live, const tsr_acted_t *acted)
{
	const tsr_pending_kind_t kind = live->last.kind;
	if (acted->changed) {
		live->stamp++;
		if (!live->valued)
			tsr_explorer_news(e);
		else if (!was_before(&e->states))
			is_new(e);
		else
			e->idle += TSR_IDLE_CHANGE;
	} else if (kind == TSR_PENDING_READ || kind == TSR_PENDING_UPDATE) {
		/* it put back what it found: a lock that is taken */
		note_seen(live, acted->wrote ? UINT64_MAX : acted->message);
	}
	if (accesses(kind))
		count_barren(e, live);
}

bool tsr_spins(const tsr_explorer_t *e, tsr_live_t *live, const tsr_pending_t *pending)
{
	live->newest = reads_the_same(e, live, pending);
	live->weary = accesses(pending->kind) && is_barren(e, live);
	return live->newest || live->weary;
}

bool tsr_spin_insists(tsr_explorer_t *e, const tsr_live_t *live)
{
	if (e->insists != live->number && e->insist_left > 0 && e->ready.count > 0 &&
	    tsr_explorer_choose(e, TSR_CHOICE_INSIST, 2))
		e->insists = live->number;
	return e->insists == live->number;
}

/**
 * A spinner is told of changes of whatever it looks at: each may be what makes
 * it go on, so that its turn depends on all.
 */
void tsr_spin_back(tsr_explorer_t *e, tsr_live_t *live)
{
	int count = 0;

	for (int i = 0; i < TSR_SEEN; i++)
		if (live->seen[i].total)
			live->looked_at[count++] = live->seen[i].object;
	live->turn = *live->pending;
	live->turn.more = live->looked_at;
	live->turn.more_count = count;
	live->pending = &live->turn;
	tsr_waiters_enter(e, live, live->looked_at, count);
	tsr_task_put(e, live->number, TSR_TASK_SPINS);
}
