/*
 * The state of kernels/dev/handshake.h, in the heap: flags by which ranks tell
 * each other that a run begins and ends.
 */
#ifndef KERNELS_DEV_HANDSHAKE_STATE_H
#define KERNELS_DEV_HANDSHAKE_STATE_H

#include "tessera/types.h"

/**
 * Cleared before the first use. Epochs advance in memory, so that a launch can
 * be repeated with the same arguments, and no flag is ever reset.
 */
typedef struct handshake {
	uint64_t epoch;    /* runs completed on this rank */
	uint64_t finished; /* blocks of the running launch that have finished */
	/* retired[r]: the epoch for which rank r's memory may be overwritten (RETIRED) */
	uint64_t retired[TSR_MAX_RANKS];
	/* stored[r]: the epoch for which rank r has stored everything to this rank (READY) */
	uint64_t stored[TSR_MAX_RANKS];
} handshake_t;

#endif
