/* What the baselines share. */
#ifndef TESSERA_BENCH_INTERNAL_H
#define TESSERA_BENCH_INTERNAL_H

#include <time.h>

#include "bench/baseline.h"

enum { BENCH_SENTENCE = 512 };

/**
 * A kind of engine. Functions are called on every rank, with the
 * sentences in `missing` empty.
 */
typedef struct bench_baseline_ops {
	/**
	 * Fills in name, missing and state; the first sentence of each step that any rank has
	 * becomes everybody's.
	 */
	tsr_status_t (*open)(bench_baseline_t *baseline);
	tsr_status_t (*time)(bench_baseline_t *baseline, const bench_timed_t *timed,
			     uint64_t *ns_out);
	tsr_status_t (*read)(bench_baseline_t *baseline, int matrix, void *dense_out);
	void (*close)(bench_baseline_t *baseline, bool failed);
	size_t push_bytes; /* wanted; less where the heap has less */
} bench_baseline_ops_t;

/** What runs the steps: cuBLAS and NCCL, hipBLASLt and RCCL, or OpenBLAS and memcpy. */
typedef struct bench_engine {
	const bench_baseline_ops_t *ops;
	const struct bench_vendor *vendor; /* of GPUs (bench/gpu/gpu.h); null: the host computes */
} bench_engine_t;

extern const bench_engine_t bench_cublas_nccl, bench_hipblaslt_rccl, bench_openblas;

/** The engine of a backend; null: it has none. */
const bench_engine_t *bench_engine_of(const char *backend);

struct bench_baseline {
	const bench_engine_t *engine;
	tsr_world_t *world;
	int rank, size;
	bench_task_t task;
	workload_config_t config; /* what task.config points to */
	workload_step_t steps[WORKLOAD_STEPS];
	int step_count;
	int matrices; /* how many there are */
	/* where the others store to: `size` pieces of push_bytes; null: no room */
	TSR_HEAP void *pushed;
	size_t push_bytes;
	char name[128];
	char missing[WORKLOAD_STEPS][BENCH_SENTENCE];
	char missing_push[BENCH_SENTENCE];
	void *state; /* of the engine */
};

/** bench_baseline_open, by an engine of the caller's choice. */
tsr_status_t bench_baseline_open_by(const bench_engine_t *engine, tsr_world_t *world,
				    const bench_task_t *task, bench_baseline_t **baseline_out);

/**
 * Whether all steps fit their matrices, on every rank: the same answer on all.
 * Any thread. Errors: TSR_ERR_ARGUMENT.
 */
tsr_status_t bench_steps_check(const bench_baseline_t *b);

/**
 * In an all-to-all: the rows that rank `source` has for rank `target`, and how
 * many bytes lie before them in the source's part of `from` and in the target's
 * part of `to`.
 */
typedef struct bench_piece {
	int64_t rows;
	size_t bytes, elements, from_offset, to_offset;
} bench_piece_t;

bench_piece_t bench_piece_of(const bench_baseline_t *b, const workload_step_t *step, int source,
			     int target);

/** A matrix, and rank `rank`'s part of it. */
static inline workload_matrix_t bench_matrix_of(const bench_baseline_t *b, int matrix, int rank)
{
	workload_matrix_t found = {.name = NULL};
	(void)b->task.workload->matrix(&b->config, matrix, rank, b->size, &found);
	return found;
}

static inline size_t bench_part_elements(const bench_baseline_t *b, int matrix, int rank)
{
	const workload_matrix_t part = bench_matrix_of(b, matrix, rank);
	return (size_t)(part.part_rows * part.part_cols);
}

static inline size_t bench_part_bytes(const bench_baseline_t *b, int matrix, int rank)
{
	return bench_part_elements(b, matrix, rank) *
	       tsr_dtype_bytes(bench_matrix_of(b, matrix, rank).dtype);
}

/** Where rank `rank`'s part begins among the parts of all, which stand one behind the other. */
static inline size_t bench_parts_offset(const bench_baseline_t *b, int matrix, int rank)
{
	size_t offset = 0;
	for (int r = 0; r < rank; r++)
		offset += bench_part_bytes(b, matrix, r);
	return offset;
}

/** Whether all ranks' parts have one size. */
static inline bool bench_parts_are_equal(const bench_baseline_t *b, int matrix)
{
	for (int r = 1; r < b->size; r++)
		if (bench_part_elements(b, matrix, r) != bench_part_elements(b, matrix, 0))
			return false;
	return true;
}

static inline uint64_t bench_now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/**
 * The first sentence of any rank that is not empty lands on all; true where
 * there was none. Collective.
 */
tsr_status_t bench_agree(tsr_world_t *world, char sentence[BENCH_SENTENCE], bool *none_out);

/** Whether `library` takes the extents of all matrices; one sentence where it does not. */
bool bench_extents_fit(const bench_baseline_t *b, const char *library,
		       char sentence[BENCH_SENTENCE]);

/** Sets the sentence for all steps that have none yet. */
void bench_miss_steps(bench_baseline_t *b, const char *sentence);

#endif
