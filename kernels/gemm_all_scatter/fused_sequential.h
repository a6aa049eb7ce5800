/*
 * Fused, sequential: Iris paper, section 4.2.1, Listing 4. One kernel. Each
 * block sends a tile to every rank as soon as it has computed it; no other
 * kernel, block or worker helps. (A port may send the tile from this rank's C.
 * Several blocks may compute the last tiles together, a part each: parts.h.)
 */
#ifndef GEMM_ALL_SCATTER_FUSED_SEQUENTIAL_H
#define GEMM_ALL_SCATTER_FUSED_SEQUENTIAL_H

#include "kernels/gemm_all_scatter/handshake.h"

/**
 * Whether each block has at most one task. Then a block waits for the ranks
 * after its product instead of before.
 */
TSR_FN int gas_opens_late(const gas_args_t *a)
{
	return tiling_task_count(&a->tiling) <= a->tiling.blocks;
}

/** Epilogue: stores the tile to every rank. */
TSR_FN void gas_scatter(tsr_coop_t *me, tile_frag_t *c, tsr_pos_t at, void *ctx)
{
	const gas_run_t *run = (const gas_run_t *)ctx;
	if (!tiling_complete(me, &run->args->tiling, at, c))
		return;
	if (gas_opens_late(run->args))
		handshake_await_each(me, run->args->sync, run->epoch);
	tsr_store_all(me, gas_slab(run->args), at, c);
}

/**
 * Begins a block's run, before its product. In a world of one rank there is
 * nothing to wait for.
 */
TSR_FN gas_run_t gas_begin_sequential(tsr_coop_t *block, const gas_args_t *a)
{
	if (tsr_size(block) == 1)
		return gas_begin_alone(block, a);
	gas_run_t run = gas_begin(block, a);
	if (gas_opens_late(a))
		handshake_retire(block, a->sync, run.epoch, tsr_block_index(block));
	else
		handshake_open(block, a->sync, run.epoch, tsr_block_index(block));
	return run;
}

TSR_KERNEL(gas_fused_sequential, gas_args_t, a)
{
	gas_run_t run = gas_begin_sequential(block, a);
	tsr_role(block, "compute and send");
	tsr_gemm(tile, block, a->a, a->b, tiling_tasks(&a->tiling, tsr_block_index(block)),
		 gas_part_order, TSR_NO_GATE, gas_scatter, &run);
	if (tsr_size(block) > 1)
		handshake_close(block, a->sync, run.epoch, tsr_block_count(block));
}

#endif
