/* Tiles in registers: fragments, which the coop's threads hold together. */
#ifndef TESSERA_DEV_TILE_H
#define TESSERA_DEV_TILE_H

#include "tessera/dev/port.h"

/*
 * TSR_TILE(cfg, dtype, M, N, K)
 *
 *   Declares a configuration, at file scope: output tiles of M x N, operand
 *   tiles of M x K and K x N with elements of `dtype`. Products are summed in
 *   f32 (f64: in f64; integers: in i32). `dtype` is one of f64 f32 f16 bf16 i32
 *   i8 u8; M, N and K are literals. The configuration names
 *
 *     cfg_frag_t     the type of an accumulator fragment (M x N)
 *     cfg_a_t        of an operand (M x K)
 *     cfg_b_t        of an operand (K x N)
 *     cfg_bt_t       of an operand (N x K)
 *     cfg_rows_t     of one value for each row (M x 1)
 *     TSR_TILE_M(cfg), TSR_TILE_N(cfg), TSR_TILE_K(cfg), TSR_TILE_DTYPE(cfg)
 *       its extents and tsr_dtype_t, constant expressions
 *     TSR_FRAG_BYTES(cfg)
 *       the size of a saved accumulator, a constant expression
 *     TSR_FRAG_SENT_BYTES(cfg, as)
 *       the size of one that was sent as elements of `as` (tsr_dtype_t),
 *       a constant expression
 *
 * TSR_TILE_MAJOR(cfg, dtype, M, N, K, a_major, b_major)
 *
 *   The same, and it says how A and B of a main loop (dev/gemm.h) are stored.
 *   TSR_ROW_MAJOR, the value of TSR_TILE for both, is the matrix itself.
 *   TSR_COL_MAJOR: the view is of the transpose, K x M for A and N x K for B.
 *   So each product with a transpose has a configuration of its own: queries
 *   times keys is TSR_ROW_MAJOR, TSR_COL_MAJOR. Fragments do not depend on it.
 *
 * TSR_SHARED_TILES(cfg, name, count)
 *
 *   Declares a member of a block's shared struct: `count` output tiles of cfg's
 *   dtype, aligned to 128 bytes. A view of tile i is
 *   tsr_view_shared(shared->name[i], TSR_TILE_DTYPE(cfg), TSR_TILE_M(cfg),
 *   TSR_TILE_N(cfg), TSR_TILE_N(cfg)).
 *
 *   TSR_FRAG(cfg, name, coop)          accumulator
 *   TSR_FRAG_A(cfg, name, coop)        operand M x K
 *   TSR_FRAG_B(cfg, name, coop)        operand K x N
 *   TSR_FRAG_BT(cfg, name, coop)       operand N x K
 *   TSR_FRAG_ROWS(cfg, name, coop)     one value for each row
 *
 *   Declare a fragment that belongs to `coop` until the end of the enclosing
 *   scope. `name` is used as a pointer to it. Its content is undefined at
 *   first.
 */
#if !defined(TSR_TILE) || !defined(TSR_TILE_MAJOR) || !defined(TSR_TILE_M) ||                      \
	!defined(TSR_TILE_N) || !defined(TSR_TILE_K) || !defined(TSR_TILE_DTYPE) ||                \
	!defined(TSR_FRAG_BYTES) || !defined(TSR_FRAG_SENT_BYTES) || !defined(TSR_SHARED_TILES) || \
	!defined(TSR_FRAG) || !defined(TSR_FRAG_A) || !defined(TSR_FRAG_B) ||                      \
	!defined(TSR_FRAG_BT) || !defined(TSR_FRAG_ROWS)
#error "the port does not define tiles"
#endif

/**
 * Map: returns an element's new value from its old one and its position in the
 * matrix (`at` + position in the tile). A TSR_FN.
 */
typedef float (*tsr_map_fn)(float x, int64_t row, int64_t col, const void *ctx);

/**
 * Zip: returns an element's new value from its old one and the element at the
 * same place in another fragment. A TSR_FN.
 */
typedef float (*tsr_zip_fn)(float x, float y, const void *ctx);

/**
 * Returns a row's new value from its old one and the row's index in the tile. A
 * TSR_FN.
 */
