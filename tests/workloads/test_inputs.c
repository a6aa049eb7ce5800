/* A large part is made by several threads, and has the same elements as small parts. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "kernels/host/inputs.h"

enum { ROWS = 1531, COLS = 2900, FEW_ROWS = 7 }; /* four million elements; and too few to divide */

static void *made(const workload_inputs_t *inputs, const workload_matrix_t *matrix)
{
	const size_t bytes =
		(size_t)(matrix->part_rows * matrix->part_cols) * tsr_dtype_bytes(matrix->dtype);
	void *dense = malloc(bytes);
	cr_assert(dense != NULL);
	memset(dense, 0x5b, bytes);
	inputs_make(inputs, matrix, dense);
	return dense;
}

Test(inputs, a_large_part_is_made_as_small_ones_are)
{
	const workload_inputs_t inputs = {.seed = 77, .integers = false};
	const workload_matrix_t whole = {.dtype = TSR_BF16,
					 .stream = 1,
					 .rows = ROWS + 20,
					 .cols = COLS + 3,
					 .first_row = 11,
					 .first_col = 2,
					 .part_rows = ROWS,
					 .part_cols = COLS};
	unsigned short *all = made(&inputs, &whole);
	for (int64_t row = 0; row < ROWS; row += FEW_ROWS) {
		workload_matrix_t few = whole;
		few.first_row += row;
		few.part_rows = ROWS - row < FEW_ROWS ? ROWS - row : FEW_ROWS;
		void *part = made(&inputs, &few);
		cr_assert(memcmp(part, all + row * COLS, (size_t)(few.part_rows * COLS) * 2) == 0,
			  "rows from %d on", (int)row);
		free(part);
	}
	free(all);
}
