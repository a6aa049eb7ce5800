/*
 * Helpers of all patterns: this rank's part of C, its tasks, and sending a
 * tile.
 */
#ifndef GEMM_ALL_SCATTER_TILES_H
#define GEMM_ALL_SCATTER_TILES_H

#include "kernels/dev/parts.h"
#include "kernels/gemm_all_scatter/args.h"

/**
 * One launch: its arguments, and the epoch to which its flags are set. It is
 * the ctx of order, gate and epilogue.
 */
typedef struct gas_run {
	const gas_args_t *args;
	uint64_t epoch;
} gas_run_t;

/**
 * This rank's columns of C: it computes them, and all ranks receive them. Tiles
 * are numbered and placed within them.
 */
TSR_FN tsr_view_t gas_slab(const gas_args_t *a)
{
	tsr_pos_t at = {0, a->first_col};
	return tsr_view_part(a->c, at, a->c.rows, a->b.cols);
}

/** Task order: each task is a whole tile. */
TSR_FN tsr_part_t gas_order(int64_t task, const void *ctx)
{
	return tsr_whole(tiling_at(&((const gas_run_t *)ctx)->args->tiling, task));
}

/** Task order: each task is a whole tile or a part of its K. */
TSR_FN tsr_part_t gas_part_order(int64_t task, const void *ctx)
{
	return tiling_part(&((const gas_run_t *)ctx)->args->tiling, task);
}

/** The view of the tile at `at`; the same on every rank. */
TSR_FN tsr_view_t gas_tile(const gas_args_t *a, tsr_pos_t at)
{
	return tsr_view_part(gas_slab(a), at, TSR_TILE_M(tile), TSR_TILE_N(tile));
}

/** Sends a tile that is in this rank's C to every other rank. */
TSR_FN void gas_put_tile(tsr_coop_t *me, const gas_args_t *a, tsr_pos_t at)
{
	tsr_put_all_2d(me, gas_tile(a, at), gas_tile(a, at));
}

#endif
