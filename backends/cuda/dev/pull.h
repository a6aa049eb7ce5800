/*
 * Pulls: a lane copies 16 bytes from global to shared memory, and goes on. What
 * it has pulled are groups, which it awaits in their order. Other lanes of the
 * warp see what it has awaited when they have met. Pulls are weak accesses, of the
 * lane's own program order. PTX ISA 8.0, sections 9.7.8.22 and 9.7.12.15.
 */
#ifndef TESSERA_CUDA_PULL_H
#define TESSERA_CUDA_PULL_H

#include "cuda/dev/hopper.h"

/** What one pull moves: eight 16-bit elements. */
typedef struct __attribute__((aligned(16))) tsr_cuda_unit {
	uint32_t word[4];
} tsr_cuda_unit_t;

/**
 * Pulls 16 bytes; zeros, and nothing is read, if they are not there. Whole lines
 * of 128 bytes are fetched, because other pulls need the rest of them.
 */
TSR_DEV void tsr_cuda_pull(void *to, const void *from, bool is_there)
{
	__asm__ volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(
				 tsr_cuda_shared_address(to)),
			 "l"(__cvta_generic_to_global(from)), "r"(is_there ? 16u : 0u)
			 : "memory");
}

/** Makes a group of the pulls since the last one; it may be empty. */
TSR_DEV void tsr_cuda_pull_group(void)
{
	__asm__ volatile("cp.async.commit_group;" ::: "memory");
}

/** Waits until all groups but the last `LEFT` are there. */
template <int LEFT> TSR_DEV void tsr_cuda_pull_await(void)
{
	__asm__ volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

/** Sixteen bytes of shared memory. */
TSR_DEV tsr_cuda_unit_t tsr_cuda_unit_read(const void *from)
{
	tsr_cuda_unit_t unit;
	tsr_cuda_shared_load_all(unit.word, tsr_cuda_shared_address(from));
	return unit;
}

TSR_DEV float tsr_cuda_larger(float x, float y)
{
	return fmaxf(x, y);
}

/* ---- a warp's lanes together */

/** The warp's lanes see each other's accesses of shared memory, and what they have awaited. */
TSR_DEV void tsr_cuda_lanes_meet(void)
{
	__syncwarp();
}

/** The largest x, or the sum, of the four lanes of a group. */
TSR_DEV float tsr_cuda_quad_most(float x)
{
	x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
	return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

TSR_DEV float tsr_cuda_quad_sum(float x)
{
	x += __shfl_xor_sync(~0u, x, 1);
	return x + __shfl_xor_sync(~0u, x, 2);
}

/** Whether it holds in any lane of the warp. */
TSR_DEV bool tsr_cuda_any(bool x)
{
	return __any_sync(~0u, x);
}

#endif
