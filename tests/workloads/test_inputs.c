/* Inputs by position: large parts have the same elements as small ones; rows of drawn numbers. */
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

/* ------------------------------------------------------------ drawn rows */

enum { NUMBERS = 97, DRAWN = 7, DRAWN_ROWS = 6000 };

static workload_matrix_t drawn(workload_odds_t odds, uint64_t seed)
{
	return (workload_matrix_t){.dtype = TSR_I32,
				   .draw = {.below = NUMBERS, .odds = odds, .seed = seed},
				   .rows = DRAWN_ROWS,
				   .cols = DRAWN,
				   .part_rows = DRAWN_ROWS,
				   .part_cols = DRAWN};
}

/** Counts how often each number comes; no row has one twice, or one that is not below. */
static void count_numbers(const int32_t *rows, int *counts)
{
	memset(counts, 0, NUMBERS * sizeof *counts);
	for (int row = 0; row < DRAWN_ROWS; row++)
		for (int i = 0; i < DRAWN; i++) {
			const int32_t number = rows[row * DRAWN + i];
			cr_assert(number >= 0 && number < NUMBERS, "row %d has %d", row, number);
			counts[number]++;
			for (int j = 0; j < i; j++)
				cr_assert(rows[row * DRAWN + j] != number, "row %d has %d twice",
					  row, number);
		}
}

Test(inputs, drawn_rows_have_different_numbers_alike)
{
	const workload_inputs_t inputs = {.seed = 3};
	const workload_matrix_t equal = drawn(WORKLOAD_EQUAL, 11);
	int counts[NUMBERS];
	int32_t *rows = made(&inputs, &equal);
	count_numbers(rows, counts);
	for (int i = 0; i < NUMBERS; i++) /* 433 on average, with a deviation of 20 */
		cr_assert(counts[i] > 330 && counts[i] < 540, "%d comes %d times", i, counts[i]);
	free(rows);
}

Test(inputs, drawn_rows_have_frequent_numbers_and_rare_ones)
{
	const workload_inputs_t inputs = {.seed = 3};
	const workload_matrix_t zipf = drawn(WORKLOAD_ZIPF, 11), first = drawn(WORKLOAD_FIRST, 11);
	int counts[NUMBERS];
	int32_t *rows = made(&inputs, &zipf);
	count_numbers(rows, counts);
	/* 0 has weight 1; the number whose multiple of 7919 is 1 less than a multiple has 1/97 */
	int rare = 0;
	while ((rare * 7919 + 1) % NUMBERS != 0)
		rare++;
	cr_assert(counts[0] > 4000 && counts[rare] < 300, "0 comes %d times, and %d %d times",
		  counts[0], rare, counts[rare]);
	free(rows);
	rows = made(&inputs, &first);
	for (int i = 0; i < DRAWN_ROWS * DRAWN; i++)
		cr_assert(rows[i] == i % DRAWN, "element %d is %d", i, rows[i]);
	free(rows);
}

Test(inputs, drawn_rows_are_the_same_in_parts_and_others_with_another_seed)
{
	const workload_inputs_t inputs = {.seed = 3}, others = {.seed = 4};
	const workload_matrix_t whole = drawn(WORKLOAD_EQUAL, 11),
				other = drawn(WORKLOAD_EQUAL, 12);
	int32_t *rows = made(&inputs, &whole), *again = made(&others, &whole),
		*different = made(&inputs, &other);
	workload_matrix_t part = whole;
	part.first_row = 5000;
	part.part_rows = 77;
	int32_t *few = made(&inputs, &part);
	cr_assert(memcmp(few, rows + 5000 * DRAWN, 77 * DRAWN * sizeof *rows) == 0);
	cr_assert(memcmp(again, rows, DRAWN_ROWS * DRAWN * sizeof *rows) == 0);
	cr_assert(memcmp(different, rows, DRAWN_ROWS * DRAWN * sizeof *rows) != 0);
	free(rows);
	free(again);
	free(different);
	free(few);
}
