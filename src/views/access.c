/* Accesses: which choices one has, and what it does. */
#include "src/views/machine.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"

static bool acquires(tsr_views_order_t order)
{
	return order == TSR_VIEWS_ACQUIRE || order == TSR_VIEWS_ACQ_REL || order == TSR_VIEWS_SEQ_CST;
}

static bool releases(tsr_views_order_t order)
{
	return order == TSR_VIEWS_RELEASE || order == TSR_VIEWS_ACQ_REL || order == TSR_VIEWS_SEQ_CST;
}

static tsr_views_scope_t scope_of(const tsr_views_access_t *access)
{
	return access->order == TSR_VIEWS_PLAIN ? TSR_VIEWS_THREAD : access->scope;
}

/* ------------------------------------------------------------------ choices */

/** The oldest message of a location that a thread may still see, or put a store behind. */
static int oldest(const tsr_views_t *v, int thread, const tsr_location_t *location)
{
	const tsr_epoch_t *view = tsr_views_view(v, thread);
	int floor = 0;

	for (int i = 0; i < location->mark_count; i++) {
		const tsr_mark_t *mark = &location->marks[i];
		if (mark->message > floor && view[mark->component] >= mark->first)
			floor = mark->message;
	}
	return floor;
}

/**
 * The same for a seq_cst access. Seq_cst operations of one scope instance are ordered as they are executed: this one comes after
 * the instance's earlier seq_cst stores, which are all in the instance's own view, and after what its fences have put there.
 */
static int oldest_seq_cst(const tsr_views_t *v, int thread, const tsr_location_t *location, tsr_views_scope_t scope)
{
	const int instance = tsr_views_instance(v, thread, scope);
	int floor = oldest(v, thread, location);

	for (int i = 0; instance >= 0 && i < location->mark_count; i++) {
		const tsr_mark_t *mark = &location->marks[i];
		if (mark->message > floor && tsr_views_view(v, instance)[mark->component] >= mark->first)
			floor = mark->message;
	}
	return floor;
}

/** An update's value, where it writes one after reading `old`. */
static bool written(const tsr_views_access_t *access, uint64_t old, uint64_t *value_out)
{
	if (access->kind == TSR_VIEWS_UPDATE)
		return access->update(access->context, old, value_out);
	*value_out = access->value;
	return access->kind == TSR_VIEWS_STORE;
}

/** Messages that the access may read, or follow as a store, from the newest on: the `choice`-th of them, or their count. */
static int choose(const tsr_views_t *v, int thread, const tsr_views_access_t *access, int choice, int *message_out)
{
	const tsr_location_t *location = &v->location[access->location];
	const int floor = oldest(v, thread, location);
	const int floor_seq_cst = oldest_seq_cst(v, thread, location, scope_of(access));
	int count = 0;

	for (int m = location->message_count - 1; m >= floor; m--) {
		uint64_t value;
		bool writes = written(access, location->messages[m].value, &value);
		bool fails = access->kind == TSR_VIEWS_UPDATE && !writes;
		bool taken = m + 1 < location->message_count && location->messages[m + 1].attached;
		if (writes && taken)
			continue;
		if ((fails ? access->failure : access->order) == TSR_VIEWS_SEQ_CST && m < floor_seq_cst)
			continue;
		if (count++ == choice) {
			*message_out = m;
			break;
		}
	}
	return count;
}

int tsr_views_choices(const tsr_views_t *v, int thread, const tsr_views_access_t *access)
{
	int message;

	return access->kind == TSR_VIEWS_FENCE ? 1 : choose(v, thread, access, -1, &message);
}

/* ------------------------------------------------------------------ marks: who touched what */

static void note_races(const tsr_views_t *v, int thread, const tsr_mark_t *mine, const tsr_location_t *location,
		       tsr_views_event_t *event)
{
	const tsr_epoch_t *clock = tsr_views_clock(v, thread);

	for (int i = 0; i < location->mark_count; i++) {
		const tsr_mark_t *other = &location->marks[i];
		if (other->component >= v->threads || other->component == thread || !(other->write || mine->write) ||
		    clock[other->component] >= other->last)
			continue;
		bool plain = other->plain || mine->plain;
		if (!plain && tsr_views_inclusive(v, thread, mine->scope, other->component, other->scope))
			continue;
		event->races |= plain ? TSR_VIEWS_DATA_RACE : TSR_VIEWS_SCOPE_RACE;
		event->other_thread = other->component;
		event->other_site = other->site;
		event->other_wrote = other->write;
	}
}

