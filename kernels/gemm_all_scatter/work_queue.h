/*
 * Fused, work queue: Iris paper, section 4.2.3, which names it and does not
 * measure it.
 * One kernel. The computed tiles of this rank form a queue, in the order of the
 * tiles. A block that has computed a tile takes the first tile of the queue and
 * sends it, whichever block computed it. A block without tiles left to compute
 * takes tiles until all are sent. So no split into computing and sending blocks
 * is chosen, and all blocks share the sends that are left at the end.
 * Computing is not queued: all tiles cost the same, and the main loop loads
 * operands ahead only for tiles that it knows.
 */
#ifndef GEMM_ALL_SCATTER_WORK_QUEUE_H
#define GEMM_ALL_SCATTER_WORK_QUEUE_H

#include "kernels/gemm_all_scatter/produce.h"

/**
 * Sends the first tile that no block has taken, if it is in this rank's C. The
 * count `taken` orders nothing; it only tells blocks apart.
 */
TSR_FN void gas_send_if_ready(tsr_coop_t *me, const gas_run_t *run)
{
	const gas_args_t *a = run->args;
	const int rank = tsr_rank(me);
	const int64_t next =
		(int64_t)tsr_atomic_load(me, a->taken, rank, TSR_RELAXED, TSR_SCOPE_DEVICE);
	if (next >= tiling_count(&a->tiling))
		return;
	const tsr_pos_t at = tiling_at(&a->tiling, next);
	if (!handoff_is_ready(me, &a->tiling, at, run->epoch))
		return;
	if (tsr_atomic_cas(me, a->taken, (uint64_t)next, (uint64_t)next + 1, rank, TSR_RELAXED,
			   TSR_RELAXED, TSR_SCOPE_DEVICE) == (uint64_t)next)
		gas_put_tile(me, a, at);
}

/**
 * Takes tiles until all are taken; waits for each to be in this rank's C, and
 * sends it.
 */
TSR_FN void gas_send_rest(tsr_coop_t *me, const gas_run_t *run)
{
	const gas_args_t *a = run->args;
	const int64_t tiles = tiling_count(&a->tiling);
	for (int64_t i = 0; i <= tiles; i++) {
		const int64_t next =
			(int64_t)tsr_atomic_add(me, a->taken, (uint64_t)1, tsr_rank(me),
						TSR_RELAXED, TSR_SCOPE_DEVICE);
		if (next >= tiles)
			return;
		const tsr_pos_t at = tiling_at(&a->tiling, next);
		handoff_await(me, &a->tiling, at, run->epoch);
		gas_put_tile(me, a, at);
	}
}

/** Epilogue: adds the tile to the queue, then sends a tile. */
TSR_FN void gas_queue_and_send(tsr_coop_t *me, tile_frag_t *c, tsr_pos_t at, void *ctx)
{
	gas_keep_and_signal(me, c, at, ctx);
	gas_send_if_ready(me, (const gas_run_t *)ctx);
}

TSR_KERNEL(gas_work_queue, gas_args_t, a)
{
	gas_run_t run = gas_begin(block, a);
	tsr_role(block, "compute and send");
	handshake_open(block, a->sync, run.epoch, tsr_block_index(block));
	tsr_gemm(tile, block, a->a, a->b, tiling_tasks(&a->tiling, tsr_block_index(block)),
		 gas_part_order, TSR_NO_GATE, gas_queue_and_send, &run);
	gas_send_rest(block, &run);
	/* Only the next launch reads it; it begins after this one has ended. */
	if (handshake_close(block, a->sync, run.epoch, tsr_block_count(block)))
		tsr_atomic_store(block, a->taken, (uint64_t)0, tsr_rank(block), TSR_RELAXED,
				 TSR_SCOPE_DEVICE);
}

#endif
