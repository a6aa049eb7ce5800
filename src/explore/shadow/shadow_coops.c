/*
 * What the threads of one coop do beside each other. To the view machine a coop
 * is one thread, and all that it does is ordered; but a call that moves data is
 * made by all its threads, each of which does its part when it comes to it, and
 * an atomic by one of them. So an access races with an earlier one of the same
 * coop where the coop has not met in between: calls are counted for each
 * thread, an operation's entry holds the number of its call, and those after
 * the last meeting are not ordered with what comes next. Within one call
 * nothing races.
 *
 * Plain memory has its last writer and its readers, whom a transition looks at
 * (shadow_access.c). Words, which have locations, are kept here in a list for
 * each coop, from one meeting to the next.
 */
#include <stdlib.h>

#include "src/explore/shadow/shadow_state.h"

enum { MOST_TOUCHES = 4096 }; /* of a coop that never meets: the oldest are forgotten */

/** The coop's record, made where it has none. Null, and `exhausted`: no memory. */
static shadow_coop_t *coop_of(tsr_shadow_t *shadow, int thread)
{
	while ((uint32_t)thread >= shadow->coop_count) {
		if (!tsr_shadow_grow(shadow, (void **)&shadow->coops, shadow->coop_count,
				     &shadow->coop_room, sizeof *shadow->coops))
			return NULL;
		shadow->coops[shadow->coop_count++] = (shadow_coop_t){.call = 0};
	}
	return &shadow->coops[thread];
}

tsr_status_t tsr_shadow_call(tsr_shadow_t *shadow, int thread, const tsr_shadow_call_t *call)
{
	shadow_coop_t *coop = coop_of(shadow, thread);
	if (coop) {
		coop->call++;
		coop->is = *call;
	}
	return tsr_shadow_status(shadow);
}

tsr_status_t tsr_shadow_meet(tsr_shadow_t *shadow, int thread)
{
	shadow_coop_t *coop = coop_of(shadow, thread);
	if (coop) {
		coop->met = coop->call++;
		coop->touch_count = 0;
	}
	return tsr_shadow_status(shadow);
}

void tsr_shadow_end_coop(tsr_shadow_t *shadow, int thread)
{
	if ((uint32_t)thread >= shadow->coop_count)
		return;
	shadow_coop_t *coop = &shadow->coops[thread];
	free(coop->touch);
	*coop = (shadow_coop_t){.call = 0};
}

const tsr_shadow_unmet_t *tsr_shadow_unmet(const tsr_shadow_t *shadow)
{
	return &shadow->unmet;
}

void tsr_shadow_settle_coops(tsr_shadow_t *shadow)
{
	for (uint32_t i = 0; i < shadow->coop_count; i++)
		shadow->coops[i].touch_count = 0;
}

void tsr_shadow_free_coops(tsr_shadow_t *shadow)
{
	for (uint32_t i = 0; i < shadow->coop_count; i++)
		free(shadow->coops[i].touch);
	free(shadow->coops);
}

/* ------------------------------------------------------------------ plain memory */

/**
 * Whether an operation belongs to the coop, and to another call that is not
 * ordered with the current one.
 */
static bool is_unmet(const tsr_shadow_t *shadow, const shadow_coop_t *coop, int thread,
		     uint32_t operation)
{
	if (operation <= SHADOW_SETTLED)
		return false;
	const shadow_operation_t *entry = shadow_entry(shadow, operation);
	return entry->thread == thread && entry->call > coop->met && entry->call != coop->call;
}

/**
 * Whether the contract asks for no meeting between the operation and the current
 * call: both are made by one fragment at one place, and the operation has read,
 * or what the place holds is a state that is saved and loaded.
 */
static bool needs_no_meeting(const shadow_coop_t *coop, const shadow_operation_t *entry, bool wrote)
{
	return coop->is.tile != 0 && entry->tile == coop->is.tile && (!wrote || coop->is.saved);
}

bool tsr_shadow_unmet_writer(const tsr_shadow_t *shadow, const shadow_coop_t *coop, int thread,
			     uint32_t writer)
{
	return is_unmet(shadow, coop, thread, writer) &&
	       !needs_no_meeting(coop, shadow_entry(shadow, writer), true);
}

uint32_t tsr_shadow_unmet_reader(const tsr_shadow_t *shadow, const shadow_coop_t *coop, int thread,
				 uint32_t readers)
{
	uint32_t reader;
	for (uint32_t i = 0; (reader = tsr_shadow_reader(shadow, readers, i)) != 0; i++) {
		if (is_unmet(shadow, coop, thread, reader) &&
		    !needs_no_meeting(coop, shadow_entry(shadow, reader), false))
			return reader;
	}
	return 0;
}

bool tsr_shadow_unmet_outlives(const tsr_shadow_t *shadow, uint32_t reader, uint32_t operation)
{
	const shadow_operation_t *entry = shadow_entry(shadow, operation);
	const shadow_coop_t *coop = entry->tile ? shadow_coop_at(shadow, entry->thread) : NULL;

	return coop && is_unmet(shadow, coop, entry->thread, reader) &&
	       shadow_entry(shadow, reader)->tile != entry->tile;
}

