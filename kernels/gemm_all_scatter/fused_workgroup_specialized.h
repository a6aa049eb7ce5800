/*
 * Fused, producer-consumer by workgroup specialisation: Iris paper, section
 * 4.2.2, Listing 5. One kernel. The first blocks compute, the others send.
 * Tiles pass between them through this rank's C. In the listing, only the
 * sending blocks send. Here each computing block sends the tile that it
 * completes last, because the few sending blocks would take long for all of
 * these tiles while nothing is computed.
 */
#ifndef GEMM_ALL_SCATTER_FUSED_WORKGROUP_SPECIALIZED_H
#define GEMM_ALL_SCATTER_FUSED_WORKGROUP_SPECIALIZED_H

#include "kernels/gemm_all_scatter/produce.h"

/**
 * The first of the tiles that a block's last task completes. The sending blocks
 * send all tiles before it.
 */
TSR_FN int64_t gas_last_tiles(const gas_args_t *a)
{
	const int64_t first = tiling_task_count(&a->tiling) - a->tiling.blocks;
	return first > 0 ? tiling_task_tile(&a->tiling, first) : 0;
}

/**
 * Sends the tile that the last task of computing block `index` has completed,
 * if it has completed one. `sender` is the block's number among all senders.
 */
TSR_FN void gas_send_last(tsr_coop_t *block, const gas_run_t *run, int index, int sender)
{
	const gas_args_t *a = run->args;
	const int64_t tasks = tiling_task_count(&a->tiling),
		      last = tasks - 1 - (tasks - 1 - index) % a->tiling.blocks;
	handshake_open(block, run->args->sync, run->epoch, sender);
	if (index < tasks && tiling_completes(&a->tiling, last))
		gas_put_tile(block, a, tiling_at(&a->tiling, tiling_task_tile(&a->tiling, last)));
}

TSR_KERNEL(gas_fused_workgroup, gas_args_t, a)
{
	gas_run_t run = gas_begin(block, a);
	int index = tsr_block_index(block), sending = tsr_block_count(block) - a->tiling.blocks;
	if (index < a->tiling.blocks) {
		gas_produce(block, &run, index);
		gas_send_last(block, &run, index, sending + index);
	} else {
		gas_consume(block, &run, index - a->tiling.blocks, sending, gas_last_tiles(a));
	}
	handshake_close(block, a->sync, run.epoch, tsr_block_count(block));
}

#endif
