/*
 * Fused, sequential: Iris paper, section 4.2.1, Listing 4.
 * One kernel: each tile goes to every rank as soon as it is computed, and no other kernel, block or worker takes part in that. (A
 * port may send it on from where it stands in my C; the last tiles may be computed by two blocks each.)
 */
#ifndef GEMM_ALL_SCATTER_FUSED_SEQUENTIAL_H
#define GEMM_ALL_SCATTER_FUSED_SEQUENTIAL_H

#include "kernels/gemm_all_scatter/halves.h"
#include "kernels/gemm_all_scatter/handshake.h"

/** Epilogue: stores the tile to every rank. */
TSR_FN void gas_scatter(tsr_coop_t *me, tile_frag_t *c, tsr_pos_t at, void *ctx)
{
	const gas_run_t *run = (const gas_run_t *)ctx;
	if (gas_complete(me, run, at, c))
		tsr_store_all(me, gas_slab(run->args), at, c);
}

TSR_KERNEL(gas_fused_sequential, gas_args_t, a)
{
	gas_run_t run = gas_begin(block, a);
	tsr_role(block, "compute and send");
	gas_open(block, &run, tsr_block_index(block));
	tsr_gemm(tile, block, a->a, a->b, gas_half_tasks(a, tsr_block_index(block)), gas_half_order, TSR_NO_GATE, gas_scatter,
		 &run);
	gas_close(block, &run, tsr_block_count(block));
}

#endif
