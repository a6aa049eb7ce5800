/* Tiles in registers: fragments that the coop's threads hold together. */
#ifndef TESSERA_DEV_TILE_H
#define TESSERA_DEV_TILE_H

#include "tessera/dev/port.h"

/*
 * TSR_TILE(cfg, dtype, M, N, K)      at file scope; dtype is f64 f32 f16 bf16
 * i32 i8 u8; M, N, K are literals
 *
 *   Declares a configuration: output tiles of M x N, operand tiles of M x K and
 *   K x N with elements of `dtype`, products summed in f32 (f64: f64; integers:
 *   i32). It names
 *     cfg_frag_t     the type of an accumulator fragment (M x N)
 *     cfg_a_t, cfg_b_t, cfg_bt_t, cfg_rows_t   of an operand (M x K), (K x N),
 *       (N x K), and of one value a row (M x 1)
 *     TSR_TILE_M(cfg), TSR_TILE_N(cfg), TSR_TILE_K(cfg), TSR_TILE_DTYPE(cfg)
 *       its extents and tsr_dtype_t, constant expressions
 *     TSR_FRAG_BYTES(cfg)   of a saved accumulator, a constant expression
 *     TSR_FRAG_SENT_BYTES(cfg, as)   of one that was sent as elements of `as`
 *                                    (tsr_dtype_t): a constant expression
 *
 * TSR_TILE_MAJOR(cfg, dtype, M, N, K, a_major, b_major)
 *
 *   The same, and how A and B of a main loop (dev/gemm.h) stand in memory.
 *   TSR_ROW_MAJOR is what TSR_TILE says of both. TSR_COL_MAJOR: the view is of
 *   the transpose, K x M for A and N x K for B. So a product by a transpose is
 *   one of its own configuration: queries times keys is TSR_ROW_MAJOR,
 *   TSR_COL_MAJOR. Fragments do not depend on it.
 *
 *   TSR_SHARED_TILES(cfg, name, count) declares, as a member of a block's
 *   shared struct, `count` output tiles of cfg's dtype, aligned to 128 bytes:
 *   tsr_view_shared(shared->name[i], TSR_TILE_DTYPE(cfg), TSR_TILE_M(cfg),
 *   TSR_TILE_N(cfg), TSR_TILE_N(cfg)).
 *
 * TSR_FRAG(cfg, name, coop)          accumulator        TSR_FRAG_A(cfg, name,
 *                                    coop)      operand M x K
 * TSR_FRAG_ROWS(cfg, name, coop)     one value a row    TSR_FRAG_B(cfg, name,
 *                                    coop)      operand K x N
 *                                                       TSR_FRAG_BT(cfg, name,
 *                                                         coop)     operand N x
 *                                                         K
 *
 *   Declare a fragment that belongs to `coop` until the end of the enclosing
 *   scope. `name` is used as a pointer to it.
 *   Its content is undefined at first.
 */
#if !defined(TSR_TILE) || !defined(TSR_TILE_MAJOR) || !defined(TSR_TILE_M) ||                      \
	!defined(TSR_TILE_N) || !defined(TSR_TILE_K) || !defined(TSR_TILE_DTYPE) ||                \
	!defined(TSR_FRAG_BYTES) || !defined(TSR_FRAG_SENT_BYTES) || !defined(TSR_SHARED_TILES) || \
	!defined(TSR_FRAG) || !defined(TSR_FRAG_A) || !defined(TSR_FRAG_B) ||                      \
	!defined(TSR_FRAG_BT) || !defined(TSR_FRAG_ROWS)
#error "the port does not define tiles"
#endif

/**
 * An element's new value from its old one and its position in the matrix (at +
 * position in the tile). A TSR_FN.
 */
typedef float (*tsr_map_fn)(float x, int64_t row, int64_t col, const void *ctx);

/**
 * An element's new value from its old one and the element of another fragment
 * at the same place. A TSR_FN.
 */
typedef float (*tsr_zip_fn)(float x, float y, const void *ctx);

