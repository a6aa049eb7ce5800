/*
 * What ranks tell each other at the begin and the end of a run
 * (kernels/dev/handshake.h), in the heap.
 */
#ifndef KERNELS_DEV_HANDSHAKE_STATE_H
#define KERNELS_DEV_HANDSHAKE_STATE_H

#include "tessera/types.h"

/**
 * Cleared before the first use. Epochs live here and advance here, so that a
 * launch repeated with the same arguments is right, and no flag is ever reset.
 */
typedef struct handshake {
	uint64_t epoch;    /* runs completed on this rank */
	uint64_t finished; /* blocks of the running launch that have ended */
	/* retired[r]: the epoch for which rank r's memory may be written (RETIRED) */
	uint64_t retired[TSR_MAX_RANKS];
	/* stored[r]: the epoch for which rank r has stored all to me (READY) */
	uint64_t stored[TSR_MAX_RANKS];
} handshake_t;

#endif
