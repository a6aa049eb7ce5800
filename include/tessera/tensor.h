/* Tensors in the symmetric heap. */
#ifndef TESSERA_TENSOR_H
#define TESSERA_TENSOR_H

#include "tessera/dtype.h"
#include "tessera/heap.h"
#include "tessera/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TSR_MAX_DIMS 8

/**
 * A strided array in the heap, at the same offset on every rank. Strides are in
 * elements. A new tensor is row-major and dense.
 */
typedef struct tsr_tensor {
	TSR_HEAP void *data;
	tsr_dtype_t dtype;
	int dims;
	int64_t shape[TSR_MAX_DIMS];
	int64_t stride[TSR_MAX_DIMS];
} tsr_tensor_t;

/*
 * All constructors allocate, so they are collective: every rank calls them, one
 * thread a rank, with the same dtype and shape. Values may differ between
 * ranks: each rank passes its own fill value and seed. When a constructor
 * returns, every rank's copy holds its values. Reports name the allocation by
 * the variable that `out` points to, by file and line where it is no plain
 * variable, or as tsr_tensor_name says.
 * Errors:     TSR_ERR_ARGUMENT (dims outside 1 .. 8; an extent below 1; a size
 *             that overflows; a dtype that cannot hold the values),
 *             TSR_ERR_NO_MEMORY, TSR_ERR_MISMATCH, and those of tsr_barrier.
 *             The call succeeds on all ranks or on none: if one rank's
 *             arguments are wrong, the others return that rank's code. `*out`
 *             is written only on success.
 * Source:     Iris paper, Table 2.
 */

/** Not initialised, as tsr_heap_alloc; all 0; all 1. */
TSR_API tsr_status_t tsr_tensor_empty(tsr_world_t *world, tsr_dtype_t dtype, int dims,
				      const int64_t *shape, tsr_tensor_t *out);
TSR_API tsr_status_t tsr_tensor_zeros(tsr_world_t *world, tsr_dtype_t dtype, int dims,
				      const int64_t *shape, tsr_tensor_t *out);
TSR_API tsr_status_t tsr_tensor_ones(tsr_world_t *world, tsr_dtype_t dtype, int dims,
				     const int64_t *shape, tsr_tensor_t *out);
/**
 * All elements are `value`. An integer dtype must hold the value exactly. A
 * floating dtype rounds it to nearest even; a value that would round to
 * infinity is an error.
 */
TSR_API tsr_status_t tsr_tensor_full(tsr_world_t *world, tsr_dtype_t dtype, int dims,
				     const int64_t *shape, double value, tsr_tensor_t *out);
/**
 * All 0, with the dtype and shape of `like`. Row-major and dense, whatever the
 * strides of `like`.
 */
TSR_API tsr_status_t tsr_tensor_zeros_like(tsr_world_t *world, const tsr_tensor_t *like,
					   tsr_tensor_t *out);

/**
 * One dimension: begin, begin + step, ..., without end. Element i is
 * `begin + i * step`, rounded once to the dtype. The number of elements is
 * computed in double. Integer dtypes need a whole begin and step.
 */
TSR_API tsr_status_t tsr_tensor_arange(tsr_world_t *world, tsr_dtype_t dtype, double begin,
				       double end, double step, tsr_tensor_t *out);

/**
 * One dimension: `count` values from begin to end, both included (count 1:
 * begin only). Values are rounded to nearest even, for integer dtypes too.
 */
TSR_API tsr_status_t tsr_tensor_linspace(tsr_world_t *world, tsr_dtype_t dtype, double begin,
					 double end, int64_t count, tsr_tensor_t *out);

/**
 * Uniform in [0, 1), floating dtypes only: element i is tsr_random_f32(seed,
 * i), for f64 tsr_random_f64(seed, i), rounded to the dtype toward zero.
 */
TSR_API tsr_status_t tsr_tensor_rand(tsr_world_t *world, tsr_dtype_t dtype, int dims,
				     const int64_t *shape, uint64_t seed, tsr_tensor_t *out);

/**
 * Uniform in [low, high), floating dtypes only. Element i is low + (high - low)
 * * tsr_random_f64(seed, i) in double, rounded down to the dtype, or up if the
 * result would be below low. No element is below low or equal to high.
 * TSR_ERR_ARGUMENT also if the dtype has no value in the range.
 */
TSR_API tsr_status_t tsr_tensor_uniform(tsr_world_t *world, tsr_dtype_t dtype, int dims,
					const int64_t *shape, double low, double high,
					uint64_t seed, tsr_tensor_t *out);

