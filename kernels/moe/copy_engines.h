/*
 * Push by copy engines: as fused, but no block sends. The host queues copies of
 * all of this rank's tokens to every other rank: it does not know which ones have
 * an expert there, and with many choices nearly all have. After each copy, on the
 * same stream, a launch of one block raises the chunk's flag.
 *
 * Source:     ParallelKittens, section 3.1.2 (which engine for which sizes).
 */
#ifndef MOE_COPY_ENGINES_H
#define MOE_COPY_ENGINES_H

#include "kernels/moe/dispatch.h"

/*
 * Says that a chunk is on rank `peer`. Partner: moe_await_token there. Litmus:
 * MP.rel.acq.diffGPU-ss, with the copy as the first write.
 */
TSR_KERNEL(moe_say, moe_args_t, a)
{
	tsr_role(block, "copies");
	tsr_signal(block, moe_come(a, a->me, a->index), moe_epoch(block, a), TSR_SIGNAL_SET,
		   a->peer);
}

#endif
