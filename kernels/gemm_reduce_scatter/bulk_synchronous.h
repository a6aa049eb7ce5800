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
	const int64_t strips = splitk_strips();
	const splitk_run_t run = splitk_begin(block, a);
	tsr_role(block, "add up");
	handshake_open(block, a->sync, run.epoch, tsr_block_index(block));
	TSR_FRAG(strip, sums, block);
	for (int64_t task = tsr_block_index(block); task < a->tiles_m * a->tiles_n * strips;
	     task += tsr_block_count(block)) {
		const tsr_pos_t place =
			splitk_strip_place(tsr_grouped_order(task / strips, a->tiles_m, a->tiles_n,
							     a->group),
					   task % strips);
		splitk_add_up(block, &run, place, sums);
		tsr_tile_store(block, a->c, place, sums);
	}
	handshake_close(block, a->sync, run.epoch, tsr_block_count(block));
}

#endif
