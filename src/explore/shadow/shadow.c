/* The shadow as a whole: regions, operations, settling. */
#include "src/explore/shadow/shadow_state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "src/base/error.h"

/* records of less are not worth a mapping */
enum { SMALL = 1 << 17, PAGE = SHADOW_CHUNK * sizeof(shadow_state_t) };

bool tsr_shadow_grow(tsr_shadow_t *shadow, void **array, uint32_t count, uint32_t *room,
		     size_t size)
{
	if (count < *room)
		return true;
	const uint32_t wanted = *room ? 2 * *room : 16;
	void *larger = realloc(*array, wanted * size);
	if (!larger) {
		shadow->exhausted = true;
		return false;
	}
	*array = larger;
	*room = wanted;
	return true;
}

tsr_status_t tsr_shadow_status(const tsr_shadow_t *shadow)
{
	return shadow->exhausted ? tsr_error(TSR_ERR_NO_MEMORY, "no memory for the shadow: smaller "
								"shapes or fewer ranks need less")
				 : TSR_OK;
}

tsr_status_t tsr_shadow_create(tsr_views_t *views, bool values, tsr_shadow_t **shadow_out)
{
	tsr_shadow_t *shadow = calloc(1, sizeof *shadow);

	if (!shadow)
		return tsr_error(TSR_ERR_NO_MEMORY, "no memory for a shadow; free some");
	shadow->views = views;
	shadow->values = values;
	shadow->first = SHADOW_FIRST;
	*shadow_out = shadow;
	return TSR_OK;
}

void tsr_shadow_destroy(tsr_shadow_t *shadow)
{
	if (!shadow)
		return;
	for (int r = 0; r < shadow->region_count; r++)
		if (shadow->regions[r].memory)
			tsr_shadow_end_region(shadow, r);
	for (uint32_t i = 0; i < shadow->set_count; i++)
		free(shadow->sets[i]);
	for (uint32_t i = 0; i < shadow->segments_count; i++)
		if (shadow->segments[i].room > SHADOW_FEW)
			free(shadow->segments[i].state);
	free(shadow->regions);
	free(shadow->free_regions);
	free(shadow->operations);
	free(shadow->sets);
	free(shadow->free_sets);
	free(shadow->segments);
	free(shadow->free_segments);
	free(shadow->pasts);
	tsr_shadow_free_coops(shadow);
	free(shadow);
}

/* ------------------------------------------------------------------ regions */

/** Records that are zero; those of a large region take memory as they are touched. */
static bool map_records(shadow_region_t *region)
{
	const size_t size = region->lines * sizeof region->line[0];

	region->touched = calloc(region->lines / SHADOW_CHUNK + 1, 1);
	region->mapped = size > SMALL;
	if (region->mapped) {
		void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		region->line = at == MAP_FAILED ? NULL : at;
	} else {
		region->line = calloc(region->lines + 1, sizeof region->line[0]);
	}
	return region->line && region->touched;
}

static void unmap_records(shadow_region_t *region)
{
	if (region->mapped && region->line)
		munmap(region->line, region->lines * sizeof region->line[0]);
	else
		free(region->line);
	free(region->touched);
}

tsr_status_t tsr_shadow_add_region(tsr_shadow_t *shadow, unsigned char *memory, size_t bytes,
				   int *region_out)
{
	shadow_region_t region = {
		.memory = memory, .bytes = bytes, .lines = (bytes + SHADOW_LINE - 1) / SHADOW_LINE};
	int number = shadow->region_count;

	if (shadow->free_region_count)
		number = shadow->free_regions[shadow->free_region_count - 1];
	if (!tsr_shadow_grow(shadow, (void **)&shadow->regions, (uint32_t)shadow->region_count,
			     &shadow->region_room, sizeof *shadow->regions) ||
	    !map_records(&region)) {
		unmap_records(&region);
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no memory for the shadow of %zu bytes; free some", bytes);
	}
	shadow->regions[number] = region;
	if (shadow->free_region_count)
		shadow->free_region_count--;
	else
		shadow->region_count++;
	*region_out = number;
	return TSR_OK;
}

/**
 * Whether the records of `count` lines from `line` on, or of the rest of their
 * chunk, are all zero. Sets `count` to that rest.
 */
static bool skip_untouched(const shadow_region_t *region, size_t line, size_t *count)
{
	const size_t rest = SHADOW_CHUNK - line % SHADOW_CHUNK;

	if (*count > rest)
		*count = rest;
	return !region->touched[line / SHADOW_CHUNK];
}

