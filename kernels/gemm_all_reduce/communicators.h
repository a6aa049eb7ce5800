/*
 * Communicator blocks: one kernel. The first blocks compute. Each keeps its
 * partial sums in its rank's memory, and tells the rank that owns the tile. The
 * last blocks wait until all ranks have a tile, add it up and store it to all.
 *
 * Source:     ParallelKittens, section 3.1.3 (overlap between multiprocessors)
 *             and appendix D, whose fabric adds.
 */
#ifndef GEMM_ALL_REDUCE_COMMUNICATORS_H
#define GEMM_ALL_REDUCE_COMMUNICATORS_H

#include "kernels/gemm_all_reduce/combine.h"
#include "kernels/split_k/inbox.h"

/**
 * Epilogue: keeps the partial sums of a tile, and tells its owner.
 * Partner:    the wait of gar_serve on the owner. Litmus: MP.rel.acq.diffGPU-ss.
 */
TSR_FN void gar_keep_and_tell(tsr_coop_t *me, tile_frag_t *sums, tsr_pos_t at, void *ctx)
{
	splitk_run_t *run = (splitk_run_t *)ctx;
	const tsr_ring_tile_t t = splitk_tile_of(run, run->task);
	(void)at;
	run->task += run->args->computing;
	splitk_store_kept(me, run, t, sums);
	tsr_signal(me, splitk_come(run->args, run->me, splitk_index(run->args, t.at)), run->epoch,
		   TSR_SIGNAL_SET, t.part);
}

/**
 * Communicator `index` of `count`: completes tiles of this rank's chunk for all
 * ranks, in the order in which they are computed.
 * Partner:    the signals of gar_keep_and_tell on all ranks. Litmus:
 *             MP.rel.acq.diffGPU-ss.
 */
TSR_FN void gar_serve(tsr_coop_t *block, const splitk_run_t *run, int index, int count)
{
	const splitk_args_t *a = run->args;
	tsr_role(block, "add up and send");
	for (int64_t task = index; task < a->tiles_m * a->tiles_n; task += count) {
		const tsr_pos_t tile_at = gar_own_tile(a, task);
		for (int i = 1; i <= run->ranks; i++) {
			const int source = tsr_peer(block, i % run->ranks);
			tsr_wait(block, splitk_come(a, source, splitk_index(a, tile_at)),
				 run->epoch, source);
		}
		gar_combine(block, run, tile_at, 0, 1);
	}
}

/*
 * The handshake opens for the communicators: the other ranks' C may be
 * overwritten. It closes when all partial sums have been read and all of C has
 * arrived.
 */
TSR_KERNEL(gar_communicators, splitk_args_t, a)
{
	const int index = tsr_block_index(block);
	splitk_run_t run = splitk_begin(block, a);
	handshake_retire(block, a->sync, run.epoch, index);
	if (index < a->computing) {
		tsr_role(block, "compute");
		tsr_gemm(tile, block, a->a, a->b, splitk_tasks(block, a), splitk_order, TSR_NO_GATE,
			 gar_keep_and_tell, &run);
	} else {
		handshake_await(block, a->sync->retired, run.epoch);
		gar_serve(block, &run, index - a->computing, tsr_block_count(block) - a->computing);
	}
	handshake_close(block, a->sync, run.epoch, tsr_block_count(block));
}

#endif
