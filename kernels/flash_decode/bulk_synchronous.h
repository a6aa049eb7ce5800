/*
 * Bulk-synchronous: four launches, one behind the other. Blocks attend to their
 * parts; the parts of each group are merged; a collective of the library gathers
 * all ranks' results; they are merged.
 * Own all-gather: the same with a kernel of this folder in place of the
 * library's.
 *
 * Source: "Three Taxes", sections 4.2.2 and 4.2.3.
 */
#ifndef FLASH_DECODE_BULK_SYNCHRONOUS_H
#define FLASH_DECODE_BULK_SYNCHRONOUS_H

#include "kernels/flash_decode/results.h"

TSR_FN void fd_save_part(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, void *ctx)
{
	const fd_run_t *run = (const fd_run_t *)ctx;
	tsr_state_save(me, fd_state(run->args, fd_group_of(run->args, span.q.row), run->block),
		       state);
}

/** Attends to this rank's keys. The first launch of all patterns of several. */
TSR_KERNEL(fd_attend, fd_args_t, a)
{
	fd_run_t run = {a, (uint32_t)tsr_block_index(block), 0};
	tsr_attend(tile, block, a->q, a->k, a->v, a->scale, fd_tasks(&run), fd_span,
		   TSR_NO_KEYS_GATE, TSR_NO_START, fd_save_part, &run);
}

/** Epilogue: the result of this rank's keys. */
TSR_FN void fd_keep_merged(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, void *ctx)
{
	const fd_args_t *a = ((const fd_run_t *)ctx)->args;
	fd_keep_mine(me, a, fd_rows_of(a, fd_group_of(a, span.q.row)), state);
}

/** The results of this rank's keys. */
TSR_KERNEL(fd_merge_own, fd_args_t, a)
{
	fd_run_t run = {a, (uint32_t)tsr_block_index(block), 0};
	tsr_attend(tile, block, a->q, a->k, a->v, a->scale, fd_whole_groups(block, a), fd_no_keys,
		   TSR_NO_KEYS_GATE, fd_start_merged, fd_keep_merged, &run);
}

TSR_KERNEL_WIDE(fd_all_gather, fd_args_t, a)
{
	tsr_all_gather(block, a->theirs.data, a->mine.data,
		       (size_t)(a->mine.rows * a->mine.ld) * sizeof(float),
		       (TSR_HEAP tsr_all_gather_state_t *)a->gather);
}

/** Merges all ranks' results, which have been gathered. */
TSR_KERNEL(fd_merge_gathered, fd_args_t, a)
{
	TSR_STATE(tile, state, block);
	for (uint32_t group = (uint32_t)tsr_block_index(block); group < a->groups;
	     group += (uint32_t)tsr_block_count(block)) {
		const fd_rows_t rows = fd_rows_of(a, group);
		tsr_state_neutral(block, state);
		for (int source = 0; source < tsr_size(block); source++)
			fd_add_result(block, fd_results_of(a->theirs, source * a->q.rows, rows),
				      state);
		fd_keep_whole(block, a, rows, state);
	}
}

#endif
