/*
 * Fine waits: a launch puts each group's result to all ranks, with a flag of its
 * own, and waits for nobody. The last launch waits inside its loop, for one
 * rank's result of one group at a time.
 * Fused: the launch that merges a group's parts stores the result to all ranks
 * itself, so that no launch only communicates.
 *
 * Source: "Three Taxes", sections 4.2.4 and 4.2.5, Algorithm 4.
 */
#ifndef FLASH_DECODE_FINE_WAITS_H
#define FLASH_DECODE_FINE_WAITS_H

#include "kernels/flash_decode/results.h"

/** The flag of rank `source`'s result of a group; the same address on all ranks. */
TSR_FN TSR_HEAP uint64_t *fd_come(const fd_args_t *a, int source, uint32_t group)
{
	return a->come + (int64_t)source * a->groups + group;
}

/**
 * Puts this rank's results to every rank, this one included.
 * Partner:    the wait in fd_merge_coming on that rank. Litmus:
 *             MP.mcast.diffGPU-sss. The place is free: fd_place.
 */
TSR_KERNEL(fd_push, fd_args_t, a)
{
	const fd_run_t run = fd_begin(block, a);
	const int me = tsr_rank(block);
	for (uint32_t group = run.block; group < a->groups;
	     group += (uint32_t)tsr_block_count(block)) {
		const fd_rows_t rows = fd_rows_of(a, group);
		tsr_put_all_2d(block,
			       fd_results_of(a->theirs, fd_place(&run, tsr_size(block), me), rows),
			       fd_results_of(a->mine, 0, rows));
		tsr_signal_all(block, fd_come(a, me, group), run.epoch, TSR_SIGNAL_SET);
	}
}

/**
 * Epilogue: stores a group's result to every rank.
 * Partner:    the wait in fd_merge_coming on that rank. Litmus:
 *             MP.mcast.diffGPU-sss. The place is free: fd_place.
 */
TSR_FN void fd_push_merged(tsr_coop_t *me, tile_state_t *state, tsr_span_t span, void *ctx)
{
	const fd_run_t *run = (const fd_run_t *)ctx;
	const fd_args_t *a = run->args;
	const int rank = tsr_rank(me), ranks = tsr_size(me);
	const tsr_pos_t at = {0, 0};
	const uint32_t group = fd_group_of(a, span.q.row);
	const tsr_view_t there =
		fd_results_of(a->theirs, fd_place(run, ranks, rank), fd_rows_of(a, group));
	TSR_FRAG(tile, o, me);
	TSR_FRAG_ROWS(tile, lse, me);
	tsr_state_finish(me, state, o, lse);
	tsr_store_all(me, fd_outputs(there), at, o);
	for (int i = 0; i < ranks; i++)
		tsr_rows_store(me, fd_logarithms(there), at, lse, tsr_peer(me, i));
	tsr_signal_all(me, fd_come(a, rank, group), run->epoch, TSR_SIGNAL_SET);
}

/** Merges the parts of this rank's groups, and stores each result to every rank. */
TSR_KERNEL(fd_merge_and_push, fd_args_t, a)
{
	fd_run_t run = fd_begin(block, a);
	tsr_attend(tile, block, a->q, a->k, a->v, a->scale, fd_whole_groups(block, a), fd_no_keys,
		   TSR_NO_KEYS_GATE, fd_start_merged, fd_push_merged, &run);
}

/**
 * Merges all ranks' results, each as soon as it is here; then ends the run.
 * Partners:   the signals of fd_push, or of fd_merge_and_push, on all ranks.
 *             Litmus: MP.mcast.diffGPU-sss.
 */
TSR_KERNEL(fd_merge_coming, fd_args_t, a)
{
	const fd_run_t run = fd_begin(block, a);
	const int ranks = tsr_size(block);
	TSR_STATE(tile, state, block);
	for (uint32_t group = run.block; group < a->groups;
	     group += (uint32_t)tsr_block_count(block)) {
		const fd_rows_t rows = fd_rows_of(a, group);
		tsr_state_neutral(block, state);
		for (int source = 0; source < ranks; source++) {
			tsr_wait(block, fd_come(a, source, group), run.epoch, source);
			fd_add_result(block,
				      fd_results_of(a->theirs, fd_place(&run, ranks, source), rows),
				      state);
		}
		fd_keep_whole(block, a, rows, state);
	}
	handshake_leave(block, a->sync);
}

#endif
