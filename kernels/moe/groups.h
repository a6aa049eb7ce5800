/*
 * The groups of a product: the rows of an expert, times its B. A task is a tile;
 * its rows are a block of one expert. How many blocks there are is known on the
 * device alone.
 *
 * Order, and gate and epilogue too, find an expert by its blocks, in the table
 * that each block has in shared memory. Extents have 32 bits: divisions of 64
 * bits take registers from the main loop.
 */
#ifndef MOE_GROUPS_H
#define MOE_GROUPS_H

#include "kernels/moe/places.h"

/** One launch of a product, on one block. */
typedef struct moe_run {
	const moe_args_t *args;
	const moe_groups_t *groups; /* in shared memory */
	uint64_t epoch;
	int32_t experts;           /* of this rank */
	int32_t tiles;             /* columns of tiles of the result */
	int32_t early;             /* experts whose own blocks come first */
	int32_t bands, band_tiles; /* columns that are computed one after the other */
	int64_t depth;             /* of the product: rows of an expert's B */
	int32_t task, step;        /* epilogue: of this block, the next task, and their distance */
	int32_t band;              /* epilogue: the first band that is not done */
} moe_run_t;

/** Reads the groups that the plan has written. The block meets before and after. */
TSR_FN void moe_load_groups(tsr_coop_t *block, moe_groups_t *groups, const moe_args_t *a)
{
	tsr_sync(block);
	moe_read(block, a, groups, a->groups, 0, 1, MOE_GROUP_WORDS);
	tsr_sync(block);
}

TSR_FN moe_run_t moe_begin(tsr_coop_t *block, const moe_args_t *a, moe_groups_t *groups)
{
	moe_load_groups(block, groups, a);
	moe_run_t run;
	run.args = a;
	run.groups = groups;
	run.epoch = moe_epoch(block, a);
	run.experts = moe_first_expert(a, a->me + 1) - moe_first_expert(a, a->me);
	run.tiles = run.band_tiles = run.early = run.task = run.step = run.band = 0;
	run.bands = 1;
	run.depth = 0;
	return run;
}

/** The number of blocks of this rank's experts. */
TSR_FN int32_t moe_block_count(const moe_run_t *run)
{
	return run->groups->first_block[run->experts];
}

/**
 * Whose block number `at` is, of `count` experts: the last one that begins at most
 * there. An expert begins at begin[e], or at begin[e] - less[e].
 */
