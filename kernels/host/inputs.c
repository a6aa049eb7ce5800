#include "kernels/host/inputs.h"

#include <stdlib.h>

#include "kernels/host/matrices.h"

/**
 * An element of a stream. The seeds of three or more matrices are far apart.
 */
static double element(const workload_inputs_t *inputs, uint64_t stream, int64_t index)
{
	const uint64_t seed = 2 * inputs->seed + stream % 2 + (stream / 2 << 48);
	if (inputs->integers)
		return (double)tsr_random_int(seed, (uint64_t)index, -INPUTS_LARGEST_INTEGER,
					      INPUTS_LARGEST_INTEGER + 1);
	return 2.0 * (double)tsr_random_f32(seed, (uint64_t)index) - 1.0;
}

void inputs_make(const workload_inputs_t *inputs, const workload_matrix_t *matrix, void *dense_out)
{
	for (int64_t row = 0; row < matrix->part_rows; row++)
		for (int64_t col = 0; col < matrix->part_cols; col++) {
			const int64_t place =
				(matrix->first_row + row) * matrix->cols + matrix->first_col + col;
			tsr_dtype_set(matrix->dtype, dense_out,
				      (size_t)(row * matrix->part_cols + col),
				      element(inputs, matrix->stream, place));
		}
}

tsr_status_t inputs_fill(tsr_world_t *world, const workload_inputs_t *inputs,
			 const workload_matrix_t *matrix, tsr_view_t view)
{
	const size_t bytes =
		(size_t)(matrix->part_rows * matrix->part_cols) * tsr_dtype_bytes(matrix->dtype);
	if (bytes == 0)
		return TSR_OK;
	void *host = malloc(bytes);
	if (!host)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for inputs of %s; use a smaller shape",
				 TSR_SIZE(bytes));
	inputs_make(inputs, matrix, host);
	tsr_status_t status = matrix->in_place ? matrix_write_part(world, view, host)
					       : matrix_write(world, view, host);
	free(host);
	return status;
}
