/* Meetings: the memory where a team's members exchange, and this rank's view of it. */
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"
#include "src/base/executor.h"
#include "src/bootstrap/control.h"

size_t tsr_meeting_slots_at(int members)
{
	return sizeof(tsr_meeting_words_t) + ((size_t)members * sizeof(uint32_t) + 63) / 64 * 64;
}

int tsr_meeting_units(int members, size_t chunk_bytes)
{
	const size_t slots = 2 * (size_t)members * (sizeof(tsr_control_slot_t) + chunk_bytes);
	return (int)((tsr_meeting_slots_at(members) + slots + TSR_MEETING_UNIT_BYTES - 1) /
		     TSR_MEETING_UNIT_BYTES);
}

void tsr_meeting_place(tsr_meeting_t *meeting, tsr_boot_t *boot, int unit)
{
	meeting->boot = boot;
	meeting->words = (tsr_meeting_words_t *)(void *)boot->control->units[unit];
	if (meeting != &boot->world)
		return;
	meeting->me = boot->rank;
	meeting->size = boot->size;
	meeting->chunk_bytes = TSR_CHUNK_BYTES;
}

tsr_meeting_t *tsr_boot_everybody(tsr_boot_t *boot)
{
	return &boot->world;
}

/**
 * Claims one unit after the other, as no other rank may have it. Gives back
 * what it has where one is taken.
 */
static bool claim(tsr_control_t *control, int first, int units)
{
	for (int i = 0; i < units; i++) {
		uint8_t nobody = 0;
		/* acquire: partner is the release in give_back: who had the unit before is done
		 * with it */
		if (atomic_compare_exchange_strong_explicit(&control->units_used[first + i],
							    &nobody, 1, memory_order_acquire,
							    memory_order_relaxed))
			continue;
		while (i-- > 0)
			/* relaxed: nothing was written there */
			atomic_store_explicit(&control->units_used[first + i], 0,
					      memory_order_relaxed);
		return false;
	}
	return true;
}

tsr_status_t tsr_meeting_take_place(tsr_meeting_t *meeting, int32_t *place_out)
{
	tsr_boot_t *boot = meeting->boot;
	tsr_control_t *control = boot->control;
	const int units = tsr_meeting_units(meeting->size, meeting->chunk_bytes);
	int first = tsr_meeting_units(boot->size, TSR_CHUNK_BYTES); /* the world's stand before */
	while (first + units <= TSR_MEETING_UNITS && !claim(control, first, units))
		first++;
	if (first + units > TSR_MEETING_UNITS)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "there is no room for the exchange of one more team of %d ranks: "
				 "destroy teams that are not needed",
				 meeting->size);
	tsr_meeting_words_t *words = (tsr_meeting_words_t *)(void *)control->units[first];
	tsr_status_t status = TSR_OK;
	memset(words, 0, tsr_meeting_slots_at(meeting->size));
	for (int parity = 0; boot->exploration && status == TSR_OK && parity < 2; parity++)
		status = tsr_executor.edge(boot->exploration, &words->edges[parity]);
	*place_out = first;
	return status;
}

void tsr_meeting_give_place(tsr_meeting_t *meeting, int32_t place)
{
	tsr_control_t *control = meeting->boot->control;
	const tsr_meeting_words_t *words =
		(const tsr_meeting_words_t *)(const void *)control->units[place];
	const int units = tsr_meeting_units(meeting->size, meeting->chunk_bytes);
	for (int parity = 0; meeting->boot->exploration && parity < 2; parity++)
		tsr_executor.edge_drop(meeting->boot->exploration, words->edges[parity]);
	for (int i = 0; i < units; i++)
		/* release: partner is the acquire in claim */
		atomic_store_explicit(&control->units_used[place + i], 0, memory_order_release);
}

tsr_status_t tsr_meeting_create(tsr_boot_t *boot, const int *ranks, int members, int me,
				const char *name, tsr_meeting_t **meeting_out)
{
	tsr_meeting_t *meeting = calloc(1, sizeof *meeting);
	if (meeting == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a team; free some");
	meeting->boot = boot;
	meeting->me = me;
	meeting->size = members;
	meeting->ranks = ranks;
	meeting->name = name;
	meeting->chunk_bytes = TSR_TEAM_CHUNK_BYTES;
	*meeting_out = meeting;
	return TSR_OK;
}

void tsr_meeting_forget(tsr_meeting_t *meeting)
{
	free(meeting);
}

void tsr_meeting_enter(tsr_meeting_t *meeting, int32_t place)
{
	meeting->place = place;
	tsr_meeting_place(meeting, meeting->boot, place);
}

void tsr_meeting_leave(tsr_meeting_t *meeting)
{
	/* acq_rel: partner is itself on the other members; the last one gives back the place after
	 * all others have read their last round there. Litmus: MP.rmw.diffGPU-ss */
	if (atomic_fetch_add_explicit(&meeting->words->left, 1, memory_order_acq_rel) + 1 ==
	    (uint32_t)meeting->size)
		tsr_meeting_give_place(meeting, meeting->place);
}
