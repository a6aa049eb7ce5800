/*
 * Unfused, bulk-synchronous: Iris paper, section 4.1.1, Listing 3. Two kernels
 * on one stream. The first writes the whole product to this rank's C. When its
 * last block has ended, the second sends it to the peers.
 */
#ifndef GEMM_ALL_SCATTER_BULK_SYNCHRONOUS_H
#define GEMM_ALL_SCATTER_BULK_SYNCHRONOUS_H

#include "kernels/gemm_all_scatter/handshake.h"

/** Epilogue: stores the tile in this rank's C. */
TSR_FN void gas_keep(tsr_coop_t *me, tile_frag_t *c, tsr_pos_t at, void *ctx)
{
	const gas_run_t *run = (const gas_run_t *)ctx;
	if (tiling_complete(me, &run->args->tiling, at, c))
		tsr_tile_store(me, gas_slab(run->args), at, c);
}

TSR_KERNEL(gas_gemm, gas_args_t, a)
{
	gas_run_t run = gas_begin_alone(block, a);
	tsr_role(block, "compute");
	tsr_gemm(tile, block, a->a, a->b, tiling_tasks(&a->tiling, tsr_block_index(block)),
		 gas_part_order, TSR_NO_GATE, gas_keep, &run);
}

TSR_KERNEL(gas_all_scatter, gas_args_t, a)
{
	gas_run_t run = gas_begin(block, a);
	tsr_role(block, "send");
	handshake_open(block, a->sync, run.epoch, tsr_block_index(block));
	for (int64_t task = tsr_block_index(block); task < tiling_count(&a->tiling);
	     task += tsr_block_count(block))
		gas_put_tile(block, a, tiling_at(&a->tiling, task));
	handshake_close(block, a->sync, run.epoch, tsr_block_count(block));
}

#endif
