/* The end of a run without a meeting of the ranks, in place of handshake_close. */
#ifndef KERNELS_DEV_LEAVE_H
#define KERNELS_DEV_LEAVE_H

#include "kernels/dev/handshake.h"

/**
 * Ends a run of patterns that read of other ranks only what they have waited for:
 * the last of this rank's blocks that makes the call advances the epoch. Every
 * block makes it. The atomic adds are partners of each other: each block has
 * loaded the old epoch before the last one stores the new. Litmus:
 * LB.ra.sameGPU-aa.
 */
TSR_FN void handshake_leave(tsr_coop_t *block, TSR_HEAP handshake_t *state)
{
	/* loaded anew: it would take registers from the main loop */
	const uint64_t epoch = handshake_epoch(block, state);
	uint64_t before = tsr_atomic_add(block, &state->finished, (uint64_t)1, tsr_rank(block),
					 TSR_ACQ_REL, TSR_SCOPE_DEVICE);
	if (before + 1 == (uint64_t)tsr_block_count(block))
		handshake_advance(block, state, epoch);
}

#endif
