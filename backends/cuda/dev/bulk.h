/*
 * Copies in bulk between global and shared memory: one thread hands them to the
 * multiprocessor's copy engine and goes on. PTX ISA 8.0, section 9.7.8.24; since
 * 8.6 to shared::cta, which is one instruction on every GPU, where shared::cluster
 * is a call on some. Addresses and sizes are multiples of 16 bytes.
 */
#ifndef TESSERA_CUDA_BULK_H
#define TESSERA_CUDA_BULK_H

#include "cuda/dev/hopper.h"

/** Loads `bytes` to shared memory. They arrive at the mbarrier, which expects them. */
TSR_DEV void tsr_cuda_bulk_load(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier)
{
	__asm__ volatile("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "
			 "[%0], [%1], %2, [%3];" ::"r"(to),
			 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(barrier)
			 : "memory");
}

/** Stores `bytes` from shared memory, as a group of its own. */
TSR_DEV void tsr_cuda_bulk_store(void *to, uint32_t from, uint32_t bytes)
{
	__asm__ volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n\t"
			 "cp.async.bulk.commit_group;" ::"l"(__cvta_generic_to_global(to)),
			 "r"(from), "r"(bytes)
			 : "memory");
}

/** Waits until all of this thread's stores but the last `LEFT` have read their sources. */
template <int LEFT> TSR_DEV void tsr_cuda_bulk_stores_read(void)
{
	__asm__ volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory");
}

/** Waits until all of this thread's stores have been made. */
TSR_DEV void tsr_cuda_bulk_stores_end(void)
{
	__asm__ volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

#endif
