/*
 * Fused, own chunk last: one kernel. Each block first computes tiles of the
 * other ranks' chunks, and sends the partial sums to the rank that owns the
 * chunk. When it reaches a tile of its own chunk, the other ranks' partial sums
 * of that tile have arrived, and it adds them.
 *
 * Source:     next-workloads of Tessera's research, after Triton-distributed's
 *             GEMM + reduce-scatter and ParallelKittens, section 4.1.
 */
#ifndef GEMM_REDUCE_SCATTER_OWN_CHUNK_LAST_H
#define GEMM_REDUCE_SCATTER_OWN_CHUNK_LAST_H

#include "kernels/split_k/inbox.h"

/**
 * Epilogue: sends the partial sums of another rank's tile, or adds those of a
 * tile of its own and stores the result. The lanes are the ranks that send.
 */
TSR_FN void grs_send_or_add(tsr_coop_t *me, tile_frag_t *sums, tsr_pos_t at, void *ctx)
{
	splitk_run_t *run = (splitk_run_t *)ctx;
	const tsr_ring_tile_t t = splitk_tile_of(run, run->task);
	const int64_t index = splitk_index(run->args, t.at);
	(void)at;
	run->task += run->args->computing;
	if (t.part != run->me) {
		splitk_send(me, run, run->me, index, sums, t.part);
		return;
	}
	splitk_add_all(me, run, index, sums);
	tsr_tile_store(me, run->args->c, splitk_place(t.at), sums);
}

TSR_KERNEL(grs_own_chunk_last, splitk_args_t, a)
{
	splitk_run_t run = splitk_begin(block, a);
	tsr_role(block, "compute, send and add up");
	handshake_open(block, a->sync, run.epoch, tsr_block_index(block));
	tsr_gemm(tile, block, a->a, a->b, splitk_tasks(block, a), splitk_order, TSR_NO_GATE,
		 grs_send_or_add, &run);
	handshake_close(block, a->sync, run.epoch, tsr_block_count(block));
}

#endif
