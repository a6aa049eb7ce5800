/*
 * Fused, own chunk last: one kernel. Each block first computes tiles of the
 * other ranks' chunks, and sends the partial sums to the rank that owns the
 * chunk. When it reaches a tile of its own chunk, the other ranks' partial sums
 * of that tile have arrived, and it adds them. It begins with its own sum and
 * adds the others in rank order, so that every run gives the same bits. (Adding
 * all of them in rank order would need the registers of a second tile.)
 *
 * Source:     next-workloads of Tessera's research, after Triton-distributed's
 *             GEMM + reduce-scatter and ParallelKittens, section 4.1.
 */
#ifndef GEMM_REDUCE_SCATTER_OWN_CHUNK_LAST_H
#define GEMM_REDUCE_SCATTER_OWN_CHUNK_LAST_H

#include "kernels/gemm_reduce_scatter/chunks.h"

/**
 * The slot for source rank `source`'s sum of tile `index` of the receiver's
 * chunk, and below the slot's flag. Both have the same address on every rank.
 */
TSR_FN TSR_HEAP unsigned char *grs_slot(const grs_args_t *a, int source, int64_t index)
{
	return (TSR_HEAP unsigned char *)a->inbox +
	       (source * a->tiles_m * a->tiles_n + index) * a->slot_bytes;
}

TSR_FN TSR_HEAP uint64_t *grs_come(const grs_args_t *a, int source, int64_t index)
{
	return a->come + source * a->tiles_m * a->tiles_n + index;
}

/**
 * Epilogue: sends the partial sums of another rank's tile, or adds those of a
 * tile of its own and stores the result. The signal and the wait are partners,
 * on two ranks. Litmus: MP.rel.acq.diffGPU-ss.
 */
TSR_FN void grs_send_or_add(tsr_coop_t *me, tile_frag_t *sums, tsr_pos_t at, void *ctx)
{
	grs_run_t *run = (grs_run_t *)ctx;
	const grs_args_t *a = run->args;
	const tsr_ring_tile_t t = grs_tile_of(run, run->task);
	const int64_t index = t.at.row * a->tiles_n + t.at.col;
	(void)at;
	run->task += tsr_block_count(me);
	if (t.part != run->me) {
		tsr_frag_send(me, grs_slot(a, run->me, index), sums, (tsr_dtype_t)a->sums, t.part);
		tsr_signal(me, grs_come(a, run->me, index), run->epoch, TSR_SIGNAL_SET, t.part);
		return;
	}
	for (int source = 0; source < run->ranks; source++) {
		if (source == run->me)
			continue;
		tsr_wait(me, grs_come(a, source, index), run->epoch, source);
		tsr_frag_add_sent(me, sums, grs_slot(a, source, index), (tsr_dtype_t)a->sums);
	}
	tsr_tile_store(me, a->c, grs_place(t.at), sums);
}

TSR_KERNEL(grs_own_chunk_last, grs_args_t, a)
{
	grs_run_t run = grs_begin(block, a);
	tsr_role(block, "compute, send and add up");
	handshake_open(block, a->sync, run.epoch, tsr_block_index(block));
	tsr_gemm(tile, block, a->a, a->b, grs_tasks(block, a), grs_order, TSR_NO_GATE,
		 grs_send_or_add, &run);
	handshake_close(block, a->sync, run.epoch, tsr_block_count(block));
}

#endif
