/* Shapes, and the life of a tensor. */
#include "src/tensor/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/base/error.h"
#include "src/base/place.h"

/* ------------------------------------------------------------------ shapes */

const char *tsr_shape_text(tsr_dtype_t dtype, int dims, const int64_t *shape,
			   char text[TSR_SHAPE_TEXT])
{
	const int shown = !shape || dims < 0 ? 0 : dims < TSR_MAX_DIMS ? dims : TSR_MAX_DIMS;
	int used = snprintf(text, TSR_SHAPE_TEXT, "%s [", tsr_dtype_name(dtype));
	for (int i = 0; i < shown; i++)
		used += snprintf(text + used, (size_t)(TSR_SHAPE_TEXT - used), "%s%" PRId64,
				 i ? ", " : "", shape[i]);
	snprintf(text + used, (size_t)(TSR_SHAPE_TEXT - used), "%s]", shown == dims ? "" : "?");
	return text;
}

/** `least`: of an extent. */
static tsr_status_t count_of(const char *call, tsr_dtype_t dtype, int dims, const int64_t *shape,
			     int64_t least, int64_t *count_out)
{
	char text[TSR_SHAPE_TEXT];
	const int64_t element = (int64_t)tsr_dtype_bytes(dtype);
	if (element == 0 && *tsr_dtype_name(dtype) != '?')
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s was given element type %s, which is reserved for a later "
				 "version; take f16 or bf16",
				 call, tsr_dtype_name(dtype));
	if (element == 0)
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"%s was given element type %d, which is none; take one of tsr_dtype_t",
			call, (int)dtype);
	if (dims < 1 || dims > TSR_MAX_DIMS)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s was given %d dimensions; a tensor has 1 to %d", call, dims,
				 TSR_MAX_DIMS);
	if (!shape)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s was given null for the shape of %d dimensions", call, dims);
	for (int i = 0; i < dims; i++)
		if (shape[i] < least)
			return tsr_error(TSR_ERR_ARGUMENT,
					 "%s: extent %d of %s is %" PRId64
					 "; every extent must be %" PRId64 " or more",
					 call, i, tsr_shape_text(dtype, dims, shape, text),
					 shape[i], least);
	int64_t count = 1, bytes;
	for (int i = 0; i < dims; i++)
		if (__builtin_mul_overflow(count, shape[i], &count) ||
		    __builtin_mul_overflow(count, element, &bytes) || (uint64_t)bytes > SIZE_MAX)
			return tsr_error(
				TSR_ERR_ARGUMENT,
				"%s: %s is larger than any memory: with extent %d (%" PRId64
				") its size overflows; use smaller extents",
				call, tsr_shape_text(dtype, dims, shape, text), i, shape[i]);
	*count_out = count;
	return TSR_OK;
}

tsr_status_t tsr_shape_count(const char *call, tsr_dtype_t dtype, int dims, const int64_t *shape,
			     int64_t *count_out)
{
	return count_of(call, dtype, dims, shape, 1, count_out);
}

tsr_status_t tsr_part_count(const char *call, const tsr_tensor_t *part, int64_t *count_out)
{
	return count_of(call, part->dtype, part->dims, part->shape, 0, count_out);
}

/* ------------------------------------------------------------------ life */

static tsr_tensor_t describe(const tsr_tensor_plan_t *plan, TSR_HEAP void *data)
{
	tsr_tensor_t tensor = {.data = data, .dtype = plan->dtype, .dims = plan->dims};
	int64_t stride = 1;
	for (int i = plan->dims - 1; i >= 0; i--) {
		tensor.shape[i] = plan->shape[i];
		tensor.stride[i] = stride;
		stride *= plan->shape[i];
	}
	return tensor;
}

/*
 * What is wrong here is carried into the collective call: the other ranks are
 * on their way to it and must not wait in vain.
 */
tsr_status_t tsr_tensor_make(tsr_world_t *world, const tsr_tensor_plan_t *plan, tsr_tensor_t *out)
{
	if (!world)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s was called without a world; pass the one that tsr_init or "
				 "TSR_MAIN gave",
				 plan->call);
	char text[TSR_SHAPE_TEXT], shown[TSR_PLACE_NAME];
	int64_t count = 0;
	tsr_status_t verdict = plan->verdict;
	if (verdict == TSR_OK)
		verdict = tsr_shape_count(plan->call, plan->dtype, plan->dims, plan->shape, &count);
	if (verdict == TSR_OK && !out)
		verdict = tsr_error(TSR_ERR_ARGUMENT, "%s was given no place for the tensor",
				    plan->call);
	tsr_shape_text(plan->dtype, plan->dims, plan->shape, text);
	tsr_heap_request_t request = {
		.call = plan->call,
		.arguments = text,
		.name = text,
		.shown = tsr_place_name(shown),
		.form = {tsr_dtype_bytes(plan->dtype), plan->dims, plan->shape},
		.size_bytes = (size_t)count * tsr_dtype_bytes(plan->dtype),
		.verdict = verdict,
		.fill = plan->fill,
		.fill_ctx = plan->fill_ctx,
	};
	TSR_HEAP void *data;
	tsr_status_t status = tsr_heap_take(world, &request, &data);
	if (status == TSR_OK)
		*out = describe(plan, data);
	return status;
}

tsr_status_t tsr_tensor_empty(tsr_world_t *world, tsr_dtype_t dtype, int dims, const int64_t *shape,
			      tsr_tensor_t *out)
{
	tsr_tensor_plan_t plan = {
		.call = "tsr_tensor_empty", .dtype = dtype, .dims = dims, .shape = shape};
	return tsr_tensor_make(world, &plan, out);
}

tsr_status_t tsr_tensor_name(tsr_world_t *world, const tsr_tensor_t *tensor, const char *name)
{
	return tsr_heap_name(world, "tsr_tensor_name", tensor ? tensor->data : NULL, name);
}

tsr_status_t tsr_tensor_free(tsr_world_t *world, tsr_tensor_t *tensor)
{
	tsr_status_t status =
		tsr_heap_release(world, "tsr_tensor_free", tensor ? tensor->data : NULL);
	if (status == TSR_OK && tensor)
		memset(tensor, 0, sizeof *tensor);
	return status;
}

/* ------------------------------------------------------------------ questions */

int64_t tsr_tensor_count(const tsr_tensor_t *tensor)
{
	if (!tensor || tensor->dims < 1)
		return 0;
	int64_t count = 1;
	for (int i = 0; i < tensor->dims; i++)
		count *= tensor->shape[i];
	return count;
}
