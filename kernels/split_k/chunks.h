/* Chunks of C: the rows whose sums each rank completes, and the tiles that cover them. */
#ifndef SPLIT_K_CHUNKS_H
#define SPLIT_K_CHUNKS_H

#include "kernels/dev/handshake.h"
#include "kernels/split_k/args.h"

/** One launch. `task` belongs to the epilogue: the task of its next call. */
typedef struct splitk_run {
	const splitk_args_t *args;
	uint64_t epoch;
	int64_t task;
	int32_t me, ranks;
} splitk_run_t;

/**
 * The first row of rank `rank`'s chunk. Divides 32-bit words: a division of
 * 64-bit words takes registers from the main loop.
 */
TSR_FN int64_t splitk_first_row(const splitk_args_t *a, int rank, int ranks)
{
	return a->chunk_rows * rank + (uint32_t)(a->rest * rank) / (uint32_t)ranks;
}

/**
 * The tile of a task. Tiles are ordered chunk after chunk as in a ring,
 * beginning with the next rank's chunk. So this rank's chunk comes last in each
 * band, when the other ranks' sums for it have arrived.
 */
TSR_FN tsr_ring_tile_t splitk_tile_of(const splitk_run_t *run, int64_t task)
{
	const splitk_args_t *a = run->args;
	const tsr_ring_t ring = {a->tiles_m, a->tiles_n, run->ranks, a->bands, run->me + 1};
	return tsr_ring_order(task, &ring, a->group);
}

/** Task order: all of K for one tile. */
TSR_FN tsr_part_t splitk_order(int64_t task, const void *ctx)
{
	const splitk_run_t *run = (const splitk_run_t *)ctx;
	const tsr_ring_tile_t tile_at = splitk_tile_of(run, task);
	const tsr_pos_t at = {splitk_first_row(run->args, tile_at.part, run->ranks) +
				      tile_at.at.row * TSR_TILE_M(tile),
			      tile_at.at.col * TSR_TILE_N(tile)};
	return tsr_whole(at);
}

/**
 * This block's tasks: the tiles of all chunks are assigned to the computing
 * blocks in turn. The epilogue adds as much to `task`.
 */
TSR_FN tsr_tasks_t splitk_tasks(tsr_coop_t *block, const splitk_args_t *a)
{
	const tsr_tasks_t tasks = {tsr_block_index(block), a->computing,
				   tsr_size(block) * a->tiles_m * a->tiles_n};
	return tasks;
}

/** The rows of a matrix with all rows of C that are a chunk. */
TSR_FN tsr_view_t splitk_chunk(const splitk_run_t *run, tsr_view_t whole, int chunk)
{
	const int64_t first = splitk_first_row(run->args, chunk, run->ranks);
	const tsr_pos_t begin = {first, 0};
	return tsr_view_part(whole, begin,
			     splitk_first_row(run->args, chunk + 1, run->ranks) - first,
			     whole.cols);
}

/** The position in its chunk of a tile. */
TSR_FN tsr_pos_t splitk_place(tsr_pos_t tile_at)
{
	const tsr_pos_t at = {tile_at.row * TSR_TILE_M(tile), tile_at.col * TSR_TILE_N(tile)};
	return at;
}

TSR_FN splitk_run_t splitk_begin(tsr_coop_t *block, const splitk_args_t *a)
{
	const splitk_run_t run = {a, handshake_epoch(block, a->sync), tsr_block_index(block),
				  tsr_rank(block), tsr_size(block)};
	return run;
}

#endif
