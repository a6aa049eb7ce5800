/* What threads do: plain accesses of any length, ordered ones, fences, meetings. */
#include "src/base/error.h"
#include "src/caches/cache_machine.h"

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

static tsr_level_t level_of(const tsr_cache_t *c, const tsr_views_access_t *access)
{
	const tsr_views_scope_t scope =
		access->order == TSR_VIEWS_PLAIN ? TSR_VIEWS_THREAD : access->scope;

	if (scope == TSR_VIEWS_SYSTEM)
		return TSR_LEVEL_HOME;
	if (scope != TSR_VIEWS_DEVICE || c->config.mistake == TSR_CACHE_DEVICE_LEVEL_IS_NEAR)
		return TSR_LEVEL_BLOCK;
	return TSR_LEVEL_DEVICE;
}

/* ------------------------------------------------------------------ parts of a place */

/** The part of a place that lies in one line. */
typedef struct part {
	uint64_t key;
	size_t first, bytes, done; /* in the line; in the place, before it */
	tsr_line_mask_t mask;
} part_t;

static int region_of(const part_t *part)
{
	return (int)(part->key >> 40);
}

/** The queue from the thread's rank to the part; null: it is near. */
static tsr_far_queue_t *queue_of(const tsr_cache_t *c, int thread, const part_t *part)
{
	return tsr_cache_queue(c, tsr_cache_device(c, thread), region_of(part));
}

/** The part that begins after `done` bytes. */
static part_t part_of(const tsr_cache_place_t *place, size_t done)
{
	const size_t at = place->offset + done, left = place->bytes - done;
	part_t part = {.key = tsr_cache_key(place->region, at / TSR_LINE_BYTES),
		       .first = at % TSR_LINE_BYTES,
		       .done = done};

	part.bytes = left < TSR_LINE_BYTES - part.first ? left : TSR_LINE_BYTES - part.first;
	part.mask = tsr_line_mask(part.first, part.bytes);
	return part;
}

/**
 * Whoever reads memory of another node asks behind all that its rank has sent
 * there. Question and answer are one step here. So what other threads of the
 * rank send between the two lands before the answer and not after it: that is
 * allowed, and less than may happen.
 */
static void wait_for_answer(tsr_cache_t *c, int thread, int region)
{
	tsr_cache_land(c, tsr_cache_queue(c, tsr_cache_device(c, thread), region));
}

/** Loads a part. What the thread itself has in its store buffer is what it sees. */
static void load_part(tsr_cache_t *c, int thread, const part_t *part, tsr_level_t level,
		      uint8_t line[TSR_LINE_BYTES])
{
	if (c->thread[thread].count &&
	    !(part->mask & ~tsr_cache_forward(c, thread, part->key, line)))
		return;
	const tsr_path_t path = tsr_cache_path(c, c->thread[thread].block, part->key);
	tsr_cache_load_line(&path, level, part->mask, line);
	tsr_cache_forward(c, thread, part->key, line);
}

/* ------------------------------------------------------------------ stores */

/** How far a store gets at once. AHEAD is a mistake: home, before what was sent there earlier. */
typedef enum reach { REACH_HOME, REACH_LEVEL, REACH_NOBODY, REACH_AHEAD } reach_t;

/** Whether a thread may keep back a store to the region: in its buffer, or in its rank's queue. */
static bool can_keep(const tsr_cache_t *c, int thread, int region)
{
	return (c->config.buffered_stores > 0 && c->thread[thread].block >= 0) ||
	       tsr_cache_queue(c, tsr_cache_device(c, thread), region);
}

/** Asks, of those that differ. `keeps`: the store need not be made at once at all. */
static reach_t choose_reach(tsr_cache_t *c, int thread, int region, tsr_level_t level, bool keeps)
{
	const tsr_path_t path =
		tsr_cache_path(c, c->thread[thread].block, tsr_cache_key(region, 0));
	const bool near =
		(level == TSR_LEVEL_BLOCK && path.l1) || (level == TSR_LEVEL_DEVICE && path.l2);
	reach_t reach[3] = {REACH_HOME};
	size_t count = 1;

	if (near)
		reach[count++] = REACH_LEVEL;
	if (keeps && can_keep(c, thread, region))
		reach[count++] = REACH_NOBODY;
	return reach[tsr_cache_choose(c, TSR_CACHE_STORE, count)];
}

