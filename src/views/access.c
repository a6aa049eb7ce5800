/* Accesses: which choices one has, and what it does. */
#include "src/views/machine.h"

#include <string.h>

#include "src/base/error.h"

static bool acquires(tsr_views_order_t order)
{
	return order == TSR_VIEWS_ACQUIRE || order == TSR_VIEWS_ACQ_REL ||
	       order == TSR_VIEWS_SEQ_CST;
}

static bool releases(tsr_views_order_t order)
{
	return order == TSR_VIEWS_RELEASE || order == TSR_VIEWS_ACQ_REL ||
	       order == TSR_VIEWS_SEQ_CST;
}

static tsr_views_scope_t scope_of(const tsr_views_access_t *access)
{
	return access->order == TSR_VIEWS_PLAIN ? TSR_VIEWS_THREAD : access->scope;
}

/**
 * Whether nobody has written it. Of what was written before the location was
 * made, the marks alone say by whom.
 */
static bool is_initial(const tsr_message_t *message)
{
	return message->thread < 0 && !message->plain;
}

/* ------------------------------------------------------------------ choices */

/** The oldest message of a location that a thread may still see, or put a store behind. */
static int oldest(const tsr_views_t *v, int thread, const tsr_location_t *location)
{
	const tsr_views_thread_t *self = &v->thread[thread];
	int floor = 0;

	for (int i = 0; i < location->mark_count && floor < location->message_count - 1; i++) {
		const tsr_mark_t *mark = &location->marks[i];
		if (mark->message > floor && tsr_views_seen(self, mark->component) >= mark->first)
			floor = mark->message;
	}
	return floor;
}

/**
 * The same for a seq_cst access. Seq_cst operations of one scope instance are
 * ordered as they are executed: this one comes after the instance's earlier
 * seq_cst stores, which are all in the instance's own view, and after what its
 * fences have put there.
 */