/** Gives bytes one state. Records that become zero are given back where they are many. */
static void paint(tsr_shadow_t *shadow, shadow_region_t *region, size_t offset, size_t bytes,
		  shadow_state_t state)
{
	const size_t end = offset + bytes;

	for (size_t at = offset; at < end;) {
		size_t line = at / SHADOW_LINE,
		       count = (end + SHADOW_LINE - 1) / SHADOW_LINE - line;
		if (skip_untouched(region, line, &count) && state == 0) {
			at = (line + count) * SHADOW_LINE;
			continue;
		}
		const size_t begin = at % SHADOW_LINE, rest = end - line * SHADOW_LINE;
		tsr_shadow_paint(shadow, region, line, (int)begin,
				 rest < SHADOW_LINE ? (int)rest : SHADOW_LINE, state);
		if (state)
			shadow_touch(region, line);
		at = (line + 1) * SHADOW_LINE;
	}
	if (state != 0 || !region->mapped)
		return;
	const size_t chunk_bytes = (size_t)SHADOW_CHUNK * SHADOW_LINE;
	for (size_t chunk = (offset + chunk_bytes - 1) / chunk_bytes;
	     (chunk + 1) * chunk_bytes <= end; chunk++) {
		if (region->touched[chunk] &&
		    madvise(region->line + chunk * SHADOW_CHUNK, PAGE, MADV_DONTNEED) == 0)
			region->touched[chunk] = 0;
	}
}

void tsr_shadow_end_region(tsr_shadow_t *shadow, int number)
{
	shadow_region_t *region = &shadow->regions[number];

	paint(shadow, region, 0, region->bytes, 0);
	unmap_records(region);
	*region = (shadow_region_t){.memory = NULL};
	if (tsr_shadow_grow(shadow, (void **)&shadow->free_regions,
			    (uint32_t)shadow->free_region_count, &shadow->free_region_room,
			    sizeof *shadow->free_regions))
		shadow->free_regions[shadow->free_region_count++] = number;
}

static tsr_status_t paint_range(tsr_shadow_t *shadow, int number, size_t offset, size_t bytes,
				shadow_state_t state)
{
	shadow_region_t *region = &shadow->regions[number];

	if (offset > region->bytes || bytes > region->bytes - offset)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "bytes %zu to %zu are not in region %d, which has %zu", offset,
				 offset + bytes, number, region->bytes);
	paint(shadow, region, offset, bytes, state);
	return tsr_shadow_status(shadow);
}

tsr_status_t tsr_shadow_fresh(tsr_shadow_t *shadow, int region, size_t offset, size_t bytes)
{
	return paint_range(shadow, region, offset, bytes, shadow_state(SHADOW_NOBODY, 0));
}

tsr_status_t tsr_shadow_given(tsr_shadow_t *shadow, int region, size_t offset, size_t bytes)
{
	return paint_range(shadow, region, offset, bytes, shadow_state(SHADOW_SETTLED, 0));
}

/* ------------------------------------------------------------------ settling */

static shadow_state_t settled(tsr_shadow_t *shadow, shadow_state_t state)
{
	if (!shadow_is_word(state))
		return shadow_state(shadow_is_unwritten(shadow, state) ? SHADOW_NOBODY
								       : SHADOW_SETTLED,
				    0);
	const int location = (int)shadow_readers(state);
	const bool written = tsr_views_written(shadow->views, location);
	if (tsr_views_end_location(shadow->views, location) != TSR_OK)
		shadow->exhausted = true;
	return shadow_state(written ? SHADOW_SETTLED : SHADOW_NOBODY, 0);
}

static void settle_line(tsr_shadow_t *shadow, shadow_region_t *region, size_t line)
{
	const shadow_state_t state = region->line[line];

	if (state == shadow_state(SHADOW_NOBODY, 0) || state == shadow_state(SHADOW_SETTLED, 0))
		return;
	if (shadow_writer(state) == SHADOW_SEGMENTS) {
		const shadow_segments_t *segments = &shadow->segments[shadow_readers(state)];
		for (int i = 0; i < segments->count; i++) {
			const shadow_state_t part = segments->state[i];
			segments->state[i] = settled(shadow, part);
			shadow_drop(shadow, part, 1);
		}
		tsr_shadow_close(shadow, region, line);
	} else {
		region->line[line] = settled(shadow, state);
		shadow_drop(shadow, state, 1);
	}
}

/** Lines of one chunk. What has not been touched since the last time is settled. */
static void settle_chunk(tsr_shadow_t *shadow, shadow_region_t *region, size_t chunk)
{
	const size_t first = chunk * SHADOW_CHUNK, rest = region->lines - first;

	if (!(region->touched[chunk] & SHADOW_UNSETTLED))
		return;
	for (size_t i = 0; i < SHADOW_CHUNK && i < rest; i++)
		settle_line(shadow, region, first + i);
	region->touched[chunk] = SHADOW_USED;
}