/** Keeps bytes back, where they are to be stored or (`adds`) added. */
static void keep_part(tsr_cache_t *c, int thread, const part_t *part, tsr_level_t level, bool adds,
		      const uint8_t line[TSR_LINE_BYTES])
{
	tsr_far_queue_t *queue = queue_of(c, thread, part);

	if (queue) {
		tsr_far_command_t command = {.key = part->key, .mask = part->mask, .adds = adds};
		memcpy(command.bytes + part->first, line + part->first, part->bytes);
		tsr_cache_send(c, queue, &command);
	} else {
		tsr_buffered_store_t buffered = {
			.key = part->key, .mask = part->mask, .level = level};
		memcpy(buffered.bytes + part->first, line + part->first, part->bytes);
		tsr_cache_buffer_store(c, thread, &buffered);
	}
}

/** Stores bytes that lie where they will in their line. */
static void store_part(tsr_cache_t *c, int thread, const part_t *part, tsr_level_t level,
		       reach_t reach, const uint8_t line[TSR_LINE_BYTES])
{
	const int block = c->thread[thread].block;
	const tsr_path_t path = tsr_cache_path(c, block, part->key);

	if (reach == REACH_NOBODY) {
		keep_part(c, thread, part, level, false, line);
		return;
	}
	if (reach != REACH_AHEAD)
		wait_for_answer(c, thread, region_of(part));
	if (c->thread[thread].count)
		tsr_cache_drain_bytes(c, thread, part->key, part->mask);
	tsr_cache_store_line(&path, level, part->mask, line);
	if (reach != REACH_LEVEL) {
		tsr_cache_write_back_l1(&path);
		tsr_cache_write_back_l2(&path);
	}
	if (block == TSR_CACHE_HOST)
		tsr_cache_drop_copies(c, part->key, part->mask);
}

/* ------------------------------------------------------------------ plain accesses */

tsr_status_t tsr_cache_read(tsr_cache_t *c, int thread, const tsr_cache_place_t *place, void *to)
{
	tsr_status_t status = tsr_cache_check(c, thread, place);
	uint8_t line[TSR_LINE_BYTES];

	if (status == TSR_OK)
		wait_for_answer(c, thread, place->region);
	for (size_t done = 0; status == TSR_OK && done < place->bytes;) {
		const part_t part = part_of(place, done);
		load_part(c, thread, &part, TSR_LEVEL_BLOCK, line);
		memcpy((uint8_t *)to + done, line + part.first, part.bytes);
		done += part.bytes;
	}
	return status == TSR_OK ? tsr_cache_status(c) : status;
}

tsr_status_t tsr_cache_write(tsr_cache_t *c, int thread, const tsr_cache_place_t *place,
			     const void *from)
{
	tsr_status_t status = tsr_cache_check(c, thread, place);
	uint8_t line[TSR_LINE_BYTES];

	if (status != TSR_OK || place->bytes == 0)
		return status;
	const reach_t reach = choose_reach(c, thread, place->region, TSR_LEVEL_BLOCK, true);
	for (size_t done = 0; done < place->bytes;) {
		const part_t part = part_of(place, done);
		memcpy(line + part.first, (const uint8_t *)from + done, part.bytes);
		store_part(c, thread, &part, TSR_LEVEL_BLOCK, reach, line);
		done += part.bytes;
	}
	return tsr_cache_status(c);
}

tsr_status_t tsr_cache_copy_bytes(tsr_cache_t *c, int thread, const tsr_cache_place_t *to,
				  const tsr_cache_place_t *from)
{
	tsr_status_t status = tsr_cache_check(c, thread, to);
	uint8_t line[TSR_LINE_BYTES];

	if (status == TSR_OK)
		status = tsr_cache_check(c, thread, from);
	if (status == TSR_OK && to->bytes != from->bytes)
		status = tsr_error(TSR_ERR_ARGUMENT,
				   "a copy from %zu bytes to %zu: give both places as many",
				   from->bytes, to->bytes);
	if (status != TSR_OK || to->bytes == 0)
		return status;
	const reach_t reach = choose_reach(c, thread, to->region, TSR_LEVEL_BLOCK, true);
	for (size_t done = 0; status == TSR_OK && done < to->bytes;) {
		const part_t part = part_of(to, done);
		const tsr_cache_place_t source = {from->region, from->offset + done, part.bytes};
		status = tsr_cache_read(c, thread, &source, line + part.first);
		store_part(c, thread, &part, TSR_LEVEL_BLOCK, reach, line);
		done += part.bytes;
	}
	return status == TSR_OK ? tsr_cache_status(c) : status;
}

/* ------------------------------------------------------------------ ordered accesses */

static void drain_and_release(tsr_cache_t *c, int thread, tsr_level_t level)
{
	if (c->config.mistake != TSR_CACHE_RELEASE_OVERTAKES)
		tsr_cache_drain(c, thread);
	tsr_cache_release(c, c->thread[thread].block, level);
}

/**
 * The release of an access, or of a fence. At system scope it completes all
 * that its rank has sent to other nodes, whoever is signalled. Only what is in
 * the signal's own queue need not have landed: the signal comes behind it.
 */
