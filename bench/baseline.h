/*
 * What a user would pick instead, on the same data: a workload's steps, run by
 * the vendor's libraries. On cuda that is cuBLAS and NCCL, on hip hipBLASLt and
 * RCCL, found when the program runs; on cpuemu OpenBLAS and memcpy between the
 * ranks' heaps. And plain stores, the measure of a link.
 */
#ifndef TESSERA_BENCH_BASELINE_H
#define TESSERA_BENCH_BASELINE_H

#include "kernels/workload.h"

typedef enum bench_push {
	BENCH_NO_PUSH,
	/* rank 0 stores bench_baseline_push_bytes into rank 1's heap; the others do nothing */
	BENCH_PUSH_PAIR,
	BENCH_PUSH_ALL /* every rank stores as much into every other's heap */
} bench_push_t;

/** What is timed as one: some of the steps, one behind the other; or stores. */
typedef struct bench_timed {
	int first, count; /* of the steps */
	bench_push_t push;
} bench_timed_t;

/**
 * Inputs lie in this rank's heap, where the run has them. Libraries of GPUs get
 * dense copies of them, as a user's matrices are. (With padded rows cuBLAS is
 * several times as fast on odd shapes.)
 */
typedef struct bench_task {
	const workload_t *workload;
	const workload_config_t *config;
	const workload_run_t *run;
} bench_task_t;

typedef struct bench_baseline bench_baseline_t;

/** Whether there are libraries for the backend. */
bool bench_has_baseline(const char *backend);

/**
 * Finds what the world's backend has, and takes memory for it. What is not
 * there is no error: see bench_baseline_missing.
 * Called by: collective, one thread a rank; inputs may still be written.
 * Errors: TSR_ERR_UNSUPPORTED where the backend has no
 *            baseline at all, TSR_ERR_NO_MEMORY (host), those of
 *            tsr_team_gather_all and tsr_heap_alloc.
 */
tsr_status_t bench_baseline_open(tsr_world_t *world, const bench_task_t *task,
				 bench_baseline_t **baseline_out);

/**
 * Releases it; null is TSR_OK. Collective. `failed`: the world has ended, so
 * nobody is waited for.
 */
tsr_status_t bench_baseline_close(bench_baseline_t *baseline, bool failed);

/**
 * What computes and what exchanges, with versions, such as "cuBLAS 13.1.0 +
 * NCCL 2.28.9". Valid as long as the baseline.
 */
const char *bench_baseline_name(const bench_baseline_t *baseline);

/** The workload's steps. Valid as long as the baseline. */
const workload_step_t *bench_baseline_steps(const bench_baseline_t *baseline, int *count_out);

/** Why it cannot be run, in one sentence; null where it can. The same on every rank. */
const char *bench_baseline_missing(const bench_baseline_t *baseline, const bench_timed_t *timed);

/**
 * Runs it twice without a pause, and says how long the second run took on this
 * rank: so the device is awake, the ranks have met and no launch is waited for.
 * A rank that takes no part in it says 0.
 * Collective. Errors: TSR_ERR_TIMEOUT, TSR_ERR_SYSTEM.
 */
tsr_status_t bench_baseline_time(bench_baseline_t *baseline, const bench_timed_t *timed,
				 uint64_t *ns_out);

/**
 * Copies the rank's part of an output to the host, after all steps were run.
 * Before any run it is all NaN. Not collective.
 */
tsr_status_t bench_baseline_read(bench_baseline_t *baseline, int matrix, void *dense_out);

/** What one rank stores into one other's heap in the two push steps. */
size_t bench_baseline_push_bytes(const bench_baseline_t *baseline);

#endif
