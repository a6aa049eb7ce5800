/* Matrices in memory. */
#ifndef TESSERA_DEV_VIEW_H
#define TESSERA_DEV_VIEW_H

#include "tessera/dev/port.h"

/** A matrix in my heap. Any thread. */
TSR_DEV tsr_view_t tsr_view(TSR_HEAP void *data, tsr_dtype_t dtype, int64_t rows, int64_t cols, int64_t ld);

/** A matrix in the block's shared memory. */
TSR_DEV tsr_view_t tsr_view_shared(void *data, tsr_dtype_t dtype, int64_t rows, int64_t cols, int64_t ld);

/**
 * The part of `view` from `at` on, at most `rows` by `cols`, cut at the view's edges (perhaps to nothing).
 * The views of one tile on different ranks are equal, so one serves as my and as the peer's.
 */
TSR_DEV tsr_view_t tsr_view_part(tsr_view_t view, tsr_pos_t at, int64_t rows, int64_t cols);

/** How many tiles of `size` cover `extent`. */
TSR_DEV int64_t tsr_tiles(int64_t extent, int64_t size);

/**
 * The `index`-th tile of a matrix of `tiles_m` by `tiles_n` tiles in grouped order: `group` rows of tiles are walked column by
 * column, so that neighbours share operands in cache. A bijection for every argument (group < 1 counts as 1).
 * The result is in tiles: row = index of the tile's row.
 * Source: Iris paper, section 3.4 (GROUP_SIZE_M).
 */
TSR_DEV tsr_pos_t tsr_grouped_order(int64_t index, int64_t tiles_m, int64_t tiles_n, int64_t group);

/** The reverse: the index of the tile `at`, in tiles, which is one of the matrix's. */
TSR_DEV int64_t tsr_grouped_index(tsr_pos_t at, int64_t tiles_m, int64_t tiles_n, int64_t group);

#endif
