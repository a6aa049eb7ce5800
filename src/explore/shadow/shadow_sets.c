/*
 * Sets of readers: made when readers are concurrent, and shared by the lines
 * that the same operations have read.
 */
#include "src/explore/shadow/shadow_state.h"

#include <stdlib.h>

static shadow_set_t *set_of(const tsr_shadow_t *shadow, uint32_t readers)
{
	return shadow->sets[readers & ~SHADOW_SET];
}

static bool is_set(uint32_t readers)
{
	return readers & SHADOW_SET;
}

static size_t size_of(uint32_t count)
{
	return sizeof(shadow_set_t) + count * sizeof(uint32_t);
}

uint32_t tsr_shadow_reader(const tsr_shadow_t *shadow, uint32_t readers, uint32_t i)
{
	if (!is_set(readers))
		return i == 0 ? readers : 0;
	const shadow_set_t *set = set_of(shadow, readers);
	return i < set->count ? set->reader[i] : 0;
}

uint32_t tsr_shadow_unknown_reader(const tsr_shadow_t *shadow, const tsr_views_clock_t *clock,
				   uint32_t readers)
{
	uint32_t reader;

	for (uint32_t i = 0; (reader = tsr_shadow_reader(shadow, readers, i)) != 0; i++)
		if (!shadow_knows(shadow, clock, reader))
			return reader;
	return 0;
}

/** Gives the set an index. 0, and `exhausted`: no memory. */
static uint32_t keep(tsr_shadow_t *shadow, shadow_set_t *set)
{
	uint32_t at = shadow->set_count;

	if (shadow->free_set_count) {
		at = shadow->free_sets[--shadow->free_set_count];
	} else {
		/* Room to give back any index there is, so that giving back cannot fail. */
		if (!tsr_shadow_grow(shadow, (void **)&shadow->sets, at, &shadow->set_room,
				     sizeof *shadow->sets) ||
		    !tsr_shadow_grow(shadow, (void **)&shadow->free_sets, at,
				     &shadow->free_set_room, sizeof *shadow->free_sets)) {
			free(set);
			return 0;
		}
		shadow->set_count++;
	}
	shadow->sets[at] = set;
	shadow->bytes += size_of(set->count);
	return SHADOW_SET | at;
}

/** Whether a later write has to know of the reader, and not of the new one alone. */
static bool remains(const tsr_shadow_t *shadow, const tsr_views_clock_t *clock, uint32_t reader,
		    uint32_t operation)
{
	return !shadow_knows(shadow, clock, reader) ||
	       tsr_shadow_unmet_outlives(shadow, reader, operation);
}

static bool any_remains(const tsr_shadow_t *shadow, const tsr_views_clock_t *clock,
			uint32_t readers, uint32_t operation)
{
	uint32_t reader;

	if (!shadow_entry(shadow, operation)->tile)
		return tsr_shadow_unknown_reader(shadow, clock, readers) != 0;
	for (uint32_t i = 0; (reader = tsr_shadow_reader(shadow, readers, i)) != 0; i++)
		if (remains(shadow, clock, reader, operation))
			return true;
	return false;
}

uint32_t tsr_shadow_add_reader(tsr_shadow_t *shadow, const tsr_views_clock_t *clock,
			       uint32_t readers, uint32_t operation)
{
	const uint32_t before = is_set(readers) ? set_of(shadow, readers)->count : readers ? 1 : 0;
	uint32_t reader;

	if (!any_remains(shadow, clock, readers, operation))
		return operation;
	shadow_set_t *set = malloc(size_of(before + 1));
	if (!set) {
		shadow->exhausted = true;
		return operation;
	}
	*set = (shadow_set_t){.holders = 0};
	for (uint32_t i = 0; (reader = tsr_shadow_reader(shadow, readers, i)) != 0; i++)
		if (remains(shadow, clock, reader, operation))
			set->reader[set->count++] = reader;
	set->reader[set->count++] = operation;
	const uint32_t kept = keep(shadow, set);
	return kept ? kept : operation;
}

uint32_t tsr_shadow_readers_of(tsr_shadow_t *shadow, const tsr_views_past_t *pasts, uint32_t count)
{
	if (count <= 1)
		return count ? pasts[0].site : SHADOW_NOBODY;
	shadow_set_t *set = malloc(size_of(count));
	if (!set) {
		shadow->exhausted = true;
		return pasts[0].site;
	}
	*set = (shadow_set_t){.holders = 0, .count = count};
	for (uint32_t i = 0; i < count; i++)
		set->reader[i] = pasts[i].site;
	const uint32_t kept = keep(shadow, set);
	return kept ? kept : pasts[0].site;
}

void tsr_shadow_hold_set(tsr_shadow_t *shadow, shadow_state_t state, uint32_t times)
{
	set_of(shadow, shadow_readers(state))->holders += times;
}

void tsr_shadow_drop_set(tsr_shadow_t *shadow, shadow_state_t state, uint32_t times)
{
	shadow_set_t *set = set_of(shadow, shadow_readers(state));
	set->holders -= times;
	if (set->holders > 0)
		return;
	const uint32_t at = shadow_readers(state) & ~SHADOW_SET;
	shadow->bytes -= size_of(set->count);
	free(set);
	shadow->sets[at] = NULL;
	shadow->free_sets[shadow->free_set_count++] = at;
}
