/*
 * Ring: one kernel. The sums of a chunk travel from rank to rank, each to the one
 * before it, and every rank adds its own. A rank computes a chunk when its sums
 * arrive there; its own chunk comes last, and is then complete. Each rank sends
 * to one neighbour only. Sums are added in the ring's order, so every run gives
 * the same bits; sums that are sent in 16 bits are rounded at each step.
 *
 * Source:     next-workloads of Tessera's research, 2.1 (c).
 */
#ifndef GEMM_REDUCE_SCATTER_RING_H
#define GEMM_REDUCE_SCATTER_RING_H

#include "kernels/split_k/inbox.h"

/**
 * Epilogue: adds what the next rank has sent for this tile, if the chunk did not
 * begin here. Then passes the sums on, or stores them. The lanes are the chunks.
 */
TSR_FN void grs_pass_on(tsr_coop_t *me, tile_frag_t *sums, tsr_pos_t at, void *ctx)
{
	splitk_run_t *run = (splitk_run_t *)ctx;
	const tsr_ring_tile_t t = splitk_tile_of(run, run->task);
	const int64_t index = splitk_index(run->args, t.at);
	const int next = tsr_peer(me, 1), before = tsr_peer(me, run->ranks - 1);
	(void)at;
	run->task += run->args->computing;
	if (t.part != next)
		splitk_add(me, run, t.part, index, sums, next);
	if (t.part != run->me)
		splitk_send(me, run, t.part, index, sums, before);
	else
		tsr_tile_store(me, run->args->c, splitk_place(t.at), sums);
}

TSR_KERNEL(grs_ring, splitk_args_t, a)
{
	splitk_run_t run = splitk_begin(block, a);
	tsr_role(block, "compute, add and pass on");
	handshake_open(block, a->sync, run.epoch, tsr_block_index(block));
	tsr_gemm(tile, block, a->a, a->b, splitk_tasks(block, a), splitk_order, TSR_NO_GATE,
		 grs_pass_on, &run);
	handshake_close(block, a->sync, run.epoch, tsr_block_count(block));
}

#endif
