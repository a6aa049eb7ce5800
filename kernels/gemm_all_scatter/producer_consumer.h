/*
 * Unfused, producer-consumer: Iris paper, section 4.1.2. Two kernels on two
 * streams share the device. The consumer sends a tile as soon as the producer
 * has raised its flag.
 */
#ifndef GEMM_ALL_SCATTER_PRODUCER_CONSUMER_H
#define GEMM_ALL_SCATTER_PRODUCER_CONSUMER_H

#include "kernels/gemm_all_scatter/produce.h"

TSR_KERNEL(gas_producer, gas_args_t, a)
{
	gas_run_t run = gas_begin(block, a);
	gas_produce(block, &run, tsr_block_index(block));
}

TSR_KERNEL(gas_consumer, gas_args_t, a)
{
	gas_run_t run = gas_begin(block, a);
	gas_consume(block, &run, tsr_block_index(block), tsr_block_count(block),
		    tiling_count(&a->tiling));
	handshake_close(block, a->sync, run.epoch, tsr_block_count(block));
}

#endif
