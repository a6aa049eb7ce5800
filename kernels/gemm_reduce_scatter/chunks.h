/* Chunks of C: the rows that each rank gets, and the tiles that cover them. */
#ifndef GEMM_REDUCE_SCATTER_CHUNKS_H
#define GEMM_REDUCE_SCATTER_CHUNKS_H

#include "kernels/dev/handshake.h"
#include "kernels/gemm_reduce_scatter/args.h"

/** One launch. `task` belongs to the epilogue: the task of its next call. */
typedef struct grs_run {
	const grs_args_t *args;
	uint64_t epoch;
	int64_t task;
	int32_t me, ranks;
} grs_run_t;

/**
 * The first row of rank `rank`'s chunk. Divides 32-bit words: a division of
 * 64-bit words takes registers from the main loop.
 */
TSR_FN int64_t grs_first_row(const grs_args_t *a, int rank, int ranks)
{
	return a->chunk_rows * rank + (uint32_t)(a->rest * rank) / (uint32_t)ranks;
}

/**
 * The tile of a task. Tiles are ordered chunk after chunk as in a ring,
 * beginning with the next rank's chunk. So this rank's chunk comes last in each
 * band, when the other ranks' sums for it have arrived.
 */
TSR_FN tsr_ring_tile_t grs_tile_of(const grs_run_t *run, int64_t task)
{
	const grs_args_t *a = run->args;
	const tsr_ring_t ring = {a->tiles_m, a->tiles_n, run->ranks, a->bands, run->me + 1};
	return tsr_ring_order(task, &ring, a->group);
}

/** Task order: all of K for one tile. */
TSR_FN tsr_part_t grs_order(int64_t task, const void *ctx)
{
	const grs_run_t *run = (const grs_run_t *)ctx;
	const tsr_ring_tile_t tile_at = grs_tile_of(run, task);
	const tsr_pos_t at = {grs_first_row(run->args, tile_at.part, run->ranks) +
				      tile_at.at.row * TSR_TILE_M(tile),
			      tile_at.at.col * TSR_TILE_N(tile)};
	return tsr_whole(at);
}

/**
 * This block's tasks: the tiles of all chunks are assigned to the blocks in
 * turn.
 */
TSR_FN tsr_tasks_t grs_tasks(tsr_coop_t *block, const grs_args_t *a)
{
	const tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block),
				   tsr_size(block) * a->tiles_m * a->tiles_n};
	return tasks;
}

/** The position in this rank's rows of C of a tile of its chunk. */
TSR_FN tsr_pos_t grs_place(tsr_pos_t tile_at)
{
	const tsr_pos_t at = {tile_at.row * TSR_TILE_M(tile), tile_at.col * TSR_TILE_N(tile)};
	return at;
}

TSR_FN grs_run_t grs_begin(tsr_coop_t *block, const grs_args_t *a)
{
	const grs_run_t run = {a, handshake_epoch(block, a->sync), tsr_block_index(block),
			       tsr_rank(block), tsr_size(block)};
	return run;
}

#endif