void tsr_shadow_note_unmet(tsr_shadow_unmet_t *unmet, const shadow_operation_t *other,
			   bool other_wrote, size_t begin, size_t end)
{
	const bool goes_on = unmet->other == other->origin && unmet->other_wrote == other_wrote &&
			     unmet->offset + unmet->bytes == begin;

	if (goes_on) {
		unmet->bytes += end - begin;
	} else if (unmet->other == 0) {
		unmet->other = other->origin;
		unmet->other_wrote = other_wrote;
		unmet->offset = begin;
		unmet->bytes = end - begin;
	}
}

/* ------------------------------------------------------------------ words */

static bool same_touch(const tsr_shadow_t *shadow, const shadow_touch_t *a, const shadow_touch_t *b)
{
	return a->region == b->region && a->offset == b->offset && a->bytes == b->bytes &&
	       a->wrote == b->wrote && a->atomic == b->atomic &&
	       shadow_entry(shadow, a->entry)->tile == shadow_entry(shadow, b->entry)->tile;
}

void tsr_shadow_touch_word(tsr_shadow_t *shadow, int thread, const shadow_touch_t *touch)
{
	shadow_coop_t *coop = shadow_coop_at(shadow, thread);
	if (!coop)
		return;
	for (uint32_t i = coop->touch_count; i > 0 && i + 4 > coop->touch_count; i--)
		if (same_touch(shadow, &coop->touch[i - 1],
			       touch)) { /* a loop of looks at a flag or two */
			coop->touch[i - 1] = *touch;
			return;
		}
	if (coop->touch_count == MOST_TOUCHES)
		coop->touch_count = 0;
	if (tsr_shadow_grow(shadow, (void **)&coop->touch, coop->touch_count, &coop->touch_room,
			    sizeof *coop->touch))
		coop->touch[coop->touch_count++] = *touch;
}

/** The bytes of a touch that lie in one of the rows. */
static bool meets_range(const shadow_touch_t *touch, const tsr_shadow_range_t *range,
			size_t *begin_out, size_t *end_out)
{
	const size_t rows = range->rows ? range->rows : 1, end = touch->offset + touch->bytes;
	size_t row = 0;

	if (touch->region != range->region || end <= range->offset)
		return false;
	if (rows > 1 && range->pitch > 0 && touch->offset > range->offset)
		row = (touch->offset - range->offset) / range->pitch;
	/* it may begin behind a row's end, and reach the next */
	for (int tries = 0; tries < 2 && row < rows; tries++, row++) {
		const size_t first = range->offset + row * range->pitch,
			     last = first + range->bytes;
		*begin_out = touch->offset > first ? touch->offset : first;
		*end_out = end < last ? end : last;
		if (*begin_out < *end_out)
			return true;
	}
	return false;
}

void tsr_shadow_check_touches(tsr_shadow_t *shadow, const shadow_coop_t *coop,
			      const tsr_shadow_range_t *range, bool wrote, bool atomic,
			      tsr_shadow_unmet_t *unmet)
{
	size_t begin, end;
	for (uint32_t i = 0; i < coop->touch_count; i++) {
		const shadow_touch_t *touch = &coop->touch[i];
		if ((touch->atomic && atomic) || !(touch->wrote || wrote) ||
		    !meets_range(touch, range, &begin, &end))
			continue;
		const shadow_operation_t *entry = shadow_entry(shadow, touch->entry);
		if (entry->call != coop->call && !needs_no_meeting(coop, entry, touch->wrote))
			tsr_shadow_note_unmet(unmet, entry, touch->wrote, begin, end);
	}
}

void tsr_shadow_keep_past(tsr_shadow_t *shadow, uint32_t operation, bool wrote)
{
	const shadow_coop_t *coop = shadow_coop_at(shadow, shadow->acting.thread);
	const shadow_operation_t *entry = shadow_entry(shadow, operation);
	const shadow_touch_t touch = {shadow->acting.region,
				      shadow->acting.offset,
				      shadow->acting.bytes,
				      operation,
				      wrote,
				      false};
	if (coop && entry->thread == shadow->acting.thread && entry->call > coop->met &&
	    !entry->atomic)
		tsr_shadow_touch_word(shadow, shadow->acting.thread, &touch);
}

void tsr_shadow_word_acts(tsr_shadow_t *shadow, uint32_t entry, const tsr_shadow_word_t *word,
			  bool wrote)
{
	const int thread = shadow_entry(shadow, entry)->thread;
	const tsr_shadow_range_t range = {word->region, word->offset, word->bytes, 1, word->bytes};
	const shadow_touch_t touch = {word->region, word->offset, word->bytes, entry, wrote, true};
	shadow_coop_t *coop = shadow_coop_at(shadow, thread);

	shadow->unmet = (tsr_shadow_unmet_t){.other = 0};
	if (!coop)
		return;
	tsr_shadow_check_touches(shadow, coop, &range, wrote, true, &shadow->unmet);
	tsr_shadow_touch_word(shadow, thread, &touch);
}
