/*
 * Memory whose values are the cache machine's: stale data is really seen, and
 * what is put to a rank on another node is really late. What fibres read comes
 * from the machine alone; the shadow is told of every access, for races, and
 * keeps what was written last in a mirror.
 */
#include "src/explore/memory/memory_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "src/base/compare.h"
#include "src/base/error.h"

/*
 * Small enough that stores pile up and lines make room at the shapes that are
 * checked, large enough that most stay.
 */
enum { BUFFERED_STORES = 8, LINES_L1 = 256, LINES_L2 = 16384, QUEUED_COMMANDS = 256 };

static int choose_for_machine(void *context, tsr_cache_choice_t kind, int n)
{
	const tsr_exploration_t *x = context;
	if (kind == TSR_CACHE_ARRIVAL && x->cached->arrives)
		return 1;
	if (kind == TSR_CACHE_LOAD && x->cached->fresh)
		return 0;
	return tsr_explorer_choose(x->explorer, TSR_CHOICE_CACHE, n);
}

static tsr_status_t no_memory(void)
{
	return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for caches; check fewer ranks");
}

/** Nodes have ranks in blocks, of sizes that differ by one at most. */
static tsr_status_t place_ranks(tsr_exploration_t *x)
{
	const int nodes = x->options.nodes < x->size ? x->options.nodes : x->size;
	if (nodes == 1)
		return TSR_OK;
	x->cached->node = calloc((size_t)x->size, sizeof *x->cached->node);
	if (!x->cached->node)
		return no_memory();
	for (int r = 0; r < x->size; r++)
		x->cached->node[r] = r * nodes / x->size;
	return TSR_OK;
}

int tsr_exploration_node(const tsr_exploration_t *x, int rank)
{
	return x->cached && x->cached->node ? x->cached->node[rank] : 0;
}

static tsr_status_t cached_open(tsr_exploration_t *x)
{
	x->cached = calloc(1, sizeof *x->cached);
	if (!x->cached)
		return no_memory();
	const tsr_status_t status = place_ranks(x);
	if (status != TSR_OK)
		return status;
	const tsr_cache_config_t config = {.devices = x->size,
					   .node = x->cached->node,
					   .queued_commands = QUEUED_COMMANDS,
					   .buffered_stores = BUFFERED_STORES,
					   .lines_l1 = LINES_L1,
					   .lines_l2 = LINES_L2,
					   .choose = choose_for_machine,
					   .context = x};
	return tsr_cache_create(&config, &x->cached->machine);
}

static void cached_close(tsr_exploration_t *x)
{
	if (!x->cached)
		return;
	tsr_cache_destroy(x->cached->machine);
	free(x->cached->node);
	free(x->cached->block);
	free(x->cached->stage);
	free(x->cached);
	x->cached = NULL;
}

/** Of the mirrors as much as was allocated at most: more is never touched. */
static size_t cached_size_bytes(const tsr_exploration_t *x)
{
	return tsr_cache_size_bytes(x->cached->machine) + (size_t)x->heap_bytes;
}

/* ------------------------------------------------------------------ areas */

/** Private, so that each schedule's process has its own; it takes memory as it is touched. */
static tsr_status_t cached_add_area(tsr_exploration_t *x, tsr_area_t *area)
{
	const int home = area->shared ? TSR_CACHE_SHARED : area->rank;
	void *mirror = mmap(NULL, area->bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mirror == MAP_FAILED)
		return tsr_error(
			TSR_ERR_NO_MEMORY,
			"mapping a mirror of %zu bytes failed; set TESSERA_HEAP_SIZE lower",
			area->bytes);
	area->newest = mirror;
	return tsr_cache_add_region(x->cached->machine, home, area->home, area->bytes,
				    &area->cached);
}

static void cached_end_area(tsr_exploration_t *x, tsr_area_t *area)
{
	(void)tsr_cache_end_region(x->cached->machine, area->cached);
	munmap(area->newest, area->bytes);
	area->newest = NULL;
}

/* ------------------------------------------------------------------ plain */

static int thread_of(tsr_exploration_t *x)
{
	return tsr_actor(x)->cached;
}

static tsr_cache_place_t row_of(const tsr_span_t *span, size_t row)
{
	return (tsr_cache_place_t){span->area->cached, span->range.offset + row * span->range.pitch,
				   span->range.bytes};
}

static tsr_status_t read_rows(tsr_exploration_t *x, const tsr_span_t *span, unsigned char *to,
			      size_t to_pitch)
{
	tsr_status_t status = TSR_OK;
	for (size_t row = 0; status == TSR_OK && row < span->range.rows; row++) {
		const tsr_cache_place_t place = row_of(span, row);
		status = tsr_cache_read(x->cached->machine, thread_of(x), &place,
					to + row * to_pitch);
	}
	return status;
}

