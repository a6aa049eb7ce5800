/*
 * Load buffering: a load that a later store of its own thread overtakes, in two threads that so read what the other is about to
 * write. The model allows it and hardware shows it, but fibres act in program order and never do. So the pairs that could close
 * such a circle are looked for in each schedule, and told as a warning.
 *
 * A pair is a load and a later store of one fibre to another word. Two pairs of two fibres close a circle where each loads what
 * the other stores, unless
 *   one of the loads, if it read that store, would synchronise with it: the store releases, or a fence between its pair's load and
 *   it; the load acquires, or a fence between it and its pair's store; each in a scope that holds the other fibre. Then the load
 *   of the one happens before the store of the other that it is to have read. A release without an acquire does not help: the
 *   model orders nothing by it;
 *   or one of the loads does happen before that store, by whatever else the fibres do;
 *   or all four are updates: what a counter returns is seldom looked at, and all that it is added to is in it in any order.
 * Whether a store depends on the value of the load cannot be seen from here; model and hardware keep that order. Circles of three
 * and more fibres are not looked for. Of equal pairs of a fibre the last is kept, as the others are less likely to know of it.
 */
#include "src/explore/inside.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PAIRS = 4096, MOST_CLOCKS = 1 << 18 }; /* with more, all are forgotten */

void tsr_buffering_free(tsr_buffering_t *b)
{
	free(b->pairs);
	free(b->clocks);
}

static void forget(tsr_buffering_t *b)
{
	b->pair_count = 0;
	b->clock_count = 0;
	memset(b->bucket, 0, sizeof b->bucket);
}

void tsr_buffering_settle(tsr_exploration_t *x)
{
	forget(&x->buffering);
	for (int task = 0; task < tsr_explorer_tasks(x->explorer); task++)
		x->actors[task].load_count = 0;
}

/* ------------------------------------------------------------------ what synchronises */

static bool acquires(tsr_views_order_t order)
{
	return order == TSR_VIEWS_ACQUIRE || order == TSR_VIEWS_ACQ_REL || order == TSR_VIEWS_SEQ_CST;
}

static bool releases(tsr_views_order_t order)
{
	return order == TSR_VIEWS_RELEASE || order == TSR_VIEWS_ACQ_REL || order == TSR_VIEWS_SEQ_CST;
}

static void widen(tsr_views_scope_t *scope, bool by, tsr_views_scope_t other)
{
	if (by && other > *scope)
		*scope = other;
}

/** Whether the scope, of one of two workers, holds the other. */
static bool holds(tsr_views_scope_t scope, const tsr_task_who_t *a, const tsr_task_who_t *b)
{
	if (scope >= TSR_VIEWS_SYSTEM || scope < TSR_VIEWS_BLOCK)
		return scope >= TSR_VIEWS_SYSTEM;
	return a->rank == b->rank && (scope == TSR_VIEWS_DEVICE || (a->launch == b->launch && a->block == b->block));
}

/** Whether the load of `to` would synchronise with the store of `from` by reading it, so that all of the one pair comes first. */
static bool would_synchronise(const tsr_exploration_t *x, const tsr_load_store_t *from, const tsr_load_store_t *to)
{
	const tsr_task_who_t *releaser = tsr_explorer_who(x->explorer, x->operations[from->store].task);
	const tsr_task_who_t *acquirer = tsr_explorer_who(x->explorer, x->operations[to->load].task);
	return holds(from->reach.releases, releaser, acquirer) && holds(to->reach.acquires, acquirer, releaser);
}

/** Whether the load of `pair` happened before the store of `later`, by the clock that was kept at the store. */
static bool came_first(const tsr_exploration_t *x, const tsr_load_store_t *pair, const tsr_load_store_t *later)
{
	const tsr_views_clock_t clock = {x->buffering.clocks + later->clock, later->clock_count,
					 tsr_views_component(x->views, later->thread)};
	return tsr_views_clock_knows(&clock, tsr_views_component(x->views, pair->thread), pair->epoch);
}

