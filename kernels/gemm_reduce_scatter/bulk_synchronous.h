/*
 * Bulk-synchronous: two kernels on one stream. The first writes this rank's
 * partial sums of all rows of C to its own memory. The second adds the partial
 * sums of all ranks for this rank's rows. It reads them over the links, in rank
 * order.
 */
#ifndef GEMM_REDUCE_SCATTER_BULK_SYNCHRONOUS_H
#define GEMM_REDUCE_SCATTER_BULK_SYNCHRONOUS_H

#include "kernels/split_k/kept.h"

TSR_KERNEL(grs_gemm, splitk_args_t, a)
{
	splitk_multiply(block, a);
}

/*
 * Here the handshake's flags have the opposite meaning: it opens when all partial
 * sums can be read, and closes when all have been read.
 */
TSR_KERNEL(grs_reduce, splitk_args_t, a)
{
	const splitk_run_t run = splitk_begin(block, a);
	tsr_role(block, "add up");
	handshake_open(block, a->sync, run.epoch, tsr_block_index(block));
	const int cuts = splitk_cuts(block, a);
	for (int64_t task = tsr_block_index(block); task < a->tiles_m * a->tiles_n * cuts;
	     task += tsr_block_count(block))
		splitk_add_up(block, &run, a->c,
			      tsr_grouped_order(task / cuts, a->tiles_m, a->tiles_n, a->group),
			      (int)(task % cuts), cuts, run.me);
	handshake_close(block, a->sync, run.epoch, tsr_block_count(block));
}

#endif
