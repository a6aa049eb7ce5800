/*
 * Fused, producer-consumer by workgroup specialisation: Iris paper, section 4.2.2, Listing 5.
 * One kernel: the first blocks compute, the others send. Tiles pass from one to the other through my C.
 */
#ifndef GEMM_ALL_SCATTER_FUSED_WORKGROUP_SPECIALIZED_H
#define GEMM_ALL_SCATTER_FUSED_WORKGROUP_SPECIALIZED_H

#include "kernels/gemm_all_scatter/handoff.h"

TSR_KERNEL(gas_fused_workgroup, gas_args_t, a)
{
	gas_run_t run = gas_begin(block, a);
	int index = tsr_block_index(block), computing = a->gemm_blocks, sending = tsr_block_count(block) - computing;
	if (index < computing)
		gas_produce(block, &run, index, computing);
	else
		gas_consume(block, &run, index - computing, sending);
}

#endif
