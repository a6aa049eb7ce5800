/* Whole tensors between the heap and dense host arrays. */
#include "src/tensor/tensor.h"

#include <inttypes.h>

#include "src/base/error.h"

/*
 * A strided tensor as what can be copied at once: runs of elements that lie
 * together, and the dimensions outside of them.
 */
typedef struct runs {
	int outer_dims; /* dimensions 0 .. outer_dims - 1 number the runs */
	int64_t count;  /* of runs */
	size_t bytes;   /* of one run */
} runs_t;

static runs_t find_runs(const tsr_tensor_t *tensor)
{
	runs_t runs = {.outer_dims = tensor->dims, .count = 1};
	int64_t length = 1;
	while (runs.outer_dims > 0) {
		const int last = runs.outer_dims - 1;
		if (tensor->shape[last] != 1 && tensor->stride[last] != length)
			break;
		length *= tensor->shape[last];
		runs.outer_dims--;
	}
	for (int i = 0; i < runs.outer_dims; i++)
		runs.count *= tensor->shape[i];
	runs.bytes = (size_t)length * tsr_dtype_bytes(tensor->dtype);
	return runs;
}

/* Steps `index` on by one run; returns how many elements further that lies. */
static int64_t next_run(const tsr_tensor_t *tensor, int outer_dims, int64_t index[TSR_MAX_DIMS])
{
	int64_t step = 0;
	for (int i = outer_dims - 1; i >= 0; i--) {
		step += tensor->stride[i];
		if (++index[i] < tensor->shape[i])
			return step;
		step -= tensor->shape[i] * tensor->stride[i];
		index[i] = 0;
	}
	return step;
}

/*
 * The tensor's first and last element by address, in elements from `data`.
 * False where that overflows.
 */
static bool find_extremes(const tsr_tensor_t *tensor, int64_t *lowest_out, int64_t *highest_out)
{
	int64_t lowest = 0, highest = 0, reach;
	for (int i = 0; i < tensor->dims; i++) {
		int64_t *end = tensor->stride[i] < 0 ? &lowest : &highest;
		if (__builtin_mul_overflow(tensor->shape[i] - 1, tensor->stride[i], &reach) ||
		    __builtin_add_overflow(*end, reach, end))
			return false;
	}
	/* bytes, and the distance between the two, cannot overflow */
	const int64_t limit = PTRDIFF_MAX / 16;
	*lowest_out = lowest;
	*highest_out = highest;
	return lowest > -limit && highest < limit;
}

/** Counts the elements to `count_out`. Those of an empty part lie nowhere. */
static tsr_status_t check(tsr_world_t *world, const char *call, const tsr_tensor_t *tensor,
			  const void *host, int64_t *count_out)
{
	int64_t lowest, highest;
	char text[TSR_SHAPE_TEXT];
	if (!world || !tensor || !host)
		return tsr_error(TSR_ERR_ARGUMENT, "%s needs a world, a tensor and a host array",
				 call);
	const tsr_status_t status = tsr_part_count(call, tensor, count_out);
	if (status != TSR_OK || *count_out == 0)
		return status;
	if (!find_extremes(tensor, &lowest, &highest))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s: the strides of %s lead past any memory; make the tensor by a "
				 "constructor",
				 call,
				 tsr_shape_text(tensor->dtype, tensor->dims, tensor->shape, text));
	const int64_t element = (int64_t)tsr_dtype_bytes(tensor->dtype);
	/* By way of an integer: the sum may leave the allocation, which is what is being asked. */
	const uintptr_t first = (uintptr_t)tensor->data + (uintptr_t)(lowest * element);
	return tsr_heap_check_range(world, call, (const TSR_HEAP void *)first,
				    (size_t)((highest - lowest + 1) * element));
}

tsr_status_t tsr_tensor_read(tsr_world_t *world, const tsr_tensor_t *tensor, void *host)
{
	int64_t count;
	tsr_status_t status = check(world, "tsr_tensor_read", tensor, host, &count);
	if (status != TSR_OK || count == 0)
		return status;
	const runs_t runs = find_runs(tensor);
	const int64_t element = (int64_t)tsr_dtype_bytes(tensor->dtype);
	const char *heap = tsr_heap_raw(tensor->data);
	char *to = host;
	int64_t index[TSR_MAX_DIMS] = {0}, at = 0;
	for (int64_t i = 0; i < runs.count && status == TSR_OK; i++) {
		status = world->backend->heap->read(world->device, to, heap + at * element,
						    runs.bytes);
		to += runs.bytes;
		at += next_run(tensor, runs.outer_dims, index);
	}
	return status;
}

tsr_status_t tsr_tensor_write(tsr_world_t *world, const tsr_tensor_t *tensor, const void *host)
{
	int64_t count;
	tsr_status_t status = check(world, "tsr_tensor_write", tensor, host, &count);
	if (status != TSR_OK || count == 0)
		return status;
	const runs_t runs = find_runs(tensor);
	const int64_t element = (int64_t)tsr_dtype_bytes(tensor->dtype);
	char *heap = tsr_heap_raw(tensor->data);
	const char *from = host;
	int64_t index[TSR_MAX_DIMS] = {0}, at = 0;
	for (int64_t i = 0; i < runs.count && status == TSR_OK; i++) {
		status = world->backend->heap->write(world->device, heap + at * element, from,
						     runs.bytes);
		from += runs.bytes;
		at += next_run(tensor, runs.outer_dims, index);
	}
	return status;
}
