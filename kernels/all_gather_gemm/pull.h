/*
 * Pull: one kernel, and no copy of the operand. The loader of the main loop reads
 * each unit from the rank that owns it.
 *
 * Where shards do not end at units, the unit at the end of a shard belongs to the
 * rank in whose shard it begins. Before the product, each rank puts the head of
 * its shard, which lies before its own first unit, to the rank that owns that
 * unit.
 *
 * Source:     "Three Taxes", Algorithm 1.
 */
#ifndef ALL_GATHER_GEMM_PULL_H
#define ALL_GATHER_GEMM_PULL_H

#include "kernels/all_gather_gemm/shards.h"

/** Puts the head of this rank's shard to the rank that owns the unit around it. */
TSR_FN void agg_put_head(tsr_coop_t *block, const agg_args_t *a)
{
	const int me = tsr_rank(block), by_rows = a->along != AGG_BY_COLUMNS;
	const int32_t unit = agg_unit(a), begin = a->begin[me], shard_end = a->begin[me + 1],
		      next = (begin + unit - 1) / unit * unit,
		      end = next < shard_end ? next : shard_end;
	if (begin >= end)
		return;
	const tsr_pos_t at = {by_rows ? begin : 0, by_rows ? 0 : begin};
	const tsr_view_t head = tsr_view_part(a->whole, at, by_rows ? end - begin : a->whole.rows,
					      by_rows ? a->whole.cols : end - begin);
	tsr_put_2d(block, head, head, agg_rank_with(a, begin / unit * unit));
}

/**
 * Gate: waits until the ranks that have a part of the unit say that this part can
 * be read, and lets the loader read the unit from its owner. This rank may be one
 * of them: its own head lies at another rank.
 * Partner:    handshake_retire in agg_pull on these ranks, which says here that
 *             A may be read, and that the head has been put.
 * Litmus:     MP.rel.acq.diffGPU-ss.
 */
TSR_FN tsr_from_t agg_pull_gate(tsr_coop_t *loader, tsr_part_t part, const void *ctx)
{
	const agg_run_t *run = (const agg_run_t *)ctx;
	const agg_args_t *a = run->args;
	for (int32_t at = agg_gate_begin(a, part); at < agg_gate_end(a, part);) {
		const int source = agg_rank_with(a, at);
		tsr_wait(loader, &a->sync->retired[source], run->epoch, source);
		at = a->begin[source + 1];
	}
	const int32_t first = (int32_t)(a->along == AGG_BY_ROWS ? part.at.row : part.k0);
	const int me = tsr_rank(loader), owner = agg_rank_with(a, first);
	return a->along == AGG_B_BY_ROWS ? tsr_from(me, owner) : tsr_from(owner, me);
}

/* The handshake closes when all ranks have read what they need of each other's A. */
TSR_KERNEL(agg_pull, agg_args_t, a)
{
	agg_run_t run = agg_begin(block, a);
	tsr_role(block, "read and compute");
	if (tsr_block_index(block) == 0)
		agg_put_head(block, a);
	handshake_retire(block, a->sync, run.epoch, tsr_block_index(block));
	tsr_gemm(tile, block, a->a, a->b, agg_tasks(&run), agg_order, agg_pull_gate, agg_store,
		 &run);
	handshake_close(block, a->sync, handshake_epoch(block, a->sync), tsr_block_count(block));
}

#endif
