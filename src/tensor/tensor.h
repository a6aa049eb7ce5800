/* The inside of tensors: the function with which all constructors make one. */
#ifndef TESSERA_TENSOR_INSIDE_H
#define TESSERA_TENSOR_INSIDE_H

#include "src/heap/heap.h"
#include "tessera/tensor.h"

/** Room for a dtype and eight extents of 19 digits. */
enum { TSR_SHAPE_TEXT = 224 };

/** A tensor to be made. */
typedef struct tsr_tensor_plan {
	const char *call; /* the public call */
	tsr_dtype_t dtype;
	int dims;
	const int64_t *shape;
	/* result of the constructor's own checks; errors of the shape come first */
	tsr_status_t verdict;
	tsr_heap_fill_fn fill; /* null: as tsr_heap_alloc leaves it */
	const void *fill_ctx;
} tsr_tensor_plan_t;

/**
 * Checks the shape, allocates the memory and fills it, on all ranks or on none.
 */
tsr_status_t tsr_tensor_make(tsr_world_t *world, const tsr_tensor_plan_t *plan, tsr_tensor_t *out);

/**
 * Checks dtype and shape, and counts the elements. Their size in bytes fits
 * both size_t and int64_t. Errors: TSR_ERR_ARGUMENT (names `call` and the wrong
 * extent).
 */
tsr_status_t tsr_shape_count(const char *call, tsr_dtype_t dtype, int dims, const int64_t *shape,
			     int64_t *count_out);

/** The same of a part of a tensor, which may be empty: extents of 0. */
tsr_status_t tsr_part_count(const char *call, const tsr_tensor_t *part, int64_t *count_out);

/**
 * Writes "bf16 [91, 73]" to `text`; returns it. An invalid shape is written as
 * far as possible.
 */
const char *tsr_shape_text(tsr_dtype_t dtype, int dims, const int64_t *shape,
			   char text[TSR_SHAPE_TEXT]);

#endif
