/*
 * Fused, own chunk last: one kernel. Each block first computes tiles of the
 * other ranks' chunks, and sends the partial sums to the rank that owns the
 * chunk. When it reaches a tile of its own chunk, the other ranks' partial sums
 * of that tile have arrived. It adds them and stores the tile to all ranks.
 *
 * With one band, all finished tiles are sent while the own chunk is computed. Several
 * bands spread them over it.
 *
 * Source:     next-workloads of Tessera's research, 2.2.
 */
#ifndef GEMM_ALL_REDUCE_OWN_CHUNK_LAST_H
#define GEMM_ALL_REDUCE_OWN_CHUNK_LAST_H

#include "kernels/split_k/inbox.h"

/**
 * Epilogue: sends the partial sums of another rank's tile, or completes a tile of
 * its own for all ranks. The lanes are the ranks that send. A rank reads C behind
 * handshake_close.
 */
TSR_FN void gar_send_or_finish(tsr_coop_t *me, tile_frag_t *sums, tsr_pos_t at, void *ctx)
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
	tsr_store_all(me, splitk_chunk(run, run->args->c, run->me), splitk_place(t.at), sums);
}

TSR_KERNEL(gar_own_chunk_last, splitk_args_t, a)
{
	splitk_run_t run = splitk_begin(block, a);
	tsr_role(block, "compute, add up and send");
	handshake_open(block, a->sync, run.epoch, tsr_block_index(block));
	tsr_gemm(tile, block, a->a, a->b, splitk_tasks(block, a), splitk_order, TSR_NO_GATE,
		 gar_send_or_finish, &run);
	handshake_close(block, a->sync, run.epoch, tsr_block_count(block));
}

#endif
