/* Lines that are not the same all over: segments of bytes, each with a state of its own. */
#include "src/explore/shadow/shadow_state.h"

#include <stdlib.h>
#include <string.h>

static size_t size_of(int room)
{
	return room > SHADOW_FEW ? (size_t)room * (sizeof(shadow_state_t) + 1) : 0;
}

/** Room for `room` segments, more than a few. False, and `exhausted`: no memory. */
static bool resize(tsr_shadow_t *shadow, shadow_segments_t *segments, int room)
{
	shadow_state_t *state = malloc(size_of(room));

	if (!state) {
		shadow->exhausted = true;
		return false;
	}
	uint8_t *begin = (uint8_t *)(state + room);
	memcpy(state, segments->state, (size_t)segments->count * sizeof *state);
	memcpy(begin, segments->begin, (size_t)segments->count);
	shadow->bytes += size_of(room) - size_of(segments->room);
	if (segments->room > SHADOW_FEW)
		free(segments->state);
	segments->state = state;
	segments->begin = begin;
	segments->room = (uint8_t)room;
	return true;
}

/** Those that are few stand in the record, wherever it lies. */
static void stand_inside(shadow_segments_t *segments)
{
	segments->state = segments->few_state;
	segments->begin = segments->few_begin;
	segments->room = SHADOW_FEW;
}

/**
 * Room for one more line's segments, in whole lines of the processor's cache.
 * False, and `exhausted`: no memory.
 */
static bool make_room(tsr_shadow_t *shadow)
{
	enum { CACHE_LINE = 64, FIRST = 64 };
	if (shadow->segments_count < shadow->segments_room)
		return true;
	const uint32_t room = shadow->segments_room ? 2 * shadow->segments_room : FIRST;
	shadow_segments_t *segments = aligned_alloc(CACHE_LINE, room * sizeof *segments);
	uint32_t *free_ones =
		segments ? realloc(shadow->free_segments, room * sizeof *free_ones) : NULL;
	if (!free_ones) {
		free(segments);
		shadow->exhausted = true;
		return false;
	}
	if (shadow->segments_count)
		memcpy(segments, shadow->segments, shadow->segments_count * sizeof *segments);
	for (uint32_t i = 0; i < shadow->segments_count; i++)
		if (segments[i].room <= SHADOW_FEW)
			stand_inside(&segments[i]);
	free(shadow->segments);
	shadow->segments = segments;
	shadow->free_segments = free_ones; /* room to give back any index there is */
	shadow->segments_room = room;
	return true;
}

shadow_segments_t *tsr_shadow_open(tsr_shadow_t *shadow, shadow_region_t *region, size_t line)
{
	const shadow_state_t state = region->line[line];

	shadow_touch(region, line);
	if (shadow_writer(state) == SHADOW_SEGMENTS)
		return &shadow->segments[shadow_readers(state)];
	if (!shadow->free_segments_count && !make_room(shadow))
		return NULL;
	const uint32_t at = shadow->free_segments_count
				    ? shadow->free_segments[--shadow->free_segments_count]
				    : shadow->segments_count++;
	shadow_segments_t *segments = &shadow->segments[at];
	stand_inside(segments);
	segments->count = 1;
	segments->begins = 1;
	segments->state[0] = state;
	segments->begin[0] = 0;
	region->line[line] = shadow_state(SHADOW_SEGMENTS, at);
	return segments;
}

void tsr_shadow_close(tsr_shadow_t *shadow, shadow_region_t *region, size_t line)
{
	const uint32_t at = shadow_readers(region->line[line]);
	shadow_segments_t *segments = &shadow->segments[at];
	int kept = 0;

	for (int i = 1; i < segments->count; i++) {
		if (segments->state[i] == segments->state[kept] &&
		    !shadow_is_word(segments->state[i])) {
			shadow_drop(shadow, segments->state[i], 1);
			segments->begins &= ~(UINT32_C(1) << segments->begin[i]);
			continue;
		}
		kept++;
		segments->state[kept] = segments->state[i];
		segments->begin[kept] = segments->begin[i];
	}
	segments->count = (uint8_t)(kept + 1);
	if (kept > 0)
		return;
	region->line[line] = segments->state[0];
	shadow->bytes -= size_of(segments->room);
	if (segments->room > SHADOW_FEW)
		free(segments->state);
	stand_inside(segments);
	segments->count = 0;
	shadow->free_segments[shadow->free_segments_count++] = at;
}

int tsr_shadow_split(tsr_shadow_t *shadow, shadow_segments_t *segments, int byte)
{
	const int i = shadow_segment_at(segments, byte);

	if (segments->begin[i] == byte)
		return i;
	if (segments->count == segments->room && !resize(shadow, segments, 4 * segments->room))
		return -1;
	const size_t behind = (size_t)(segments->count - i - 1);
	memmove(segments->state + i + 2, segments->state + i + 1,
		behind * sizeof segments->state[0]);
	memmove(segments->begin + i + 2, segments->begin + i + 1, behind);
	segments->state[i + 1] = segments->state[i];
	segments->begin[i + 1] = (uint8_t)byte;
	segments->begins |= UINT32_C(1) << byte;
	segments->count++;
	shadow_hold(shadow, segments->state[i + 1], 1);
	return i + 1;
}

/** The word in segment i is none any more. Its bytes are as written as it was. */
static void end_word(tsr_shadow_t *shadow, shadow_segments_t *segments, int i)
{
	const int location = (int)shadow_readers(segments->state[i]);
	const bool written = tsr_views_written(shadow->views, location);

	if (tsr_views_end_location(shadow->views, location) != TSR_OK)
		shadow->exhausted = true;
	segments->state[i] = shadow_state(written ? SHADOW_SETTLED : SHADOW_NOBODY, 0);
}

void tsr_shadow_paint(tsr_shadow_t *shadow, shadow_region_t *region, size_t line, int begin,
		      int end, shadow_state_t state)
{
	if (begin == 0 && end == SHADOW_LINE &&
	    shadow_writer(region->line[line]) != SHADOW_SEGMENTS) {
		shadow_drop(shadow, region->line[line], 1);
		region->line[line] = state;
		return;
	}
	shadow_segments_t *segments = tsr_shadow_open(shadow, region, line);
	if (!segments)
		return;
	for (int i = shadow_segment_at(segments, begin);
	     i < segments->count && segments->begin[i] < end; i++)
		if (shadow_is_word(segments->state[i]))
			end_word(shadow, segments, i);
	int i = tsr_shadow_split(shadow, segments, begin);
	if (i < 0 || (end < SHADOW_LINE && tsr_shadow_split(shadow, segments, end) < 0))
		return;
	for (; i < segments->count && segments->begin[i] < end; i++) {
		shadow_drop(shadow, segments->state[i], 1);
		segments->state[i] = state;
	}
	tsr_shadow_close(shadow, region, line);
}
