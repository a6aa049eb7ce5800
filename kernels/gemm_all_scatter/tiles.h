/*
 * Helpers of all patterns: this rank's part of C, its tiles, their order, and
 * sending one.
 */
#ifndef GEMM_ALL_SCATTER_TILES_H
#define GEMM_ALL_SCATTER_TILES_H

#include "kernels/gemm_all_scatter/args.h"
#include "tessera/dev.h"

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

TSR_FN int64_t gas_tile_count(const gas_args_t *a)
{
	return (int64_t)a->tiles_m * a->tiles_n;
}

/** The tasks of persistent block `index` of `count`. */
TSR_FN tsr_tasks_t gas_tasks(const gas_run_t *run, int index, int count)
{
	tsr_tasks_t tasks = {index, count, gas_tile_count(run->args)};
	return tasks;
}

/** The position of tile `index` in this rank's columns. */
TSR_FN tsr_pos_t gas_tile_at(const gas_args_t *a, int64_t index)
{
	tsr_pos_t t = tsr_grouped_order(index, a->tiles_m, a->tiles_n, a->group);
	tsr_pos_t at = {t.row * TSR_TILE_M(tile), t.col * TSR_TILE_N(tile)};
	return at;
}

/** The inverse: the index of the tile at `at`. */
TSR_FN int64_t gas_tile_index(const gas_args_t *a, tsr_pos_t at)
{
	tsr_pos_t t = {(uint32_t)(at.row / TSR_TILE_M(tile)),
		       (uint32_t)(at.col / TSR_TILE_N(tile))};
	return tsr_grouped_index(t, a->tiles_m, a->tiles_n, a->group);
}

/** Task order: each task is a whole tile. */
TSR_FN tsr_part_t gas_order(int64_t task, const void *ctx)
{
	return tsr_whole(gas_tile_at(((const gas_run_t *)ctx)->args, task));
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
