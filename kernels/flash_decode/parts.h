/*
 * Whose keys are whose: a rank's keys are divided among its blocks without
 * regard to heads, so that all blocks read about as much. Groups are the tiles
 * of heads that share a key head; their keys, in steps, follow each other as
 * units, and a block has a range of units. So it has parts of one group or of
 * several, and a group has parts in one block or in several that follow each
 * other.
 *
 * Source: Flash-Decoding (Dao et al., 2023) divides keys; Stream-K (Osama et al.,
 * 2023) divides without regard to tiles.
 */
#ifndef FLASH_DECODE_PARTS_H
#define FLASH_DECODE_PARTS_H

#include "kernels/dev/leave.h"
#include "kernels/flash_decode/args.h"

/** What a block knows of its run. */
typedef struct fd_run {
	const fd_args_t *args;
	uint32_t block;
	uint64_t epoch;
} fd_run_t;

TSR_FN fd_run_t fd_begin(tsr_coop_t *block, const fd_args_t *a)
{
	const fd_run_t run = {a, (uint32_t)tsr_block_index(block), handshake_epoch(block, a->sync)};
	return run;
}

/** The first unit of a block; that of the next block is behind its last. */
TSR_FN uint32_t fd_first_unit(const fd_args_t *a, uint32_t block)
{
	return block * a->each + (block < a->rest ? block : a->rest);
}

/** The block that has a unit. */
TSR_FN uint32_t fd_block_of(const fd_args_t *a, uint32_t unit)
{
	const uint32_t longer = a->rest * (a->each + 1);
	return unit < longer ? unit / (a->each + 1) : a->rest + (unit - longer) / a->each;
}

/** Units of a group. */
TSR_FN uint32_t fd_steps(const fd_args_t *a)
{
	return a->keys > 0 ? ((uint32_t)a->keys - 1) / TSR_ATTEND_KEYS(tile) + 1 : 1;
}

/** The blocks that have parts of a group: from `first` to `last`. */
typedef struct fd_parts {
	uint32_t first, last;
} fd_parts_t;

TSR_FN fd_parts_t fd_parts_of(const fd_args_t *a, uint32_t group)
{
	const uint32_t steps = fd_steps(a), begin = group * steps;
	const fd_parts_t parts = {fd_block_of(a, begin), fd_block_of(a, begin + steps - 1)};
	return parts;
}

/** The groups of which a block has parts, as tasks. */
TSR_FN tsr_tasks_t fd_tasks(const fd_run_t *run)
{
	const uint32_t steps = fd_steps(run->args), begin = fd_first_unit(run->args, run->block),
		       end = fd_first_unit(run->args, run->block + 1);
	const tsr_tasks_t tasks = {begin / steps, 1, begin < end ? (end - 1) / steps + 1 : 0};
	return tasks;
}

/** The first row of q that belongs to a group, and how many there are. */
typedef struct fd_rows {
	int64_t first, count;
} fd_rows_t;

TSR_FN fd_rows_t fd_rows_of(const fd_args_t *a, uint32_t group)
{
	const int32_t head = (int32_t)(group / a->tiles),
		      skip = (int32_t)(group % a->tiles) * TSR_TILE_M(tile), left = a->share - skip;
	const fd_rows_t rows = {(int64_t)head * a->share + skip,
				left < TSR_TILE_M(tile) ? left : TSR_TILE_M(tile)};
	return rows;
}

/** The inverse: the group to which row `row` of q belongs. */
TSR_FN uint32_t fd_group_of(const fd_args_t *a, int64_t row)
{
	const uint32_t head = (uint32_t)row / (uint32_t)a->share,
		       skip = (uint32_t)row - head * (uint32_t)a->share;
	return head * a->tiles + skip / TSR_TILE_M(tile);
}

