/*
 * Load buffering: a relaxed load that a later relaxed store of its own thread overtakes, in two threads that so read what the other
 * is about to write. The model allows it and hardware shows it, but fibres act in program order and never do. So the pairs that
 * could close such a circle are looked for in each schedule, and told as a warning.
 *
 * A pair is a relaxed load and a later relaxed store of one fibre to another word, with no fence in between. Two pairs of two
 * fibres close a circle where each loads what the other stores, unless one of the loads happens before the store that it would read
 * from: an acquire and a release somewhere between them. Whether a store depends on the load's value cannot be seen from here;
 * hardware keeps that order. Circles of three and more fibres are not looked for.
 */
#include "src/explore/inside.h"

#include <stdlib.h>

enum { MOST_PAIRS = 4096 }; /* of a schedule: more are not compared */

void tsr_buffering_cut(tsr_exploration_t *x)
{
	tsr_actor(x)->load_count = 0;
}

static bool make_room(tsr_exploration_t *x)
{
	if (x->pair_count < x->pair_room)
		return true;
	const int room = x->pair_room ? 2 * x->pair_room : 64;
	tsr_load_store_t *pairs = room <= MOST_PAIRS ? realloc(x->pairs, (size_t)room * sizeof *pairs) : NULL;
	if (!pairs)
		return false;
	x->pairs = pairs;
	x->pair_room = room;
	return true;
}

static void warn(tsr_exploration_t *x, const tsr_load_store_t *mine, const tsr_load_store_t *other)
{
	tsr_finding_t finding = {.class = TSR_FINDING_LOAD_BUFFERING, .accesses = 4};
	const uint32_t operations[] = {mine->load, mine->store, other->load, other->store};
	for (int i = 0; i < 4; i++) {
		const tsr_operation_t *operation = &x->operations[operations[i]];
		tsr_operation_tell(x, operations[i], operation->area, operation->offset, operation->bytes, &finding.access[i]);
	}
	tsr_exploration_found(x, &finding);
}

/** The caller is about to go on from its store. What it knows now it knew at the store, which has released nothing. */
static void compare(tsr_exploration_t *x, const tsr_load_store_t *mine)
{
	for (int i = 0; i < x->pair_count; i++) {
		const tsr_load_store_t *other = &x->pairs[i];
		if (other->thread != mine->thread && other->loaded == mine->stored && other->stored == mine->loaded &&
		    !tsr_views_knows(x->views, mine->thread, other->thread, other->epoch))
			warn(x, mine, other);
	}
}

static void add_pairs(tsr_exploration_t *x, const tsr_actor_t *actor, uint32_t store, uint64_t stored)
{
	const uint32_t first = actor->load_count > TSR_RECENT_LOADS ? actor->load_count - TSR_RECENT_LOADS : 0;
	for (uint32_t i = first; i < actor->load_count; i++) {
		const tsr_recent_load_t *load = &actor->loads[i % TSR_RECENT_LOADS];
		const tsr_load_store_t pair = {load->object, stored, load->operation, store, actor->thread, load->epoch};
		if (load->object == stored || !make_room(x))
			continue;
		compare(x, &pair);
		x->pairs[x->pair_count++] = pair;
	}
}

void tsr_buffering_note(tsr_exploration_t *x, uint32_t operation, const tsr_views_access_t *access, bool wrote, uint64_t object)
{
	tsr_actor_t *actor = tsr_actor(x);
	const tsr_views_order_t order = access->order;
	const bool reads = access->kind != TSR_VIEWS_STORE && (order == TSR_VIEWS_RELAXED || order == TSR_VIEWS_RELEASE);
	if (wrote && (order == TSR_VIEWS_RELAXED || order == TSR_VIEWS_ACQUIRE))
		add_pairs(x, actor, operation, object);
	if (reads)
		actor->loads[actor->load_count++ % TSR_RECENT_LOADS] =
			(tsr_recent_load_t){object, operation, tsr_views_epoch(x->views, actor->thread)};
}
