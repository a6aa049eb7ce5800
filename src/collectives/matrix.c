/* Tensors as the matrices that collectives cut. */
#include "src/collectives/matrix.h"

#include <inttypes.h>
#include <stdbool.h>

#include "src/base/error.h"
#include "src/heap/heap.h"
#include "src/tensor/tensor.h"

/** Dimensions taken for one. */
typedef struct merged {
	int64_t count, stride; /* stride: 0 where there is one element at most */
} merged_t;

static const char *text_of(tsr_named_tensor_t named, char *text)
{
	const tsr_tensor_t *t = named.tensor;
	return tsr_shape_text(t->dtype, t->dims, t->shape, text);
}

tsr_status_t tsr_check_tensor(tsr_named_tensor_t named)
{
	const tsr_tensor_t *t = named.tensor;
	int64_t count = 1;
	if (!t)
		return tsr_error(TSR_ERR_ARGUMENT, "%s: %s must not be null", named.call,
				 named.name);
	if (t->dims < 1 || t->dims > TSR_MAX_DIMS)
		return tsr_error(TSR_ERR_ARGUMENT, "%s: %s has %d dimensions; a tensor has 1 to %d",
				 named.call, named.name, t->dims, TSR_MAX_DIMS);
	if (tsr_dtype_bytes(t->dtype) == 0)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s: %s has elements of %s, of which there are none yet; send "
				 "their bytes as u8",
				 named.call, named.name, tsr_dtype_name(t->dtype));
	for (int i = 0; i < t->dims; i++)
		if (t->shape[i] < 0 || __builtin_mul_overflow(count, t->shape[i], &count))
			return tsr_error(TSR_ERR_ARGUMENT,
					 "%s: extent %d of %s is %" PRId64
					 "; no memory has so many elements",
					 named.call, i, named.name, t->shape[i]);
	return TSR_OK;
}

/** Whether dimensions first .. last - 1 are evenly spaced, so that they count as one. */
static bool merge(const tsr_tensor_t *t, int first, int last, merged_t *merged)
{
	*merged = (merged_t){1, 0};
	for (int i = last - 1; i >= first; i--) {
		int64_t reach;
		if (t->shape[i] != 1 && merged->count > 1 &&
		    (__builtin_mul_overflow(merged->stride, merged->count, &reach) ||
		     t->stride[i] != reach))
			return false;
		if (t->shape[i] != 1 && merged->count == 1)
			merged->stride = t->stride[i];
		merged->count *= t->shape[i];
	}
	return true;
}

/** Whether rows and columns so divided are a matrix. */
static bool divide(const tsr_tensor_t *t, int row_dim, int col_dim, merged_t part[3])
{
	if (!merge(t, 0, row_dim, &part[0]) || !merge(t, row_dim, col_dim, &part[1]) ||
	    !merge(t, col_dim, t->dims, &part[2]))
		return false;
	return (part[2].count <= 1 || part[2].stride == 1) &&
	       (part[1].count <= 1 || part[1].stride >= part[2].count) &&
	       (part[0].count <= 1 || part[0].stride >= 0);
}

/**
 * How far rows are apart of which there is one here, or none: other ranks may have more, and
 * this one reaches them.
 */
static int64_t distance_of_one(const tsr_tensor_t *t, int col_dim, int64_t cols)
{
	return col_dim > 0 && t->stride[col_dim - 1] > cols ? t->stride[col_dim - 1] : cols;
}

static tsr_status_t make(const tsr_world_t *world, tsr_named_tensor_t named, const merged_t part[3],
			 int col_dim, tsr_matrices_t *out)
{
	const tsr_tensor_t *t = named.tensor;
	const int64_t rows = part[1].count, cols = part[2].count,
		      ld = rows > 1 ? part[1].stride : distance_of_one(t, col_dim, cols);
	int64_t bytes, more;
	out->first = (tsr_view_t){t->data, rows, cols, ld, t->dtype, TSR_SPACE_HEAP};
	out->count = part[0].count;
	out->step = part[0].stride;
	if (out->count < 1 || rows < 1 || cols < 1)
		return TSR_OK;
	if (__builtin_mul_overflow(out->count - 1, out->step, &bytes) ||
	    __builtin_mul_overflow(rows - 1, ld, &more) ||
	    __builtin_add_overflow(bytes, more, &bytes) ||
	    __builtin_add_overflow(bytes, cols, &bytes) ||
	    __builtin_mul_overflow(bytes, (int64_t)tsr_dtype_bytes(t->dtype), &bytes))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s: the strides of %s lead past any memory; make the tensor by "
				 "a constructor",
				 named.call, named.name);
	if ((uintptr_t)t->data % tsr_dtype_bytes(t->dtype) != 0)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s: %s begins at %p, where no %s can lie; let it begin at a "
				 "multiple of an element's size",
				 named.call, named.name, tsr_heap_raw(t->data),
				 tsr_dtype_name(t->dtype));
	return tsr_heap_check_range(world, named.call, t->data, (size_t)bytes);
}

tsr_status_t tsr_tensor_matrices(const tsr_world_t *world, tsr_named_tensor_t named, int row_dim,
				 int col_dim, tsr_matrices_t *matrices_out)
{
	char text[TSR_SHAPE_TEXT];
	merged_t part[3];
	if (!divide(named.tensor, row_dim, col_dim, part))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s: %s, %s, is no matrix if dimensions from %d on are its rows "
				 "and those from %d on its columns: let the "
				 "elements of a row be neighbours, and rows equally far apart",
				 named.call, named.name, text_of(named, text), row_dim, col_dim);
	return make(world, named, part, col_dim, matrices_out);
}

tsr_status_t tsr_tensor_matrix(const tsr_world_t *world, tsr_named_tensor_t named,
			       tsr_matrices_t *matrix_out)
{
	char text[TSR_SHAPE_TEXT];
	merged_t part[3];
	for (int col_dim = 0; col_dim <= named.tensor->dims; col_dim++)
		if (divide(named.tensor, 0, col_dim, part))
			return make(world, named, part, col_dim, matrix_out);
	return tsr_error(TSR_ERR_ARGUMENT,
			 "%s: the strides of %s, %s, make no matrix: let the elements of a row be "
			 "neighbours, and rows equally far apart",
			 named.call, named.name, text_of(named, text));
}