static int oldest_seq_cst(const tsr_views_t *v, int thread, const tsr_location_t *location,
			  tsr_views_scope_t scope)
{
	const tsr_instance_t *instance = tsr_views_instance(v, thread, scope);
	int floor = oldest(v, thread, location);

	for (int i = 0; instance && i < location->mark_count; i++) {
		const tsr_mark_t *mark = &location->marks[i];
		tsr_epoch_t seen = mark->component == instance->component
					   ? instance->epoch
					   : tsr_vector_at(instance->view, mark->component);
		if (mark->message > floor && seen >= mark->first)
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

/**
 * Messages that the access may read, or follow as a store, from the newest on:
 * the `choice`-th of them, or their count.
 */
static int choose(const tsr_views_t *v, int thread, const tsr_views_access_t *access, int choice,
		  int *message_out)
{
	const tsr_location_t *location = &v->location[access->location];
	const bool seq_cst =
		access->order == TSR_VIEWS_SEQ_CST || access->failure == TSR_VIEWS_SEQ_CST;
	const int newest = location->message_count - 1;
	int floor = 0, floor_seq_cst = 0, count = 0;

	for (int m = newest; m >= floor; m--) {
		/* nothing bounds the newest, and mostly it is the one that is wanted */
		if (m == newest - 1) {
			floor = oldest(v, thread, location);
			floor_seq_cst =
				seq_cst ? oldest_seq_cst(v, thread, location, scope_of(access))
					: floor;
			if (m < floor)
				break;
		}
		uint64_t value;
		bool writes = written(access, location->messages[m].value, &value);
		bool fails = access->kind == TSR_VIEWS_UPDATE && !writes;
		bool taken = m + 1 < location->message_count && location->messages[m + 1].attached;
		if (writes && taken)
			continue;
		if ((fails ? access->failure : access->order) == TSR_VIEWS_SEQ_CST &&
		    m < floor_seq_cst)
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

tsr_status_t tsr_views_peek(const tsr_views_t *v, int thread, const tsr_views_access_t *access,
			    int choice, uint64_t *value_out, bool *initial_out)
{
	int message = 0;

	if (access->kind == TSR_VIEWS_FENCE || choice < 0 ||
	    choose(v, thread, access, choice, &message) <= choice)
		return tsr_error(TSR_ERR_ARGUMENT, "the access cannot act in way %d", choice);
	const tsr_message_t *seen = &v->location[access->location].messages[message];
	*value_out = seen->value;
	*initial_out = is_initial(seen);
	return TSR_OK;
}

bool tsr_views_had(const tsr_views_t *v, int location, int n, uint64_t *value_out,
		   uint32_t *site_out)
{
	const tsr_location_t *at = &v->location[location];

	if (n < 0 || n >= at->message_count || at->messages[n].thread < 0)
		return false;
	*value_out = at->messages[n].value;
	*site_out = at->messages[n].site;
	return true;
}

int tsr_views_messages(const tsr_views_t *v, int location)
{
	return v->location[location].message_count;
}

/* ------------------------------------------------------------------ acting */

static void note_races(const tsr_views_t *v, int thread, const tsr_mark_t *mine,
		       const tsr_location_t *location, tsr_views_event_t *event)
{
	const tsr_views_thread_t *self = &v->thread[thread];

	for (int i = 0; i < location->mark_count; i++) {
		const tsr_mark_t *other = &location->marks[i];
		if (other->thread < 0 || !(other->write || mine->write) ||
		    tsr_views_known(self, other->component) >= other->last)
			continue;
		bool plain = other->plain || mine->plain;
		if (!plain &&
		    tsr_views_inclusive(v, thread, mine->scope, other->thread, other->scope))
			continue;
		event->races |= plain ? TSR_VIEWS_DATA_RACE : TSR_VIEWS_SCOPE_RACE;
		event->other_thread = other->thread;
		event->other_site = other->site;
		event->other_wrote = other->write;
	}
}

static void mark_access(tsr_views_t *v, int thread, const tsr_views_access_t *access, int message,
			bool write, tsr_views_event_t *event)
{
	tsr_location_t *location = &v->location[access->location];
	tsr_views_thread_t *self = &v->thread[thread];
	tsr_mark_t mark = {
		.component = self->component,
		.thread = thread,
		.write = write,
		.plain = access->order == TSR_VIEWS_PLAIN,
		.scope = scope_of(access),
		.message = message,
		.first = self->epoch,
		.last = self->epoch,
		.site = access->site,
	};

	self->used = self->epoch;
	note_races(v, thread, &mark, location, event);
	tsr_marks_add(v, location, &mark);
	if (write && access->order == TSR_VIEWS_SEQ_CST) {
		const tsr_instance_t *instance = tsr_views_make_instance(v, thread, mark.scope);
		if (instance) {
			mark.component = instance->component;
			mark.thread = -1;
			mark.first = mark.last = instance->epoch;
			tsr_marks_add(v, location, &mark);
		}
	}
}

/** Reads a message. Returns whether a release sequence goes on through an update that reads it. */
static bool read_message(tsr_views_t *v, int thread, const tsr_message_t *message,
			 tsr_views_scope_t scope, tsr_views_order_t order)
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

static void insert_message(tsr_views_t *v, tsr_location_t *location, int at,
			   const tsr_message_t *message)
{
	if (!tsr_views_grow(v, (void **)&location->messages, location->message_count,
			    &location->message_room, sizeof *message))
		return;
	const bool last = at == location->message_count;
	memmove(location->messages + at + 1, location->messages + at,
		(size_t)(location->message_count - at) * sizeof *message);
	location->messages[at] = *message;
	location->message_count++;
	if (!last)
		tsr_marks_shift(v, location, at, 1);
}

static void forget_oldest(tsr_views_t *v, tsr_location_t *location)
{
	tsr_heads_drop(location->messages[0].heads);
	location->message_count--;
	memmove(location->messages, location->messages + 1,
		(size_t)location->message_count * sizeof location->messages[0]);
	tsr_marks_shift(v, location, 0, -1);
}

/** Writes behind message `after`; an update's message carries on the heads of what it has read. */
static void write_message(tsr_views_t *v, int thread, const tsr_views_access_t *access, int after,
			  uint64_t value, tsr_heads_t *carried, tsr_views_event_t *event)
{
	tsr_location_t *location = &v->location[access->location];
	tsr_message_t message = {
		.value = value,
		.thread = thread,
		.scope = scope_of(access),
		.site = access->site,
		.plain = access->order == TSR_VIEWS_PLAIN,
		.attached = access->kind == TSR_VIEWS_UPDATE,
	};

	insert_message(v, location, after + 1, &message);
	mark_access(v, thread, access, after + 1, true, event);
	event->wrote = true;
	if (message.plain || v->exhausted) {
		tsr_heads_drop(carried);
	} else {
		tsr_heads_t *heads =
			tsr_heads_union(v, carried, tsr_heads_hold(v->thread[thread].released));
		if (releases(access->order)) {
			heads = tsr_heads_union(v, heads, tsr_heads_of(v, thread, access->scope));
			v->thread[thread].epoch++;
		}
		location->messages[after + 1].heads = heads;
	}
	if (v->history && location->message_count > v->history)
		forget_oldest(v, location);
}

/**
 * A seq_cst fence: the thread and the scope instance learn from each other what
 * is in view. Clocks stay apart.
 */
static void meet_instance(tsr_views_t *v, tsr_views_thread_t *self, tsr_instance_t *shared)
{
	self->view = tsr_vector_join(v, self->view, shared->view, shared->component, shared->epoch);
	tsr_vector_drop(shared->view);
	shared->view =
		tsr_vector_join(v, tsr_vector_hold(self->view), NULL, self->component, self->epoch);
	shared->epoch++;
}

static void act_fence(tsr_views_t *v, int thread, const tsr_views_access_t *access)
{
	tsr_views_thread_t *self = &v->thread[thread];
	tsr_instance_t *instance = access->order == TSR_VIEWS_SEQ_CST
					   ? tsr_views_make_instance(v, thread, access->scope)
					   : NULL;

	if (acquires(access->order))
		tsr_heads_join(v, self->pending, thread, access->scope);
	if (instance)
		meet_instance(v, self, instance);
	if (releases(access->order))
		self->released =
			tsr_heads_union(v, self->released, tsr_heads_of(v, thread, access->scope));
	if (releases(access->order))
		self->epoch++;
}

tsr_status_t tsr_views_act(tsr_views_t *v, int thread, const tsr_views_access_t *access, int choice,
			   tsr_views_event_t *event_out)
{
	tsr_views_event_t event = {.from_thread = -1};
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
			read.order = access->kind == TSR_VIEWS_UPDATE && !writes ? access->failure
										 : access->order;
			event.value = seen.value;
			event.initial = is_initial(&seen);
			event.from_thread = seen.thread;
			event.from_site = seen.site;
			if (read_message(v, thread, &seen, scope_of(access), read.order))
				carried = tsr_heads_hold(seen.heads);
			if (!writes)
				mark_access(v, thread, &read, at, false, &event);
		}
		if (writes)
			write_message(v, thread, access, at, value, carried, &event);
		else
			tsr_heads_drop(carried);
		tsr_marks_prune(v, &v->location[access->location]);
	}
	*event_out = event;
	return v->exhausted
		       ? tsr_error(TSR_ERR_NO_MEMORY,
				   "no memory for the history of location %d: bound the history",
				   access->location)
		       : TSR_OK;
}
