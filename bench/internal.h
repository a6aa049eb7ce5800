/* What the baselines share. */
#ifndef TESSERA_BENCH_INTERNAL_H
#define TESSERA_BENCH_INTERNAL_H

#include <time.h>

#include "bench/baseline.h"

enum { BENCH_SENTENCE = 512 };

/** One way to compute and exchange. Functions are called on every rank, with the step's sentence in `missing` empty. */
typedef struct bench_baseline_ops {
	/** Fills in name, missing and state; the first sentence of each step that any rank has becomes everybody's. */
	tsr_status_t (*open)(bench_baseline_t *baseline);
	tsr_status_t (*time)(bench_baseline_t *baseline, bench_step_t step, uint64_t *ns_out);
	tsr_status_t (*read)(bench_baseline_t *baseline, void *c_out);
	void (*close)(bench_baseline_t *baseline, bool failed);
	size_t push_bytes; /* wanted; less where the heap has less */
} bench_baseline_ops_t;

extern const bench_baseline_ops_t bench_cublas_nccl, bench_openblas;

struct bench_baseline {
	const bench_baseline_ops_t *ops;
	tsr_world_t *world;
	int rank, size;
	bench_task_t task;
	gas_share_t share;     /* mine */
	TSR_HEAP void *pushed; /* where the others store to: `size` pieces of push_bytes; null: no room */
	size_t push_bytes;
	char name[128];
	char missing[BENCH_STEPS][BENCH_SENTENCE];
	void *state; /* of the way */
};

/** bench_baseline_open, by a way of the caller's choice. */
tsr_status_t bench_baseline_open_by(const bench_baseline_ops_t *ops, tsr_world_t *world, const bench_task_t *task,
				    bench_baseline_t **baseline_out);

/** Where rank `rank`'s part begins in the gathered parts, and its size. */
static inline size_t bench_part_offset(const bench_task_t *task, int rank, int ranks)
{
	return (size_t)(task->m * gas_share(task->n, rank, ranks).first_col) * tsr_dtype_bytes(task->dtype);
}

static inline size_t bench_part_bytes(const bench_task_t *task, int rank, int ranks)
{
	return (size_t)(task->m * gas_share(task->n, rank, ranks).cols) * tsr_dtype_bytes(task->dtype);
}

static inline size_t bench_c_bytes(const bench_task_t *task)
{
	return (size_t)(task->m * task->n) * tsr_dtype_bytes(task->dtype);
}

static inline uint64_t bench_now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/** The first sentence of any rank that is not empty lands on all; true where there was none. Collective. */
tsr_status_t bench_agree(tsr_world_t *world, char sentence[BENCH_SENTENCE], bool *none_out);

#endif
