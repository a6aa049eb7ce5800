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
	meeting->far = false;
	for (int i = 0; meeting->ranks != NULL && i < meeting->size; i++)
		meeting->far = meeting->far || tsr_boot_is_far(boot, meeting->ranks[i]);
	if (meeting != &boot->world)
		return;
	meeting->far = boot->several; /* who is where is not known yet */
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

/**
 * The units that this node's ranks hand out: each node has its share, so no two
 * nodes give the same place to two teams. One node has all, but for the world's
 * in front.
 */
static void find_share(const tsr_boot_t *boot, int *begin_out, int *end_out)
{
	const int first = tsr_meeting_units(boot->size, TSR_CHUNK_BYTES);
	const int nodes = tsr_boot_nodes(boot), node = tsr_boot_node(boot, boot->rank);
	const int each = (TSR_MEETING_UNITS - first) / nodes;
	*begin_out = first + node * each;
	*end_out = node == nodes - 1 ? TSR_MEETING_UNITS : *begin_out + each;
}

int tsr_control_take_units(const tsr_boot_t *boot, int units)
{
	int first, end;
	find_share(boot, &first, &end);
	while (first + units <= end && !claim(boot->control, first, units))
		first++;
	return first + units <= end ? first : -1;
}

void tsr_control_give_units(tsr_control_t *control, int first, int units)
{
	for (int i = 0; i < units; i++)
		/* release: partner is the acquire in claim */
		atomic_store_explicit(&control->units_used[first + i], 0, memory_order_release);
}

tsr_status_t tsr_meeting_take_place(tsr_meeting_t *meeting, int32_t *place_out)
{
	tsr_boot_t *boot = meeting->boot;
	const int first = tsr_control_take_units(boot, tsr_meeting_units(meeting->size,
									 meeting->chunk_bytes));
	if (first < 0)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "there is no room for the exchange of one more team of %d ranks: "
				 "destroy teams that are not needed",
				 meeting->size);
	tsr_meeting_words_t *words = (tsr_meeting_words_t *)(void *)boot->control->units[first];
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
	for (int parity = 0; meeting->boot->exploration && parity < 2; parity++)
		tsr_executor.edge_drop(meeting->boot->exploration, words->edges[parity]);
	tsr_control_give_units(control, place,
			       tsr_meeting_units(meeting->size, meeting->chunk_bytes));
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

int32_t tsr_meeting_number(const tsr_meeting_t *meeting)
{
	return meeting->place;
}

void tsr_meeting_enter(tsr_meeting_t *meeting, int32_t place)
{
	meeting->place = place;
	tsr_meeting_place(meeting, meeting->boot, place);
}

/** Whether the place is of this node's share. */
static bool is_of_this_node(const tsr_meeting_t *meeting)
{
	int begin, end;
	find_share(meeting->boot, &begin, &end);
	return meeting->place >= begin && meeting->place < end;
}

/**
 * On the nodes that did not give the place: nobody clears the words of the next
 * meeting there. They may be at the begin of any unit of this one, where its
 * slots were.
 */
static void clear_place(const tsr_meeting_t *meeting)
{
	const int units = tsr_meeting_units(meeting->size, meeting->chunk_bytes);
	for (int i = 0; i < units; i++)
		memset(meeting->boot->control->units[meeting->place + i], 0,
		       tsr_meeting_slots_at(meeting->boot->size));
}

void tsr_meeting_count_out(tsr_meeting_t *meeting)
{
	/* acq_rel: partner is itself on the other members, and on the relay for far members; the
	 * last one gives back the place after all others have read their last round there.
	 * Litmus: MP.rmw.diffGPU-ss */
	if (atomic_fetch_add_explicit(&meeting->words->left, 1, memory_order_acq_rel) + 1 !=
	    (uint32_t)meeting->size)
		return;
	if (is_of_this_node(meeting))
		tsr_meeting_give_place(meeting, meeting->place);
	else
		clear_place(meeting);
}

void tsr_meeting_leave(tsr_meeting_t *meeting)
{
	const tsr_event_t event = {.kind = TSR_EVENT_MEETING_LEFT,
				   .rank = meeting->boot->rank,
				   .place = meeting->place,
				   .member = meeting->me,
				   .members = meeting->size};
	/* Claimed before: else a rank of this node could take the place again, and tell of it,
	 * before the others know that this meeting is over. Told after: the node that gives the
	 * place back knows then that the words here are no longer used. */
	const int64_t number = meeting->far ? tsr_event_claim(meeting->boot) : TSR_EVENT_UNTOLD;
	tsr_meeting_count_out(meeting);
	tsr_event_tell(meeting->boot, number, &event);
}
