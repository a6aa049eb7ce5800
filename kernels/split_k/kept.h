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

/** What a chunk has of a tile. */
TSR_FN tsr_view_t splitk_tile_view(tsr_view_t chunk, tsr_pos_t tile_at)
{
	const tsr_pos_t at = splitk_place(tile_at);
	const int64_t rows = chunk.rows - at.row, cols = chunk.cols - at.col;
	const int64_t tile_rows = TSR_TILE_M(tile), tile_cols = TSR_TILE_N(tile);
	return tsr_view_part(chunk, at, rows < tile_rows ? rows : tile_rows,
			     cols < tile_cols ? cols : tile_cols);
}

/**
 * Adds up all ranks' sums for some rows of a tile of this rank's chunk, part
 * `index` of `count`, in rank order. Stores the result to `dst`, the same rows of
 * C, on rank `to` or on all ranks.
 */
TSR_FN void splitk_add_up(tsr_coop_t *block, const splitk_run_t *run, tsr_view_t dst,
			  tsr_pos_t tile_at, int index, int count, int to)
{
	const tsr_view_t chunk = splitk_chunk(run, run->args->partial, run->me);
	tsr_combine(block, tsr_view_cut(splitk_tile_view(dst, tile_at), TSR_DIM_ROWS, index, count),
		    tsr_view_cut(splitk_tile_view(chunk, tile_at), TSR_DIM_ROWS, index, count),
		    TSR_REDUCE_SUM, to);
}

/** How many parts of a tile's rows blocks add up in turn: more, if there are few tiles. */
TSR_FN int splitk_cuts(const tsr_coop_t *block, const splitk_args_t *a)
{
	int cuts = 1;
	while (cuts < 8 && a->tiles_m * a->tiles_n * cuts < 2 * tsr_block_count(block))
		cuts *= 2;
	return cuts;
}

#endif
