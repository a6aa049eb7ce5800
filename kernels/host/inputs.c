#include "kernels/host/inputs.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
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

/* ------------------------------------------------------------ draws */

/** The weight of a number. A prime spreads the frequent ones over all numbers. */
static double weight_of(const workload_draw_t *draw, int64_t number)
{
	enum { STEP = 7919 };
	return draw->odds == WORKLOAD_ZIPF ? 1.0 / (double)(1 + number * STEP % draw->below) : 1;
}

/**
 * A row of `count` numbers that differ, drawn one after the other by their
 * weights: those with the largest log(u) / weight, with u uniform in (0, 1]
 * (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006).
 * `keys` has room for one for each number.
 */
static void draw_row(const workload_draw_t *draw, int64_t row, int64_t count, double *keys,
		     int32_t *numbers_out)
{
	for (int64_t i = 0; i < draw->below; i++)
		keys[i] = draw->odds == WORKLOAD_FIRST
				  ? -(double)i
				  : log1p(-tsr_random_f64(draw->seed,
							  (uint64_t)(row * draw->below + i))) /
					    weight_of(draw, i);
	for (int64_t place = 0; place < count; place++) {
		int64_t best = 0;
		for (int64_t i = 1; i < draw->below; i++)
			if (keys[i] > keys[best])
				best = i;
		numbers_out[place] = (int32_t)best;
		keys[best] = -INFINITY;
	}
}

/* ------------------------------------------------------------ parts */

/** Some rows of a part, which one thread makes. */
typedef struct slice {
	const workload_inputs_t *inputs;
	const workload_matrix_t *matrix;
	void *dense;
	int64_t first_row, end_row;
	pthread_t thread;
	bool is_running;
} slice_t;

/** Whole rows: their part begins at the first column. Without memory it has no choices: -1. */
static void draw_slice(const slice_t *slice)
{
	const workload_matrix_t *matrix = slice->matrix;
	const int64_t cols = matrix->part_cols;
	double *keys = malloc((size_t)matrix->draw.below * sizeof *keys);
	for (int64_t row = slice->first_row; row < slice->end_row; row++) {
		int32_t *numbers = (int32_t *)slice->dense + row * cols;
		for (int64_t col = 0; !keys && col < cols; col++)
			numbers[col] = -1;
		if (keys)
			draw_row(&matrix->draw, matrix->first_row + row, cols, keys, numbers);
	}
	free(keys);
}

static void *make_slice(void *argument)
{
	const slice_t *slice = argument;
	const workload_matrix_t *matrix = slice->matrix;
	if (matrix->draw.below > 0)
		draw_slice(slice);
	for (int64_t row = slice->first_row; matrix->draw.below == 0 && row < slice->end_row; row++)
		for (int64_t col = 0; col < matrix->part_cols; col++) {
			const int64_t place =
				(matrix->first_row + row) * matrix->cols + matrix->first_col + col;
			tsr_dtype_set(matrix->dtype, slice->dense,
				      (size_t)(row * matrix->part_cols + col),
				      element(slice->inputs, matrix->stream, place));
		}
	return NULL;
}

enum { MOST_SLICES = 32, SLICE_ELEMENTS = 1 << 20 };

/** How many threads make a part: no more than processors, each with enough to do. */
static int64_t slices_of(const workload_matrix_t *matrix)
{
	cpu_set_t set;
	const int64_t processors =
		sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
	const int64_t of_row = matrix->draw.below > 0 ? matrix->draw.below * matrix->part_cols
						      : matrix->part_cols,
		      wanted = matrix->part_rows * of_row / SLICE_ELEMENTS;
	const int64_t most = processors < MOST_SLICES ? processors : MOST_SLICES;
	return wanted < 1 ? 1 : wanted < most ? wanted : most;
}

void inputs_make(const workload_inputs_t *inputs, const workload_matrix_t *matrix, void *dense_out)
{
	slice_t slices[MOST_SLICES];
	const int64_t count = slices_of(matrix);
	for (int64_t i = 0; i < count; i++) {
		slices[i] = (slice_t){.inputs = inputs,
				      .matrix = matrix,
				      .dense = dense_out,
				      .first_row = matrix->part_rows * i / count,
				      .end_row = matrix->part_rows * (i + 1) / count};
		/* the last slice is this thread's, and so is each for which there is no thread */
		slices[i].is_running = i + 1 < count && pthread_create(&slices[i].thread, NULL,
								       make_slice, &slices[i]) == 0;
		if (!slices[i].is_running)
			(void)make_slice(&slices[i]);
	}
	for (int64_t i = 0; i < count; i++)
		if (slices[i].is_running)
			(void)pthread_join(slices[i].thread, NULL);
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
