#include "kernels/host/matrices.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int64_t matrix_pitch(tsr_dtype_t dtype, int64_t cols)
{
	const int64_t element = (int64_t)tsr_dtype_bytes(dtype);
	const int64_t unit =
		(cols < MATRIX_LONG_ROW_BYTES / element ? MATRIX_UNIT_BYTES : MATRIX_LINE_BYTES) /
		element;
	return cols > 0 ? ((cols - 1) / unit + 1) * unit : 1;
}

bool matrix_fits(tsr_dtype_t dtype, int64_t rows, int64_t cols)
{
	int64_t bytes;
	return cols <= INT64_MAX - MATRIX_LINE_BYTES &&
	       !__builtin_mul_overflow(rows, matrix_pitch(dtype, cols), &bytes) &&
	       !__builtin_mul_overflow(bytes, (int64_t)tsr_dtype_bytes(dtype), &bytes);
}

size_t matrix_bytes(tsr_dtype_t dtype, int64_t rows, int64_t cols)
{
	return cols > 0 ? (size_t)(rows * matrix_pitch(dtype, cols)) * tsr_dtype_bytes(dtype) : 0;
}

tsr_view_t matrix_view(TSR_HEAP void *data, tsr_dtype_t dtype, int64_t rows, int64_t cols)
{
	return (tsr_view_t){.data = data,
			    .rows = rows,
			    .cols = cols,
			    .ld = matrix_pitch(dtype, cols),
			    .dtype = dtype,
			    .space = TSR_SPACE_HEAP};
}

tsr_tensor_t matrix_tensor(tsr_view_t view)
{
	return (tsr_tensor_t){.data = view.data,
			      .dtype = (tsr_dtype_t)view.dtype,
			      .dims = 2,
			      .shape = {view.rows, view.cols},
			      .stride = {view.ld, 1}};
}

/**
 * The size of a view in the heap, in bytes, including the gaps behind its rows.
 */
static size_t heap_bytes(tsr_view_t view)
{
	return view.cols > 0
		       ? (size_t)(view.rows * view.ld) * tsr_dtype_bytes((tsr_dtype_t)view.dtype)
		       : 0;
}

/** Copies rows of `row_bytes` bytes between memories with different pitches. */
static void copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch,
		      size_t row_bytes, int64_t rows)
{
	for (int64_t row = 0; row < rows; row++)
		memcpy((char *)to + (size_t)row * to_pitch,
		       (const char *)from + (size_t)row * from_pitch, row_bytes);
}

static tsr_status_t image_of(tsr_view_t view, void **image_out)
{
	*image_out = malloc(heap_bytes(view) > 0 ? heap_bytes(view) : 1);
	if (*image_out)
		return TSR_OK;
	return tsr_error(TSR_ERR_NO_MEMORY,
			 "the host has no memory for a copy of a matrix (%s); use a smaller shape",
			 TSR_SIZE(heap_bytes(view)));
}

tsr_status_t matrix_read(tsr_world_t *world, tsr_view_t view, void *dense_out)
{
	const size_t element = tsr_dtype_bytes((tsr_dtype_t)view.dtype),
		     row = (size_t)view.cols * element;
	void *image;
	if (view.ld == view.cols || view.cols == 0)
		return tsr_memcpy_from_heap(world, dense_out, view.data, heap_bytes(view));
	/* the view may be a part of a matrix that ends with the last row */
	const size_t bytes =
		view.rows > 0 ? (size_t)(view.rows - 1) * (size_t)view.ld * element + row : 0;
	tsr_status_t status = image_of(view, &image);
	if (status == TSR_OK)
		status = tsr_memcpy_from_heap(world, image, view.data, bytes);
	if (status == TSR_OK)
		copy_rows(dense_out, row, image, (size_t)view.ld * element, row, view.rows);
	free(image);
	return status;
}

tsr_status_t matrix_write(tsr_world_t *world, tsr_view_t view, const void *dense)
{
	const size_t element = tsr_dtype_bytes((tsr_dtype_t)view.dtype),
		     row = (size_t)view.cols * element;
	void *image;
	if (view.ld == view.cols || view.cols == 0)
		return tsr_memcpy_to_heap(world, view.data, dense, heap_bytes(view));
	tsr_status_t status = image_of(view, &image);
	if (status != TSR_OK)
		return status;
	/* NaN in every dtype, so that a kernel that reads behind a row computes wrong results */
	memset(image, 0xff, heap_bytes(view));
	copy_rows(image, (size_t)view.ld * element, dense, row, row, view.rows);
	status = tsr_memcpy_to_heap(world, view.data, image, heap_bytes(view));
	free(image);
	return status;
}

tsr_status_t matrix_write_part(tsr_world_t *world, tsr_view_t view, const void *dense)
{
	const size_t element = tsr_dtype_bytes((tsr_dtype_t)view.dtype),
		     row_bytes = (size_t)view.cols * element;
	tsr_status_t status = TSR_OK;
	for (int64_t row = 0; status == TSR_OK && row_bytes > 0 && row < view.rows; row++)
		status = tsr_memcpy_to_heap(world,
					    (TSR_HEAP char *)view.data +
						    (size_t)row * (size_t)view.ld * element,
					    (const char *)dense + (size_t)row * row_bytes,
					    row_bytes);
	return status;
}

tsr_status_t matrix_poison(tsr_world_t *world, tsr_view_t view)
{
	return tsr_memset_heap(world, view.data, 0xff, heap_bytes(view));
}