static void release(tsr_cache_t *c, int thread, const tsr_views_access_t *access,
		    const part_t *part, tsr_level_t level)
{
	const bool wrong = c->config.mistake == TSR_CACHE_FLUSHES_ONE_PEER ||
			   c->config.mistake == TSR_CACHE_SIGNALS_BEFORE_FLUSH;

	drain_and_release(c, thread, level);
	if (level == TSR_LEVEL_HOME && !(wrong && access->kind != TSR_VIEWS_FENCE))
		tsr_cache_flush(c, tsr_cache_device(c, thread),
				part ? queue_of(c, thread, part) : NULL);
}

/** A seq_cst read waits for all that its thread has stored, and at system scope its rank sent. */
static void complete_for_read(tsr_cache_t *c, int thread, tsr_level_t level)
{
	tsr_cache_drain(c, thread);
	if (level == TSR_LEVEL_HOME)
		tsr_cache_flush(c, tsr_cache_device(c, thread), NULL);
}

/**
 * What a load has to wait for, so that it is known to see others' stores: its
 * own to the same bytes, or all.
 */
static void drain_for_load(tsr_cache_t *c, int thread, tsr_views_order_t order, tsr_level_t level,
			   const part_t *part)
{
	if (order == TSR_VIEWS_SEQ_CST && c->config.mistake != TSR_CACHE_SEQ_CST_OVERTAKES)
		complete_for_read(c, thread, level);
	else if (acquires(order))
		tsr_cache_drain_bytes(c, thread, part->key, part->mask);
}

static uint64_t number_at(const uint8_t *bytes, size_t count)
{
	uint64_t value = 0;

	while (count-- > 0)
		value = value << 8 | bytes[count];
	return value;
}

static void put_number(uint8_t *bytes, size_t count, uint64_t value)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t load(tsr_cache_t *c, int thread, const part_t *part, tsr_views_order_t order,
		     tsr_level_t level)
{
	uint8_t line[TSR_LINE_BYTES];

	drain_for_load(c, thread, order, level, part);
	load_part(c, thread, part, level, line);
	return number_at(line + part->first, part->bytes);
}

/** Mistakes: a signal comes before what it announces, an answer before what was asked first. */
static bool gets_ahead(const tsr_cache_t *c, const tsr_views_access_t *access)
{
	return (c->config.mistake == TSR_CACHE_SIGNALS_BEFORE_FLUSH && releases(access->order)) ||
	       (c->config.mistake == TSR_CACHE_ANSWERS_EARLY && access->kind == TSR_VIEWS_UPDATE);
}

static void store(tsr_cache_t *c, int thread, const part_t *part, const tsr_views_access_t *access,
		  tsr_level_t level, uint64_t value)
{
	const bool keeps = access->kind == TSR_VIEWS_STORE;
	const reach_t reach = gets_ahead(c, access)
				      ? REACH_AHEAD
				      : choose_reach(c, thread, region_of(part), level, keeps);
	uint8_t line[TSR_LINE_BYTES];

	put_number(line + part->first, part->bytes, value);
	store_part(c, thread, part, level, reach, line);
}

static void update(tsr_cache_t *c, int thread, const part_t *part, const tsr_views_access_t *access,
		   tsr_level_t level, tsr_cache_event_t *event)
{
	const tsr_level_t at =
		c->config.mistake == TSR_CACHE_UPDATE_STAYS_NEAR ? TSR_LEVEL_BLOCK : level;
	uint64_t value;

	if (!gets_ahead(c, access))
		wait_for_answer(c, thread, region_of(part));
	tsr_cache_drain_bytes(c, thread, part->key, part->mask);
	event->value = load(c, thread, part, TSR_VIEWS_RELAXED, at);
	event->wrote = access->update(access->context, event->value, &value);
	const tsr_views_order_t order = event->wrote ? access->order : access->failure;
	if (event->wrote && releases(order))
		release(c, thread, access, part, level);
	else if (order == TSR_VIEWS_SEQ_CST)
		complete_for_read(c, thread, level);
	if (event->wrote)
		store(c, thread, part, access, at, value);
	if (acquires(order))
		tsr_cache_acquire(c, c->thread[thread].block, level);
}

/**
 * An addition of which nobody asks what it read may be under way to another
 * node. False: it is not. What it is said to have read is the newest value.
 */
