/*
 * Load buffering: a load that a later store of its own thread overtakes, in two
 * or more threads that so read, in a circle, what the one before is about to
 * write. The model allows it and hardware shows it, but fibres act in program
 * order and never do. So the pairs that could close such a circle are looked
 * for in each schedule, and told as a warning.
 *
 * A pair is a load and a later store of one fibre to another word. Two pairs of
 * two fibres close a circle where each loads what the other stores, unless
 *   one of the loads, if it read that store, would synchronise with it: the
 *   store releases, or a fence between its pair's load and it; the load
 *   acquires, or a fence between it and its pair's store; each in a scope that
 *   holds the other fibre. Then the load of the one happens before the store of
 *   the other that it is to have read. A release without an acquire does not
 *   help: the model orders nothing by it;
 *   or one of the loads does happen before that store, by whatever else the
 *   fibres do;
 *   or one of the loads is a compare-and-swap that would then have succeeded
 *   where it has failed, or failed: the fibre's later store hangs on that;
 *   or all of the loads ended waits (tsr_take_marked, a relaxed tsr_wait_word):
 *   what the fibres do later hangs on them. Litmus: LB.marked.diffGPU-ss. Of
 *   other control dependencies nothing can be seen from here;
 *   or all four are updates: what a counter returns is seldom looked at, and
 *   all that it is added to is in it in any order. In circles of three and
 * four it takes all of these but one: an edge that synchronises orders what is
 * on its way, and the circle is closed by happens-before alone only where one
 * edge is left. Nor does a circle count whose other edges lead from updates to
 * ADDs that discard what they found: ranks that signal each other and wait for the
 * sum, round after round, make such a circle, of counters alone.
 *
 * Of the ways from a pair as many are looked at as MOST_LOOKS says, those of the
 * latest pairs first; longer circles are not looked for.
 * Whether a store depends on the value of the load cannot be seen from here;
 * model and hardware keep that order. Of equal pairs of a fibre the last is
 * kept, as the others are less likely to know of it.
 *
 * A pair inside calls that the library makes of others (tsr_all_gather) is
 * none: a program cannot change it. That such a call bears it is for the
 * library's own tests: tsr_gather_target says why its load may be overtaken.
 *
 * An update counts as a load, unless all are updates, even if it discards what it
 * found, as a signal that ADDs does: what it was added to decides whose releases
 * the sum hands on, and a race may depend on that.
 */
#include "src/explore/exploration_state.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PAIRS = 4096, MOST_CLOCKS = 1 << 18 }; /* with more, all are forgotten */
enum { MOST_LOOKS = 64 };                          /* at pairs that may follow, for each new one */

void tsr_buffering_free(tsr_buffering_t *b)
{
	free(b->pairs);
	free(b->clocks);
}

static void forget(tsr_buffering_t *b)
{
	b->pair_count = 0;
	b->clock_count = 0;
	b->weak = false;
	memset(b->bucket, 0, sizeof b->bucket);
	memset(b->own, 0, sizeof b->own);
	memset(b->loading, 0, sizeof b->loading);
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
	return order == TSR_VIEWS_ACQUIRE || order == TSR_VIEWS_ACQ_REL ||
	       order == TSR_VIEWS_SEQ_CST;
}

static bool releases(tsr_views_order_t order)
{
	return order == TSR_VIEWS_RELEASE || order == TSR_VIEWS_ACQ_REL ||
	       order == TSR_VIEWS_SEQ_CST;
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
	return a->rank == b->rank &&
	       (scope == TSR_VIEWS_DEVICE || (a->launch == b->launch && a->block == b->block));
}

/**
 * Whether the load of `to` would synchronise with the store of `from` by
 * reading it, so that all of the one pair comes first.
 */
static bool would_synchronise(const tsr_exploration_t *x, const tsr_load_store_t *from,
			      const tsr_load_store_t *to)
{
	const tsr_task_who_t *releaser =
		tsr_explorer_who(x->explorer, x->operations[from->store].task);
	const tsr_task_who_t *acquirer =
		tsr_explorer_who(x->explorer, x->operations[to->load].task);
	return holds(from->reach.releases, releaser, acquirer) &&
	       holds(to->reach.acquires, acquirer, releaser);
}

/**
 * Whether the load of `pair` happened before the store of `later`, by the clock
 * that was kept at the store.
 */
static bool came_first(const tsr_exploration_t *x, const tsr_load_store_t *pair,
		       const tsr_load_store_t *later)
{
	const tsr_views_clock_t clock = {x->buffering.clocks + later->clock, later->clock_count,
					 tsr_views_component(x->views, later->thread)};
	return tsr_views_clock_knows(&clock, tsr_views_component(x->views, pair->thread),
				     pair->epoch);
}

