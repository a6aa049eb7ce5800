/*
 * The emulator's baseline: what openblas.c, which opens and times it, shares
 * with steps.c, which runs the steps.
 */
#ifndef TESSERA_BENCH_OPENBLAS_H
#define TESSERA_BENCH_OPENBLAS_H

#include "bench/internal.h"

/** The baseline on one rank. */
typedef struct bench_openblas {
	/* This rank's parts, dense: in the heap where other ranks read them, */
	TSR_HEAP void *heap[WORKLOAD_MATRICES];
	/* or in the host's memory. Both null: only products read the matrix. */
	char *own[WORKLOAD_MATRICES];
	/* Operands of products in f32; null: others. */
	float *wide[WORKLOAD_MATRICES];
	float *scratch;     /* as many as the largest part has elements */
	bool are_inputs_in; /* inputs were copied to the above */
} bench_openblas_t;

/** The emulator's heaps are memory of the host. */
static inline char *bench_host_address(TSR_HEAP void *pointer)
{
	return (char *)(uintptr_t)pointer;
}

/** This rank's part of a matrix that a step reads or makes. */
static inline char *bench_part_of(const bench_openblas_t *s, int matrix)
{
	return s->own[matrix] ? s->own[matrix] : bench_host_address(s->heap[matrix]);
}

/** Rank `rank`'s copy of this rank's `pointer`. */
tsr_status_t bench_find_peer(const bench_baseline_t *b, TSR_HEAP void *pointer, int rank,
			     char **address_out);

/** Whether other ranks read parts of what a step takes. */
static inline bool bench_step_meets(const workload_step_t *step)
{
	return step->op != WORKLOAD_PRODUCT && step->op != WORKLOAD_PLACE &&
	       step->op != WORKLOAD_COPY_ROWS;
}

/** Runs a step. Collective where ranks read from each other. */
tsr_status_t bench_openblas_step(const bench_baseline_t *b, const bench_openblas_t *s,
				 const workload_step_t *step);

#endif