static bool add_late(tsr_cache_t *c, int thread, const part_t *part,
		     const tsr_views_access_t *access, tsr_level_t level, tsr_cache_event_t *event)
{
	const tsr_cache_place_t place = {
		region_of(part), tsr_cache_first_byte(part->key) + part->first, part->bytes};
	uint8_t line[TSR_LINE_BYTES];

	if (!access->adds || acquires(access->order) || gets_ahead(c, access) ||
	    !queue_of(c, thread, part) ||
	    choose_reach(c, thread, region_of(part), level, true) == REACH_HOME)
		return false;
	(void)tsr_cache_newest(c, &place, &event->value); /* the place was checked */
	event->wrote = true;
	if (releases(access->order))
		release(c, thread, access, part, level);
	put_number(line + part->first, part->bytes, access->value);
	keep_part(c, thread, part, level, true, line);
	return true;
}

static void act(tsr_cache_t *c, int thread, const tsr_views_access_t *access, const part_t *part,
		tsr_cache_event_t *event)
{
	const tsr_level_t level = level_of(c, access);

	switch (access->kind) {
	case TSR_VIEWS_LOAD:
		wait_for_answer(c, thread, region_of(part));
		event->value = load(c, thread, part, access->order, level);
		break;
	case TSR_VIEWS_STORE:
		if (releases(access->order))
			release(c, thread, access, part, level);
		store(c, thread, part, access, level, access->value);
		event->wrote = true;
		return;
	case TSR_VIEWS_UPDATE:
		if (!add_late(c, thread, part, access, level, event))
			update(c, thread, part, access, level, event);
		return;
	case TSR_VIEWS_FENCE:
		if (releases(access->order))
			release(c, thread, access, NULL, level);
		break;
	}
	if (acquires(access->order))
		tsr_cache_acquire(c, c->thread[thread].block, level);
}

tsr_status_t tsr_cache_act(tsr_cache_t *c, int thread, const tsr_views_access_t *access,
			   const tsr_cache_place_t *place, tsr_cache_event_t *event_out)
{
	const bool fence = access->kind == TSR_VIEWS_FENCE;
	tsr_cache_event_t event = {0};
	tsr_status_t status = tsr_cache_check(c, thread, fence ? NULL : place);

	if (status != TSR_OK)
		return status;
	if (!fence && ((place->bytes != 2 && place->bytes != 4 && place->bytes != 8) ||
		       place->offset % place->bytes))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "an ordered access of %zu bytes at offset %zu: it has 2, 4 or 8 "
				 "that are aligned",
				 place->bytes, place->offset);
	const part_t part = fence ? (part_t){.key = 0} : part_of(place, 0);
	act(c, thread, access, &part, &event);
	*event_out = event;
	return tsr_cache_status(c);
}

tsr_status_t tsr_cache_meet(tsr_cache_t *c, int thread)
{
	tsr_status_t status = tsr_cache_check(c, thread, NULL);

	if (status != TSR_OK)
		return status;
	tsr_cache_drain(c, thread);
	return tsr_cache_status(c);
}

tsr_status_t tsr_cache_met(tsr_cache_t *c, int thread)
{
	tsr_status_t status = tsr_cache_check(c, thread, NULL);

	if (status != TSR_OK)
		return status;
	tsr_cache_drain_shared(c, thread);
	return tsr_cache_status(c);
}

tsr_status_t tsr_cache_hand_over(tsr_cache_t *c, int from, int to)
{
	tsr_status_t status = tsr_cache_check(c, from, NULL);

	if (status == TSR_OK)
		status = tsr_cache_check(c, to, NULL);
	if (status != TSR_OK)
		return status;
	drain_and_release(c, from, TSR_LEVEL_HOME);
	tsr_cache_flush(c, tsr_cache_device(c, from), NULL);
	tsr_cache_acquire(c, c->thread[to].block, TSR_LEVEL_HOME);
	return tsr_cache_status(c);
}

/* ------------------------------------------------------------------ questions */

tsr_status_t tsr_cache_peek(const tsr_cache_t *c, int thread, const tsr_cache_place_t *place,
			    uint64_t *value_out)
{
	tsr_status_t status = tsr_cache_check(c, thread, place);
	uint64_t value = 0;
	uint8_t line[TSR_LINE_BYTES];

	if (status == TSR_OK && place->bytes > sizeof value)
		status = tsr_error(TSR_ERR_ARGUMENT,
				   "%zu bytes to be told as one number: at most 8 fit",
				   place->bytes);
	for (size_t done = 0; status == TSR_OK && done < place->bytes;) {
		const part_t part = part_of(place, done);
		const tsr_path_t path = tsr_cache_path((tsr_cache_t *)(uintptr_t)c,
						       c->thread[thread].block, part.key);
		tsr_cache_peek_line(&path, line);
		tsr_cache_apply_queue(queue_of(c, thread, &part), part.key, line);
		tsr_cache_forward(c, thread, part.key, line);
		value |= number_at(line + part.first, part.bytes) << 8 * done;
		done += part.bytes;
	}
	if (status == TSR_OK)
		*value_out = value;
	return status;
}