/* ------------------------------------------------------------------ pairs */

/** An order of the operations of a circle that is the same in every schedule: by line, then by rank. */
static int compare_places(const tsr_exploration_t *x, uint32_t a, uint32_t b)
{
	const tsr_operation_t *first = &x->operations[a], *second = &x->operations[b];
	if (first->site.line != second->site.line)
		return first->site.line - second->site.line;
	return tsr_explorer_who(x->explorer, first->task)->rank - tsr_explorer_who(x->explorer, second->task)->rank;
}

static void warn(tsr_exploration_t *x, const tsr_load_store_t *mine, const tsr_load_store_t *other)
{
	if (compare_places(x, mine->load, other->load) > 0) {
		const tsr_load_store_t *later = mine;
		mine = other;
		other = later;
	}
	tsr_finding_t finding = {.class = TSR_FINDING_LOAD_BUFFERING, .accesses = 4};
	const uint32_t operations[] = {mine->load, mine->store, other->load, other->store};
	for (int i = 0; i < 4; i++) {
		const tsr_operation_t *operation = &x->operations[operations[i]];
		tsr_operation_tell(x, operations[i], operation->area, operation->offset, operation->bytes, &finding.access[i]);
	}
	tsr_exploration_found(x, &finding);
}

/** The bucket of a pair and of those that it closes a circle with. */
static int *bucket_of(tsr_buffering_t *b, const tsr_load_store_t *pair)
{
	const uint64_t both = (pair->loaded ^ pair->stored) * UINT64_C(0x9e3779b97f4a7c15);
	return &b->bucket[both >> 56 & (TSR_PAIR_BUCKETS - 1)];
}

static bool all_update(const tsr_exploration_t *x, const tsr_load_store_t *a, const tsr_load_store_t *b)
{
	const uint32_t operations[] = {a->load, a->store, b->load, b->store};
	for (int i = 0; i < 4; i++)
		if (x->operations[operations[i]].kind != TSR_FINDING_UPDATE)
			return false;
	return true;
}

static void compare(tsr_exploration_t *x, const tsr_load_store_t *mine)
{
	tsr_buffering_t *b = &x->buffering;
	for (int i = *bucket_of(b, mine) - 1; i >= 0; i = b->pairs[i].next) {
		const tsr_load_store_t *other = &b->pairs[i];
		if (other->thread != mine->thread && other->loaded == mine->stored && other->stored == mine->loaded &&
		    !would_synchronise(x, mine, other) && !would_synchronise(x, other, mine) && !came_first(x, other, mine) &&
		    !came_first(x, mine, other) && !all_update(x, mine, other))
			warn(x, mine, other);
	}
}

static bool make_room(tsr_buffering_t *b)
{
	if (b->pair_count < b->pair_room)
		return true;
	const int room = b->pair_room ? 2 * b->pair_room : 64;
	tsr_load_store_t *pairs = realloc(b->pairs, (size_t)room * sizeof *pairs);
	if (!pairs)
		return false;
	b->pairs = pairs;
	b->pair_room = room;
	return true;
}

/** Keeps the pair: in the place of an equal one, if there is one. */
static void keep(tsr_buffering_t *b, const tsr_load_store_t *pair)
{
	int *first = bucket_of(b, pair);
	for (int i = *first - 1; i >= 0; i = b->pairs[i].next) {
		tsr_load_store_t *old = &b->pairs[i];
		if (old->thread == pair->thread && old->loaded == pair->loaded && old->stored == pair->stored &&
		    old->reach.acquires == pair->reach.acquires && old->reach.releases == pair->reach.releases) {
			const int next = old->next;
			*old = *pair;
			old->next = next;
			return;
		}
	}
	if (!make_room(b))
		return;
	b->pairs[b->pair_count] = *pair;
	b->pairs[b->pair_count].next = *first - 1;
	*first = ++b->pair_count;
}

