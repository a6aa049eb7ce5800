/* Value family: moves tiles between registers and my or a peer's memory. */
#ifndef TESSERA_DEV_VALUE_H
#define TESSERA_DEV_VALUE_H

#include "tessera/dev/port.h"
#include "tessera/dev/tile.h"

/**
 * An element mask: returns whether element (row, col) of the view takes part. A
 * TSR_FN.
 */
typedef int (*tsr_mask_fn)(int64_t row, int64_t col, const void *ctx);

/*
 * For all of them:
 *   Called by:  block or worker; the fragment belongs to the same coop.
 *   Edges:      elements outside the view are not accessed in memory; a load
 *               sets them to `other` (0 in calls without it).
 *   Conversion: floats are rounded to nearest even in the view's dtype;
 *               integers saturate; loads are exact.
 *   Ordering:   weak accesses, as in dev/pointer.h. The registers of a load are
 *               valid on return.
 *   Meetings:   none. A load, then a store at the same place by fragments of
 *               one configuration and one kind, need no meeting between them: a
 *               thread stores what it has loaded itself, or waits for the
 *               threads that have loaded it. A store, then a load, need one.
 *   Errors:     as in dev/pointer.h.
 *   Source:     Iris paper, section 3.3.2, Listing 4.
 */

/** Loads the tile at `at` of `peer`'s copy of `view`. */
TSR_DEV_FRAG void tsr_load(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
			   int peer);

/** Stores the tile at `at` of `peer`'s copy of `view`. */
TSR_DEV_FRAG void tsr_store(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at, const tsr_frag_t *frag,
			    int peer);

/**
 * Stores the tile at `at` of every rank's copy of `view`, which is in the heap.
 * The result is that of a store to each rank, mine first.
 */
TSR_DEV_FRAG void tsr_store_all(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
				const tsr_frag_t *frag);

/**
 * Adds the tile at `at` to that of `peer`'s copy of `view`, which is in the
 * heap and has elements of f32, f16 or bf16. Any number of ranks, blocks and
 * workers may add to one tile at the same time: no addend is lost.
 *
 * Result:     each addend is rounded to the view's dtype, and so is each sum.
 *             The order of the additions is not fixed: if sums are rounded, two
 *             runs may differ in their last bits. A device may treat subnormal
 *             numbers as 0.
 * Ordering:   each element is one relaxed read-modify-write at system scope. It
 *             does not race with other adds or atomics on the element, but it
 *             does with plain loads and stores. So put a signal and a wait
 *             between the stores that clear the tile and the first add, and
 *             between the last add and the reads of the sum. An element cannot
 *             be waited for like a flag.
 * Completion: as in dev/pointer.h.
 * Cost:       one add for each 16 bytes if rows of the tile begin at multiples
 *             of 16 bytes: to a peer on H200 that reaches 0.90 of the rate of
 *             stores (331 of 367 GB/s). Otherwise one for each element, or pair
 *             of 16-bit elements: several times as long.
 * Errors:     as for all of this family; also a view of another dtype, or of
 *             shared memory.
 * Litmus:     CoINC.rlx.diffGPU-ss (no addend is lost), MP.count.diffGPU-sss (a
 *             rank that reads the sum behind all signals).
 * Source:     ParallelKittens, section 3.2.2 (store_add_async), for tiles in
 *             registers.
 */
TSR_DEV_FRAG void tsr_store_add(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
				const tsr_frag_t *frag, int peer);

/**
 * Reduce the tile at `at` of all ranks' copies of `view`, which is in the heap.
 * tsr_reduce leaves each element's sum, maximum or minimum over all ranks in
 * the accumulator `frag`. tsr_all_reduce also stores the result at the tile's
 * place on every rank. One coop does this for one tile; the other ranks do
 * nothing for it, and need not run.
 *
 * Called by:  block or worker; no other rank may reduce the same elements at
 *             the same time. As many tiles are reduced at once as coops make
 *             the call. If each rank reduces its share of the tiles, the result
 *             is an all-reduce in two steps.
 * Result:     ranks are taken in order, from 0 on. In a team that spans nodes,
 *             each node's members are taken first, in order, and then what the
 *             nodes have, in the order of tsr_world_node: the bits of a sum may
 *             differ from those of the same ranks on one node. Sums are computed in the
 *             fragment's type and rounded once, when they are stored. So the
 *             bits are the same in every run, whoever makes the call.
 *             TSR_REDUCE_MAX and TSR_REDUCE_MIN as in tsr_frag_reduce_rows.
 * Edges:      as for all of this family: elements outside the view are 0 in the
 *             fragment, and are not accessed in memory.
 * Ordering:   weak reads of all ranks' memory, then weak stores to it. Each
 *             rank's stores of its tile need a signal, and this call a wait for
 *             it, before the tile is reduced. Before another rank reads the
 *             stored result, it must wait for a signal that is sent behind this
 *             call.
 * Cost:       each element comes over a link once from every other rank, 16
 *             bytes at a time if rows of the tile begin at multiples of 16
 *             bytes, and goes out once to each.
 * Errors:     as for all of this family; also a view of shared memory. A
 *             fragment that is no accumulator does not compile on GPUs.
 * Litmus:     MP.rel.acq.diffGPU-ss (stored, signalled, reduced),
 *             MP.mcast.diffGPU-sss (the result, for all ranks).
 * Source:     ParallelKittens, section 3.2.2 and appendix C (reduce,
 *             all_reduce), which uses the fabric's own reductions.
 */
TSR_DEV_FRAG void tsr_reduce(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
			     tsr_reduce_t op);
TSR_DEV_FRAG void tsr_all_reduce(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
				 tsr_reduce_t op);

/** Load and store only the elements for which mask(row, col, ctx) is not 0. */
TSR_DEV_FRAG void tsr_load_masked(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
				  tsr_mask_fn mask, const void *ctx, double other, int peer);
TSR_DEV_FRAG void tsr_store_masked(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
				   const tsr_frag_t *frag, tsr_mask_fn mask, const void *ctx,
				   int peer);

/**
 * Move one value for each row between `rows` and a column of `peer`'s copy of
 * `view`: rows[i] and element (at.row + i, at.col). A vector is a view of one
 * column whose rows are 1 element apart: `tsr_view(data, dtype, length, 1, 1)`.
 * Rows outside the view are not accessed in memory; a load sets them to 0.
 */
TSR_DEV_ROWS void tsr_rows_load(tsr_coop_t *coop, tsr_rows_t *rows, tsr_view_t view, tsr_pos_t at,
				int peer);
TSR_DEV_ROWS void tsr_rows_store(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
				 const tsr_rows_t *rows, int peer);

#endif
