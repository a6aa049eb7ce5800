/*
 * What all patterns have in common: the shards of the operand that is gathered,
 * the order in which a rank's tasks need them, and the epilogue.
 *
 * A unit is a row of tiles (A by rows), or the depth of an operand tile (A by
 * columns, B by rows). A rank begins with the first unit that begins in its own shard. It
 * goes on to the shards of rank r+1, r+2, and so on, as they arrive. Its extents
 * have 32 bits: divisions of 64 bits take registers from the main loop.
 */
#ifndef ALL_GATHER_GEMM_SHARDS_H
#define ALL_GATHER_GEMM_SHARDS_H

#include "kernels/all_gather_gemm/args.h"
#include "kernels/dev/handshake.h"
#include "kernels/dev/tiling.h"

/**
 * One launch. `divided` belongs to the epilogue: how many tasks are left of the
 * tile that has two.
 */
typedef struct agg_run {
	const agg_args_t *args;
	uint64_t epoch;
	int32_t block; /* the block's index; those that compute come first */
	int32_t divided;
} agg_run_t;

TSR_FN agg_run_t agg_begin(tsr_coop_t *block, const agg_args_t *a)
{
	const agg_run_t run = {a, handshake_epoch(block, a->sync), tsr_block_index(block),
			       a->divides_first ? 2 : 0};
	return run;
}

TSR_FN int32_t agg_unit(const agg_args_t *a)
{
	return a->along == AGG_BY_ROWS ? TSR_TILE_M(tile) : TSR_TILE_K(tile);
}

/** The rank whose shard has row, or column, `at`. */
TSR_FN int agg_rank_with(const agg_args_t *a, int32_t at)
{
	int rank = 0;
	while (a->begin[rank + 1] <= at)
		rank++;
	return rank;
}

/** The place of chunk `chunk` of rank `source`'s shard; the same on all ranks. */
TSR_FN tsr_view_t agg_chunk(const agg_args_t *a, int source, int32_t chunk)
{
	const int64_t begin = a->begin[source], end = a->begin[source + 1],
		      skip = (int64_t)chunk * a->chunk_rows;
	if (a->along == AGG_BY_COLUMNS) {
		const tsr_pos_t at = {skip, begin};
		return tsr_view_part(a->whole, at, a->chunk_rows, end - begin);
	}
	const int64_t left = end - begin > skip ? end - begin - skip : 0;
	const tsr_pos_t at = {begin + skip, 0};
	return tsr_view_part(a->whole, at, left < a->chunk_rows ? left : a->chunk_rows,
			     a->whole.cols);
}

/* ------------------------------------------------------------ order and epilogue */

/*
 * The main loop walks K upwards. So where shards are parts of K, a block's first
 * tile has two tasks: from this rank's part to the end of K, then the parts
 * before it. Its other tiles have one task each, because by then the other ranks'
 * shards are here, or soon will be.
 */

/** This block's tasks: the tiles are assigned to the computing blocks in turn. */
TSR_FN tsr_tasks_t agg_tasks(const agg_run_t *run)
{
	const agg_args_t *a = run->args;
	const int64_t after = tiling_count(&a->tiling) - run->block,
		      tiles = after > 0 ? tsr_tiles(after, a->tiling.blocks) : 0;
	const tsr_tasks_t tasks = {0, 1, tiles + (tiles > 0 && a->divides_first)};
	return tasks;
}

/** Task order: this rank's rows first, then those after them, then those before. */
TSR_FN tsr_part_t agg_order(int64_t task, const void *ctx)
{
	const agg_run_t *run = (const agg_run_t *)ctx;
	const agg_args_t *a = run->args;
	const int64_t tile_number = task - (task > 0 && a->divides_first);
	tsr_pos_t at = tiling_at(&a->tiling, run->block + tile_number * a->tiling.blocks);
	if (a->along == AGG_BY_ROWS) {
		const int64_t rows = (int64_t)a->tiling.tiles_m * TSR_TILE_M(tile);
		at.row += a->turn;
		at.row -= at.row >= rows ? rows : 0;
	}
	tsr_part_t part = tsr_whole(at);
	if (a->divides_first && task == 0)
		part.k0 = a->turn;
	else if (a->divides_first && task == 1)
		part.k1 = a->turn;
	return part;
}

/**
 * Epilogue: stores a tile. Of the two tasks of a divided tile, the first leaves
 * its sums in memory and the second adds them. Both are this block's, so the
 * fence orders the block's own threads only.
 */
TSR_FN void agg_store(tsr_coop_t *me, tile_frag_t *sums, tsr_pos_t at, void *ctx)
{
	agg_run_t *run = (agg_run_t *)ctx;
	const agg_args_t *a = run->args;
	if (run->divided > 0) {
		TSR_HEAP unsigned char *first_sums =
			a->first_sums + tsr_block_index(me) * (int64_t)TSR_FRAG_BYTES(tile);
		run->divided--;
		if (run->divided > 0) {
			tsr_frag_save(me, first_sums, sums);
			tsr_fence(me, TSR_ACQ_REL, TSR_SCOPE_BLOCK);
			return;
		}
		tsr_frag_add(me, sums, first_sums);
	}
	tsr_tile_store(me, a->c, at, sums);
}

/* ------------------------------------------------------------ what a gate waits for */

/*
 * A gate walks over the shards from agg_gate_begin to agg_gate_end: the rows, or
 * columns, that this chunk of a task reads and that lie in shards which the
 * task's earlier chunks have not read. It keeps little in registers, because the
 * loader has few.
 */
TSR_FN int32_t agg_gate_begin(const agg_args_t *a, tsr_part_t part)
{
	const int32_t k0 = (int32_t)part.k0;
	if (a->along == AGG_BY_ROWS)
		return k0 == 0 ? (int32_t)part.at.row : (int32_t)a->whole.rows;
	return k0 == 0 || k0 == a->turn ? k0 : a->begin[agg_rank_with(a, k0 - 1) + 1];
}

TSR_FN int32_t agg_gate_end(const agg_args_t *a, tsr_part_t part)
{
	const int32_t row_end = (int32_t)part.at.row + TSR_TILE_M(tile);
	if (a->along != AGG_BY_ROWS)
		return (int32_t)part.k1;
	return row_end < a->whole.rows ? row_end : (int32_t)a->whole.rows;
}

#endif
