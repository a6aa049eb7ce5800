/*
 * Hand-off of tiles from blocks that compute to blocks that go on with them:
 * through this rank's memory and one flag for each tile. Iris paper, Listing 5.
 */
#ifndef KERNELS_DEV_HANDOFF_H
#define KERNELS_DEV_HANDOFF_H

#include "kernels/dev/tiling.h"

/** The flag of the tile at `at`. */
TSR_FN TSR_HEAP uint64_t *handoff_flag(const tiling_t *t, tsr_pos_t at)
{
	return t->tile_ready + at.row / TSR_TILE_M(tile) * t->tiles_n + at.col / TSR_TILE_N(tile);
}

/**
 * Says that the tile at `at` is in this rank's memory, for the launch with
 * `epoch`. Partners: handoff_await and handoff_is_ready. Litmus:
 * MP.rel.acq.sameGPU-aa.
 */
TSR_FN void handoff_signal(tsr_coop_t *me, const tiling_t *t, tsr_pos_t at, uint64_t epoch)
{
	tsr_signal_local(me, handoff_flag(t, at), epoch, TSR_SCOPE_DEVICE);
}

/** Waits until it is. Partner: handoff_signal. Litmus: MP.rel.acq.sameGPU-aa. */
TSR_FN void handoff_await(tsr_coop_t *me, const tiling_t *t, tsr_pos_t at, uint64_t epoch)
{
	tsr_wait_local(me, handoff_flag(t, at), epoch, TSR_SCOPE_DEVICE);
}

/** Whether it is: then it may be read. Partner: handoff_signal. Litmus: MP.rel.acq.sameGPU-aa. */
TSR_FN int handoff_is_ready(tsr_coop_t *me, const tiling_t *t, tsr_pos_t at, uint64_t epoch)
{
	return tsr_atomic_load(me, handoff_flag(t, at), tsr_rank(me), TSR_ACQUIRE,
			       TSR_SCOPE_DEVICE) >= epoch;
}

#endif
