/* Begins a block's product: its run, and the epoch of the ranks' handshake. */
#ifndef GEMM_ALL_SCATTER_HANDSHAKE_H
#define GEMM_ALL_SCATTER_HANDSHAKE_H

#include "kernels/dev/handshake.h"
#include "kernels/gemm_all_scatter/tiles.h"

/**
 * For blocks that neither raise nor wait for flags before computing: does not
 * wait for the epoch to be loaded.
 */
TSR_FN gas_run_t gas_begin_alone(tsr_coop_t *me, const gas_args_t *a)
{
	gas_run_t run = {a, 0};
	tsr_declare_writes(me, gas_slab(a));
	return run;
}

/** For all other blocks: also loads the epoch. */
TSR_FN gas_run_t gas_begin(tsr_coop_t *me, const gas_args_t *a)
{
	gas_run_t run = gas_begin_alone(me, a);
	run.epoch = handshake_epoch(me, a->sync);
	return run;
}

#endif