/** A row's new value from its old one and the row's index in the tile. A TSR_FN. */
typedef float (*tsr_rows_fn)(float x, int64_t row, const void *ctx);

/** An element's new value from its old one and the value of its row. A TSR_FN. */
typedef float (*tsr_map_rows_fn)(float x, float row_value, const void *ctx);

typedef enum tsr_reduce_op {
	TSR_REDUCE_SUM = 0,
	TSR_REDUCE_MAX = 1,
	TSR_REDUCE_MIN = 2
} tsr_reduce_t;

/*
 * Called by the coop that the fragment belongs to. They touch registers only. A
 * fragment has no values before it is given some, by tsr_frag_zero, a load, a
 * reduction, or a map whose function looks at none; the emulator refuses to
 * compute with it or to store it.
 */

/** Every element becomes 0. */
TSR_DEV_FRAG void tsr_frag_zero(tsr_coop_t *coop, tsr_frag_t *frag);

/** Every element x at (row, col) becomes fn(x, at.row + row, at.col + col, ctx). */
TSR_DEV_FRAG void tsr_frag_map(tsr_coop_t *coop, tsr_frag_t *frag, tsr_pos_t at, tsr_map_fn fn,
			       const void *ctx);

/**
 * Every element x becomes fn(x, y, ctx), with the element y at the same place
 * of `y`: fragments of one configuration, kind and coop. They may be the same.
 * x gets its values by it where the function looks at y alone.
 */
TSR_DEV_FRAG void tsr_frag_zip(tsr_coop_t *coop, tsr_frag_t *x, const tsr_frag_t *y, tsr_zip_fn fn,
			       const void *ctx);

/**
 * rows[i] becomes the sum, largest or smallest of row i of `frag`, over its
 * first `cols` columns; sums run from left to right.
 */
TSR_DEV_FRAG_ROWS void tsr_frag_reduce_rows(tsr_coop_t *coop, tsr_rows_t *rows,
					    const tsr_frag_t *frag, int64_t cols, tsr_reduce_t op);

/** Every element x of row i becomes fn(x, rows[i], ctx). */
TSR_DEV_FRAG_ROWS void tsr_frag_map_rows(tsr_coop_t *coop, tsr_frag_t *frag, const tsr_rows_t *rows,
					 tsr_map_rows_fn fn, const void *ctx);

/*
 * Rows on their own: running maxima and sums of a softmax, scales, biases, what
 * partial results are merged by (tsr_rows_load and tsr_rows_store,
 * dev/value.h). Functions take and give floats and are computed as C says:
 * infinities and NaN go through them as through any float, and -inf - 1 is
 * -inf, on every backend. A fragment of integers saturates what it is given.
 */

/** Every rows[i] becomes v. */
TSR_DEV_ROWS void tsr_rows_fill(tsr_coop_t *coop, tsr_rows_t *rows, float v);

/** Every rows[i] becomes fn(rows[i], i, ctx). */
TSR_DEV_ROWS void tsr_rows_map(tsr_coop_t *coop, tsr_rows_t *rows, tsr_rows_fn fn, const void *ctx);

/** Every x[i] becomes fn(x[i], y[i], ctx): as tsr_frag_zip. */
TSR_DEV_ROWS void tsr_rows_zip(tsr_coop_t *coop, tsr_rows_t *x, const tsr_rows_t *y, tsr_zip_fn fn,
			       const void *ctx);

/** tsr_load and tsr_store for this rank's memory, or the block's shared memory. */
TSR_DEV_FRAG void tsr_tile_load(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at);
TSR_DEV_FRAG void tsr_tile_store(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
				 const tsr_frag_t *frag);

/*
 * Products of fragments: of one configuration and one coop. Each element's sum
 * runs in the backend's own order; sums of f16 and bf16 are of f32, and the
 * products in them are exact.
 *
 *   Matrix units:  NVIDIA's multiply every tile of bf16 and f16. AMD's multiply
 *   those of bf16, f16 and f32 whose M and N divide
 *                  into blocks of 16 for each wave (a block has four of them, a
 *                  worker one) and whose K is a multiple of 16 (f32: 4). All
 *                  others are multiplied by the threads' own arithmetic.
 *   Speed:         where a thread's registers hold its part of operands and
 *                  sums, nothing passes through shared memory, from the load
 *                  on: 64 x 64 x 64 by a block, 32 x 64 x 32 by a worker.
 *                  Larger tiles are for tsr_gemm (dev/gemm.h).
 */

