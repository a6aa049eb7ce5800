/* The verification of a workload's output: every element, on every rank. */
#ifndef KERNELS_HOST_JUDGE_H
#define KERNELS_HOST_JUDGE_H

#include "kernels/workload.h"

/**
 * The errors in one rank's part of an output: the first wrong element in
 * row-major order, and the number of wrong elements.
 */
typedef struct verdict {
	int64_t wrong;    /* 0: all are right */
	int64_t row, col; /* position in the whole matrix */
	double got, expected, bound;
} verdict_t;

/** The expected values of one rank's part of an output. */
typedef struct judge judge_t;

/**
 * Rounds the expected values once, so that most elements can be compared bit by
 * bit. Needs as much host memory as the part. `expected` must outlive the
 * judge. `matrix` is the output's number. Any thread. Errors: TSR_ERR_NO_MEMORY
 * (host).
 */
tsr_status_t judge_create(const workload_expected_t *expected, int matrix,
			  const workload_matrix_t *part, bool integers, judge_t **judge_out);
void judge_destroy(judge_t *judge);

/** Verifies every element of the part, in host memory. Any thread. */
void judge_array(const judge_t *judge, const void *dense, verdict_t *verdict_out);

/**
 * The same for a part in this rank's heap. One thread a rank; no run may be in
 * flight. Errors: TSR_ERR_NO_MEMORY (host).
 */
tsr_status_t judge_view(const judge_t *judge, tsr_world_t *world, tsr_view_t view,
			verdict_t *verdict_out);

/**
 * Half the distance between neighbouring numbers of `dtype` around `x`: the
 * largest error of rounding x. x is finite and not negative.
 */
double judge_half_ulp(tsr_dtype_t dtype, double x);

#endif
