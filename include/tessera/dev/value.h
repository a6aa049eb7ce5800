/* Value family: between a register tile and my or a peer's memory. */
#ifndef TESSERA_DEV_VALUE_H
#define TESSERA_DEV_VALUE_H

#include "tessera/dev/port.h"

/** An element mask: whether element (row, col) of the view takes part. A TSR_FN. */
typedef int (*tsr_mask_fn)(int64_t row, int64_t col, const void *ctx);

/*
 * For all of them:
 *   Called by:  block or worker; the fragment belongs to the same coop.
 *   Edges:      elements outside the view are not touched in memory; a load gives them `other` (0 where there is none).
 *   Conversion: a float goes to the view's dtype by round to nearest even; integers saturate; loads are exact.
 *   Ordering:   weak accesses, as in dev/pointer.h. Registers of a load are valid on return.
 *   Meetings:   none. An element is loaded and stored by the one thread that holds it: a load and then a store at the same place,
 *               by fragments of one configuration, need no meeting in between; a store and then a load do.
 *   Errors:     as in dev/pointer.h.
 *   Source:     Iris paper, section 3.3.2, Listing 4.
 */

/** Loads the tile at `at` of `peer`'s copy of `view`. */
TSR_DEV_FRAG void tsr_load(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at, int peer);

/** Stores the tile at `at` of `peer`'s copy of `view`. */
TSR_DEV_FRAG void tsr_store(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at, const tsr_frag_t *frag, int peer);

/** Stores the tile at `at` of every rank's copy of `view`, which lies in the heap: the same as a store to each of them, mine first.
 */
TSR_DEV_FRAG void tsr_store_all(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at, const tsr_frag_t *frag);

/** Loads and stores for the elements for which mask(row, col, ctx) is not 0. */
TSR_DEV_FRAG void tsr_load_masked(tsr_coop_t *coop, tsr_frag_t *frag, tsr_view_t view, tsr_pos_t at, tsr_mask_fn mask,
				  const void *ctx, double other, int peer);
TSR_DEV_FRAG void tsr_store_masked(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at, const tsr_frag_t *frag, tsr_mask_fn mask,
				   const void *ctx, int peer);

/**
 * Between one value a row and a column of `peer`'s copy of `view`: rows[i] and element (at.row + i, at.col). A vector is a view of
 * one column, whose rows are 1 apart: tsr_view(data, dtype, length, 1, 1). Rows outside the view are not touched in memory, and are
 * 0 when loaded.
 */
TSR_DEV_ROWS void tsr_rows_load(tsr_coop_t *coop, tsr_rows_t *rows, tsr_view_t view, tsr_pos_t at, int peer);
TSR_DEV_ROWS void tsr_rows_store(tsr_coop_t *coop, tsr_view_t view, tsr_pos_t at, const tsr_rows_t *rows, int peer);

#endif
