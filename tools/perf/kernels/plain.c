/*
 * The reference of put, get, copy, load and store on a GPU: the same move by
 * threads, without the library.
 */
#include "tessera/dev.h"
#include "tools/perf/kernels/kernels.h"

#if defined(TSR_PORT_WIDE_THREADS)
enum { PERF_IN_FLIGHT = 8 };

/** One move: the threads of all blocks side by side. */
TSR_FN void perf_plain_move(const tsr_coop_t *block, const perf_move_args_t *a)
{
	typedef unsigned __int128 unit_t;
	const uint64_t step = (uint64_t)(tsr_block_count(block) * block->threads),
		       count = a->size_bytes / sizeof(unit_t);
	const unit_t *src = (const unit_t *)a->src;
	unit_t *dst = (unit_t *)a->dst;
	unit_t held[PERF_IN_FLIGHT];
	uint64_t i = (uint64_t)(tsr_block_index(block) * block->threads + block->thread);
	for (; i + (PERF_IN_FLIGHT - 1) * step < count; i += PERF_IN_FLIGHT * step) {
#pragma unroll
		for (int j = 0; j < PERF_IN_FLIGHT; j++)
			held[j] = src[i + j * step];
#pragma unroll
		for (int j = 0; j < PERF_IN_FLIGHT; j++)
			dst[i + j * step] = held[j];
	}
#pragma unroll 1
	for (; i < count; i += step)
		dst[i] = src[i];
}

TSR_KERNEL_WIDE(perf_plain, perf_move_args_t, a)
{
#pragma unroll 1
	for (uint64_t repeat = 0; repeat < a->repeats; repeat++)
		perf_plain_move(block, a);
}
#else
/* On a CPU the host's memcpy is the reference instead. */
TSR_KERNEL_WIDE(perf_plain, perf_move_args_t, a)
{
}
#endif