tsr_status_t tsr_shadow_settle(tsr_shadow_t *shadow)
{
	for (int r = 0; r < shadow->region_count; r++) {
		shadow_region_t *region = &shadow->regions[r];
		for (size_t chunk = 0; chunk < region->chunks; chunk++)
			settle_chunk(shadow, region, chunk);
	}
	tsr_shadow_settle_coops(shadow);
	shadow->first += shadow->operation_count;
	shadow->operation_count = shadow->operation_room = 0;
	free(shadow->operations);
	shadow->operations = NULL;
	return tsr_shadow_status(shadow);
}

size_t tsr_shadow_size_bytes(const tsr_shadow_t *shadow)
{
	size_t bytes =
		sizeof *shadow + shadow->bytes + tsr_views_size_bytes(shadow->views) +
		shadow->operation_room * sizeof *shadow->operations +
		shadow->set_room * (sizeof *shadow->sets + sizeof *shadow->free_sets) +
		shadow->segments_room * (sizeof *shadow->segments + sizeof *shadow->free_segments);

	for (int r = 0; r < shadow->region_count; r++) {
		const shadow_region_t *region = &shadow->regions[r];
		const size_t chunks = region->memory ? region->lines / SHADOW_CHUNK + 1 : 0;
		bytes += sizeof *region + chunks;
		for (size_t chunk = 0; region->mapped && chunk < region->chunks; chunk++)
			bytes += region->touched[chunk] ? PAGE : 0;
		bytes += region->mapped ? 0 : region->lines * sizeof region->line[0];
	}
	return bytes;
}

/* ------------------------------------------------------------------ operations */

/** What its entries say is their call. */
static uint32_t call_of(const shadow_coop_t *coop)
{
	return coop && !coop->is.apart ? coop->call : 0;
}

/** A new entry. 0: none. */
static uint32_t new_entry(tsr_shadow_t *shadow, int thread)
{
	const uint32_t number = shadow->first + shadow->operation_count;

	if (number >= SHADOW_OPERATIONS ||
	    !tsr_shadow_grow(shadow, (void **)&shadow->operations, shadow->operation_count,
			     &shadow->operation_room, sizeof *shadow->operations)) {
		shadow->exhausted = true;
		return 0;
	}
	const shadow_coop_t *coop = shadow_coop_at(shadow, thread);
	shadow->operations[shadow->operation_count++] = (shadow_operation_t){
		.thread = thread,
		.component = tsr_views_component(shadow->views, thread),
		.epoch = tsr_views_epoch(shadow->views, thread),
		.origin = number,
		.latest = number,
		.call = call_of(coop),
		.tile = coop ? coop->is.tile : 0,
	};
	return number;
}

uint32_t tsr_shadow_twin(tsr_shadow_t *shadow, uint32_t entry)
{
	if (shadow_entry(shadow, entry)->twin)
		return shadow_entry(shadow, entry)->twin;
	const uint32_t twin = new_entry(shadow, shadow_entry(shadow, entry)->thread);
	if (!twin)
		return 0;
	shadow_entry(shadow, twin)->origin = shadow_entry(shadow, entry)->origin;
	shadow_entry(shadow, twin)->hollow = true;
	shadow_entry(shadow, entry)->twin = twin;
	return twin;
}

tsr_status_t tsr_shadow_operation(tsr_shadow_t *shadow, int thread, uint32_t *operation_out)
{
	const uint32_t number = new_entry(shadow, thread);

	if (number)
		*operation_out = number;
	return tsr_shadow_status(shadow);
}

uint32_t tsr_shadow_first_operation(const tsr_shadow_t *shadow)
{
	return shadow->first;
}

tsr_status_t tsr_shadow_enter(tsr_shadow_t *shadow, uint32_t operation, uint32_t *entry_out)
{
	if (operation - shadow->first >= shadow->operation_count)
		return tsr_error(TSR_ERR_ARGUMENT, "%u is no operation: they are %u to %u",
				 operation, shadow->first,
				 shadow->first + shadow->operation_count - 1);
	const uint32_t latest = shadow_entry(shadow, operation)->latest;
	const int thread = shadow_entry(shadow, latest)->thread;

	if (shadow_entry(shadow, latest)->epoch == tsr_views_epoch(shadow->views, thread) &&
	    shadow_entry(shadow, latest)->call == call_of(shadow_coop_at(shadow, thread))) {
		*entry_out = latest;
		return TSR_OK;
	}
	const uint32_t entry = new_entry(shadow, thread);
	if (!entry)
		return tsr_shadow_status(shadow);
	shadow_entry(shadow, entry)->origin = operation;
	shadow_entry(shadow, operation)->latest = entry;
	*entry_out = entry;
	return TSR_OK;
}
