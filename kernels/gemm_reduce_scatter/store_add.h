/*
 * Store-add: two kernels on one stream. In the first, each rank adds its sums to
 * the owner's in memory (tsr_store_add). The second rounds the totals to C. There
 * is no slot for each source rank, and nothing to wait for beside the product.
 * But the order of the additions is not fixed: two runs may differ in the last
 * bits.
 *
 * Source:     ParallelKittens, section 3.2.2 (store_add_async) and 4.1.
 */
#ifndef GEMM_REDUCE_SCATTER_STORE_ADD_H
#define GEMM_REDUCE_SCATTER_STORE_ADD_H

#include "kernels/split_k/added.h"

/**
 * Epilogue: adds a tile to the total of the rank that owns it. The total has 0, or
 * other ranks' sums: handshake_open has waited for that rank (litmus:
 * LB.retired.diffGPU-ss). The rank reads it behind handshake_close
 * (MP.count.diffGPU-sss).
 */
TSR_FN void grs_add_to_owner(tsr_coop_t *me, tile_frag_t *sums, tsr_pos_t at, void *ctx)
{
	splitk_run_t *run = (splitk_run_t *)ctx;
	const splitk_args_t *a = run->args;
	const tsr_ring_tile_t t = splitk_tile_of(run, run->task);
	tsr_view_t total = a->total;
	(void)at;
	run->task += a->computing;
	total.rows = splitk_first_row(a, t.part + 1, run->ranks) -
		     splitk_first_row(a, t.part, run->ranks);
	tsr_store_add(me, total, splitk_place(t.at), sums, t.part);
}

TSR_KERNEL(grs_add, splitk_args_t, a)
{
	splitk_run_t run = splitk_begin(block, a);
	tsr_role(block, "compute and add");
	handshake_open(block, a->sync, run.epoch, tsr_block_index(block));
	tsr_gemm(tile, block, a->a, a->b, splitk_tasks(block, a), splitk_order, TSR_NO_GATE,
		 grs_add_to_owner, &run);
	handshake_close(block, a->sync, run.epoch, tsr_block_count(block));
}

TSR_KERNEL(grs_round, splitk_args_t, a)
{
	splitk_take(block, a);
}

#endif
