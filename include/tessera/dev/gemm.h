/*
 * The main loop of a matrix product. Kernels choose the tasks, the gate and the
 * epilogue; the backend chooses the pipeline's depth, the swizzle, the staging
 * and the roles of its workers.
 */
#ifndef TESSERA_DEV_GEMM_H
#define TESSERA_DEV_GEMM_H

#include "tessera/dev/port.h"

/**
 * The tasks first, first + step, ... below `end`: the share of a persistent
 * block.
 */
typedef struct tsr_tasks {
	int64_t first, step, end;
} tsr_tasks_t;

/**
 * The part of a product that one task computes: for the tile of C at `at`,
 * columns k0 .. k1-1 of A times the same rows of B. k1 is cut at the end of K.
 * Several tasks may share a tile; the sum of their fragments is the product
 * (tsr_frag_save, tsr_frag_add).
 */
typedef struct tsr_part {
	/* In elements of C; at most 2^47 from the first element. With 16-bit dtypes, at.col is a
	 * multiple of 8 if B is row-major, and at.row is one if A is column-major, because the copy
	 * engine reads 16 bytes at a time along the rows of a view. */
	tsr_pos_t at;
	/* Multiples of the tile's K; k1 may also be the end of K or lie past it. k0 == k1: no
	 * columns. */
	int64_t k0, k1;
	/* B begins this many rows into the view `b`: 0 or more, below 2^31. */
	int64_t b0;
} tsr_part_t;

/*
 * Grouped products (mixture of experts): several matrices B of one shape lie
 * below each other in memory, and each task selects one by b0. The view `b`
 * describes the first; all have its extents. The rows of A are sorted by group,
 * any number of rows each. A group's first tile begins at its first row. Its
 * last tile also reads rows of the next group, so the gate must wait for those
 * too. The epilogue keeps only the group's own rows: it stores to a view that
 * ends with them (tsr_view_part).
 */

/** The whole of K for the tile at `at`, with b0 = 0. Any thread. */
TSR_DEV tsr_part_t tsr_whole(tsr_pos_t at);

/**
 * A task order: returns what task `task` computes. A TSR_FN; makes no device
 * calls.
 */
typedef tsr_part_t (*tsr_order_fn)(int64_t task, const void *ctx);

/** The ranks whose copies of A and B are read. */
typedef struct tsr_from {
	int32_t a, b;
} tsr_from_t;

/** Makes a tsr_from_t. Any thread. */
TSR_DEV tsr_from_t tsr_from(int a, int b);

/**
 * Gate: called before the operands of `chunk` are read. A chunk is a piece of a
 * task: columns k0 .. k1-1 of A and the same rows of B, for the tile at
 * chunk.at. The gate returns the ranks from which the two operands are read;
 * they may differ from chunk to chunk. The gate waits until both operands may
 * be read. It is a TSR_FN and has a coop of its own, the loader. With that coop
 * it may wait, load atomics and make fences that acquire. It must not sync the
 * block. TSR_NO_GATE: nothing to wait for; both operands are read from my
 * memory.
 */
typedef tsr_from_t (*tsr_gate_fn)(tsr_coop_t *loader, tsr_part_t chunk, const void *ctx);
#define TSR_NO_GATE ((tsr_gate_fn)0)

/*
 * Epilogue: `void epilogue(tsr_coop_t *me, cfg_frag_t *acc, tsr_pos_t at, void
 * *ctx)`, a TSR_FN that is called with the product of each task, in task order.
 * With `me` it may map and reduce the fragment, store it to my memory, to a
 * peer's or to shared memory, put, signal, wait and make fences. It may keep
 * its own state in `*ctx`. Order and gate must not read that state: they may
 * run earlier, on other threads. After tsr_gemm the whole coop finds the state
 * there if ctx has a type of its own; the target of a `void *` cannot be
 * copied. The backend completes the epilogue's stores before it raises a signal
 * or makes a fence of it.
 *
 * tsr_gemm(cfg, coop, a, b, tasks, order, gate, epilogue, ctx)
 *
 *   For each task in turn: computes the part of A * B that order(task, ctx)
 *   selects, cut at the edges of the views, then calls the epilogue. A is M x
 *   K, B is K x N, both with the dtype of cfg. Where cfg says column-major
 *   (TSR_TILE_MAJOR), the view is of the transpose: `a` is K x M, `b` is N x K.
 *   The backend may load operands of the next task while an epilogue runs.
 *   Called by:  a block that is not wide, or worker 0 of a split block.
 *   Ordering:   the coop meets before the first operand is read, and after the
 *               last epilogue. Operands are read by weak accesses after their
 *               gate returns, possibly by other threads than the coop's. All
 *               operands of a task have been read when its epilogue begins. The
 *               accesses of an epilogue are the coop's own; there is no meeting
 *               between two epilogues.
 *   Source:     Iris paper, Listing 2 (with the first K block, which the
 *               listing omits) and Listings 3 to 5.
 */
#if !defined(tsr_gemm)
#error "the port does not define the main loop"
#endif

/**
 * Adds one part of a product to `acc`, for loops that tsr_gemm does not fit.
 * Set `acc` to zero before the first part. Here k0 and k1 need not be multiples
 * of the tile's K.
 *
 * Called by:  as tsr_gemm.
 */
TSR_DEV_FRAG void tsr_gemm_mainloop(tsr_coop_t *coop, tsr_frag_t *acc, tsr_view_t a, tsr_view_t b,
				    tsr_part_t part, tsr_gate_fn gate, const void *ctx);

#endif