/** acc += a * b. */
TSR_DEV_FRAG_DOT void tsr_tile_dot(tsr_coop_t *coop, tsr_frag_t *acc, const tsr_frag_a_t *a,
				   const tsr_frag_b_t *b);

/**
 * acc += a * transposed bt: element (row, col) gets the products of row `row`
 * of a and row `col` of bt, as queries times keys do.
 */
TSR_DEV_FRAG_DOT_BT void tsr_tile_dot_bt(tsr_coop_t *coop, tsr_frag_t *acc, const tsr_frag_a_t *a,
					 const tsr_frag_bt_t *bt);

/*
 * An accumulator's content, handed from one coop to another through this rank's
 * heap: save leaves it there, add adds what stands there. It takes
 * TSR_FRAG_BYTES(cfg), from a multiple of 16 on. The elements' order is the
 * backend's own: both calls are for one configuration, and for coops of as many
 * threads: blocks, or worker 0 of blocks that are split alike.
 *   Called by:  the coop that the fragment belongs to.
 *   Ordering:   weak accesses, as in dev/value.h: a release and its acquire
 *               stand between both (tsr_signal_local, tsr_wait_local).
 *   Errors:     as in dev/pointer.h; on the emulator also memory that is not
 *               aligned, and what is no accumulator (GPUs do not compile that).
 */
TSR_DEV_FRAG void tsr_frag_save(tsr_coop_t *coop, TSR_HEAP void *memory, const tsr_frag_t *frag);
TSR_DEV_FRAG void tsr_frag_add(tsr_coop_t *coop, tsr_frag_t *frag, const TSR_HEAP void *memory);

/*
 * A partial sum, sent to a rank that adds it up: tsr_frag_send leaves the
 * accumulator's elements, rounded to `as` (f32, f16 or bf16), in `peer`'s copy
 * of `memory`; tsr_frag_add_sent adds what stands in mine. It takes
 * TSR_FRAG_SENT_BYTES(cfg, as) of the heap, from a multiple of 16 on. The
 * elements' order is the backend's own, so that each thread moves 16 bytes at a
 * time and nobody transposes.
 * Where a rank adds what has come in rank order, its sum has the same bits in
 * every run (tsr_store_add does not promise that).
 *   Called by:  the coop that the fragment belongs to: an accumulator of a
 *               configuration of floats.
 *   Both sides: one configuration, one `as`, and coops of as many threads:
 *   blocks of kernels of one kind, or worker 0 of blocks
 *               that are split alike. The emulator, and debug builds, leave a
 *               header beside the elements and compare it.
 *   Meetings:   none.
 *   Ordering:   weak accesses, as in dev/value.h: a signal and its wait stand
 *               between both. Before the memory is sent to again, its owner
 *               tells that it has added what was there.
 *   Errors:     as in dev/pointer.h; TSR_ERR_KERNEL (always on the emulator;
 *               debug builds elsewhere) also for what was sent otherwise than
 *               it is added, and for another `as`.
 *   Litmus:     MP.rel.acq.diffGPU-ss (sent, signalled, waited for),
 *               LB.retired.diffGPU-ss (added before it is sent to again).
 *   Source:     Triton-distributed's GEMM and reduce-scatter, whose scatter
 *               goes to a buffer for each source rank.
 */
TSR_DEV_FRAG void tsr_frag_send(tsr_coop_t *coop, TSR_HEAP void *memory, const tsr_frag_t *frag,
				tsr_dtype_t as, int peer);
TSR_DEV_FRAG void tsr_frag_add_sent(tsr_coop_t *coop, tsr_frag_t *frag, const TSR_HEAP void *memory,
				    tsr_dtype_t as);

#endif
