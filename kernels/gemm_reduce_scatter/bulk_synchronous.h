/*
 * Bulk-synchronous: two kernels on one stream. The first writes this rank's
 * partial sums of all rows of C to its own memory. The second adds the partial
 * sums of all ranks for this rank's rows. It reads them over the links, in rank
 * order.
 */
#ifndef GEMM_REDUCE_SCATTER_BULK_SYNCHRONOUS_H
#define GEMM_REDUCE_SCATTER_BULK_SYNCHRONOUS_H

#include "kernels/gemm_reduce_scatter/chunks.h"

/**
 * Epilogue: stores the partial sums of a tile, cut at the end of its chunk. The
 * rows behind belong to the first tile of the next chunk.
 */
TSR_FN void grs_keep(tsr_coop_t *me, tile_frag_t *sums, tsr_pos_t at, void *ctx)
{
	grs_run_t *run = (grs_run_t *)ctx;
	const grs_args_t *a = run->args;
	const int chunk = grs_tile_of(run, run->task).part;
	const int64_t first = grs_first_row(a, chunk, run->ranks);
	const tsr_pos_t begin = {first, 0}, in_chunk = {at.row - first, at.col};
	run->task += tsr_block_count(me);
	tsr_tile_store(me,
		       tsr_view_part(a->partial, begin,
				     grs_first_row(a, chunk + 1, run->ranks) - first,
				     a->partial.cols),
		       in_chunk, sums);
}

TSR_KERNEL(grs_gemm, grs_args_t, a)
{
	grs_run_t run = {a, 0, tsr_block_index(block), tsr_rank(block), tsr_size(block)};
	tsr_role(block, "compute");
	tsr_gemm(tile, block, a->a, a->b, grs_tasks(block, a), grs_order, TSR_NO_GATE, grs_keep,
		 &run);
}

/*
 * Adds the partial sums, some rows of a tile at a time: the sums of a whole
 * tile would leave a thread no registers for what it reads. Here the
 * handshake's flags have the opposite meaning: it opens when all partial sums
 * can be read, and closes when all have been read.
 */
TSR_KERNEL(grs_reduce, grs_args_t, a)
{
	const int64_t strips = TSR_TILE_M(tile) / TSR_TILE_M(strip);
	const grs_run_t run = grs_begin(block, a);
	tsr_role(block, "add up");
	handshake_open(block, a->sync, run.epoch, tsr_block_index(block));
	TSR_FRAG(strip, sum, block);
	for (int64_t task = tsr_block_index(block); task < a->tiles_m * a->tiles_n * strips;
	     task += tsr_block_count(block)) {
		tsr_pos_t place = grs_place(tsr_grouped_order(task / strips, a->tiles_m, a->tiles_n,
							      a->group));
		place.row += task % strips * TSR_TILE_M(strip);
		const tsr_pos_t at = {grs_first_row(a, run.me, run.ranks) + place.row, place.col};
		tsr_reduce(block, sum, a->partial, at, TSR_REDUCE_SUM);
		tsr_tile_store(block, a->c, place, sum);
	}
	handshake_close(block, a->sync, run.epoch, tsr_block_count(block));
}

#endif
