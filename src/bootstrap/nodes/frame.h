/*
 * Frames: what keepers send to each other over TCP once they have proved that
 * they know the job's key (greeting.h). A frame is a header and a body, whose
 * size the kind decides. Both ends run the same build (TSR_CONTROL_ABI), on
 * processors of one byte order.
 */
#ifndef TESSERA_BOOTSTRAP_NODES_FRAME_H
#define TESSERA_BOOTSTRAP_NODES_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/bootstrap/control.h"
#include "src/bootstrap/nodes/event.h"

typedef enum tsr_frame_kind {
	/* 1 to TSR_EVENT_LAST: tsr_event_kind_t. The body of ARRIVED is the slot, that of
	 * WAIT_RECORD the record, that of POSTED a tsr_posted_t; the others have none. */
	TSR_FRAME_END = 16,    /* body: tsr_end_t. From node 0: the decision; else a proposal */
	TSR_FRAME_ALIVE = 17,  /* nothing new */
	TSR_FRAME_GOODBYE = 18 /* the sender's ranks have left; no other frame follows */
} tsr_frame_kind_t;

typedef struct tsr_frame {
	uint32_t kind;
	uint32_t bytes; /* of the body */
	tsr_event_t event;
} tsr_frame_t;

enum {
	TSR_FRAME_BODY = sizeof(tsr_control_slot_t) + TSR_CHUNK_BYTES,
	TSR_FRAME_BYTES = sizeof(tsr_frame_t) + TSR_FRAME_BODY
};

/**
 * Whether a frame of a world of `size` ranks may be applied: its ranks, places
 * and sizes are inside their bounds. (Its strings need not have an end.)
 */
bool tsr_frame_is_valid(const tsr_frame_t *frame, int size);

/** The meeting that an event names, as `member` sees it. */
tsr_meeting_t tsr_frame_meeting(struct tsr_boot *boot, const tsr_event_t *event);

/**
 * Fills in a frame and its body for an event of this node: reads what the event
 * names from the segment. `body_out` has room for TSR_FRAME_BODY bytes.
 */
void tsr_frame_make(struct tsr_boot *boot, const tsr_event_t *event, tsr_frame_t *frame_out,
		    void *body_out);

/** The end that the body of a valid TSR_FRAME_END says. */
tsr_end_t tsr_frame_end(const struct tsr_boot *boot, const void *body);

/**
 * Does to this node's segment what the frame says a far rank has done to its
 * own: the same stores in the same order as a local rank. The frame is valid.
 * Called by one thread alone, the relay, for all far ranks.
 */
void tsr_frame_apply(struct tsr_boot *boot, const tsr_frame_t *frame, const void *body);

#endif