/**
 * Normal with mean 0 and deviation 1, floating dtypes only: tsr_random_normal
 * rounded to nearest even.
 */
TSR_API tsr_status_t tsr_tensor_randn(tsr_world_t *world, tsr_dtype_t dtype, int dims,
				      const int64_t *shape, uint64_t seed, tsr_tensor_t *out);

/** Integers in [low, high), for any dtype that holds them exactly. */
TSR_API tsr_status_t tsr_tensor_randint(tsr_world_t *world, tsr_dtype_t dtype, int dims,
					const int64_t *shape, int64_t low, int64_t high,
					uint64_t seed, tsr_tensor_t *out);

/**
 * Gives the tensor's allocation another name in reports, on this rank. The
 * library copies the name. A name that tsr_heap_find gave for this allocation
 * is no longer valid.
 *
 * Called by:  any thread.
 * Errors:     TSR_ERR_ARGUMENT (a null pointer; an empty name),
 *             TSR_ERR_NOT_FOUND (no allocation of this rank's heap holds the
 *             tensor), TSR_ERR_NO_MEMORY.
 */
TSR_API tsr_status_t tsr_tensor_name(tsr_world_t *world, const tsr_tensor_t *tensor,
				     const char *name);

/**
 * Releases the tensor's memory on every rank (tsr_heap_free) and clears
 * `*tensor`. A cleared tensor counts as a null pointer.
 *
 * Called by:  every rank (collective).
 * Errors:     as in tsr_heap_free.
 */
TSR_API tsr_status_t tsr_tensor_free(tsr_world_t *world, tsr_tensor_t *tensor);

/** The number of elements. Any thread. */
TSR_API int64_t tsr_tensor_count(const tsr_tensor_t *tensor);

/**
 * Copies the whole tensor between this rank's heap and a host array of the same
 * dtype, which is dense and row-major. The tensor may have any strides; memory
 * between its elements is not touched. It may be the empty part of a rank, with
 * extents of 0 and any `data`: then nothing is copied.
 *
 * Called by:  any thread.
 * Errors:     TSR_ERR_ARGUMENT (not inside one allocation), TSR_ERR_SYSTEM.
 */
TSR_API tsr_status_t tsr_tensor_read(tsr_world_t *world, const tsr_tensor_t *tensor, void *host);
TSR_API tsr_status_t tsr_tensor_write(tsr_world_t *world, const tsr_tensor_t *tensor,
				      const void *host);

/**
 * The tensor as a matrix for a kernel. A tensor of two dimensions keeps them;
 * one dimension becomes a single row. The last stride must be 1, and rows must
 * not overlap. A rank's part may be empty: extents of 0. Any thread.
 *
 * Errors:     TSR_ERR_ARGUMENT (another shape or stride).
 */
TSR_API tsr_status_t tsr_tensor_view(const tsr_tensor_t *tensor, tsr_view_t *view_out);

/**
 * One matrix of a tensor of up to eight dimensions: its last two dimensions, at
 * the coordinates `at` in the dimensions before them. For a tensor [batch,
 * head, row, col], {b, h} selects the matrix of that batch and head. `at` has
 * dims - 2 coordinates; it may be null if that is 0. The strides of the last
 * two dimensions are as in tsr_tensor_view; the others may have any value.
 *
 * Called by:  any thread.
 * Errors:     TSR_ERR_ARGUMENT, also for a coordinate that is negative or not
 *             below its extent.
 * Source:     Iris: tiles with four coordinates.
 */
TSR_API tsr_status_t tsr_tensor_view_at(const tsr_tensor_t *tensor, const int64_t *at,
					tsr_view_t *view_out);

/**
 * A matrix in memory from tsr_heap_alloc, for a kernel: `rows` by `cols`
 * elements from `data` on; consecutive rows are `ld` elements apart. The offset
 * of `data` in its allocation must be a multiple of the element size, and the
 * matrix must end inside that allocation. This call checks that; tsr_view in a
 * kernel does not. It refuses an empty matrix. Where a rank may have no rows or
 * columns, hand `data` and the extents to the kernel and call tsr_view there: a
 * view may have extents of 0, and calls with it do nothing.
 *
 * Called by:  any thread.
 * Errors:     TSR_ERR_ARGUMENT (rows or cols below 1; ld below cols; not inside
 *             one allocation of this rank's heap).
 */
TSR_API tsr_status_t tsr_heap_view(const tsr_world_t *world, TSR_HEAP void *data, tsr_dtype_t dtype,
				   int64_t rows, int64_t cols, int64_t ld, tsr_view_t *view_out);

#ifdef __cplusplus
}
#endif
#endif
