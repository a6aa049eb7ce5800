/*
 * Push: one kernel. The last blocks put this rank's shard chunk by chunk to the
 * other ranks, one flag a chunk. The other blocks multiply; each waits for the
 * chunks that its tile needs. The flags hold epochs, so none is ever cleared.
 *
 * No meeting ends the run. A rank reads of others only what it has waited for.
 * The next run's chunks are put when the receiver has said that its product of
 * this run is done (RETIRED).
 *
 * Source:     "Three Taxes", Algorithms 2 and 3, whose two kernels are one here;
 *             their flags are counters that somebody has to clear.
 */
#ifndef ALL_GATHER_GEMM_PUSH_H
#define ALL_GATHER_GEMM_PUSH_H

#include "kernels/all_gather_gemm/arrivals.h"
#include "kernels/dev/leave.h"

/**
 * Sending block `index` of `count`: puts chunks in the order in which the other
 * ranks need them. The rank before this one needs this shard first.
 * The signal's partner is agg_gate on the receiver (litmus:
 * MP.rel.acq.diffGPU-ss). The wait's partner is handshake_retire in agg_push on
 * the receiver, after which what its last product has read is overwritten
 * (LB.retired.diffGPU-ss).
 */
TSR_FN void agg_send(tsr_coop_t *block, const agg_run_t *run, int index, int count)
{
	const agg_args_t *a = run->args;
	tsr_role(block, "send");
	for (int i = index; i < (tsr_size(block) - 1) * a->chunks; i += count) {
		const agg_arrival_t next = agg_arrival(a, i, tsr_size(block));
		const int peer = tsr_peer(block, tsr_size(block) - next.distance);
		const tsr_view_t chunk = agg_chunk(a, tsr_rank(block), next.chunk);
		tsr_wait(block, &a->sync->retired[peer], run->epoch, peer);
		tsr_put_2d(block, chunk, chunk, peer);
		tsr_signal(block, agg_come(a, tsr_rank(block), next.chunk), run->epoch,
			   TSR_SIGNAL_SET, peer);
	}
}

TSR_KERNEL(agg_push, agg_args_t, a)
{
	const int index = tsr_block_index(block), computing = a->tiling.blocks;
	agg_run_t run = agg_begin(block, a);
	handshake_retire(block, a->sync, run.epoch, index);
	if (index < computing)
		agg_multiply(block, &run);
	else
		agg_send(block, &run, index - computing, tsr_block_count(block) - computing);
	handshake_leave(block, a->sync);
}

#endif
