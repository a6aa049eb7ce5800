/* The verdict on a workload's output: every element, on every rank. */
#ifndef KERNELS_HOST_JUDGE_H
#define KERNELS_HOST_JUDGE_H

#include "kernels/workload.h"

/**
 * What is wrong with one rank's part of an output: the first wrong element in
 * row-major order, and how many there are.
 */
typedef struct verdict {
	int64_t wrong;    /* 0: all right */
	int64_t row, col; /* in the whole matrix */
	double got, expected, bound;
} verdict_t;

/** What one rank's part of an output must be. */
typedef struct judge judge_t;

/**
 * Rounds what is expected once, so that most elements are looked at by their
 * bits. Takes as much host memory as the part. `expected` must live as long.
 * `matrix` is the output's number. Any thread. Errors: TSR_ERR_NO_MEMORY
 * (host).
 */
tsr_status_t judge_create(const workload_expected_t *expected, int matrix,
			  const workload_matrix_t *part, bool integers, judge_t **judge_out);
void judge_destroy(judge_t *judge);

/** Looks at every element of the part, which is an array of the host. Any thread. */
void judge_array(const judge_t *judge, const void *dense, verdict_t *verdict_out);

/**
 * The same for what lies in this rank's heap. One thread a rank, no run in
 * flight. Errors: TSR_ERR_NO_MEMORY (host).
 */
tsr_status_t judge_view(const judge_t *judge, tsr_world_t *world, tsr_view_t view,
			verdict_t *verdict_out);

/**
 * Half the distance between the numbers of `dtype` around `x`, which is not
 * negative and finite: what rounding it is off by.
 */
double judge_half_ulp(tsr_dtype_t dtype, double x);

#endif
