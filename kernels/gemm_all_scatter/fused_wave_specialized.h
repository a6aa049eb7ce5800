/*
 * Fused, producer-consumer by wave specialisation: named in the Iris paper,
 * section 4.2.3, and left there as future work. One kernel. In each block one
 * worker computes and another sends. Tiles pass between them through two stages
 * in shared memory. So nothing is read back from the heap, and the next product
 * runs while the last tile is in flight.
 */
#ifndef GEMM_ALL_SCATTER_FUSED_WAVE_SPECIALIZED_H
#define GEMM_ALL_SCATTER_FUSED_WAVE_SPECIALIZED_H

#include "kernels/gemm_all_scatter/handshake.h"

enum { GAS_STAGES = 2 };
enum { GAS_WORKER_COMPUTE = 0, GAS_WORKER_SEND = 1, GAS_WORKERS = 2 };

typedef struct gas_wave_shared {
	uint64_t ready[GAS_STAGES];   /* number of tiles that have been written to the stage */
	uint64_t retired[GAS_STAGES]; /* number of tiles that have been sent from the stage */
	TSR_SHARED_TILES(tile, stage, GAS_STAGES);
} gas_wave_shared_t;

/** State of the computing worker. A turn is one tile of the block. */
typedef struct gas_wave {
	gas_run_t run; /* must be first: gas_order reads it through ctx */
	gas_wave_shared_t *shared;
	uint64_t turn;
} gas_wave_t;

/** The tiles of my block: both workers take them in this order. */
TSR_FN tsr_tasks_t gas_whole_tasks(tsr_coop_t *me, const gas_args_t *a)
{
	const tsr_tasks_t tasks = {tsr_block_index(me), tsr_block_count(me),
				   tiling_count(&a->tiling)};
	return tasks;
}

TSR_FN tsr_view_t gas_stage(gas_wave_shared_t *shared, int stage)
{
	return tsr_view_shared(shared->stage[stage], TSR_TILE_DTYPE(tile), TSR_TILE_M(tile),
			       TSR_TILE_N(tile), TSR_TILE_N(tile));
}

/**
 * Epilogue: writes the tile to the next stage, once the stage's last tile has
 * been sent.
 * Partners: the signal and the wait in gas_send.
 * Litmus:     MP.rel.acq.sameWG-ww, for READY and for RETIRED.
 */
TSR_FN void gas_hand_over(tsr_coop_t *me, tile_frag_t *c, tsr_pos_t at, void *ctx)
{
	gas_wave_t *wave = (gas_wave_t *)ctx;
	int s = (int)(wave->turn % GAS_STAGES);
	uint64_t use = wave->turn++ / GAS_STAGES;
	tsr_pos_t origin = {0, 0};
	(void)at;
	tsr_wait_local(me, &wave->shared->retired[s], use, TSR_SCOPE_BLOCK);
	tsr_tile_store(me, gas_stage(wave->shared, s), origin, c);
	tsr_signal_local(me, &wave->shared->ready[s], use + 1, TSR_SCOPE_BLOCK);
}

/**
 * The sending worker: sends the block's tiles in the same order.
 * Partners: the signal and the wait in gas_hand_over.
 * Litmus:     MP.rel.acq.sameWG-ww, for READY and for RETIRED.
 */
TSR_FN void gas_send(tsr_coop_t *me, const gas_run_t *run, gas_wave_shared_t *shared)
{
	const tsr_tasks_t tasks = gas_whole_tasks(me, run->args);
	uint64_t turn = 0;
	handshake_open(me, run->args->sync, run->epoch, tsr_block_index(me));
	for (int64_t task = tasks.first; task < tasks.end; task += tasks.step, turn++) {
		int s = (int)(turn % GAS_STAGES);
		uint64_t use = turn / GAS_STAGES;
		tsr_wait_local(me, &shared->ready[s], use + 1, TSR_SCOPE_BLOCK);
		tsr_put_all_2d(me, gas_tile(run->args, tiling_at(&run->args->tiling, task)),
			       gas_stage(shared, s));
		tsr_signal_local(me, &shared->retired[s], use + 1, TSR_SCOPE_BLOCK);
	}
	handshake_close(me, run->args->sync, run->epoch, tsr_block_count(me));
}

TSR_KERNEL_SPLIT(gas_fused_wave, GAS_WORKERS, gas_wave_shared_t, gas_args_t, a)
{
	gas_wave_t wave = {gas_begin(worker, a), shared, 0};
	tsr_shared_clear(block, shared, sizeof *shared);
	if (tsr_worker_index(worker) == GAS_WORKER_COMPUTE) {
		tsr_role(worker, "compute");
		tsr_gemm(tile, worker, a->a, a->b, gas_whole_tasks(block, a), gas_order,
			 TSR_NO_GATE, gas_hand_over, &wave);
	} else {
		tsr_role(worker, "send");
		gas_send(worker, &wave.run, shared);
	}
}

#endif
