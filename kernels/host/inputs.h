/* Inputs by position: any rank can compute any part of any matrix. */
#ifndef KERNELS_HOST_INPUTS_H
#define KERNELS_HOST_INPUTS_H

#include "kernels/workload.h"

/** The largest integer in inputs; the smallest is its negative. */
enum { INPUTS_LARGEST_INTEGER = 4 };

/**
 * Writes a rank's part of a matrix to host memory, row-major and dense. A large
 * part is made by several threads. Any thread.
 */
void inputs_make(const workload_inputs_t *inputs, const workload_matrix_t *matrix, void *dense_out);

/**
 * Writes the part to its place in this rank's heap. One thread a rank; no run
 * may be in flight. Errors: TSR_ERR_NO_MEMORY (host).
 */
tsr_status_t inputs_fill(tsr_world_t *world, const workload_inputs_t *inputs,
			 const workload_matrix_t *matrix, tsr_view_t view);

#endif
