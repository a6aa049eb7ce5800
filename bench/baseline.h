/*
 * What a user would pick instead, on the same data: each rank's product by the vendor's library, then an all-gather of the parts.
 * On cuda that is cuBLAS and NCCL, found when the program runs; on cpuemu OpenBLAS and memcpy between the ranks' heaps.
 */
#ifndef TESSERA_BENCH_BASELINE_H
#define TESSERA_BENCH_BASELINE_H

#include "kernels/gemm_all_scatter/gemm_all_scatter.h"

/** What can be timed. */
typedef enum bench_step {
	BENCH_PRODUCT,   /* this rank's columns of C alone */
	BENCH_GATHER,    /* the exchange alone: every rank gets all columns, one rank's part after the other's */
	BENCH_BOTH,      /* product, then exchange */
	BENCH_LAYOUT,    /* both, and each part put in its place: C is M x N and row-major, as GEMM + all-scatter leaves it */
	BENCH_PUSH_PAIR, /* rank 0 stores bench_baseline_push_bytes into rank 1's heap; the others do nothing */
	BENCH_PUSH_ALL,  /* every rank stores as much into every other's heap */
	BENCH_STEPS
} bench_step_t;

/** The product: `a` and `b` lie in this rank's heap, as gas_plan_a and gas_plan_b have them. cuBLAS gets dense copies of them, as
 * a user's matrices are. (With padded rows it is several times as fast on odd shapes.) */
typedef struct bench_task {
	int64_t m, n, k;
	tsr_dtype_t dtype;
	tsr_view_t a, b;
} bench_task_t;

typedef struct bench_baseline bench_baseline_t;

/**
 * Finds what the world's backend has, and takes memory for it. What is not there is no error: see bench_baseline_missing.
 * Called by: collective, one thread a rank; A and B may still be written. Errors: TSR_ERR_UNSUPPORTED where the backend has no
 *            baseline at all, TSR_ERR_NO_MEMORY (host), those of tsr_team_gather_all and tsr_heap_alloc.
 */
tsr_status_t bench_baseline_open(tsr_world_t *world, const bench_task_t *task, bench_baseline_t **baseline_out);

/** Releases it; null is TSR_OK. Collective. `failed`: the world has ended, so nobody is waited for. */
tsr_status_t bench_baseline_close(bench_baseline_t *baseline, bool failed);

/** What computes and what exchanges, with versions, such as "cuBLAS 13.1.0 + NCCL 2.28.9". Valid as long as the baseline. */
const char *bench_baseline_name(const bench_baseline_t *baseline);

/** Why a step cannot be run, in one sentence; null where it can. The same on every rank. */
const char *bench_baseline_missing(const bench_baseline_t *baseline, bench_step_t step);

/**
 * Runs a step twice without a pause, and says how long the second run took on this rank: so the device is awake, the ranks have met
 * and no launch is waited for. A rank that takes no part in the step says 0.
 * Collective. Errors: TSR_ERR_TIMEOUT, TSR_ERR_SYSTEM.
 */
tsr_status_t bench_baseline_time(bench_baseline_t *baseline, bench_step_t step, uint64_t *ns_out);

/** Copies the M x N product to the host, after BENCH_LAYOUT was run. Before any run it is all NaN. Not collective. */
tsr_status_t bench_baseline_read(bench_baseline_t *baseline, void *c_out);

/** What one rank stores into one other's heap in the two push steps. */
size_t bench_baseline_push_bytes(const bench_baseline_t *baseline);

#endif