typedef float (*tsr_rows_fn)(float x, int64_t row, const void *ctx);

/**
 * Returns an element's new value from its old one and the value of its row. A
 * TSR_FN.
 */
typedef float (*tsr_map_rows_fn)(float x, float row_value, const void *ctx);

/*
 * The coop that owns the fragment makes these calls. They touch registers only.
 * A fragment has no values until tsr_frag_zero, a load, a reduction, or a map
 * whose function ignores the old value. The emulator refuses to compute with
 * it, or to store it, before that.
 */

/** Sets every element to 0. */
TSR_DEV_FRAG void tsr_frag_zero(tsr_coop_t *coop, tsr_frag_t *frag);

/**
 * Replaces every element x at (row, col) by fn(x, at.row + row, at.col + col,
 * ctx).
 */
TSR_DEV_FRAG void tsr_frag_map(tsr_coop_t *coop, tsr_frag_t *frag, tsr_pos_t at, tsr_map_fn fn,
			       const void *ctx);

/**
 * Replaces every element x by fn(x, y, ctx), where y is the element at the same
 * place of the fragment `y`. Both fragments have one configuration, kind and
 * coop; they may be the same. If the function ignores x, the fragment `x` need
 * not have values before.
 */
TSR_DEV_FRAG void tsr_frag_zip(tsr_coop_t *coop, tsr_frag_t *x, const tsr_frag_t *y, tsr_zip_fn fn,
			       const void *ctx);

/**
 * rows[i] becomes the sum, maximum or minimum of row i of `frag`, over its
 * first `cols` columns. Sums run from left to right. A NaN among them makes the
 * result NaN, and -0 is less than +0 (tsr_reduce_t). Without columns it is 0,
 * -inf or inf; of integers 0, the least or the greatest value.
 */
TSR_DEV_FRAG_ROWS void tsr_frag_reduce_rows(tsr_coop_t *coop, tsr_rows_t *rows,
					    const tsr_frag_t *frag, int64_t cols, tsr_reduce_t op);

/** Replaces every element x of row i by fn(x, rows[i], ctx). */
TSR_DEV_FRAG_ROWS void tsr_frag_map_rows(tsr_coop_t *coop, tsr_frag_t *frag, const tsr_rows_t *rows,
					 tsr_map_rows_fn fn, const void *ctx);

/*
 * Calls on row values alone: running maxima and sums of a softmax, scales,
 * biases, the weights that merge partial results. tsr_rows_load and
 * tsr_rows_store are in dev/value.h. The functions take and return floats and
 * are computed as C defines, on every backend: infinities and NaN are ordinary
 * floats, and -inf - 1 is -inf. A fragment of integers saturates.
 */

/** Sets every rows[i] to v. */
TSR_DEV_ROWS void tsr_rows_fill(tsr_coop_t *coop, tsr_rows_t *rows, float v);

/** Replaces every rows[i] by fn(rows[i], i, ctx). */
TSR_DEV_ROWS void tsr_rows_map(tsr_coop_t *coop, tsr_rows_t *rows, tsr_rows_fn fn, const void *ctx);

/** Replaces every x[i] by fn(x[i], y[i], ctx), as tsr_frag_zip. */
TSR_DEV_ROWS void tsr_rows_zip(tsr_coop_t *coop, tsr_rows_t *x, const tsr_rows_t *y, tsr_zip_fn fn,
			       const void *ctx);

/**
 * tsr_load and tsr_store for this rank's memory, or for the block's shared
 * memory.
 */
TSR_DEV_FRAG void tsr_tile_load(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at);
TSR_DEV_FRAG void tsr_tile_store(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
				 const tsr_frag_t *frag);

/*
 * Products of fragments that have one configuration and one coop. The order of
 * additions in each element's sum is the backend's own. Products of f16 and
 * bf16 are exact, and summed in f32.
 *
 *   Matrix units: on NVIDIA for every tile of bf16 and f16. On AMD for tiles of
 *                 bf16, f16 and f32 whose M and N can be split into blocks of
 *                 16 for each wave (a block has four waves, a worker one), and
 *                 whose K is a multiple of 16 (f32: of 4). All other tiles are
 *                 multiplied by the threads' ordinary arithmetic.
 *   Speed:      if the operands and sums fit into the threads' registers,
 *               nothing passes through shared memory, from the load on. 64 x 64
 *               x 64 fits for a block, 32 x 64 x 32 for a worker. Use tsr_gemm
 *               (dev/gemm.h) for larger tiles.
 */