/** Keeps what a thread knows now. False: no memory. */
static bool keep_clock(tsr_exploration_t *x, int thread, size_t *clock_out, int *count_out)
{
	tsr_buffering_t *b = &x->buffering;
	const tsr_views_clock_t clock = tsr_views_clock(x->views, thread);
	if (b->pair_count >= MOST_PAIRS || b->clock_count + (size_t)clock.count > MOST_CLOCKS)
		forget(b);
	const size_t wanted = b->clock_count + (size_t)clock.count;
	size_t room = b->clock_room ? b->clock_room : 1024;
	while (room < wanted)
		room *= 2;
	if (room != b->clock_room) {
		tsr_epoch_t *clocks = realloc(b->clocks, room * sizeof *clocks);
		if (!clocks)
			return false;
		b->clocks = clocks;
		b->clock_room = room;
	}
	if (clock.count > 0)
		memcpy(b->clocks + b->clock_count, clock.epoch, (size_t)clock.count * sizeof *clock.epoch);
	*clock_out = b->clock_count;
	*count_out = clock.count;
	b->clock_count = wanted;
	return true;
}

/* ------------------------------------------------------------------ what fibres do */

static uint32_t first_load(const tsr_actor_t *actor)
{
	return actor->load_count > TSR_RECENT_LOADS ? actor->load_count - TSR_RECENT_LOADS : 0;
}

/** The caller has stored, and is about to go on: what it knows now it knew at the store. */
static void add_pairs(tsr_exploration_t *x, uint32_t store, uint64_t stored, tsr_views_scope_t releases)
{
	const tsr_actor_t *actor = tsr_actor(x);
	tsr_load_store_t pair = {.stored = stored, .store = store, .thread = actor->thread};
	if (actor->load_count == 0 || !keep_clock(x, actor->thread, &pair.clock, &pair.clock_count))
		return;
	for (uint32_t i = first_load(actor); i < actor->load_count; i++) {
		const tsr_recent_load_t *load = &actor->loads[i % TSR_RECENT_LOADS];
		if (load->object == stored)
			continue;
		pair.loaded = load->object;
		pair.load = load->operation;
		pair.epoch = load->epoch;
		pair.reach = load->reach;
		widen(&pair.reach.releases, true, releases);
		compare(x, &pair);
		keep(&x->buffering, &pair);
	}
}

/** In the place of an equal one, such as the turn before of a loop that polls; else of the oldest. */
static void add_load(tsr_actor_t *actor, const tsr_recent_load_t *load)
{
	for (uint32_t i = first_load(actor); i < actor->load_count; i++) {
		tsr_recent_load_t *old = &actor->loads[i % TSR_RECENT_LOADS];
		if (old->object == load->object && old->reach.acquires == load->reach.acquires &&
		    old->reach.releases == load->reach.releases) {
			*old = *load;
			return;
		}
	}
	actor->loads[actor->load_count++ % TSR_RECENT_LOADS] = *load;
}

void tsr_buffering_note(tsr_exploration_t *x, uint32_t operation, const tsr_views_access_t *access, bool wrote, uint64_t object,
			tsr_epoch_t epoch)
{
	const bool failed = access->kind == TSR_VIEWS_UPDATE && !wrote;
	const tsr_views_order_t order = failed ? access->failure : access->order;
	const tsr_views_scope_t scope = access->scope, none = TSR_VIEWS_THREAD;
	if (wrote)
		add_pairs(x, operation, object, releases(order) ? scope : none);
	if (access->kind != TSR_VIEWS_STORE)
		add_load(tsr_actor(x), &(tsr_recent_load_t){object, operation, epoch, {acquires(order) ? scope : none, none}});
}

void tsr_buffering_fence(tsr_exploration_t *x, tsr_views_order_t order, tsr_views_scope_t scope)
{
	tsr_actor_t *actor = tsr_actor(x);
	for (uint32_t i = first_load(actor); i < actor->load_count; i++) {
		tsr_reach_t *reach = &actor->loads[i % TSR_RECENT_LOADS].reach;
		widen(&reach->acquires, acquires(order), scope);
		widen(&reach->releases, releases(order), scope);
	}
}