/* ------------------------------------------------------------------ pairs */

/**
 * An order of the operations of a circle that is the same in every schedule: by
 * line, then by rank.
 */
static int compare_places(const tsr_exploration_t *x, uint32_t a, uint32_t b)
{
	const tsr_operation_t *first = &x->operations[a], *second = &x->operations[b];
	if (first->site.line != second->site.line)
		return first->site.line - second->site.line;
	return tsr_explorer_who(x->explorer, first->task)->rank -
	       tsr_explorer_who(x->explorer, second->task)->rank;
}

/**
 * Pairs of different threads, each of which loads what the one before it
 * stores, and the first what the last does.
 */
typedef struct circle {
	tsr_exploration_t *x;
	const tsr_load_store_t *pair[TSR_MOST_CIRCLE];
	int count, looks;
} circle_t;

static void warn(const circle_t *c)
{
	tsr_exploration_t *x = c->x;
	tsr_finding_t finding = {.class = TSR_FINDING_LOAD_BUFFERING, .accesses = 2 * c->count};
	int first = 0;
	for (int i = 1; i < c->count; i++)
		if (compare_places(x, c->pair[i]->load, c->pair[first]->load) < 0)
			first = i;
	for (int i = 0; i < 2 * c->count; i++) {
		const tsr_load_store_t *pair = c->pair[(first + i / 2) % c->count];
		const uint32_t number = i % 2 ? pair->store : pair->load;
		const tsr_operation_t *operation = &x->operations[number];
		tsr_operation_tell(x, number, operation->area, operation->offset, operation->bytes,
				   &finding.access[i]);
		/* it only loads, in the order that it has for that */
		if (i % 2 == 0 && pair->readable.but) {
			finding.access[i].kind = TSR_FINDING_READ;
			finding.access[i].order = pair->reach.acquires > TSR_VIEWS_THREAD
							  ? TSR_VIEWS_ACQUIRE
							  : TSR_VIEWS_RELAXED;
		}
	}
	tsr_exploration_found(x, &finding);
}

/** Whether the load of `to`, as it went, can have read what `from` has stored. */
static bool could_read(const tsr_load_store_t *to, const tsr_load_store_t *from)
{
	const tsr_readable_t *readable = &to->readable;
	if (from->values || to->values)
		return true;
	return !(readable->only && from->value != readable->value) &&
	       !(readable->but && from->value == readable->value);
}

static bool all_update(const circle_t *c)
{
	for (int i = 0; i < c->count; i++)
		if (c->x->operations[c->pair[i]->load].kind != TSR_FINDING_UPDATE ||
		    c->x->operations[c->pair[i]->store].kind != TSR_FINDING_UPDATE)
			return false;
	return true;
}

/**
 * Whether each edge synchronises, or leads from an update to an ADD that discards
 * what it found. The order of such ADDs shows in no result but that of a wait.
 */
static bool are_counts(const circle_t *c)
{
	for (int i = 0; i < c->count; i++) {
		const tsr_load_store_t *from = c->pair[i], *to = c->pair[(i + 1) % c->count];
		const bool counts =
			to->unread && c->x->operations[from->store].kind == TSR_FINDING_UPDATE;
		if (!counts && !would_synchronise(c->x, from, to))
			return false;
	}
	return true;
}

static bool all_awaited(const circle_t *c)
{
	for (int i = 0; i < c->count; i++)
		if (!c->pair[i]->awaited)
			return false;
	return true;
}

/**
 * Goes from loads to the stores that they come before, as bits: by what
 * synchronises if the circle closes. True: it was new.
 */
static bool hand_on(unsigned before[TSR_MOST_CIRCLE], int count, int from, int to)
{
	bool more = false;
	for (int i = 0; i < count; i++) {
		more |= before[i] >> from & 1u && before[to] & ~before[i];
		before[i] |= before[i] >> from & 1u ? before[to] : 0;
	}
	return more;
}

/** Whether nothing forbids the circle: no load happens before the store that it reads. */
static bool is_open(const circle_t *c)
{
	/* of each pair's load, the pairs whose stores it comes before */
	unsigned before[TSR_MOST_CIRCLE] = {0};
	bool more = true, open = !all_update(c) && !all_awaited(c) && !are_counts(c);
	for (int i = 0; i < c->count; i++)
		for (int j = 0; j < c->count; j++)
			before[i] |= (unsigned)(i == j || came_first(c->x, c->pair[i], c->pair[j]))
				     << j;
	while (more) {
		more = false;
		for (int i = 0; i < c->count; i++)
			if (would_synchronise(c->x, c->pair[i], c->pair[(i + 1) % c->count]))
				more |= hand_on(before, c->count, i, (i + 1) % c->count);
	}
	for (int i = 0; i < c->count; i++)
		open = open && !(before[(i + 1) % c->count] >> i & 1u) &&
		       could_read(c->pair[(i + 1) % c->count], c->pair[i]);
	return open;
}

