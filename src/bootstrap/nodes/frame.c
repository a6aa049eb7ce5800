/* Frames made of the segment of one node, and applied to that of another. */
#include "src/bootstrap/nodes/frame.h"

#include <string.h>

#include "src/bootstrap/board_rows.h"

static bool is_meeting_valid(const tsr_event_t *event, int size)
{
	const int first = tsr_meeting_units(size, TSR_CHUNK_BYTES);
	if (event->members < 1 || event->members > size || event->member < 0 ||
	    event->member >= event->members)
		return false;
	if (event->place == 0)
		return event->members == size && event->member == event->rank &&
		       event->payload_bytes <= TSR_CHUNK_BYTES;
	return event->place >= first && event->place < TSR_MEETING_UNITS &&
	       event->place + tsr_meeting_units(event->members, TSR_TEAM_CHUNK_BYTES) <=
		       TSR_MEETING_UNITS &&
	       event->payload_bytes <= TSR_TEAM_CHUNK_BYTES;
}

bool tsr_frame_is_valid(const tsr_frame_t *frame, int size)
{
	const tsr_event_t *event = &frame->event;
	if (event->rank < 0 || event->rank >= size)
		return false;
	switch (frame->kind) {
	case TSR_EVENT_PRESENT:
		return frame->bytes == 0 && event->place >= 0 && event->place <= event->rank;
	case TSR_EVENT_LEFT:
	case TSR_FRAME_ALIVE:
	case TSR_FRAME_GOODBYE:
		return frame->bytes == 0;
	case TSR_EVENT_MEETING_LEFT:
		return frame->bytes == 0 && event->place != 0 && is_meeting_valid(event, size);
	case TSR_EVENT_ARRIVED:
		return is_meeting_valid(event, size) &&
		       frame->bytes == sizeof(tsr_control_slot_t) + event->payload_bytes;
	case TSR_EVENT_WAIT_RECORD:
		return frame->bytes == sizeof(tsr_wait_record_t) || frame->bytes == 0;
	case TSR_EVENT_POSTED:
		return frame->bytes == sizeof(tsr_posted_t);
	case TSR_EVENT_COMPARED:
	case TSR_EVENT_POSTS_LOST:
		return frame->bytes == 0;
	case TSR_FRAME_END:
		return frame->bytes == sizeof(tsr_end_t);
	default:
		return false;
	}
}

tsr_meeting_t tsr_frame_meeting(tsr_boot_t *boot, const tsr_event_t *event)
{
	return (tsr_meeting_t){
		.boot = boot,
		.words = (tsr_meeting_words_t *)(void *)boot->control->units[event->place],
		.me = event->member,
		.size = event->members,
		.round = event->round,
		.chunk_bytes = event->place == 0 ? TSR_CHUNK_BYTES : TSR_TEAM_CHUNK_BYTES,
		.place = event->place};
}

void tsr_frame_make(tsr_boot_t *boot, const tsr_event_t *event, tsr_frame_t *frame_out,
		    void *body_out)
{
	*frame_out = (tsr_frame_t){.kind = event->kind, .event = *event};
	if (event->kind == TSR_EVENT_ARRIVED) {
		const tsr_meeting_t meeting = tsr_frame_meeting(boot, event);
		frame_out->bytes = (uint32_t)sizeof(tsr_control_slot_t) + event->payload_bytes;
		memcpy(body_out, tsr_meeting_slot(&meeting, event->member), frame_out->bytes);
	} else if (event->kind == TSR_EVENT_WAIT_RECORD && event->place >= 0) {
		frame_out->bytes = sizeof(tsr_wait_record_t);
		memcpy(body_out, &boot->control->wait_records[event->place].record,
		       sizeof(tsr_wait_record_t));
	} else if (event->kind == TSR_EVENT_POSTED) {
		frame_out->bytes = sizeof(tsr_posted_t);
		tsr_board_read_post(boot, event, body_out);
	}
}

/**
 * The slot is free: its member has come to the round before, which all members
 * of this node have come to, and so have read what the slot held.
 */
static void apply_arrival(tsr_boot_t *boot, const tsr_frame_t *frame, const void *body)
{
	tsr_meeting_t meeting = tsr_frame_meeting(boot, &frame->event);
	tsr_control_slot_t *slot = tsr_meeting_slot(&meeting, meeting.me);
	memcpy(slot, body, frame->bytes);
	slot->call[sizeof slot->call - 1] = '\0';
	slot->arguments[sizeof slot->arguments - 1] = '\0';
	tsr_meeting_count_in(&meeting);
}

static void apply_wait_record(tsr_boot_t *boot, const void *body)
{
	tsr_wait_record_t record;
	memcpy(&record, body, sizeof record);
	record.team[sizeof record.team - 1] = '\0';
	record.kernel[sizeof record.kernel - 1] = '\0';
	record.site[sizeof record.site - 1] = '\0';
	record.allocation[sizeof record.allocation - 1] = '\0';
	(void)tsr_control_keep_record(boot->control, &record);
}

tsr_end_t tsr_frame_end(const tsr_boot_t *boot, const void *body)
{
	tsr_end_t end;
	memcpy(&end, body, sizeof end);
	end.sentence[sizeof end.sentence - 1] = '\0';
	if (end.rank < 0 || end.rank >= boot->size)
		end.rank = 0;
	if (end.status == TSR_OK)
		end.status = TSR_ERR_ABORTED;
	return end;
}

void tsr_frame_apply(tsr_boot_t *boot, const tsr_frame_t *frame, const void *body)
{
	tsr_control_member_t *member = &boot->control->member[frame->event.rank];
	switch (frame->kind) {
	case TSR_EVENT_PRESENT:
		/* relaxed: the next line orders it */
		atomic_store_explicit(&member->keeper, frame->event.place, memory_order_relaxed);
		/* release: partner is the acquire in state_of (member.c) */
		atomic_store_explicit(&member->state, TSR_MEMBER_PRESENT, memory_order_release);
		break;
	case TSR_EVENT_LEFT:
		/* release: as above */
		atomic_store_explicit(&member->state, TSR_MEMBER_LEFT, memory_order_release);
		break;
	case TSR_EVENT_ARRIVED:
		apply_arrival(boot, frame, body);
		break;
	case TSR_EVENT_MEETING_LEFT: {
		tsr_meeting_t meeting = tsr_frame_meeting(boot, &frame->event);
		tsr_meeting_count_out(&meeting);
		break;
	}
	case TSR_EVENT_WAIT_RECORD:
		if (frame->bytes != 0) /* else there was no room for it */
			apply_wait_record(boot, body);
		break;
	case TSR_EVENT_POSTED:
		tsr_board_take_post(boot, &frame->event, body);
		break;
	case TSR_EVENT_COMPARED:
		tsr_board_take_compared(boot, &frame->event);
		break;
	case TSR_EVENT_POSTS_LOST:
		tsr_board_lose_posts(boot);
		break;
	default:
		break;
	}
}
