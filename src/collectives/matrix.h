/* Tensors as the matrices that collectives cut. */
#ifndef TESSERA_COLLECTIVES_MATRIX_H
#define TESSERA_COLLECTIVES_MATRIX_H

#include "tessera/tensor.h"

/** Matrices of one shape, `step` elements apart. */
typedef struct tsr_matrices {
	tsr_view_t first;
	int64_t count, step;
} tsr_matrices_t;

/** A tensor and what the call names it, for sentences. */
typedef struct tsr_named_tensor {
	const char *call, *name;
	const tsr_tensor_t *tensor;
} tsr_named_tensor_t;

/** A tensor that is one: dimensions, extents (0 too) and dtype. */
tsr_status_t tsr_check_tensor(tsr_named_tensor_t named);

/**
 * Dimensions before `row_dim` count the matrices, those from there to before
 * `col_dim` become rows, the others columns. Refuses strides that no matrix
 * has, and memory outside the heap.
 */
tsr_status_t tsr_tensor_matrices(const tsr_world_t *world, tsr_named_tensor_t named, int row_dim,
				 int col_dim, tsr_matrices_t *matrices_out);

/** One matrix of all elements, with as few rows as the strides allow. */
tsr_status_t tsr_tensor_matrix(const tsr_world_t *world, tsr_named_tensor_t named,
			       tsr_matrices_t *matrix_out);

#endif
