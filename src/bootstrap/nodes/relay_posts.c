/* What the relay says of the board (board_rows.h) that no rank of this node has told. */
#include "src/bootstrap/nodes/relay_parts.h"

void tsr_relay_answer_post(tsr_relay_t *relay, const tsr_frame_t *frame, const void *body)
{
	tsr_boot_t *boot = relay->boot;
	for (int r = 0; frame->kind == TSR_EVENT_POSTED && r < boot->size; r++) {
		tsr_event_t event;
		tsr_frame_t answer;
		if (!tsr_board_owes(boot, r, &frame->event, body, &event))
			continue;
		tsr_frame_make(boot, &event, &answer, relay->answer);
		tsr_relay_spread(relay, &answer, relay->answer, NULL);
	}
}

void tsr_relay_pass_on_loss(tsr_relay_t *relay)
{
	const tsr_frame_t frame = {
		.kind = TSR_EVENT_POSTS_LOST,
		.event = {.kind = TSR_EVENT_POSTS_LOST, .rank = relay->boot->rank}};
	if (relay->loss_sent || !tsr_board_has_lost(relay->boot) ||
	    (!tsr_relay_is_hub(relay) && !relay->joined))
		return;
	relay->loss_sent = true;
	tsr_relay_spread(relay, &frame, NULL, NULL);
}