/** Each row is a store of its own, early or late by itself. */
static tsr_status_t write_rows(tsr_exploration_t *x, const tsr_span_t *span,
			       const unsigned char *from, size_t from_pitch)
{
	tsr_status_t status = TSR_OK;
	for (size_t row = 0; status == TSR_OK && row < span->range.rows; row++) {
		const tsr_cache_place_t place = row_of(span, row);
		status = tsr_cache_write(x->cached->machine, thread_of(x), &place,
					 from + row * from_pitch);
	}
	return status;
}

static tsr_status_t cached_read(tsr_exploration_t *x, uint32_t operation, const tsr_span_t *span,
				void *to, size_t to_pitch, tsr_shadow_found_t *found_out)
{
	tsr_status_t status =
		tsr_shadow_read(x->shadow, operation, &span->range, NULL, 0, found_out);
	return status == TSR_OK ? read_rows(x, span, to, to_pitch) : status;
}

static tsr_status_t cached_write(tsr_exploration_t *x, uint32_t operation, const tsr_span_t *span,
				 const void *from, size_t from_pitch, tsr_shadow_found_t *found_out)
{
	tsr_status_t status =
		tsr_shadow_write(x->shadow, operation, &span->range, from, from_pitch, found_out);
	return status == TSR_OK ? write_rows(x, span, from, from_pitch) : status;
}

static tsr_status_t stage_of(tsr_cached_t *c, size_t bytes)
{
	if (bytes <= c->stage_room)
		return TSR_OK;
	unsigned char *stage = realloc(c->stage, bytes);
	if (!stage)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory to copy %zu bytes by; copy less at a time", bytes);
	c->stage = stage;
	c->stage_room = bytes;
	return TSR_OK;
}

/**
 * What the caller sees of one range is what it writes to the other, old or new:
 * the mirror gets the same.
 */
static tsr_status_t cached_copy(tsr_exploration_t *x, uint32_t operation, const tsr_span_t *from,
				const tsr_span_t *to, tsr_shadow_found_t found_out[2])
{
	const size_t bytes = from->range.bytes;
	tsr_status_t status = stage_of(x->cached, from->range.rows * bytes);
	if (status == TSR_OK)
		status = read_rows(x, from, x->cached->stage, bytes);
	if (status == TSR_OK)
		status = tsr_shadow_copy(x->shadow, operation, &from->range, &to->range,
					 x->cached->stage, bytes, found_out);
	return status == TSR_OK ? write_rows(x, to, x->cached->stage, bytes) : status;
}

/* ------------------------------------------------------------------ ordered */

/** An update: what the machine made of it, for the shadow to do the same. */
typedef struct update {
	const tsr_views_access_t *access;
	bool wrote;
	uint64_t value;
} update_t;

static bool make_update(const void *context, uint64_t old, uint64_t *value_out)
{
	const update_t *update = context;
	return update->access->update(update->access->context, old, value_out);
}

static bool repeat_update(const void *context, uint64_t old, uint64_t *value_out)
{
	const update_t *update = context;
	(void)old;
	*value_out = update->value;
	return update->wrote;
}

/**
 * The newest message that has the value which was seen, so that no order is
 * inferred from one that was not; or else the newest.
 */
static tsr_status_t find_message(tsr_exploration_t *x, const tsr_ordered_t *ordered, uint64_t seen,
				 int *choice_out)
{
	int choices = 0;
	tsr_status_t status = tsr_shadow_choices(x->shadow, ordered->operation, ordered->access,
						 &ordered->word, &choices);
	*choice_out = 0;
	for (int choice = 0;
	     status == TSR_OK && choice < choices && ordered->access->kind != TSR_VIEWS_STORE;
	     choice++) {
		uint64_t value = 0;
		bool initial;
		status = tsr_shadow_peek(x->shadow, ordered->operation, ordered->access,
					 &ordered->word, choice, &value, &initial);
		if (status == TSR_OK && value == seen) {
			*choice_out = choice;
			break;
		}
	}
	return status;
}

static tsr_status_t tell_shadow(tsr_exploration_t *x, const tsr_ordered_t *ordered,
				const tsr_cache_event_t *seen, tsr_views_event_t *event_out)
{
	update_t update = {.access = ordered->access, .wrote = seen->wrote};
	tsr_views_access_t access = *ordered->access;
	const tsr_ordered_t same = {ordered->operation, &access, ordered->area, ordered->word};
	int choice;
	if (access.kind == TSR_VIEWS_UPDATE) {
		if (seen->wrote)
			(void)make_update(&update, seen->value, &update.value);
		access.update = repeat_update;
		access.context = &update;
	}
	tsr_status_t status = find_message(x, &same, seen->value, &choice);
	if (status == TSR_OK)
		status = tsr_shadow_act(x->shadow, same.operation, &access, &same.word, choice,
					event_out);
	if (status == TSR_OK && access.kind != TSR_VIEWS_STORE)
		event_out->value = seen->value;
	return status;
}

