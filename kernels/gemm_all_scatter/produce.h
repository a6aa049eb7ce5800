/*
 * Blocks that compute tiles, and blocks that send them: tiles pass from one to
 * the other through this rank's C. Iris paper, Listing 5.
 */
#ifndef GEMM_ALL_SCATTER_PRODUCE_H
#define GEMM_ALL_SCATTER_PRODUCE_H

#include "kernels/dev/handoff.h"
#include "kernels/gemm_all_scatter/handshake.h"

/** Epilogue: stores the tile in this rank's C and sets its flag. */
TSR_FN void gas_keep_and_signal(tsr_coop_t *me, tile_frag_t *c, tsr_pos_t at, void *ctx)
{
	const gas_run_t *run = (const gas_run_t *)ctx;
	if (!tiling_complete(me, &run->args->tiling, at, c))
		return;
	tsr_tile_store(me, gas_slab(run->args), at, c);
	handoff_signal(me, &run->args->tiling, at, run->epoch);
}

/** Computing block `index`: computes its tiles. */
TSR_FN void gas_produce(tsr_coop_t *block, gas_run_t *run, int index)
{
	const gas_args_t *a = run->args;
	tsr_role(block, "compute");
	tsr_gemm(tile, block, a->a, a->b, tiling_tasks(&a->tiling, index), gas_part_order,
		 TSR_NO_GATE, gas_keep_and_signal, run);
}

/**
 * Sending block `index` of `count`: sends tiles 0 .. end-1. One worker of one
 * block sends each tile.
 */
TSR_FN void gas_consume(tsr_coop_t *block, gas_run_t *run, int index, int count, int64_t end)
{
	const gas_args_t *a = run->args;
	tsr_role(block, "send");
	handshake_open(block, a->sync, run->epoch, index);
	tsr_coop_t worker = tsr_split(block);
	const int workers = tsr_worker_count(&worker),
		  first = index * workers + tsr_worker_index(&worker);
	for (int64_t tile_index = first; tile_index < end; tile_index += count * workers) {
		tsr_pos_t at = tiling_at(&a->tiling, tile_index);
		handoff_await(&worker, &a->tiling, at, run->epoch);
		gas_put_tile(&worker, a, at);
	}
}

#endif
