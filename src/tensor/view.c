/* Matrices that kernels see: of tensors, and of memory that is no tensor. */
#include <inttypes.h>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/heap/heap.h"
#include "src/tensor/tensor.h"

/** The last two dimensions, or the only one as a row, from `data` on. The tensor's shape is one. */
static tsr_status_t view_last(const char *call, const tsr_tensor_t *tensor, TSR_HEAP void *data,
			      tsr_view_t *view_out)
{
	const int last = tensor->dims - 1;
	const int64_t rows = last > 0 ? tensor->shape[last - 1] : 1, cols = tensor->shape[last];
	const int64_t ld = rows > 1 ? tensor->stride[last - 1] : cols;
	char text[TSR_SHAPE_TEXT];
	tsr_shape_text(tensor->dtype, tensor->dims, tensor->shape, text);
	if (cols > 1 && tensor->stride[last] != 1)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s: neighbours in a row of %s are %" PRId64
				 " elements apart; a view needs 1",
				 call, text, tensor->stride[last]);
	if (ld < cols)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s: rows of %s begin %" PRId64
				 " elements apart, so they overlap; a view needs %" PRId64
				 " or more",
				 call, text, ld, cols);
	*view_out = (tsr_view_t){.data = data,
				 .rows = rows,
				 .cols = cols,
				 .ld = ld,
				 .dtype = tensor->dtype,
				 .space = TSR_SPACE_HEAP};
	return TSR_OK;
}

static tsr_status_t check_tensor(const char *call, const tsr_tensor_t *tensor,
				 const tsr_view_t *view_out)
{
	int64_t count;
	if (!tensor || !view_out)
		return tsr_error(TSR_ERR_ARGUMENT, "%s needs a tensor and a place for the view",
				 call);
	return tsr_part_count(call, tensor, &count);
}

tsr_status_t tsr_tensor_view(const tsr_tensor_t *tensor, tsr_view_t *view_out)
{
	static const char call[] = "tsr_tensor_view";
	char text[TSR_SHAPE_TEXT];
	const tsr_status_t status = check_tensor(call, tensor, view_out);
	if (status != TSR_OK)
		return status;
	if (tensor->dims > 2)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s: %s has %d dimensions, and a view is a matrix: take one of "
				 "its matrices by tsr_tensor_view_at",
				 call,
				 tsr_shape_text(tensor->dtype, tensor->dims, tensor->shape, text),
				 tensor->dims);
	return view_last(call, tensor, tensor->data, view_out);
}

tsr_status_t tsr_tensor_view_at(const tsr_tensor_t *tensor, const int64_t *at, tsr_view_t *view_out)
{
	static const char call[] = "tsr_tensor_view_at";
	char text[TSR_SHAPE_TEXT];
	int64_t offset = 0, reach;
	const tsr_status_t status = check_tensor(call, tensor, view_out);
	if (status != TSR_OK)
		return status;
	tsr_shape_text(tensor->dtype, tensor->dims, tensor->shape, text);
	if (tensor->dims > 2 && !at)
		return tsr_error(TSR_ERR_ARGUMENT, "%s: which matrix of %s? Give %d coordinates",
				 call, text, tensor->dims - 2);
	for (int i = 0; i < tensor->dims - 2; i++) {
		if (at[i] < 0 || at[i] >= tensor->shape[i])
			return tsr_error(TSR_ERR_ARGUMENT,
					 "%s: coordinate %d of %s is %" PRId64
					 "; it must be 0 or more, and below the extent",
					 call, i, text, at[i]);
		if (__builtin_mul_overflow(at[i], tensor->stride[i], &reach) ||
		    __builtin_add_overflow(offset, reach, &offset))
			return tsr_error(TSR_ERR_ARGUMENT,
					 "%s: the strides of %s lead past any memory; make the "
					 "tensor by a constructor",
					 call, text);
	}
	/* By way of integers: strides are the caller's, and what they lead to is checked where it
	 * is used. */
	const uintptr_t data = (uintptr_t)tensor->data +
			       (uintptr_t)offset * (uintptr_t)tsr_dtype_bytes(tensor->dtype);
	return view_last(call, tensor, (TSR_HEAP void *)data, view_out);
}

tsr_status_t tsr_heap_view(const tsr_world_t *world, TSR_HEAP void *data, tsr_dtype_t dtype,
			   int64_t rows, int64_t cols, int64_t ld, tsr_view_t *view_out)
{
	static const char call[] = "tsr_heap_view";
	const int64_t shape[] = {rows, cols}, element = (int64_t)tsr_dtype_bytes(dtype);
	int64_t count, bytes;
	size_t offset;
	if (!world || !view_out)
		return tsr_error(TSR_ERR_ARGUMENT, "%s needs a world and a place for the view",
				 call);
	tsr_status_t status = tsr_shape_count(call, dtype, 2, shape, &count);
	if (status != TSR_OK)
		return status;
	if (ld < cols)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s: rows of %" PRId64 " elements that begin %" PRId64
				 " apart overlap; ld must be %" PRId64 " or more",
				 call, cols, ld, cols);
	if (__builtin_mul_overflow(rows - 1, ld, &bytes) ||
	    __builtin_add_overflow(bytes, cols, &bytes) ||
	    __builtin_mul_overflow(bytes, element, &bytes))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s: %" PRId64 " rows that begin %" PRId64
				 " elements apart are larger than any memory",
				 call, rows, ld);
	status = tsr_heap_check_range(world, call, data, (size_t)bytes);
	if (status != TSR_OK)
		return status;
	if (tsr_heap_find(world, data, NULL, &offset) != TSR_OK || offset % (size_t)element != 0)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s: the matrix begins %s behind the begin of its allocation; it "
				 "must begin at a multiple of an "
				 "element of %s",
				 call, TSR_SIZE(offset), tsr_dtype_name(dtype));
	*view_out = (tsr_view_t){.data = data,
				 .rows = rows,
				 .cols = cols,
				 .ld = ld,
				 .dtype = dtype,
				 .space = TSR_SPACE_HEAP};
	return TSR_OK;
}
