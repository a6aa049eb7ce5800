/*
 * Matrices of a workload: the distance between their rows in the heap, and
 * copies to and from dense host matrices.
 */
#ifndef KERNELS_HOST_MATRICES_H
#define KERNELS_HOST_MATRICES_H

#include <stdbool.h>

#include "tessera/tessera.h"

/*
 * UNIT: the smallest transfer of copy engines. LINE: a cache line. LONG_ROW:
 * rows of at least this length begin at cache lines.
 */
enum { MATRIX_UNIT_BYTES = 16, MATRIX_LINE_BYTES = 128, MATRIX_LONG_ROW_BYTES = 1024 };

/**
 * The distance between consecutive rows, in columns. Rows begin at multiples of
 * a unit, and long rows at multiples of a cache line: a box of rows that begin
 * inside a line loads lines of which it needs only a little. Returns 1 if there
 * are no columns.
 */
int64_t matrix_pitch(tsr_dtype_t dtype, int64_t cols);

/**
 * The size of a matrix with this pitch, in bytes; 0 without columns. The size
 * must fit (matrix_fits).
 */
size_t matrix_bytes(tsr_dtype_t dtype, int64_t rows, int64_t cols);

/** Whether the size of such a matrix fits into the address space. */
bool matrix_fits(tsr_dtype_t dtype, int64_t rows, int64_t cols);

/** The view of a matrix whose rows are matrix_pitch apart. */
tsr_view_t matrix_view(TSR_HEAP void *data, tsr_dtype_t dtype, int64_t rows, int64_t cols);

/** A view as the tensor that collectives on streams take (tessera/collective.h). */
tsr_tensor_t matrix_tensor(tsr_view_t view);

/**
 * Copy a matrix to the host and back (the host's copy is dense), and fill a
 * matrix with NaN. One thread a rank; no run may use the matrix meanwhile.
 * Errors: TSR_ERR_NO_MEMORY (host), those of tsr_memcpy_to_heap.
 */
tsr_status_t matrix_read(tsr_world_t *world, tsr_view_t view, void *dense_out);
tsr_status_t matrix_write(tsr_world_t *world, tsr_view_t view, const void *dense);
tsr_status_t matrix_poison(tsr_world_t *world, tsr_view_t view);

/**
 * Copies a matrix from the host to its place in a larger one: leaves what lies
 * between its rows as it is. In all else like matrix_write, which sets that to
 * NaN.
 */
tsr_status_t matrix_write_part(tsr_world_t *world, tsr_view_t view, const void *dense);

#endif