static int compare_marks(const tsr_mark_t *a, const tsr_mark_t *b)
{
	if (a->component != b->component)
		return a->component - b->component;
	if (a->message != b->message)
		return a->message - b->message;
	if (a->write != b->write)
		return (int)a->write - (int)b->write;
	if (a->plain != b->plain)
		return (int)a->plain - (int)b->plain;
	return (int)a->scope - (int)b->scope;
}

/** Makes room for one more of an array's elements. */
static bool grown(tsr_views_t *v, void **array, int count, int *room, size_t size)
{
	if (count < *room)
		return true;
	const int wanted = *room ? 2 * *room : 4;
	void *larger = realloc(*array, (size_t)wanted * size);
	if (!larger) {
		v->exhausted = true;
		return false;
	}
	*array = larger;
	*room = wanted;
	return true;
}

static void add_mark(tsr_views_t *v, tsr_location_t *location, const tsr_mark_t *mark)
{
	int at = 0, order = 1;

	while (at < location->mark_count && (order = compare_marks(&location->marks[at], mark)) < 0)
		at++;
	if (at < location->mark_count && order == 0) {
		tsr_mark_t *same = &location->marks[at];
		same->first = same->first < mark->first ? same->first : mark->first;
		if (same->last <= mark->last) {
			same->last = mark->last;
			same->site = mark->site;
		}
		return;
	}
	if (!grown(v, (void **)&location->marks, location->mark_count, &location->mark_room, sizeof *mark))
		return;
	memmove(location->marks + at + 1, location->marks + at, (size_t)(location->mark_count - at) * sizeof *mark);
	location->marks[at] = *mark;
	location->mark_count++;
}

/** Marks of messages from `from` on follow them to where they are now. Those of a message that is gone go to the oldest. */
static void shift_marks(tsr_views_t *v, tsr_location_t *location, int from, int by)
{
	tsr_mark_t *marks = location->marks;
	const int count = location->mark_count;

	for (int i = 0; i < count; i++)
		if (marks[i].message >= from)
			marks[i].message += by;
	location->mark_count = 0;
	for (int i = 0; i < count; i++) { /* the order is as before, but equals may have met */
		tsr_mark_t mark = marks[i];
		if (mark.message < 0)
			mark.message = 0;
		add_mark(v, location, &mark);
	}
}

/* ------------------------------------------------------------------ acting */

static void mark_access(tsr_views_t *v, int thread, const tsr_views_access_t *access, int message, bool write,
			tsr_views_event_t *event)
{
	tsr_location_t *location = &v->location[access->location];
	tsr_mark_t mark = {
		.component = thread,
		.write = write,
		.plain = access->order == TSR_VIEWS_PLAIN,
		.scope = scope_of(access),
		.message = message,
		.site = access->site,
	};

	mark.first = mark.last = tsr_views_clock(v, thread)[thread];
	note_races(v, thread, &mark, location, event);
	add_mark(v, location, &mark);
	const int instance = tsr_views_instance(v, thread, mark.scope);
	if (!write || access->order != TSR_VIEWS_SEQ_CST || instance < 0)
		return;
	mark.component = instance;
	mark.first = mark.last = tsr_views_view(v, instance)[instance];
	add_mark(v, location, &mark);
}

/** Reads a message. Returns whether a release sequence goes on through an update that reads it. */
static bool read_message(tsr_views_t *v, int thread, const tsr_message_t *message, tsr_views_scope_t scope, tsr_views_order_t order)
{
	if (order == TSR_VIEWS_PLAIN || message->plain || message->thread < 0 ||
	    !tsr_views_inclusive(v, message->thread, message->scope, thread, scope))
		return false;
	tsr_views_thread_t *reader = &v->thread[thread];
	reader->pending = tsr_heads_union(v, reader->pending, tsr_heads_hold(message->heads));
	if (acquires(order))
		tsr_heads_join(v, message->heads, thread, scope);
	return true;
}

