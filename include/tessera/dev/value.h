/* Value family: between a register tile and my or a peer's memory. */
#ifndef TESSERA_DEV_VALUE_H
#define TESSERA_DEV_VALUE_H

#include "tessera/dev/port.h"
#include "tessera/dev/tile.h"

/** An element mask: whether element (row, col) of the view takes part. A TSR_FN. */
typedef int (*tsr_mask_fn)(int64_t row, int64_t col, const void *ctx);

/*
 * For all of them:
 *   Called by:  block or worker; the fragment belongs to the same coop.
 *   Edges:      elements outside the view are not touched in memory; a load
 *               gives them `other` (0 where there is none).
 *   Conversion: a float goes to the view's dtype by round to nearest even;
 *   integers saturate; loads are exact.
 *   Ordering:   weak accesses, as in dev/pointer.h. Registers of a load are
 *               valid on return.
 *   Meetings:   none. A load and then a store at the same place, by fragments
 *               of one configuration and one kind, need no meeting in between:
 *               who stores has loaded, or waits for those who have. A store and
 *               then a load do.
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
 * Stores the tile at `at` of every rank's copy of `view`, which lies in the
 * heap: the same as a store to each of them, mine first.
 */
TSR_DEV_FRAG void tsr_store_all(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
				const tsr_frag_t *frag);

/**
 * Adds the tile at `at` to that of `peer`'s copy of `view`, which lies in the
 * heap and has elements of f32, f16 or bf16. Any number of ranks, blocks and
 * workers may add to one tile at the same time: no addend is lost.
 *
 * Result:     each addend is rounded to the view's dtype, and so is each sum.
 *             The order of the additions is not fixed: where sums are rounded,
 *             two runs may differ in their last bits. A device may take
 *             subnormal numbers as 0.
 * Ordering:   each element is one relaxed read-modify-write at system scope. It
 *             races with no other add and no atomic on the element, but with
 *             plain loads and stores of it: a signal and a wait stand between
 *             what clears the tile and the first add, and between the last add
 *             and what reads the sum. Nobody may wait for an element as for a
 *             flag.
 * Completion: as in dev/pointer.h.
 * Cost:       one add for 16 bytes where rows of the tile begin at multiples of
 *             16 bytes: to a peer on H200 0.90 of the rate of stores (331 of
 *             367 GB/s). Else one for each element, or pair of 16 bits: several
 *             times as long.
 * Errors:     as all of this family; also a view of another dtype, or of shared
 *             memory.
 * Litmus:     CoINC.rlx.diffGPU-ss (no addend is lost), MP.count.diffGPU-sss
 *             (who reads the sum behind all signals).
 * Source:     ParallelKittens, section 3.2.2 (store_add_async), for tiles in
 *             registers.
 */
TSR_DEV_FRAG void tsr_store_add(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
				const tsr_frag_t *frag, int peer);

/**
 * The tile at `at` of all ranks' copies of `view`, which lies in the heap,
 * becomes one: tsr_reduce leaves each element's sum, largest or smallest of all
 * ranks in the accumulator `frag`; tsr_all_reduce stores that at the tile's
 * place on every rank, too. One coop does it for one tile. The other ranks need
 * do nothing, and need not run.
 *
 * Called by:  block or worker, and no other rank for the same elements at the
 *             same time. So many tiles are reduced at once as coops call it:
 *             tiles that are dealt to the ranks make an all-reduce of two
 *             steps.
 * Result:     ranks are taken in order, from 0 on, and sums are made in the
 *             fragment's type and rounded once, when they are stored: the same
 *             bits whoever calls it, and in every run. TSR_REDUCE_MAX and
 *             TSR_REDUCE_MIN as in tsr_frag_reduce_rows.
 * Edges:      as all of this family: elements outside the view are 0 in the
 *             fragment, and not touched in memory.
 * Ordering:   weak reads of all ranks' memory, and weak stores to it behind
 *             them: a signal of each rank and a wait for it stand between what
 *             a rank has stored there and the call, and a signal behind it
 *             before a rank reads what it has stored.
 * Cost:       each element comes over a link once from every other rank, 16
 *             bytes at a time where rows of the tile begin at multiples of 16
 *             bytes, and goes out once to each.
 * Errors:     as all of this family; also a view of shared memory. A fragment
 *             that is no accumulator does not compile on GPUs.
 * Litmus:     MP.rel.acq.diffGPU-ss (stored, signalled, reduced),
 *             MP.mcast.diffGPU-sss (the result, for all).
 * Source:     ParallelKittens, section 3.2.2 and appendix C (reduce,
 *             all_reduce), there by the fabric's own reductions.
 */
TSR_DEV_FRAG void tsr_reduce(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
			     tsr_reduce_t op);
TSR_DEV_FRAG void tsr_all_reduce(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
				 tsr_reduce_t op);

/** Loads and stores for the elements for which mask(row, col, ctx) is not 0. */
TSR_DEV_FRAG void tsr_load_masked(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at,
				  tsr_mask_fn mask, const void *ctx, double other, int peer);
TSR_DEV_FRAG void tsr_store_masked(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
				   const tsr_frag_t *frag, tsr_mask_fn mask, const void *ctx,
				   int peer);

/**
 * Between one value a row and a column of `peer`'s copy of `view`: rows[i] and
 * element (at.row + i, at.col). A vector is a view of one column, whose rows
 * are 1 apart: tsr_view(data, dtype, length, 1, 1). Rows outside the view are
 * not touched in memory, and are 0 when loaded.
 */
TSR_DEV_ROWS void tsr_rows_load(tsr_coop_t *coop, tsr_rows_t *rows, tsr_view_t view, tsr_pos_t at,
				int peer);
TSR_DEV_ROWS void tsr_rows_store(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at,
				 const tsr_rows_t *rows, int peer);

#endif
