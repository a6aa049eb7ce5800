/*
 * Operands of products as tests lay them into the heap: as they are or
 * transposed, at any alignment.
 */
#ifndef TESSERA_CONTRACT_MATRIX_H
#define TESSERA_CONTRACT_MATRIX_H

#include "tests/contract/contract_test.h"

#include "tessera/dtype.h"

enum { MARGIN = 3 }; /* columns of C behind the last */

/** A matrix of the product, and how it stands in memory. */
typedef struct matrix {
	TSR_HEAP void *heap;
	tsr_view_t view;
	int turned;
	size_t elements; /* of the allocation */
} matrix_t;

/**
 * Memory for rows x cols elements. Rows of the view, and the first element,
 * begin at multiples of 16 bytes, or at none that two of them share.
 */
static inline int matrix_make(tsr_world_t *world, matrix_t *m, int64_t rows, int64_t cols,
			      tsr_dtype_t dtype, int turned, int aligned)
{
	const int64_t lines = turned ? cols : rows, length = turned ? rows : cols;
	const int64_t ld = aligned ? (length + 15) / 16 * 16 : length + MARGIN - length % 2,
		      first = aligned ? 0 : 1;
	const size_t bytes = tsr_dtype_bytes(dtype);
	m->turned = turned;
	m->elements = (size_t)(first + lines * ld);
	m->heap = poisoned(world, m->elements * bytes, "operand");
	CHECK(m->heap);
	m->view = (tsr_view_t){(TSR_HEAP unsigned char *)m->heap + (size_t)first * bytes,
			       lines,
			       length,
			       ld,
			       dtype,
			       TSR_SPACE_HEAP};
	return 0;
}

/**
 * Element (row, col) of a rank's matrix. A number that is none stands for what
 * nobody may multiply.
 */
typedef double (*element_fn)(const void *ctx, int64_t row, int64_t col, int rank);

/** Fills a matrix. What lies between its rows is no number; among integers, a large one. */
static inline int matrix_fill(tsr_world_t *world, const matrix_t *m, element_fn element,
			      const void *ctx)
{
	const tsr_view_t *view = &m->view;
	const tsr_dtype_t dtype = (tsr_dtype_t)view->dtype;
	const int floats =
		dtype == TSR_F64 || dtype == TSR_F32 || dtype == TSR_F16 || dtype == TSR_BF16;
	const double nothing = floats ? __builtin_nan("") : 101;
	const size_t bytes = tsr_dtype_bytes(dtype);
	const size_t first =
		(size_t)((TSR_HEAP unsigned char *)view->data - (TSR_HEAP unsigned char *)m->heap) /
		bytes;
	unsigned char *host = (unsigned char *)malloc(m->elements * bytes);
	CHECK(host);
	for (size_t i = 0; i < m->elements; i++)
		tsr_dtype_set(dtype, host, i, nothing);
	for (int64_t i = 0; i < view->rows * view->cols; i++) {
		const int64_t row = i / view->cols, col = i % view->cols;
		const double x = element(ctx, m->turned ? col : row, m->turned ? row : col,
					 tsr_world_rank(world));
		tsr_dtype_set(dtype, host, first + (size_t)(row * view->ld + col),
			      x == x ? x : nothing);
	}
	CHECK(tsr_memcpy_to_heap(world, m->heap, host, m->elements * bytes) == TSR_OK);
	free(host);
	return 0;
}

#endif