/** A task order: the block's part of group `task`. */
TSR_FN tsr_span_t fd_span(int64_t task, const void *ctx)
{
	const fd_run_t *run = (const fd_run_t *)ctx;
	const fd_args_t *a = run->args;
	const uint32_t group = (uint32_t)task, steps = fd_steps(a), begin = group * steps,
		       first = fd_first_unit(a, run->block), end = fd_first_unit(a, run->block + 1);
	const uint32_t from = first > begin ? first - begin : 0,
		       to = end < begin + steps ? end - begin : steps;
	const int64_t k1 = (int64_t)to * TSR_ATTEND_KEYS(tile);
	const fd_rows_t rows = fd_rows_of(a, group);
	const tsr_span_t span = {{rows.first, 0},
				 {(int64_t)(group / a->tiles) * a->keys, 0},
				 rows.count,
				 (int64_t)from * TSR_ATTEND_KEYS(tile),
				 k1 < a->keys ? k1 : a->keys,
				 (int32_t)TSR_MASK_NONE,
				 (int32_t)rows.count,
				 0,
				 0};
	return span;
}

/**
 * The place of the state of a block's part of a group. From a part to the next
 * one either the group or the block grows, or both.
 */
TSR_FN TSR_HEAP unsigned char *fd_state(const fd_args_t *a, uint32_t group, uint32_t block)
{
	return a->states + (int64_t)(group + block) * (int64_t)TSR_STATE_BYTES(tile);
}

/** Four parts that have been saved, behind each other: their loads are in flight together. */
TSR_FN void fd_add_four(tsr_coop_t *me, const fd_args_t *a, uint32_t group, uint32_t block,
			tile_state_t *state)
{
	TSR_STATE(tile, first, me);
	TSR_STATE(tile, second, me);
	TSR_STATE(tile, third, me);
	TSR_STATE(tile, fourth, me);
	tsr_state_load(me, first, fd_state(a, group, block));
	tsr_state_load(me, second, fd_state(a, group, block + 1));
	tsr_state_load(me, third, fd_state(a, group, block + 2));
	tsr_state_load(me, fourth, fd_state(a, group, block + 3));
	tsr_state_merge(me, state, first);
	tsr_state_merge(me, state, second);
	tsr_state_merge(me, state, third);
	tsr_state_merge(me, state, fourth);
}

/** Merges the saved parts of a group in their order, so that bits are the same in every run. */
TSR_FN void fd_merge_parts(tsr_coop_t *me, const fd_args_t *a, uint32_t group, tile_state_t *state)
{
	const fd_parts_t parts = fd_parts_of(a, group);
	uint32_t block = parts.first;
	tsr_state_neutral(me, state);
	for (; block + 3 <= parts.last; block += 4)
		fd_add_four(me, a, group, block, state);
	for (; block <= parts.last; block++)
		tsr_state_merge_saved(me, state, fd_state(a, group, block));
}

/*
 * A main loop over whole groups, without keys: epilogues have saved the parts, so
 * coops of their kind load them (tsr_state_load).
 */

TSR_FN tsr_tasks_t fd_whole_groups(tsr_coop_t *block, const fd_args_t *a)
{
	const tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block),
				   (int64_t)a->groups};
	return tasks;
}

/** A task order: group `task`, and none of its keys. */
TSR_FN tsr_span_t fd_no_keys(int64_t task, const void *ctx)
{
	const fd_rows_t rows = fd_rows_of(((const fd_run_t *)ctx)->args, (uint32_t)task);
	const tsr_span_t span = {
		{rows.first, 0},     {0, 0}, rows.count, 0, 0, (int32_t)TSR_MASK_NONE,
		(int32_t)rows.count, 0,      0};
	return span;
}

/** Start: the merged parts of the group. */
TSR_FN void fd_start_merged(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, void *ctx)
{
	const fd_args_t *a = ((const fd_run_t *)ctx)->args;
	fd_merge_parts(me, a, fd_group_of(a, span.q.row), state);
}

#endif