static void insert_message(tsr_views_t *v, tsr_location_t *location, int at, const tsr_message_t *message)
{
	if (!grown(v, (void **)&location->messages, location->message_count, &location->message_room, sizeof *message))
		return;
	memmove(location->messages + at + 1, location->messages + at, (size_t)(location->message_count - at) * sizeof *message);
	location->messages[at] = *message;
	location->message_count++;
	shift_marks(v, location, at, 1);
}

static void forget_oldest(tsr_views_t *v, tsr_location_t *location)
{
	tsr_heads_drop(location->messages[0].heads);
	location->message_count--;
	memmove(location->messages, location->messages + 1, (size_t)location->message_count * sizeof location->messages[0]);
	shift_marks(v, location, 0, -1);
}

/** Writes behind message `after`; an update's message carries on the heads of what it has read. */
static void write_message(tsr_views_t *v, int thread, const tsr_views_access_t *access, int after, uint64_t value,
			  tsr_heads_t *carried, tsr_views_event_t *event)
{
	tsr_location_t *location = &v->location[access->location];
	tsr_message_t message = {
		.value = value,
		.thread = thread,
		.scope = scope_of(access),
		.plain = access->order == TSR_VIEWS_PLAIN,
		.attached = access->kind == TSR_VIEWS_UPDATE,
	};

	insert_message(v, location, after + 1, &message);
	mark_access(v, thread, access, after + 1, true, event);
	event->wrote = true;
	if (message.plain || v->exhausted) {
		tsr_heads_drop(carried);
		return;
	}
	tsr_heads_t *heads = tsr_heads_union(v, carried, tsr_heads_hold(v->thread[thread].released));
	if (releases(access->order)) {
		heads = tsr_heads_union(v, heads, tsr_heads_of(v, thread, access->scope));
		tsr_views_advance(v, thread);
	}
	location->messages[after + 1].heads = heads;
	if (v->history && location->message_count > v->history)
		forget_oldest(v, location);
}

/** A seq_cst fence: the thread and the scope instance learn from each other what is in view. Clocks stay apart. */
static void meet_instance(tsr_views_t *v, int thread, int instance)
{
	tsr_epoch_t *mine = tsr_views_view(v, thread), *shared = tsr_views_view(v, instance);

	tsr_epochs_join(mine, shared, v->components);
	memcpy(shared, mine, (size_t)v->components * sizeof *mine);
	shared[instance]++;
}

static void act_fence(tsr_views_t *v, int thread, const tsr_views_access_t *access)
{
	tsr_views_thread_t *self = &v->thread[thread];
	const int instance = tsr_views_instance(v, thread, access->scope);
	const bool seq_cst = access->order == TSR_VIEWS_SEQ_CST && instance >= 0;

	if (acquires(access->order))
		tsr_heads_join(v, self->pending, thread, access->scope);
	if (seq_cst)
		meet_instance(v, thread, instance);
	if (releases(access->order))
		self->released = tsr_heads_union(v, self->released, tsr_heads_of(v, thread, access->scope));
	if (releases(access->order) || seq_cst)
		tsr_views_advance(v, thread);
}

tsr_status_t tsr_views_act(tsr_views_t *v, int thread, const tsr_views_access_t *access, int choice, tsr_views_event_t *event_out)
{
	tsr_views_event_t event = {.value = 0};
	uint64_t value;
	int at = 0;

	if (access->kind == TSR_VIEWS_FENCE) {
		act_fence(v, thread, access);
	} else {
		choose(v, thread, access, choice, &at);
		const tsr_message_t seen = v->location[access->location].messages[at];
		const bool writes = written(access, seen.value, &value);
		tsr_heads_t *carried = NULL;
		if (access->kind != TSR_VIEWS_STORE) {
			tsr_views_access_t read = *access;
			read.order = access->kind == TSR_VIEWS_UPDATE && !writes ? access->failure : access->order;
			event.value = seen.value;
			event.initial = seen.thread < 0;
			if (read_message(v, thread, &seen, scope_of(access), read.order))
				carried = tsr_heads_hold(seen.heads);
			if (!writes)
				mark_access(v, thread, &read, at, false, &event);
		}
		if (writes)
			write_message(v, thread, access, at, value, carried, &event);
		else
			tsr_heads_drop(carried);
	}
	*event_out = event;
	return v->exhausted ? tsr_error(TSR_ERR_NO_MEMORY, "no memory for the history of location %d: bound the history",
					access->location)
			    : TSR_OK;
}
