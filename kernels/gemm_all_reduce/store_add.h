/*
 * Store-add: two kernels on one stream. In the first, each block adds its tile to
 * the total of every rank (tsr_store_add). The second rounds the totals to C. No
 * block waits beside the product. But each rank sends all of its sums to all
 * others, and the order of the additions is not fixed: two runs may differ in the
 * last bits, and so may two ranks.
 *
 * Source:     ParallelKittens, section 3.1.3 (overlap within a multiprocessor).
 */
#ifndef GEMM_ALL_REDUCE_STORE_ADD_H
#define GEMM_ALL_REDUCE_STORE_ADD_H

#include "kernels/split_k/added.h"

/**
 * Epilogue: adds a tile to the totals of all ranks. A total has 0, or other ranks'
 * sums: handshake_open has waited for its rank (litmus: LB.retired.diffGPU-ss).
 * The rank reads it behind handshake_close (MP.count.diffGPU-sss).
 */
TSR_FN void gar_add_to_all(tsr_coop_t *me, tile_frag_t *sums, tsr_pos_t at, void *ctx)
{
	splitk_run_t *run = (splitk_run_t *)ctx;
	const tsr_ring_tile_t t = splitk_tile_of(run, run->task);
	const tsr_view_t chunk = splitk_chunk(run, run->args->total, t.part);
	(void)at;
	run->task += run->args->computing;
	for (int i = 0; i < run->ranks; i++)
		tsr_store_add(me, chunk, splitk_place(t.at), sums, tsr_peer(me, i));
}

TSR_KERNEL(gar_add, splitk_args_t, a)
{
	splitk_run_t run = splitk_begin(block, a);
	tsr_role(block, "compute and add");
	handshake_open(block, a->sync, run.epoch, tsr_block_index(block));
	tsr_gemm(tile, block, a->a, a->b, splitk_tasks(block, a), splitk_order, TSR_NO_GATE,
		 gar_add_to_all, &run);
	handshake_close(block, a->sync, run.epoch, tsr_block_count(block));
}

TSR_KERNEL(gar_round, splitk_args_t, a)
{
	splitk_take(block, a);
}

#endif