static tsr_status_t cached_choose(tsr_exploration_t *x, const tsr_ordered_t *ordered,
				  int *choice_out)
{
	if (ordered)
		*choice_out = 0; /* the machine asks while it acts */
	return tsr_cache_arrivals(x->cached->machine);
}

static tsr_cache_place_t place_of(const tsr_ordered_t *ordered)
{
	return (tsr_cache_place_t){ordered->area->cached, ordered->word.offset,
				   ordered->word.bytes};
}

static tsr_status_t cached_act(tsr_exploration_t *x, const tsr_ordered_t *ordered, int choice,
			       tsr_views_event_t *event_out)
{
	const tsr_cache_place_t place = place_of(ordered);
	tsr_cache_event_t seen = {0};
	(void)choice;
	tsr_status_t status =
		tsr_cache_act(x->cached->machine, thread_of(x), ordered->access, &place, &seen);
	x->cached->fresh = false;
	return status == TSR_OK ? tell_shadow(x, ordered, &seen, event_out) : status;
}

static tsr_status_t cached_fence(tsr_exploration_t *x, const tsr_views_access_t *access)
{
	tsr_cache_event_t nothing;
	return tsr_cache_act(x->cached->machine, thread_of(x), access, NULL, &nothing);
}

static tsr_status_t cached_meet(tsr_exploration_t *x)
{
	return tsr_cache_meet(x->cached->machine, thread_of(x));
}

static tsr_status_t cached_met(tsr_exploration_t *x)
{
	return tsr_cache_met(x->cached->machine, thread_of(x));
}

/** Complete is at home, on whatever node that is. */
static tsr_status_t cached_flush(tsr_exploration_t *x)
{
	return cached_fence(x, &(tsr_views_access_t){.kind = TSR_VIEWS_FENCE,
						     .order = TSR_VIEWS_RELEASE,
						     .scope = TSR_VIEWS_SYSTEM});
}

/* ------------------------------------------------------------------ waits */

/** What the one who waits would see now. */
static uint64_t seen_now(const tsr_exploration_t *x, const tsr_ordered_t *ordered)
{
	const tsr_cache_place_t place = place_of(ordered);
	const int thread = x->actors[x->operations[ordered->operation].task].cached;
	uint64_t value = 0;
	(void)tsr_cache_peek(x->cached->machine, thread, &place, &value);
	return value;
}

/** A wait can go on where what is late would do: it arrives some time, and that may be now. */
static int cached_satisfying(tsr_exploration_t *x, const tsr_ordered_t *ordered,
			     const tsr_flag_wait_t *wait, int n, int *count_out)
{
	const tsr_cache_place_t place = place_of(ordered);
	uint64_t newest = 0;
	bool enough = tsr_flag_holds(wait, seen_now(x, ordered));
	if (!enough && tsr_cache_newest(x->cached->machine, &place, &newest) == TSR_OK)
		enough = tsr_flag_holds(wait, newest);
	if (enough && n == 0)
		return 0;
	*count_out = enough;
	return -1;
}

/**
 * What is late arrives, one thing after the other, until the wait sees enough:
 * what it waits for may come before other things.
 */
static tsr_status_t cached_arrive(tsr_exploration_t *x, const tsr_ordered_t *ordered,
				  const tsr_flag_wait_t *wait, bool *enough_out)
{
	tsr_cached_t *c = x->cached;
	tsr_status_t status = TSR_OK;
	c->arrives = true;
	while (status == TSR_OK && !tsr_flag_holds(wait, seen_now(x, ordered)) &&
	       tsr_cache_late(c->machine) > 0)
		status = tsr_cache_arrivals(c->machine);
	c->arrives = false;
	*enough_out = c->fresh = tsr_flag_holds(wait, seen_now(x, ordered));
	return status;
}

/** Loops that poll, and waits for what two have stored: given time, all arrives. */
static bool cached_late(void *context)
{
	const tsr_exploration_t *x = context;
	return tsr_cache_late(x->cached->machine) > 0 &&
	       tsr_cache_settle(x->cached->machine) == TSR_OK;
}

const tsr_memory_mode_t tsr_memory_cache = {
	.open = cached_open,
	.close = cached_close,
	.size_bytes = cached_size_bytes,
	.add_area = cached_add_area,
	.end_area = cached_end_area,
	.begin = tsr_cached_begin,
	.end = tsr_cached_end,
	.read = cached_read,
	.write = cached_write,
	.copy = cached_copy,
	.choose = cached_choose,
	.act = cached_act,
	.fence = cached_fence,
	.meet = cached_meet,
	.met = cached_met,
	.flush = cached_flush,
	.satisfying = cached_satisfying,
	.arrive = cached_arrive,
	.late = cached_late,
};
