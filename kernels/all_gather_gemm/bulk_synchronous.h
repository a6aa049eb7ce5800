/*
 * Bulk-synchronous: two kernels on one stream. The first gathers A on every rank
 * and ends with a meeting of all ranks. The second multiplies.
 *
 * Source:     "Three Taxes", section 4.1.1 (the baseline).
 */
#ifndef ALL_GATHER_GEMM_BULK_SYNCHRONOUS_H
#define ALL_GATHER_GEMM_BULK_SYNCHRONOUS_H

#include "kernels/all_gather_gemm/shards.h"

TSR_KERNEL(agg_gather, agg_args_t, a)
{
	const uint64_t epoch = handshake_epoch(block, a->sync);
	tsr_role(block, "send");
	handshake_open(block, a->sync, epoch, tsr_block_index(block));
	for (int chunk = tsr_block_index(block); chunk < a->chunks;
	     chunk += tsr_block_count(block)) {
		const tsr_view_t view = agg_chunk(a, tsr_rank(block), chunk);
		tsr_put_all_2d(block, view, view);
	}
	handshake_close(block, a->sync, epoch, tsr_block_count(block));
}

/** Task order: the tiles in their order, all of K for each. */
TSR_FN tsr_part_t agg_plain_order(int64_t task, const void *ctx)
{
	return tsr_whole(tiling_at(&((const agg_run_t *)ctx)->args->tiling, task));
}

/** Epilogue: stores a tile. */
TSR_FN void agg_plain_store(tsr_coop_t *me, tile_frag_t *sums, tsr_pos_t at, void *ctx)
{
	tsr_tile_store(me, ((const agg_run_t *)ctx)->args->c, at, sums);
}

TSR_KERNEL(agg_gemm, agg_args_t, a)
{
	agg_run_t run = {a, 0, tsr_block_index(block), 0};
	const tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block),
				   tiling_count(&a->tiling)};
	tsr_role(block, "compute");
	tsr_gemm(tile, block, a->a, a->b, tasks, agg_plain_order, TSR_NO_GATE, agg_plain_store,
		 &run);
}

#endif
