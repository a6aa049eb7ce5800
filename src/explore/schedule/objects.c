/*
 * Objects: who waits for them, and the order of what was done to them, of which
 * the digest of a run is made.
 */
#include <stdlib.h>

#include "src/explore/schedule/explorer_state.h"

/* ------------------------------------------------------------------ the table */

static tsr_object_t **slot_of(const tsr_objects_t *objects, uint64_t number)
{
	size_t i = (size_t)tsr_spread(number) & (objects->slots - 1);
	while (objects->slot[i] && objects->slot[i]->number != number)
		i = (i + 1) & (objects->slots - 1);
	return &objects->slot[i];
}

static bool grow(tsr_objects_t *objects)
{
	tsr_objects_t more = {.slots = objects->slots ? 2 * objects->slots : 256,
			      .count = objects->count};
	more.slot = calloc(more.slots, sizeof *more.slot);
	if (!more.slot)
		return false;
	for (size_t i = 0; i < objects->slots; i++)
		if (objects->slot[i])
			*slot_of(&more, objects->slot[i]->number) = objects->slot[i];
	free(objects->slot);
	*objects = more;
	return true;
}

tsr_object_t *tsr_object_of(tsr_explorer_t *e, uint64_t number)
{
	tsr_objects_t *objects = &e->objects;
	if (2 * objects->count >= objects->slots && !grow(objects)) {
		e->failed = true;
		return NULL;
	}
	tsr_object_t **slot = slot_of(objects, number);
	if (!*slot) {
		*slot = calloc(1, sizeof **slot);
		if (!*slot) {
			e->failed = true;
			return NULL;
		}
		(*slot)->number = number;
		objects->count++;
	}
	return *slot;
}

/* ------------------------------------------------------------------ who waits */

void tsr_waiters_leave(tsr_live_t *live)
{
	for (int i = 0; i < live->waiters; i++) {
		tsr_waiter_t *waiter = &live->waiter[i];
		*waiter->link = waiter->next;
		if (waiter->next)
			waiter->next->link = waiter->link;
	}
	live->waiters = 0;
}

void tsr_waiters_enter(tsr_explorer_t *e, tsr_live_t *live, const uint64_t *objects, int count)
{
	tsr_waiters_leave(live);
	if (count > live->waiter_room) {
		tsr_waiter_t *more = realloc(live->waiter, (size_t)count * sizeof *more);
		if (!more) {
			e->failed = true;
			return;
		}
		live->waiter = more;
		live->waiter_room = count;
	}
	for (int i = 0; i < count; i++) {
		tsr_object_t *object = tsr_object_of(e, objects[i]);
		if (!object)
			return;
		tsr_waiter_t *waiter = &live->waiter[live->waiters++];
		*waiter = (tsr_waiter_t){object->waiters, &object->waiters, live->number};
		if (waiter->next)
			waiter->next->link = &waiter->next;
		object->waiters = waiter;
	}
}

void tsr_object_wake(tsr_explorer_t *e, tsr_object_t *object, bool changed)
{
	for (tsr_waiter_t *waiter = object->waiters; waiter; waiter = waiter->next) {
		const tsr_task_t *task = tsr_task_of(e, waiter->task);
		if (changed || task->state != TSR_TASK_SPINS)
			tsr_task_dirty(e, task->live);
	}
}

/* ------------------------------------------------------------------ the digest */

static void hash(uint64_t out[2], uint64_t a, uint64_t b)
{
	out[0] = tsr_spread(a + UINT64_C(0x9e3779b97f4a7c15) * (b + 1));
	out[1] = tsr_spread((a ^ UINT64_C(0xc2b2ae3d27d4eb4f)) * UINT64_C(0x9e3779b97f4a7c15) +
			    tsr_spread(b));
}

/** Appends to a sequence. */
static void append(uint64_t order[2], const uint64_t item[2])
{
	order[0] = tsr_spread(order[0] * UINT64_C(0x9e3779b97f4a7c15) + item[0]);
	order[1] = tsr_spread(order[1] * UINT64_C(0xc2b2ae3d27d4eb4f) + item[1]);
}

/** Adds to a set that may have an item more than once. */
static void add(uint64_t sum[2], const uint64_t item[2])
{
	sum[0] += item[0];
	sum[1] += item[1];
}

void tsr_digest_step(tsr_explorer_t *e, const tsr_live_t *live, tsr_object_t *object,
		     const tsr_acted_t *acted)
{
	uint64_t item[2];

	(void)e;
	hash(item, (uint64_t)live->number << 3 | (uint64_t)live->last.kind, acted->message);
	if (live->last.kind == TSR_PENDING_MEET) {
		if (acted->wrote) /* who comes last does not wait, and nobody can tell */
			add(object->reads, item);
		return;
	}
	if (!acted->wrote) {
		add(object->reads, item);
		return;
	}
	append(object->order, object->reads);
	append(object->order, item);
	object->reads[0] = object->reads[1] = 0;
}

void tsr_digest_seq_cst(tsr_explorer_t *e, const tsr_live_t *live)
{
	uint64_t item[2];
	hash(item, (uint64_t)live->number << 3 | (uint64_t)live->last.kind, live->last.object);
	append(e->order, item);
}

void tsr_digest_choice(tsr_explorer_t *e, tsr_live_t *live, tsr_choice_t kind, int alternative)
{
	uint64_t item[2];
	/* What caches do changes no object: where it was done is told by how often the task had
	 * been asked. */
	const uint64_t place = kind == TSR_CHOICE_CACHE ? live->asked : live->choices++;
	hash(item, (uint64_t)live->number << 32 | place,
	     (uint64_t)kind << 32 | (uint64_t)alternative);
	add(e->chosen_sum, item);
}

void tsr_explorer_digest(const tsr_explorer_t *e, uint64_t digest_out[2])
{
	uint64_t sum[2] = {0, 0};

	if (e->early) {
		digest_out[0] = e->early->digest[0];
		digest_out[1] = e->early->digest[1];
		return;
	}
	/* a sum: the order in the table does not matter */
	for (size_t i = 0; i < e->objects.slots; i++) {
		const tsr_object_t *object = e->objects.slot[i];
		if (!object ||
		    !(object->order[0] | object->order[1] | object->reads[0] | object->reads[1]))
			continue;
		uint64_t item[2];
		hash(item, object->number, 0);
		append(item, object->order);
		append(item, object->reads);
		add(sum, item);
	}
	append(sum, e->order);
	append(sum, e->chosen_sum);
	digest_out[0] = sum[0];
	digest_out[1] = sum[1];
}

void tsr_explorer_begin(tsr_explorer_t *e)
{
	for (size_t i = 0; i < e->objects.slots; i++)
		if (e->objects.slot[i]) {
			tsr_object_t *object = e->objects.slot[i];
			object->order[0] = object->order[1] = object->reads[0] = object->reads[1] =
				0;
		}
	e->order[0] = e->order[1] = e->chosen_sum[0] = e->chosen_sum[1] = 0;
	e->steps = e->switches = 0;
	e->insists = TSR_NO_TASK;
	e->insist_left = TSR_INSIST_STEPS;
	tsr_explorer_news(e);
}
