/*
 * Sums that ranks add to in memory. The total is 0 when a run begins. The run's
 * second launch takes the total as the result, and clears it for the next run.
 */
#ifndef SPLIT_K_ADDED_H
#define SPLIT_K_ADDED_H

#include "kernels/split_k/chunks.h"

/**
 * Takes the total: rounds it to C, and clears it. The adds are complete, because
 * the launch before this one ends with handshake_close. The next run's first adds
 * follow handshake_open, which says that this launch has ended (litmus:
 * LB.retired.diffGPU-ss).
 */
TSR_FN void splitk_take(tsr_coop_t *block, const splitk_args_t *a)
{
	const int64_t strips_m = tsr_tiles(a->c.rows, TSR_TILE_M(strip));
	tsr_role(block, "round");
	TSR_FRAG(strip, sums, block);
	for (int64_t task = tsr_block_index(block); task < strips_m * a->tiles_n;
	     task += tsr_block_count(block)) {
		const tsr_pos_t at = {task / a->tiles_n * TSR_TILE_M(strip),
				      task % a->tiles_n * TSR_TILE_N(strip)};
		tsr_load(block, sums, a->total, at, tsr_rank(block));
		tsr_tile_store(block, a->c, at, sums);
		tsr_frag_zero(block, sums);
		tsr_store(block, a->total, at, sums, tsr_rank(block));
	}
}

#endif
