/*
 * Partial sums that a rank keeps in its own memory, M x N of them, for whoever
 * adds them up.
 */
#ifndef SPLIT_K_KEPT_H
#define SPLIT_K_KEPT_H

#include "kernels/split_k/chunks.h"

/**
 * Stores the partial sums of a tile, cut at the end of its chunk. The rows behind
 * belong to the first tile of the next chunk.
 */
TSR_FN void splitk_store_kept(tsr_coop_t *me, const splitk_run_t *run, tsr_ring_tile_t t,
			      const tile_frag_t *sums)
{
	tsr_tile_store(me, splitk_chunk(run, run->args->partial, t.part), splitk_place(t.at), sums);
}

/** Epilogue: stores the partial sums of a tile. */
TSR_FN void splitk_keep(tsr_coop_t *me, tile_frag_t *sums, tsr_pos_t at, void *ctx)
{
	splitk_run_t *run = (splitk_run_t *)ctx;
	(void)at;
	splitk_store_kept(me, run, splitk_tile_of(run, run->task), sums);
	run->task += run->args->computing;
}

/** Begins a run whose launch multiplies and does not communicate. */
TSR_FN void splitk_multiply(tsr_coop_t *block, const splitk_args_t *a)
{
	splitk_run_t run = {a, 0, tsr_block_index(block), tsr_rank(block), tsr_size(block)};
	tsr_role(block, "compute");
	tsr_gemm(tile, block, a->a, a->b, splitk_tasks(block, a), splitk_order, TSR_NO_GATE,
		 splitk_keep, &run);
}

/** How many strips a tile has. */
TSR_FN int64_t splitk_strips(void)
{
	return TSR_TILE_M(tile) / TSR_TILE_M(strip);
}

/** The position in its chunk of strip `number` of a tile. */
TSR_FN tsr_pos_t splitk_strip_place(tsr_pos_t tile_at, int64_t number)
{
	tsr_pos_t place = splitk_place(tile_at);
	place.row += number * TSR_TILE_M(strip);
	return place;
}

/**
 * Adds up all ranks' sums, in rank order, for the strip at `place` of this rank's
 * chunk. A strip is some rows of a tile: the sums of a whole tile would leave a
 * thread no registers for what it reads.
 */
TSR_FN void splitk_add_up(tsr_coop_t *block, const splitk_run_t *run, tsr_pos_t place,
			  strip_frag_t *sums_out)
{
	tsr_reduce(block, sums_out, splitk_chunk(run, run->args->partial, run->me), place,
		   TSR_REDUCE_SUM);
}

#endif
