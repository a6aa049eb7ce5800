/*
 * Fused, sequential: Iris paper, section 4.2.1, Listing 4.
 * One kernel: each tile goes to every rank as soon as it is computed, and no
 * other kernel, block or worker takes part in that. (A port may send it on from
 * where it stands in my C; the last tiles may be computed by two blocks each.)
 */
#ifndef GEMM_ALL_SCATTER_FUSED_SEQUENTIAL_H
#define GEMM_ALL_SCATTER_FUSED_SEQUENTIAL_H

#include "kernels/gemm_all_scatter/handshake.h"
#include "kernels/gemm_all_scatter/parts.h"

/**
 * Whether a block has one task at most. Then it does not wait for the ranks
 * before its product is made, but behind.
 */
TSR_FN int gas_opens_late(const gas_args_t *a)
{
	return gas_task_count(a) <= a->gemm_blocks;
}

/** Epilogue: stores the tile to every rank. */
TSR_FN void gas_scatter(tsr_coop_t *me, tile_frag_t *c, tsr_pos_t at, void *ctx)
{
	const gas_run_t *run = (const gas_run_t *)ctx;
	if (!gas_complete(me, run, at, c))
		return;
	if (gas_opens_late(run->args))
		handshake_await_each(me, run->args->sync, run->epoch);
	tsr_store_all(me, gas_slab(run->args), at, c);
}

/** Before a block's product. One rank alone waits for nobody. */
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
	tsr_gemm(tile, block, a->a, a->b, gas_part_tasks(a, tsr_block_index(block)), gas_part_order,
		 TSR_NO_GATE, gas_scatter, &run);
	if (tsr_size(block) > 1)
		handshake_close(block, a->sync, run.epoch, tsr_block_count(block));
}

#endif
