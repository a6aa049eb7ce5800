/*
 * Hand-off of tiles from computing blocks to sending blocks, through this
 * rank's C and one flag for each tile: Iris paper, Listing 5.
 */
#ifndef GEMM_ALL_SCATTER_HANDOFF_H
#define GEMM_ALL_SCATTER_HANDOFF_H

#include "kernels/gemm_all_scatter/handshake.h"
#include "kernels/gemm_all_scatter/parts.h"

/**
 * The flag of the tile at `at`. It is set to the launch's epoch when the tile
 * is in this rank's C.
 */
TSR_FN TSR_HEAP uint64_t *gas_ready(const gas_args_t *a, tsr_pos_t at)
{
	return a->tile_ready + at.row / TSR_TILE_M(tile) * a->tiles_n + at.col / TSR_TILE_N(tile);
}

/**
 * Epilogue: stores the tile in this rank's C and sets its flag. Partners:
 * the wait in gas_consume, and the load and wait in work_queue.h. Litmus: MP.rel.acq.sameGPU-aa.
 */
TSR_FN void gas_keep_and_signal(tsr_coop_t *me, tile_frag_t *c, tsr_pos_t at, void *ctx)
{
	const gas_run_t *run = (const gas_run_t *)ctx;
	if (!gas_complete(me, run, at, c))
		return;
	tsr_tile_store(me, gas_slab(run->args), at, c);
	tsr_signal_local(me, gas_ready(run->args, at), run->epoch, TSR_SCOPE_DEVICE);
}

/** Computing block `index`: computes its tiles. */
TSR_FN void gas_produce(tsr_coop_t *block, gas_run_t *run, int index)
{
	const gas_args_t *a = run->args;
	tsr_role(block, "compute");
	tsr_gemm(tile, block, a->a, a->b, gas_part_tasks(a, index), gas_part_order, TSR_NO_GATE,
		 gas_keep_and_signal, run);
}

/**
 * Sending block `index` of `count`: sends tiles 0 .. end-1. One worker of one
 * block sends each tile. Partner of the wait: the signal in
 * gas_keep_and_signal. Litmus: MP.rel.acq.sameGPU-aa.
 */
TSR_FN void gas_consume(tsr_coop_t *block, gas_run_t *run, int index, int count, int64_t end)
{
	tsr_role(block, "send");
	handshake_open(block, run->args->sync, run->epoch, index);
	tsr_coop_t worker = tsr_split(block);
	const int workers = tsr_worker_count(&worker),
		  first = index * workers + tsr_worker_index(&worker);
	for (int64_t tile_index = first; tile_index < end; tile_index += count * workers) {
		tsr_pos_t at = gas_tile_at(run->args, tile_index);
		tsr_wait_local(&worker, gas_ready(run->args, at), run->epoch, TSR_SCOPE_DEVICE);
		gas_put_tile(&worker, run->args, at);
	}
}

#endif
