/* How a block begins a product: its run, and the epoch of the ranks' handshake. */
#ifndef GEMM_ALL_SCATTER_HANDSHAKE_H
#define GEMM_ALL_SCATTER_HANDSHAKE_H

#include "kernels/dev/handshake.h"
#include "kernels/gemm_all_scatter/tiles.h"

/**
 * For blocks that raise no flag and wait for none, or not before their product
 * is made: none waits for an epoch first.
 */
TSR_FN gas_run_t gas_begin_alone(tsr_coop_t *me, const gas_args_t *a)
{
	gas_run_t run = {a, 0};
	tsr_declare_writes(me, gas_slab(a));
	return run;
}

/** For all others. */
TSR_FN gas_run_t gas_begin(tsr_coop_t *me, const gas_args_t *a)
{
	gas_run_t run = gas_begin_alone(me, a);
	run.epoch = handshake_epoch(me, a->sync);
	return run;
}

#endif