/* ------------------------------------------------------------------ circles of two */

static uint64_t hash(uint64_t loaded, uint64_t stored, int thread)
{
	const uint64_t one = (loaded + (uint64_t)thread) * UINT64_C(0x9e3779b97f4a7c15);
	return (one ^ one >> 32 ^ stored) * UINT64_C(0xc2b2ae3d27d4eb4f) >> 52 &
	       (TSR_CIRCLE_BUCKETS - 1);
}

/** The bucket of the pairs of all threads that load the one and store the other. */
static int *bucket_of(tsr_buffering_t *b, uint64_t loaded, uint64_t stored)
{
	return &b->bucket[hash(loaded, stored, 0)];
}

/** The bucket of a pair and of those that it takes the place of. */
static int *own_of(tsr_buffering_t *b, const tsr_load_store_t *pair)
{
	return &b->own[hash(pair->loaded, pair->stored, pair->thread)];
}

static void look_across(tsr_exploration_t *x, const tsr_load_store_t *mine)
{
	tsr_buffering_t *b = &x->buffering;
	circle_t c = {.x = x, .pair = {mine}, .count = 2};
	for (int i = *bucket_of(b, mine->stored, mine->loaded) - 1; i >= 0; i = b->pairs[i].next) {
		c.pair[1] = &b->pairs[i];
		if (c.pair[1]->thread != mine->thread && c.pair[1]->loaded == mine->stored &&
		    c.pair[1]->stored == mine->loaded && is_open(&c))
			warn(&c);
	}
}

/* ------------------------------------------------------------------ circles of three and more */

/** The bucket of the pairs that load it. */
static int *loading_of(tsr_buffering_t *b, uint64_t object)
{
	return &b->loading[object * UINT64_C(0x9e3779b97f4a7c15) >> 56 & (TSR_PAIR_BUCKETS - 1)];
}

/**
 * One that synchronises with nothing at some end. Where there is none, all
 * edges between pairs do.
 */
static bool is_weak(const tsr_load_store_t *pair)
{
	return pair->reach.acquires < TSR_VIEWS_SYSTEM || pair->reach.releases < TSR_VIEWS_SYSTEM;
}

static bool may_follow(const circle_t *c, const tsr_load_store_t *next)
{
	const tsr_load_store_t *last = c->pair[c->count - 1];
	if (next->loaded != last->stored)
		return false;
	for (int i = 0; i < c->count; i++)
		if (c->pair[i]->thread == next->thread)
			return false;
	return !came_first(c->x, next, last);
}

/** Goes on from the circle's last pair. */
static void look_round(circle_t *c)
{
	const tsr_buffering_t *b = &c->x->buffering;
	const uint64_t stored = c->pair[c->count - 1]->stored, wanted = c->pair[0]->loaded;
	for (int i = *loading_of(&c->x->buffering, stored) - 1; i >= 0 && c->looks < MOST_LOOKS;
	     i = b->pairs[i].next_loading) {
		c->looks++;
		if (!may_follow(c, &b->pairs[i]))
			continue;
		c->pair[c->count++] = &b->pairs[i];
		if (c->count > 2 && b->pairs[i].stored == wanted && is_open(c))
			warn(c);
		if (c->count < TSR_MOST_CIRCLE)
			look_round(c);
		c->count--;
	}
}

static void compare(tsr_exploration_t *x, const tsr_load_store_t *mine)
{
	look_across(x, mine);
	circle_t c = {.x = x, .pair = {mine}, .count = 1};
	if (x->buffering.weak || is_weak(mine))
		look_round(&c);
}

/* ------------------------------------------------------------------ keeping */

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

static void put_in(int *bucket, int *next, int pair)
{
	*next = *bucket - 1;
	*bucket = pair + 1;
}

static bool are_equal(const tsr_readable_t *a, const tsr_readable_t *b)
{
	return a->only == b->only && a->but == b->but && a->value == b->value;
}

/** In the place of an equal one, or of what differs from it in values alone. */
static void replace(tsr_load_store_t *old, const tsr_load_store_t *pair)
{
	const int next = old->next, next_own = old->next_own, next_loading = old->next_loading;
	const bool values = old->values || old->value != pair->value ||
			    !are_equal(&old->readable, &pair->readable);
	*old = *pair;
	old->values = values;
	old->next = next;
	old->next_own = next_own;
	old->next_loading = next_loading;
}