/** acc += a * b. */
TSR_DEV_FRAG_DOT void tsr_tile_dot(tsr_coop_t *coop, tsr_frag_t *acc, const tsr_frag_a_t *a,
				   const tsr_frag_b_t *b);

/**
 * acc += a * transposed bt: element (row, col) gets the products of row `row`
 * of a and row `col` of bt, as in queries times keys.
 */
TSR_DEV_FRAG_DOT_BT void tsr_tile_dot_bt(tsr_coop_t *coop, tsr_frag_t *acc, const tsr_frag_a_t *a,
					 const tsr_frag_bt_t *bt);

/*
 * Hand an accumulator from one coop to another through this rank's heap:
 * tsr_frag_save writes it to `memory`, and tsr_frag_add adds what is there to a
 * fragment. `memory` has TSR_FRAG_BYTES(cfg) bytes and is aligned to 16. The
 * order of elements is the backend's own. So both calls must have one
 * configuration, and coops with the same number of threads: blocks, or workers
 * 0 of blocks that are split alike.
 *   Called by:  the coop that owns the fragment.
 *   Ordering:   weak accesses, as in dev/value.h: put a release and its acquire
 *               between the two calls (tsr_signal_local, tsr_wait_local).
 *   Errors:     as in dev/pointer.h; on the emulator also memory that is not
 *               aligned, and a fragment that is no accumulator (which does not
 *               compile on GPUs).
 */
TSR_DEV_FRAG void tsr_frag_save(tsr_coop_t *coop, TSR_HEAP void *memory, const tsr_frag_t *frag);
TSR_DEV_FRAG void tsr_frag_add(tsr_coop_t *coop, tsr_frag_t *frag, const TSR_HEAP void *memory);

/*
 * Send a partial sum to a rank that adds it: tsr_frag_send writes the
 * accumulator's elements, rounded to `as` (f32, f16 or bf16), to `peer`'s copy
 * of `memory`. tsr_frag_add_sent adds the elements in my copy to a fragment.
 * `memory` has TSR_FRAG_SENT_BYTES(cfg, as) bytes of the heap and is aligned to
 * 16. The order of elements is the backend's own, so that each thread moves 16
 * bytes at a time and no transposition is needed. If a rank adds the partial
 * sums in rank order, its result has the same bits in every run; tsr_store_add
 * does not promise that.
 *   Called by:  the coop that owns the fragment, an accumulator of a
 *               configuration of floats.
 *   Both sides: one configuration, one `as`, and coops with the same number of
 *               threads: blocks of kernels of one kind, or workers 0 of blocks
 *               that are split alike. The emulator, and debug builds, write a
 *               header beside the elements and compare it.
 *   Meetings:   none.
 *   Ordering:   weak accesses, as in dev/value.h: put a signal and its wait
 *               between the two calls. Before the memory is sent to again, its
 *               owner must signal that it has added what was there.
 *   Errors:     as in dev/pointer.h; TSR_ERR_KERNEL (always on the emulator; on
 *               GPUs in debug builds) also if the two sides differ, or for
 *               another `as`.
 *   Litmus:     MP.rel.acq.diffGPU-ss (sent, signalled, waited for),
 *               LB.retired.diffGPU-ss (added before it is sent to again).
 *   Source:     Triton-distributed's GEMM and reduce-scatter, which scatters to
 *               one buffer for each source rank.
 */
TSR_DEV_FRAG void tsr_frag_send(tsr_coop_t *coop, TSR_HEAP void *memory, const tsr_frag_t *frag,
				tsr_dtype_t as, int peer);
TSR_DEV_FRAG void tsr_frag_add_sent(tsr_coop_t *coop, tsr_frag_t *frag, const TSR_HEAP void *memory,
				    tsr_dtype_t as);

#endif
