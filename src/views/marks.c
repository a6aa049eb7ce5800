/* Marks: who touched what. There are never more of them than somebody can tell apart. */
#include "src/views/machine.h"

#include <string.h>

enum { PRUNE_AT = 32, COMMON_AGE = 64 };

/* ------------------------------------------------------------------ their order */

static int compare_holders(const tsr_mark_t *a, const tsr_mark_t *b)
{
	return a->component != b->component ? a->component - b->component : a->thread - b->thread;
}

static int compare(const tsr_mark_t *a, const tsr_mark_t *b)
{
	if (compare_holders(a, b) != 0)
		return compare_holders(a, b);
	if (a->message != b->message)
		return a->message - b->message;
	if (a->write != b->write)
		return (int)a->write - (int)b->write;
	if (a->plain != b->plain)
		return (int)a->plain - (int)b->plain;
	return (int)a->scope - (int)b->scope;
}

/** The first mark that is not before `mark`. */
static int find(const tsr_location_t *location, const tsr_mark_t *mark,
		int (*order)(const tsr_mark_t *, const tsr_mark_t *))
{
	int low = 0, high = location->mark_count;

	while (low < high) {
		const int middle = (low + high) / 2;
		if (order(&location->marks[middle], mark) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ------------------------------------------------------------------ adding */

static void take_last(tsr_mark_t *into, const tsr_mark_t *from)
{
	if (into->last < from->last ||
	    (into->last == from->last && into->message < from->message)) {
		into->last = from->last;
		into->site = from->site;
	}
}

/**
 * Whether a view that does not come after `from` does not come after `to`
 * either, and the other way round it bounds no less: then `from` says nothing
 * that `to` does not say, its last epoch apart. The oldest message bounds
 * nothing.
 */
static bool says_as_much(const tsr_mark_t *to, const tsr_mark_t *from)
{
	return from->message == 0 || (from->message <= to->message && to->first <= from->first);
}

static void remove_mark(tsr_location_t *location, int at)
{
	location->mark_count--;
	memmove(location->marks + at, location->marks + at + 1,
		(size_t)(location->mark_count - at) * sizeof location->marks[0]);
}

/**
 * Meets a new mark with those of its holder and kind: one of two stays where it
 * says as much. True: the new one is superfluous.
 */
static bool absorb(tsr_location_t *location, tsr_mark_t *mark)
{
	for (int i = find(location, mark, compare_holders);
	     i < location->mark_count && compare_holders(&location->marks[i], mark) == 0;) {
		tsr_mark_t *old = &location->marks[i];
		bool alike = old->write == mark->write && old->plain == mark->plain &&
			     old->scope == mark->scope;
		if (alike && old->message == mark->message) {
			old->first = old->first < mark->first ? old->first : mark->first;
			if (old->last <= mark->last) {
				old->last = mark->last;
				old->site = mark->site;
			}
			return true;
		}
		if (alike && says_as_much(old, mark)) {
			take_last(old, mark);
			return true;
		}
		if (alike && says_as_much(mark, old)) {
			take_last(mark, old);
			remove_mark(location, i);
			continue;
		}
		i++;
	}
	return false;
}

void tsr_marks_add(tsr_views_t *v, tsr_location_t *location, const tsr_mark_t *added)
{
	tsr_mark_t mark = *added;

	if (absorb(location, &mark))
		return;
	if (!tsr_views_grow(v, (void **)&location->marks, location->mark_count,
			    &location->mark_room, sizeof mark))
		return;
	const int at = find(location, &mark, compare);
	memmove(location->marks + at + 1, location->marks + at,
		(size_t)(location->mark_count - at) * sizeof mark);
	location->marks[at] = mark;
	location->mark_count++;
}

void tsr_marks_shift(tsr_views_t *v, tsr_location_t *location, int from, int by)
{
	const int count = location->mark_count;

	location->mark_count = 0;
	/* the order is nearly as before, and none is written before it is read */
	for (int i = 0; i < count; i++) {
		tsr_mark_t mark = location->marks[i];
		if (mark.message >= from)
			mark.message += by;
		if (mark.message < 0)
			mark.message = 0;
		tsr_marks_add(v, location, &mark);
	}
}

/* ------------------------------------------------------------------ pruning */

/** The lesser of both in each component. */
static void meet(tsr_vector_t *common, const tsr_views_thread_t *thread, const tsr_vector_t *clock)
{
	for (int c = 0; c < common->count; c++) {
		tsr_epoch_t epoch = thread ? tsr_views_known(thread, c) : tsr_vector_at(clock, c);
		if (epoch < common->epoch[c])
			common->epoch[c] = epoch;
	}
}

/**
 * A clock that all live threads and tokens have reached, and with them all that
 * will ever be: it only grows, so an older one does.
 * Null: no memory, or nobody lives.
 */
static const tsr_vector_t *common_clock(tsr_views_t *v)
{
	if (v->common && v->common->count >= v->components && v->common_age < COMMON_AGE)
		return v->common;
	tsr_vector_drop(v->common);
	v->common = NULL;
	v->common_age = 0;
	if (v->live_count == 0)
		return NULL;
	v->common = tsr_vector_join(v, NULL, NULL, v->components - 1, 1);
	if (!v->common)
		return NULL;
	memset(v->common->epoch, 0xff, (size_t)v->common->count * sizeof v->common->epoch[0]);
	for (int i = 0; i < v->live_count; i++)
		meet(v->common, &v->thread[v->live[i]], NULL);
	for (const tsr_views_token_t *token = v->tokens; token; token = token->next)
		if (!token->empty)
			meet(v->common, NULL, token->clock);
	return v->common;
}

static void drop_messages(tsr_views_t *v, tsr_location_t *location, int count)
{
	if (count == 0)
		return;
	for (int m = 0; m < count; m++)
		tsr_heads_drop(location->messages[m].heads);
	location->message_count -= count;
	memmove(location->messages, location->messages + count,
		(size_t)location->message_count * sizeof location->messages[0]);
	tsr_marks_shift(v, location, 0, -count);
}

void tsr_marks_prune(tsr_views_t *v, tsr_location_t *location)
{
	const tsr_vector_t *common;
	int floor = 0, kept = 0;

	v->common_age++;
	if (location->prune_at < PRUNE_AT)
		location->prune_at = PRUNE_AT;
	if (location->mark_count < location->prune_at || !(common = common_clock(v)))
		return;
	for (int i = 0; i < location->mark_count; i++) {
		const tsr_mark_t *mark = &location->marks[i];
		if (mark->message > floor && tsr_vector_at(common, mark->component) >= mark->first)
			floor = mark->message;
	}
	drop_messages(v, location, floor);
	for (int i = 0; i < location->mark_count; i++) {
		const tsr_mark_t *mark = &location->marks[i];
		bool races =
			mark->thread >= 0 && tsr_vector_at(common, mark->component) < mark->last;
		if (races || mark->message > 0)
			location->marks[kept++] = *mark;
	}
	location->mark_count = kept;
	location->prune_at = kept + PRUNE_AT;
}
