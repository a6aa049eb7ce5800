/*
 * Unfused, banded: the product in bands, one launch each, and no kernel sends.
 * As soon as a band's launch has ended the copy engines put it to the peers,
 * while the next band is computed: a store of a kernel's to a peer holds up the
 * kernel's own loads, what a copy engine moves does not. Not in the Iris paper;
 * ParallelKittens, section 3.1.2, leaves copy engines to what is large, as
 * bands are.
 */
#ifndef GEMM_ALL_SCATTER_BANDED_H
#define GEMM_ALL_SCATTER_BANDED_H

#include "kernels/gemm_all_scatter/bulk_synchronous.h"

/**
 * Tasks first_task .. end_task-1. The first band's launch ends when the peers'
 * C may be written, for no copy begins before.
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

/** One block, behind all copies: they are my only sender. */
TSR_KERNEL(gas_finish, gas_args_t, a)
{
	gas_run_t run = gas_begin(block, a);
	handshake_close(block, a->sync, run.epoch, 1);
}

#endif
