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

#include "kernels/gemm_all_scatter/handoff.h"

/**
 * The first of the tiles that a block's last task completes. The sending blocks
 * send all tiles before it.
 */
TSR_FN int64_t gas_last_tiles(const gas_args_t *a)
{
	const int64_t first = gas_task_count(a) - a->gemm_blocks;
	return first > 0 ? gas_task_tile(a, first) : 0;
}

/**
 * Sends the tile that the last task of computing block `index` has completed,
 * if it has completed one. `sender` is the block's number among all senders.
 */
TSR_FN void gas_send_last(tsr_coop_t *block, const gas_run_t *run, int index, int sender)
{
	const gas_args_t *a = run->args;
	const int64_t tasks = gas_task_count(a),
		      last = tasks - 1 - (tasks - 1 - index) % a->gemm_blocks;
	handshake_open(block, run->args->sync, run->epoch, sender);
	if (index < tasks && gas_task_completes(a, last))
		gas_put_tile(block, a, gas_tile_at(a, gas_task_tile(a, last)));
}

TSR_KERNEL(gas_fused_workgroup, gas_args_t, a)
{
	gas_run_t run = gas_begin(block, a);
	int index = tsr_block_index(block), sending = tsr_block_count(block) - a->gemm_blocks;
	if (index < a->gemm_blocks) {
		gas_produce(block, &run, index);
		gas_send_last(block, &run, index, sending + index);
	} else {
		gas_consume(block, &run, index - a->gemm_blocks, sending, gas_last_tiles(a));
	}
	handshake_close(block, a->sync, run.epoch, tsr_block_count(block));
}

#endif
