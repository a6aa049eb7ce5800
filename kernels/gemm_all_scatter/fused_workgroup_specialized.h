/*
 * Fused, producer-consumer by workgroup specialisation: Iris paper, section 4.2.2, Listing 5.
 * One kernel: the first blocks compute, the others send. Tiles pass from one to the other through my C. Unlike the listing's,
 * blocks that compute send the tile that each of them computes last: the few that send would be alone with all of those while
 * nothing is computed any more.
 */
#ifndef GEMM_ALL_SCATTER_FUSED_WORKGROUP_SPECIALIZED_H
#define GEMM_ALL_SCATTER_FUSED_WORKGROUP_SPECIALIZED_H

#include "kernels/gemm_all_scatter/handoff.h"

/** The first of the tasks that are the last of their blocks, where `computing` blocks take them in turn. */
TSR_FN int64_t gas_last_tasks(const gas_args_t *a, int computing)
{
	int64_t tiles = gas_tile_count(a);
	return tiles > computing ? tiles - computing : 0;
}

/** The last of my tasks, after all of them are computed. Called by the `index`-th of `computing` blocks, as the `sender`-th. */
TSR_FN void gas_send_last(tsr_coop_t *block, gas_run_t *run, int index, int computing, int sender)
{
	int64_t first = gas_last_tasks(run->args, computing), task = first + (index + computing - first % computing) % computing;
	gas_open(block, run, sender);
	if (task < gas_tile_count(run->args))
		gas_put_tile(block, run->args, gas_order(task, run));
}

TSR_KERNEL(gas_fused_workgroup, gas_args_t, a)
{
	gas_run_t run = gas_begin(block, a);
	int index = tsr_block_index(block), computing = a->gemm_blocks, sending = tsr_block_count(block) - computing;
	if (index < computing) {
		gas_produce(block, &run, index, computing);
		gas_send_last(block, &run, index, computing, sending + index);
	} else {
		gas_consume(block, &run, index - computing, sending, gas_last_tasks(a, computing));
	}
	gas_close(block, &run, tsr_block_count(block));
}

#endif
