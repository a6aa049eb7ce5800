/*
 * Matrices of a workload: how far apart their rows are in the heap, and copies
 * of them on the host, where rows have no gaps.
 */
#ifndef KERNELS_HOST_MATRICES_H
#define KERNELS_HOST_MATRICES_H

#include <stdbool.h>

#include "tessera/tessera.h"

/* What copy engines take at least; a line of caches, and rows that are long beside it. */
enum { MATRIX_UNIT_BYTES = 16, MATRIX_LINE_BYTES = 128, MATRIX_LONG_ROW_BYTES = 1024 };

/**
 * Columns from one row to the next, so that rows begin at multiples of a unit,
 * and long ones of a line: a box whose rows begin elsewhere takes lines that it
 * needs little of. 1 where there are no columns.
 */
int64_t matrix_pitch(tsr_dtype_t dtype, int64_t cols);

/**
 * Bytes of a matrix with its rows so far apart, 0 without columns; it must fit,
 * see matrix_fits.
 */
size_t matrix_bytes(tsr_dtype_t dtype, int64_t rows, int64_t cols);

/** Whether a matrix of so many rows and columns has a size that the address space can hold. */
bool matrix_fits(tsr_dtype_t dtype, int64_t rows, int64_t cols);

/** The view of a matrix whose rows are matrix_pitch apart. */
tsr_view_t matrix_view(TSR_HEAP void *data, tsr_dtype_t dtype, int64_t rows, int64_t cols);

/**
 * Copy a matrix to the host and back, where row follows row without a gap; and
 * make all of it NaN.
 * One thread a rank, no run in flight on it. Errors: TSR_ERR_NO_MEMORY (host),
 * those of tsr_memcpy_to_heap.
 */
tsr_status_t matrix_read(tsr_world_t *world, tsr_view_t view, void *dense_out);
tsr_status_t matrix_write(tsr_world_t *world, tsr_view_t view, const void *dense);
tsr_status_t matrix_poison(tsr_world_t *world, tsr_view_t view);

#endif
