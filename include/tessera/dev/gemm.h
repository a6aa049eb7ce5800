/*
 * The main loop of a matrix product: the seam for speed. Depth, swizzle,
 * staging and worker roles are the backend's.
 */
#ifndef TESSERA_DEV_GEMM_H
#define TESSERA_DEV_GEMM_H

#include "tessera/dev/port.h"

/** Tasks first, first + step, ... below `end`: a persistent block's share of the tiles. */
typedef struct tsr_tasks {
	int64_t first, step, end;
} tsr_tasks_t;

/**
 * What a task multiplies: for the tile at `at`, in elements of C, columns k0 ..
 * k1-1 of A by those rows of B; k1 is cut at the end of K. Several tasks may
 * share a tile: their fragments' sum is the product (tsr_frag_save,
 * tsr_frag_add).
 */
typedef struct tsr_part {
	/* Within 2^47 of the first element. With dtypes of 16 bits at.col is a multiple of 8 where
	 * B is row-major, and at.row where A is column-major: the copy engine reads 16 bytes at a
	 * time, along the rows of a view. */
	tsr_pos_t at;
	/* multiples of the tile's K, but for a k1 at the end of K or past it; none where they are
	 * the same */
	int64_t k0, k1;
	/* B begins so many rows of the view `b` further on: 0 or more, below 2^31 */
	int64_t b0;
} tsr_part_t;

/*
 * Grouped products: several B of one shape stand below each other in memory,
 * and each task says by b0 which one it multiplies. The view `b` is of the
 * first; its extents are those of each. Rows of A belong to one group after the
 * other, as many as there are: a group's first tile begins at its first row,
 * and its last tile reads rows of the next group too, which its gate has to
 * wait for. The epilogue keeps the group's own rows, by a store to a view that
 * ends with them (tsr_view_part).
 */

/** All of K for the tile at `at`, by `b` itself. Any thread. */
TSR_DEV tsr_part_t tsr_whole(tsr_pos_t at);

/** Task order: what task `task` multiplies. A TSR_FN; no device calls. */
typedef tsr_part_t (*tsr_order_fn)(int64_t task, const void *ctx);

/** The ranks from whose copies A and B are read. */
typedef struct tsr_from {
	int32_t a, b;
} tsr_from_t;

/** These two. Any thread. */
TSR_DEV tsr_from_t tsr_from(int a, int b);

/**
 * Gate: called before the operands of `chunk` are read, a piece of a task:
 * columns k0 .. k1-1 of A and these rows of B, for the tile at chunk.at. It
 * returns the ranks that they are read from, another pair for each chunk if it
 * likes. A TSR_FN. It is called with a coop of its own (the loader): it may
 * wait, read atomics and make fences that acquire, with that coop; it may not
 * sync the block. It waits for whatever stands in the way of both operands.
 * TSR_NO_GATE: nothing to wait for, both are mine.
 */
typedef tsr_from_t (*tsr_gate_fn)(tsr_coop_t *loader, tsr_part_t chunk, const void *ctx);
#define TSR_NO_GATE ((tsr_gate_fn)0)

/*
 * Epilogue: `void epilogue(tsr_coop_t *me, cfg_frag_t *acc, tsr_pos_t at, void
 * *ctx)`, a TSR_FN called with each task's product, in task order. It may map
 * and reduce the fragment, store it to my or a peer's memory or to shared
 * memory, put, signal, wait and make fences with `me`, and keep state of its
 * own in `*ctx`, which order and gate must not read: they may run on other
 * threads, ahead of it. The whole coop finds it there afterwards, if ctx has
 * its own type: what a `void *` points to nobody can copy. Its stores and
 * signals are commands: the backend completes the writes before it signals, or
 * fences.
 *
 * tsr_gemm(cfg, coop, a, b, tasks, order, gate, epilogue, ctx)
 *
 *   For each task, in turn: the part of A * B that is order(task, ctx), edges
 *   cut at the views, then epilogue. A is M x K, B is K x N, both with cfg's
 *   dtype. Where cfg says column-major (TSR_TILE_MAJOR), the view is of the
 *   transpose: `a` is K x M, `b` is N x K. The backend may load operands of the
 *   next task while an epilogue runs.
 *   Called by:  block, but not a wide one, or worker 0 of a split block.
 *   Ordering:   the coop meets before the first operand is read, and behind the
 *               last epilogue. Operands are read by weak accesses after their
 *               gate, perhaps by other threads than the coop's, and a task's
 *               have been read when its epilogue begins; the epilogue's
 *               accesses are the coop's own, and nothing meets between two of
 *               them.
 *   Source:     Iris paper, Listing 2 (with the first K block, which the
 *               listing drops) and Listings 3 to 5.
 */
#if !defined(tsr_gemm)
#error "the port does not define the main loop"
#endif

/**
 * One part, added to `acc` (zero it first): for loops that tsr_gemm does not
 * fit. Here k0 and k1 need be no multiples.
 * Called by: as tsr_gemm.
 */
TSR_DEV_FRAG void tsr_gemm_mainloop(tsr_coop_t *coop, tsr_frag_t *acc, tsr_view_t a, tsr_view_t b,
				    tsr_part_t part, tsr_gate_fn gate, const void *ctx);

#endif
