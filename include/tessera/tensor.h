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
 * A strided array in the heap, at the same offset on every rank. Strides in
 * elements; a fresh tensor is row-major and dense.
 */
typedef struct tsr_tensor {
	TSR_HEAP void *data;
	tsr_dtype_t dtype;
	int dims;
	int64_t shape[TSR_MAX_DIMS];
	int64_t stride[TSR_MAX_DIMS];
} tsr_tensor_t;

/*
 * All constructors are collective, one thread a rank, every rank with the same
 * dtype and shape: they allocate.
 * The values are this rank's own arguments: fill value and seed may differ
 * between ranks.
 * When a constructor returns, every rank's copy holds its values. It succeeds
 * on all ranks or on none: where one rank's arguments are wrong, the others
 * return that rank's code. Reports call the allocation by dtype and shape, such
 * as "bf16 [91, 73]".
 * Errors: TSR_ERR_ARGUMENT (dims outside 1 .. 8; an extent below 1; a product
 *         that overflows; a dtype that cannot hold the values),
 *         TSR_ERR_NO_MEMORY, TSR_ERR_MISMATCH, and those of tsr_barrier. `*out`
 *         is written only on success.
 * Source: Iris paper, Table 2.
 */

/** Not initialised: as tsr_heap_alloc. */
TSR_API tsr_status_t tsr_tensor_empty(tsr_world_t *world, tsr_dtype_t dtype, int dims,
				      const int64_t *shape, tsr_tensor_t *out);
TSR_API tsr_status_t tsr_tensor_zeros(tsr_world_t *world, tsr_dtype_t dtype, int dims,
				      const int64_t *shape, tsr_tensor_t *out);
TSR_API tsr_status_t tsr_tensor_ones(tsr_world_t *world, tsr_dtype_t dtype, int dims,
				     const int64_t *shape, tsr_tensor_t *out);
/**
 * An integer dtype holds whole numbers in its range; a floating one rounds to
 * nearest even, but not to infinity.
 */
TSR_API tsr_status_t tsr_tensor_full(tsr_world_t *world, tsr_dtype_t dtype, int dims,
				     const int64_t *shape, double value, tsr_tensor_t *out);
/** Dtype and shape of `like`; row-major and dense, whatever the strides of `like`. */
TSR_API tsr_status_t tsr_tensor_zeros_like(tsr_world_t *world, const tsr_tensor_t *like,
					   tsr_tensor_t *out);

/**
 * One dimension: begin, begin + step, ... up to but without end. Element i is
 * begin + i * step, rounded once to the dtype; how many there are is decided in
 * double. Integer dtypes take a whole begin and step.
 */
TSR_API tsr_status_t tsr_tensor_arange(tsr_world_t *world, tsr_dtype_t dtype, double begin,
				       double end, double step, tsr_tensor_t *out);

/**
 * One dimension: `count` values from begin to end, both included (count 1:
 * begin), rounded to nearest even, integers too.
 */
TSR_API tsr_status_t tsr_tensor_linspace(tsr_world_t *world, tsr_dtype_t dtype, double begin,
					 double end, int64_t count, tsr_tensor_t *out);

/**
 * Uniform in [0, 1), floating dtypes: element i is tsr_random_f32 (f64: _f64)
 * of (seed, i), rounded to the dtype toward zero.
 */
TSR_API tsr_status_t tsr_tensor_rand(tsr_world_t *world, tsr_dtype_t dtype, int dims,
				     const int64_t *shape, uint64_t seed, tsr_tensor_t *out);

/**
 * Uniform in [low, high), floating dtypes: low + (high - low) * tsr_random_f64
 * in double, rounded down to the dtype; up where that falls below low. No
 * element is below low or equals high. TSR_ERR_ARGUMENT also where the dtype
 * has no value in the range.
 */
TSR_API tsr_status_t tsr_tensor_uniform(tsr_world_t *world, tsr_dtype_t dtype, int dims,
					const int64_t *shape, double low, double high,
					uint64_t seed, tsr_tensor_t *out);

/** Normal, mean 0, deviation 1, floating dtypes: tsr_random_normal rounded to nearest even. */
TSR_API tsr_status_t tsr_tensor_randn(tsr_world_t *world, tsr_dtype_t dtype, int dims,
				      const int64_t *shape, uint64_t seed, tsr_tensor_t *out);

/** Integers in [low, high), any dtype that holds them exactly. */
TSR_API tsr_status_t tsr_tensor_randint(tsr_world_t *world, tsr_dtype_t dtype, int dims,
					const int64_t *shape, int64_t low, int64_t high,
					uint64_t seed, tsr_tensor_t *out);

/**
 * Releases the tensor's memory on every rank (tsr_heap_free) and clears
 * `*tensor`. Collective. Cleared: as a null pointer.
 */
TSR_API tsr_status_t tsr_tensor_free(tsr_world_t *world, tsr_tensor_t *tensor);

/** Elements of the tensor. Any thread. */
TSR_API int64_t tsr_tensor_count(const tsr_tensor_t *tensor);

/**
 * Copies the whole tensor between this rank's heap and a dense row-major host
 * array of the same dtype, whatever its strides; what lies between its elements
 * is not touched. Any thread. Errors: TSR_ERR_ARGUMENT (not inside one
 * allocation), TSR_ERR_SYSTEM.
 */
TSR_API tsr_status_t tsr_tensor_read(tsr_world_t *world, const tsr_tensor_t *tensor, void *host);
TSR_API tsr_status_t tsr_tensor_write(tsr_world_t *world, const tsr_tensor_t *tensor,
				      const void *host);

/**
 * The tensor as a kernel's matrix: two dimensions as they are, one as a single
 *  row; the last stride must be 1 and rows must not overlap. Errors:
 *  TSR_ERR_ARGUMENT for other shapes.
 */
TSR_API tsr_status_t tsr_tensor_view(const tsr_tensor_t *tensor, tsr_view_t *view_out);

/**
 * One matrix of a tensor of up to eight dimensions: the last two, where the
 * dimensions before them have the coordinates `at`. So a tensor [batch, head,
 * row, col] at {b, h} is the matrix of that batch and head. `at` has dims - 2
 * coordinates, and may be null where there are none. Strides as for
 * tsr_tensor_view; those of the dimensions before may be anything. Any thread.
 * Errors: TSR_ERR_ARGUMENT, also for a coordinate that is negative or not below
 * its extent. Source: Iris, four coordinates of a tile.
 */
TSR_API tsr_status_t tsr_tensor_view_at(const tsr_tensor_t *tensor, const int64_t *at,
					tsr_view_t *view_out);

/**
 * A matrix in memory of tsr_heap_alloc as a kernel's: `rows` by `cols` elements
 * from `data` on, consecutive rows `ld` elements apart. It begins at a multiple
 * of its element, from the allocation's begin on, and ends inside that
 * allocation: this checks what a kernel's tsr_view does not. Any thread that
 * makes no allocation at the time.
 * Errors: TSR_ERR_ARGUMENT (rows or cols below 1; ld below cols; not inside one
 * allocation of this rank's heap).
 */
TSR_API tsr_status_t tsr_heap_view(const tsr_world_t *world, TSR_HEAP void *data, tsr_dtype_t dtype,
				   int64_t rows, int64_t cols, int64_t ld, tsr_view_t *view_out);

#ifdef __cplusplus
}
#endif
#endif
