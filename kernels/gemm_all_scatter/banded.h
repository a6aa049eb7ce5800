/*
 * Unfused, banded: the product is computed in bands, one launch each, and no
 * kernel sends. As soon as a band's launch has ended, the copy engines put the
 * band to the peers, while the next band is computed. A kernel's store to a
 * peer delays the kernel's own loads; a copy engine's transfer does not. Not in
 * the Iris paper. ParallelKittens, section 3.1.2, uses copy engines for large
 * transfers, such as these bands.
 */
#ifndef GEMM_ALL_SCATTER_BANDED_H
#define GEMM_ALL_SCATTER_BANDED_H

#include "kernels/gemm_all_scatter/bulk_synchronous.h"

/**
 * Computes tasks first_task .. end_task-1 of one band. The first band's launch
 * ends only when the peers' C may be overwritten; no copy begins before that.
 */
TSR_KERNEL(gas_band, gas_args_t, a)
{
	gas_run_t run = gas_begin_alone(block, a);
	tsr_tasks_t tasks = {a->first_task + tsr_block_index(block), tsr_block_count(block),
			     a->end_task};
	tsr_role(block, "compute");
	tsr_gemm(tile, block, a->a, a->b, tasks, gas_order, TSR_NO_GATE, gas_keep, &run);
	if (a->first_task == 0 && tsr_block_index(block) == 0) {
		run.epoch = handshake_epoch(block, a->sync);
		handshake_open(block, a->sync, run.epoch, 0);
	}
}

/**
 * Ends the run: one block, launched after all copies. The copies count as this
 * rank's only sender.
 */
TSR_KERNEL(gas_finish, gas_args_t, a)
{
	gas_run_t run = gas_begin(block, a);
	handshake_close(block, a->sync, run.epoch, 1);
}

#endif
