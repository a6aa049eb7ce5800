/*
 * Bulk-synchronous: two kernels on one stream. The first writes this rank's
 * partial sums of C to its own memory. In the second, each rank adds up the
 * partial sums of its chunk, in rank order, and stores the result to all ranks.
 */
#ifndef GEMM_ALL_REDUCE_BULK_SYNCHRONOUS_H
#define GEMM_ALL_REDUCE_BULK_SYNCHRONOUS_H

#include "kernels/gemm_all_reduce/combine.h"

TSR_KERNEL(gar_gemm, splitk_args_t, a)
{
	splitk_multiply(block, a);
}

/*
 * The handshake opens when all partial sums can be read and C may be overwritten.
 * It closes when all have been read and all of C has arrived.
 */
TSR_KERNEL(gar_reduce, splitk_args_t, a)
{
	const splitk_run_t run = splitk_begin(block, a);
	tsr_role(block, "add up and send");
	handshake_open(block, a->sync, run.epoch, tsr_block_index(block));
	const int cuts = splitk_cuts(block, a);
	for (int64_t task = tsr_block_index(block); task < a->tiles_m * a->tiles_n * cuts;
	     task += tsr_block_count(block))
		gar_combine(block, &run, gar_own_tile(a, task / cuts), (int)(task % cuts), cuts);
	handshake_close(block, a->sync, run.epoch, tsr_block_count(block));
}

#endif
