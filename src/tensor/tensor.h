/* The inside of tensors: how every constructor makes one. */
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
	/* of the constructor's own checks, which come after those of the shape in the reader's
	 * mind */
	tsr_status_t verdict;
	tsr_heap_fill_fn fill; /* null: left as tsr_heap_alloc leaves it */
	const void *fill_ctx;
} tsr_tensor_plan_t;

/** Checks the shape, takes the memory, fills it, on all ranks or on none. */
tsr_status_t tsr_tensor_make(tsr_world_t *world, const tsr_tensor_plan_t *plan, tsr_tensor_t *out);

/**
 * Checks dtype and shape and counts the elements, whose bytes fit both size_t
 * and int64_t. TSR_ERR_ARGUMENT names `call` and the extent that is wrong.
 */
tsr_status_t tsr_shape_count(const char *call, tsr_dtype_t dtype, int dims, const int64_t *shape,
			     int64_t *count_out);

/**
 * Writes "bf16 [91, 73]" to text; returns it. A shape that is not one is
 * written as far as it goes.
 */
const char *tsr_shape_text(tsr_dtype_t dtype, int dims, const int64_t *shape,
			   char text[TSR_SHAPE_TEXT]);

#endif
