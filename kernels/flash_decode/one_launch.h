/*
 * One launch: each block attends to its parts. Who completes a group's last part
 * merges them, and puts the result to all ranks as words that carry their flag.
 * When a block has no part left, it takes its share of the groups from all
 * ranks, and merges them in rank order. All that others wait for is produced
 * before anybody waits, and all blocks are resident.
 *
 * A result crosses the link in one trip, and no launch, barrier or flag is
 * between the keys and the output.
 *
 * Source: "Three Taxes", section 4.2.5, a launch further; after NCCL's protocol
 *         LL (dev/marked.h).
 */
#ifndef FLASH_DECODE_ONE_LAUNCH_H
#define FLASH_DECODE_ONE_LAUNCH_H

#include "kernels/flash_decode/results.h"

/** The words of rank `source`'s result of a group, in this epoch's inbox. */
TSR_FN TSR_HEAP uint64_t *fd_words(const fd_run_t *run, int ranks, int source, uint32_t group)
{
	const fd_args_t *a = run->args;
	const int64_t inbox = (int64_t)(run->epoch % 2) * ranks + source;
	return a->words + (inbox * a->groups + group) * a->group_words;
}

/** Bytes of a group's result. */
TSR_FN size_t fd_result_bytes(tsr_view_t result)
{
	return (size_t)(result.rows * result.ld) * sizeof(float);
}

/**
 * Puts a group's result to every rank, this one included.
 * Partner:    tsr_take_marked in fd_take_group. Litmus: LB.marked.diffGPU-ss, for
 *             the inbox that is put to again two runs later.
 */
TSR_FN void fd_put_group(tsr_coop_t *me, const fd_run_t *run, uint32_t group,
			 const tile_state_t *state)
{
	const fd_args_t *a = run->args;
	const fd_rows_t rows = fd_rows_of(a, group);
	const tsr_view_t mine = fd_results_of(a->mine, 0, rows);
	fd_keep_mine(me, a, rows, state);
	tsr_sync(me); /* the put reads what other threads have stored */
	tsr_put_all_marked(me, fd_words(run, tsr_size(me), tsr_rank(me), group), mine.data,
			   fd_result_bytes(mine), (uint32_t)run->epoch);
}

/**
 * Counts a part that has been saved. Returns whether it was the group's last in
 * this run: counts go on from run to run, and each run adds as many as there are
 * parts. The adds are partners of each other: the last one acquires the parts
 * that the others have released. Litmus: MP.rmw.sameGPU-aa.
 */
TSR_FN int fd_count_part(tsr_coop_t *me, const fd_args_t *a, uint32_t group, fd_parts_t parts)
{
	const uint64_t before = tsr_atomic_add(me, a->counted + group, (uint64_t)1, tsr_rank(me),
					       TSR_ACQ_REL, TSR_SCOPE_DEVICE);
	return (before + 1) % (parts.last - parts.first + 1) == 0;
}

/** Epilogue: a group's last part goes on with the group. A rank alone has all its keys. */
TSR_FN void fd_complete_part(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, void *ctx)
{
	const fd_run_t *run = (const fd_run_t *)ctx;
	const fd_args_t *a = run->args;
	const uint32_t group = fd_group_of(a, span.q.row);
	const fd_parts_t parts = fd_parts_of(a, group);
	if (parts.first < parts.last) {
		tsr_state_save(me, fd_state(a, group, run->block), state);
		if (!fd_count_part(me, a, group, parts))
			return;
		fd_merge_parts(me, a, group, state);
	}
	if (tsr_size(me) == 1)
		fd_keep_whole(me, a, fd_rows_of(a, group), state);
	else
		fd_put_group(me, run, group, state);
}

/**
 * Takes a group's results from all ranks in their order, and merges them.
 * Partner:    tsr_put_all_marked in fd_put_group. Litmus: LB.marked.diffGPU-ss.
 */
TSR_FN void fd_take_group(tsr_coop_t *block, const fd_run_t *run, uint32_t group,
			  tile_state_t *state)
{
	const fd_args_t *a = run->args;
	const fd_rows_t rows = fd_rows_of(a, group);
	const int ranks = tsr_size(block);
	tsr_state_neutral(block, state);
	for (int source = 0; source < ranks; source++) {
		const tsr_view_t result = fd_results_of(a->theirs, source * a->q.rows, rows);
		tsr_take_marked(block, result.data, fd_words(run, ranks, source, group),
				fd_result_bytes(result), (uint32_t)run->epoch, source);
		fd_add_result(block, result, state);
	}
	fd_keep_whole(block, a, rows, state);
}

TSR_KERNEL(fd_one_launch_marked, fd_args_t, a)
{
	fd_run_t run = fd_begin(block, a);
	TSR_STATE(tile, state, block);
	tsr_attend(tile, block, a->q, a->k, a->v, a->scale, fd_tasks(&run), fd_span,
		   TSR_NO_KEYS_GATE, TSR_NO_START, fd_complete_part, &run);
	for (uint32_t group = run.block; tsr_size(block) > 1 && group < a->groups;
	     group += (uint32_t)tsr_block_count(block))
		fd_take_group(block, &run, group, state);
	handshake_leave(block, a->sync);
}

#endif
