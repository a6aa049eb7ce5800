/*
 * Staged pull: one kernel. The last blocks read the other ranks' shards chunk by
 * chunk into this rank's memory. The other blocks multiply; each waits for the
 * chunks that its tile needs.
 *
 * Source:     Triton-distributed's all-gather + GEMM, and Iris ("HBM buffer").
 */
#ifndef ALL_GATHER_GEMM_STAGED_PULL_H
#define ALL_GATHER_GEMM_STAGED_PULL_H

#include "kernels/all_gather_gemm/arrivals.h"

/**
 * Fetching block `index` of `count`: reads chunks in the order in which the
 * product needs them. Blocks of this rank wait for the signal (agg_local_gate;
 * litmus: MP.rel.acq.sameGPU-aa). The wait's partner is handshake_retire in
 * agg_staged_pull on the source rank, which says here that its shard may be read
 * (MP.rel.acq.diffGPU-ss).
 */
TSR_FN void agg_fetch(tsr_coop_t *block, const agg_run_t *run, int index, int count)
{
	const agg_args_t *a = run->args;
	tsr_role(block, "fetch");
	for (int i = index; i < (tsr_size(block) - 1) * a->chunks; i += count) {
		const agg_arrival_t next = agg_arrival(a, i, tsr_size(block));
		const int source = tsr_peer(block, next.distance);
		const tsr_view_t chunk = agg_chunk(a, source, next.chunk);
		tsr_wait(block, &a->sync->retired[source], run->epoch, source);
		tsr_get_2d(block, chunk, chunk, source);
		tsr_signal_local(block, agg_come(a, source, next.chunk), run->epoch,
				 TSR_SCOPE_DEVICE);
	}
}

/* The handshake closes when all ranks have read what they need of each other's A. */
TSR_KERNEL(agg_staged_pull, agg_args_t, a)
{
	const int index = tsr_block_index(block), computing = a->tiling.blocks;
	agg_run_t run = agg_begin(block, a);
	handshake_retire(block, a->sync, run.epoch, index);
	if (index < computing)
		agg_multiply_local(block, &run);
	else
		agg_fetch(block, &run, index - computing, tsr_block_count(block) - computing);
	handshake_close(block, a->sync, handshake_epoch(block, a->sync), tsr_block_count(block));
}

#endif