TSR_FN int32_t moe_find(const int32_t *begin, const int32_t *less, int32_t count, int32_t at)
{
	int32_t low = 0, high = count; /* it is in low .. high - 1 */
	while (high - low > 1) {
		const int32_t middle = (low + high) / 2;
		if (begin[middle] - (less ? less[middle] : 0) <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/** The expert of a block; both of this rank. */
TSR_FN int32_t moe_expert_of(const moe_run_t *run, int32_t block)
{
	return moe_find(run->groups->first_block, 0, run->experts, block);
}

/**
 * The `index`-th block in the order of computation: first, of the early experts,
 * the blocks that hold this rank's own tokens alone; then all blocks of the other
 * experts; then the rest of the early ones, whose tokens have come meanwhile.
 */
TSR_FN int32_t moe_block_at(const moe_run_t *run, int32_t index)
{
	const moe_groups_t *g = run->groups;
	const int32_t early = run->early, own = early > 0 ? g->own_first[early] : 0,
		      others = moe_block_count(run) - g->first_block[early];
	if (index < own) {
		const int32_t e = moe_find(g->own_first, 0, early, index);
		return g->first_block[e] + index - g->own_first[e];
	}
	index -= own;
	if (index < others)
		return g->first_block[early] + index;
	/* of each early expert, first_block - own_first blocks are left before it */
	index -= others;
	return g->own_first[moe_find(g->first_block, g->own_first, early, index) + 1] + index;
}

/* Blocks of an expert whose rows are waited for together, at most. */
enum { MOE_TOGETHER = 8 };

/** Blocks of one expert that follow each other, in memory and in the order of computation. */
typedef struct moe_together {
	int32_t first, count;
} moe_together_t;

/**
 * Those that block `block` begins with. They read the same weights: if they begin at
 * one time, these come from memory once.
 */
TSR_FN moe_together_t moe_together(const moe_run_t *run, int32_t block)
{
	const moe_groups_t *g = run->groups;
	const int32_t e = moe_expert_of(run, block), begin = g->first_block[e],
		      own = e < run->early ? begin + g->own_first[e + 1] - g->own_first[e] : begin,
		      low = block < own ? begin : own,
		      high = block < own ? own : g->first_block[e + 1],
		      first = low + (block - low) / MOE_TOGETHER * MOE_TOGETHER;
	moe_together_t together;
	together.first = first;
	together.count = high - first < MOE_TOGETHER ? high - first : MOE_TOGETHER;
	return together;
}

/** The tasks of computing block `index` of `count`. */
TSR_FN tsr_tasks_t moe_tasks(const moe_run_t *run, int index, int count)
{
	const tsr_tasks_t tasks = {index, count, (int64_t)moe_block_count(run) * run->tiles};
	return tasks;
}

/** The band of a task; behind the last task, their number. */
TSR_FN int32_t moe_band_of(const moe_run_t *run, int32_t task)
{
	const uint32_t each = (uint32_t)moe_block_count(run) * (uint32_t)run->band_tiles,
		       band = each > 0 ? (uint32_t)task / each : (uint32_t)run->bands;
	return band < (uint32_t)run->bands && task < moe_block_count(run) * run->tiles
		       ? (int32_t)band
		       : run->bands;
}

/** Task order: band after band; in each the blocks, and of a block all its tiles. */
TSR_FN tsr_part_t moe_order(int64_t task, const void *ctx)
{
	const moe_run_t *run = (const moe_run_t *)ctx;
	const int32_t band = moe_band_of(run, (int32_t)task), first = band * run->band_tiles,
		      left = run->tiles - first,
		      tiles = left < run->band_tiles ? left : run->band_tiles;
	const uint32_t within = (uint32_t)task - (uint32_t)first * (uint32_t)moe_block_count(run),
		       index = within / (uint32_t)tiles;
	const int32_t block = moe_block_at(run, (int32_t)index);
	const tsr_pos_t at = {(int64_t)block * TSR_TILE_M(tile),
			      (int64_t)(first + (int32_t)(within - index * (uint32_t)tiles)) *
				      TSR_TILE_N(tile)};
	tsr_part_t part = tsr_whole(at);
	part.b0 = moe_expert_of(run, block) * run->depth;
	return part;
}

/** What the map of moe_finish_first needs. */
typedef struct moe_limit {
	int64_t end; /* of the expert's rows */
	int32_t activation;
} moe_limit_t;

/** A result of the first product. A row of padding is 0, whatever was computed of it. */
TSR_FN float moe_activate(float x, int64_t row, int64_t col, const void *ctx)
{
	const moe_limit_t *limit = (const moe_limit_t *)ctx;
	(void)col;
	if (row >= limit->end)
		return 0;
	return limit->activation == MOE_RELU && x < 0 ? 0 : x;
}

/** Epilogue of the first product: stores a tile of activated results. */
TSR_FN void moe_finish_first(tsr_coop_t *me, tile_frag_t *sums, tsr_pos_t at, void *ctx)
{
	const moe_run_t *run = (const moe_run_t *)ctx;
	const int32_t expert = moe_expert_of(run, (int32_t)(at.row / TSR_TILE_M(tile)));
	const moe_limit_t limit = {(int64_t)run->groups->first_block[expert] * TSR_TILE_M(tile) +
					   run->groups->rows[expert],
				   run->args->activation};
	tsr_frag_map(me, sums, at, moe_activate, &limit);
	tsr_tile_store(me, run->args->y1, at, sums);
}

/** The shape of the first product, */
TSR_FN void moe_set_first(moe_run_t *run)
{
	const moe_args_t *a = run->args;
	run->depth = a->x.cols;
	run->tiles = run->band_tiles = (int32_t)tsr_tiles(a->y1.cols, TSR_TILE_N(tile));
	run->early = a->early;
}

/** and of the second one. */
TSR_FN void moe_set_second(moe_run_t *run)
{
	const moe_args_t *a = run->args;
	run->depth = a->y1.cols;
	run->tiles = (int32_t)tsr_tiles(a->y2.cols, TSR_TILE_N(tile));
	run->bands = a->bands;
	run->band_tiles = a->band_tiles;
}

#endif
