/*
 * The all-reduce of one tile: adds up what the ranks keep, and stores the result
 * to all. It is tsr_all_reduce with another destination: the sums stay as they
 * are, and C gets them rounded once.
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

/** Adds up the tile at `tile_at` of this rank's chunk, strip by strip, for all ranks. */
TSR_FN void gar_combine(tsr_coop_t *block, const splitk_run_t *run, tsr_pos_t tile_at)
{
	const tsr_view_t chunk = splitk_chunk(run, run->args->c, run->me);
	TSR_FRAG(strip, sums, block);
	for (int64_t i = 0; i < splitk_strips(); i++) {
		const tsr_pos_t place = splitk_strip_place(tile_at, i);
		splitk_add_up(block, run, place, sums);
		tsr_store_all(block, chunk, place, sums);
	}
}

#endif
