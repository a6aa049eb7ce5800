/*
 * The collectives of kernels, each `repeats` times in one launch by all blocks of
 * all ranks, every time in the same memory.
 */
#include "tessera/dev.h"
#include "tools/perf/kernels/count.h"
#include "tools/perf/kernels/kernels.h"

TSR_KERNEL_WIDE(perf_all_gather, perf_collective_args_t, a)
{
	tsr_wait_result_t how = TSR_WAIT_OK;
	for (uint64_t left = a->repeats; left > 0 && how == TSR_WAIT_OK; left--)
		how = tsr_all_gather(block, a->dst.data, a->src.data, a->src_bytes,
				     (TSR_HEAP tsr_all_gather_state_t *)a->state);
	perf_count(block, a->missed, how != TSR_WAIT_OK);
}

/** `call_` is made of `a` and `state`. */
#define PERF_COLLECTIVE(name_, call_)                                                    \
	TSR_KERNEL_WIDE(name_, perf_collective_args_t, a)                                \
	{                                                                                \
		TSR_HEAP tsr_collective_state_t *state =                                 \
			(TSR_HEAP tsr_collective_state_t *)a->state;                     \
		tsr_wait_result_t how = TSR_WAIT_OK;                                     \
		for (uint64_t left = a->repeats; left > 0 && how == TSR_WAIT_OK; left--) \
			how = call_;                                                     \
		perf_count(block, a->missed, how != TSR_WAIT_OK);                        \
	}

PERF_COLLECTIVE(perf_all_to_all,
		tsr_all_to_all(block, a->dst, a->src, TSR_DIM_COLS, TSR_DIM_COLS, state))
PERF_COLLECTIVE(perf_broadcast, tsr_broadcast(block, a->dst, a->src, PERF_ROOT, state))
PERF_COLLECTIVE(perf_gather, tsr_gather(block, a->dst, a->src, TSR_DIM_COLS, PERF_ROOT, state))
PERF_COLLECTIVE(perf_scatter, tsr_scatter(block, a->dst, a->src, TSR_DIM_COLS, PERF_ROOT, state))
PERF_COLLECTIVE(perf_all_reduce, tsr_all_reduce_view(block, a->dst, a->src, TSR_REDUCE_SUM, state))
PERF_COLLECTIVE(perf_reduce,
		tsr_reduce_view(block, a->dst, a->src, TSR_REDUCE_SUM, PERF_ROOT, state))
PERF_COLLECTIVE(perf_reduce_scatter,
		tsr_reduce_scatter(block, a->dst, a->src, TSR_DIM_COLS, TSR_REDUCE_SUM, state))
