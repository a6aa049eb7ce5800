/*
 * Push by copy engines: the host queues copies of this rank's chunks to the other
 * ranks. After each copy, on the same stream, a launch of one block raises the
 * chunk's flag. The product runs beside them, and all its blocks compute.
 *
 * Source:     "Three Taxes", Algorithms 2 and 3, with copy engines in place of
 *             sending blocks; ParallelKittens, section 3.1.2.
 */
#ifndef ALL_GATHER_GEMM_COPY_ENGINES_H
#define ALL_GATHER_GEMM_COPY_ENGINES_H

#include "kernels/all_gather_gemm/arrivals.h"

TSR_KERNEL(agg_beside_copies, agg_args_t, a)
{
	agg_run_t run = agg_begin(block, a);
	agg_multiply(block, &run);
}

/*
 * What copy engines cannot do, by one block: before the copies, exchange RETIRED
 * with all ranks; after each copy, raise the chunk's flag; after all, advance the
 * epoch. The partner of the signal is agg_gate on the receiver (litmus:
 * MP.rel.acq.diffGPU-ss, with the copy as the first write).
 */
TSR_KERNEL(agg_copies, agg_args_t, a)
{
	const uint64_t epoch = handshake_epoch(block, a->sync);
	tsr_role(block, "copies");
	if (a->step == AGG_OPEN)
		handshake_open(block, a->sync, epoch, tsr_block_index(block));
	else if (a->step == AGG_SAY_ARRIVED)
		tsr_signal(block, agg_come(a, tsr_rank(block), a->chunk), epoch, TSR_SIGNAL_SET,
			   a->peer);
	else
		handshake_advance(block, a->sync, epoch);
}

#endif