/** Keeps the pair: in the place of an equal one, if there is one. */
static void keep(tsr_buffering_t *b, const tsr_load_store_t *pair)
{
	for (int i = *own_of(b, pair) - 1; i >= 0; i = b->pairs[i].next_own) {
		tsr_load_store_t *old = &b->pairs[i];
		if (old->thread == pair->thread && old->loaded == pair->loaded &&
		    old->stored == pair->stored && old->reach.acquires == pair->reach.acquires &&
		    old->reach.releases == pair->reach.releases && old->unread == pair->unread) {
			replace(old, pair);
			return;
		}
	}
	if (!make_room(b))
		return;
	tsr_load_store_t *kept = &b->pairs[b->pair_count];
	*kept = *pair;
	put_in(bucket_of(b, pair->loaded, pair->stored), &kept->next, b->pair_count);
	put_in(own_of(b, pair), &kept->next_own, b->pair_count);
	put_in(loading_of(b, pair->loaded), &kept->next_loading, b->pair_count);
	b->pair_count++;
	b->weak = b->weak || is_weak(pair);
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
		memcpy(b->clocks + b->clock_count, clock.epoch,
		       (size_t)clock.count * sizeof *clock.epoch);
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
static void add_pairs(tsr_exploration_t *x, uint32_t store, uint64_t stored, uint64_t value,
		      tsr_views_scope_t releases)
{
	const tsr_actor_t *actor = tsr_actor(x);
	tsr_load_store_t pair = {
		.stored = stored, .store = store, .thread = actor->thread, .value = value};
	const bool composed = x->operations[store].site.composed;
	if (actor->load_count == 0 || !keep_clock(x, actor->thread, &pair.clock, &pair.clock_count))
		return;
	for (uint32_t i = first_load(actor); i < actor->load_count; i++) {
		const tsr_recent_load_t *load = &actor->loads[i % TSR_RECENT_LOADS];
		if (load->object == stored ||
		    (composed && x->operations[load->operation].site.composed))
			continue;
		pair.loaded = load->object;
		pair.load = load->operation;
		pair.epoch = load->epoch;
		pair.reach = load->reach;
		pair.readable = load->readable;
		pair.awaited = load->awaited;
		pair.unread = load->unread;
		widen(&pair.reach.releases, true, releases);
		compare(x, &pair);
		keep(&x->buffering, &pair);
	}
}

/**
 * In the place of an equal one, such as the turn before of a loop that polls;
 * else of the oldest.
 */
static void add_load(tsr_actor_t *actor, const tsr_recent_load_t *load)
{
	for (uint32_t i = first_load(actor); i < actor->load_count; i++) {
		tsr_recent_load_t *old = &actor->loads[i % TSR_RECENT_LOADS];
		if (old->object == load->object && old->reach.acquires == load->reach.acquires &&
		    old->reach.releases == load->reach.releases && old->awaited == load->awaited &&
		    old->unread == load->unread &&
		    memcmp(&old->readable, &load->readable, sizeof old->readable) == 0) {
			*old = *load;
			return;
		}
	}
	actor->loads[actor->load_count++ % TSR_RECENT_LOADS] = *load;
}

/**
 * An update that leaves some values alone is a compare-and-swap: with what it
 * expects, and no other, it writes.
 */
static tsr_readable_t readable_by(const tsr_views_access_t *access, bool wrote)
{
	tsr_readable_t readable;
	uint64_t out;
	memset(&readable, 0, sizeof readable); /* they are compared */
	if (access->kind != TSR_VIEWS_UPDATE ||
	    access->update(access->context, access->value + 1, &out))
		return readable;
	readable.only = wrote;
	readable.but = !wrote;
	readable.value = access->value;
	return readable;
}

void tsr_buffering_note(tsr_exploration_t *x, uint32_t operation, const tsr_views_access_t *access,
			bool wrote, uint64_t object, tsr_epoch_t epoch, uint64_t value)
{
	const bool failed = access->kind == TSR_VIEWS_UPDATE && !wrote;
	const tsr_views_order_t order = failed ? access->failure : access->order;
	const tsr_views_scope_t scope = access->scope, none = TSR_VIEWS_THREAD;
	if (wrote)
		add_pairs(x, operation, object,
			  access->kind == TSR_VIEWS_STORE ? access->value : value,
			  releases(order) ? scope : none);
	if (access->kind == TSR_VIEWS_STORE)
		return;
	const tsr_recent_load_t load = {.object = object,
					.operation = operation,
					.epoch = epoch,
					.reach = {acquires(order) ? scope : none, none},
					.readable = readable_by(access, wrote),
					.awaited =
						x->operations[operation].kind == TSR_FINDING_WAIT,
					.unread = access->adds};
	add_load(tsr_actor(x), &load);
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
