/*
 * The all-reduce of one tile: adds up what the ranks keep, rounds the sums once,
 * and stores them to all.
 */
#ifndef GEMM_ALL_REDUCE_COMBINE_H
#define GEMM_ALL_REDUCE_COMBINE_H

#include "kernels/split_k/kept.h"

/** The `index`-th tile of a chunk, in the order in which every rank computes them. */
TSR_FN tsr_pos_t gar_own_tile(const splitk_args_t *a, int64_t index)
{
	const tsr_ring_t ring = {a->tiles_m, a->tiles_n, 1, a->bands, 0};
	return tsr_ring_order(index, &ring, a->group).at;
}

/** Adds up part `index` of `count` of the tile at `tile_at` of this rank's chunk, for all ranks. */
TSR_FN void gar_combine(tsr_coop_t *block, const splitk_run_t *run, tsr_pos_t tile_at, int index,
			int count)
{
	splitk_add_up(block, run, splitk_chunk(run, run->args->c, run->me), tile_at, index, count,
		      TSR_ANY_RANK);
}

#endif
