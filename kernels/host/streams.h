/*
 * The streams of a plan: a main one, on which its runs begin and end, and side
 * streams, on which a run does something else at the same time.
 */
#ifndef KERNELS_HOST_STREAMS_H
#define KERNELS_HOST_STREAMS_H

#include "tessera/tessera.h"

enum {
	/* side streams of a plan, at most: one that computes, and one for each peer on a node of
	 * eight GPUs */
	STREAMS_SIDES = 8,
	STREAMS_MARKS = 16 /* marks of a plan, at most */
};

/** All null at first. */
typedef struct streams {
	tsr_stream_t *main, *side[STREAMS_SIDES];
	tsr_event_t *mark[STREAMS_MARKS]; /* places in a run, for other streams to wait for */
	/* where side streams begin after the main stream, and where it continues after them */
	tsr_event_t *forked, *joined[STREAMS_SIDES];
} streams_t;

/**
 * Creates the main stream, and as many side streams and marks, if they are not
 * there yet. After an error streams_destroy releases what was created. Errors:
 * those of tsr_stream_create and tsr_event_create.
 */
tsr_status_t streams_create(tsr_world_t *world, int sides, int marks, streams_t *streams);

/** Lets the first `sides` side streams begin after what the main stream has so far. */
tsr_status_t streams_fork(const streams_t *streams, int sides);

/** Lets the main stream continue after what the first `sides` side streams have so far. */
tsr_status_t streams_join(const streams_t *streams, int sides);

/** Waits for the work of all streams. Returns the first error. */
tsr_status_t streams_sync(const streams_t *streams);

/** Waits for the work of all streams, and destroys them. Returns the first error. */
tsr_status_t streams_destroy(streams_t *streams);

#endif
