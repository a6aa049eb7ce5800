/*
 * Orders of tiles and of blocks. These functions only compute: any thread may
 * call them, they access no memory and never wait.
 */
#ifndef TESSERA_DEV_ORDERS_H
#define TESSERA_DEV_ORDERS_H

#include "tessera/dev/port.h"

/*
 * Each order is a bijection for all arguments: every tile of the matrix has
 * exactly one index. Indices and tiles are counted from 0. Positions are in
 * tiles: row = index of the tile's row. An index or a tile that is passed must
 * exist.
 */

/** The number of tiles of `size` that cover `extent`. */
TSR_DEV int64_t tsr_tiles(int64_t extent, int64_t size);

/**
 * The `index`-th tile of a matrix of `tiles_m` by `tiles_n` tiles in grouped
 * order: each group of `group` rows of tiles is walked column by column, so
 * that neighbours share operands in cache. group < 1 counts as 1.
 * Source:     Iris paper, section 3.4 (GROUP_SIZE_M).
 */
TSR_DEV tsr_pos_t tsr_grouped_order(int64_t index, int64_t tiles_m, int64_t tiles_n, int64_t group);

/** The inverse: the index of the tile `at`. */
TSR_DEV int64_t tsr_grouped_index(tsr_pos_t at, int64_t tiles_m, int64_t tiles_n, int64_t group);

/**
 * An order for a matrix that is cut into `parts` parts of tiles_m by tiles_n
 * tiles, one for each rank, for example. Every part is cut into `bands` bands
 * of whole rows of tiles, as equal as possible. The order goes band by band:
 * first the first band of all parts, then the second. Within a band the parts
 * follow each other as in a ring, from part `first` on.
 *
 * So the data that ranks send each other is spread over the whole product, and
 * no two ranks work on the same part at the same time. With first = r, rank r
 * begins with its own part and reaches the parts of others later, when they
 * have arrived (an all-gather before the product). With first = r + 1, it ends
 * each band with its own part, when the other ranks' contributions have arrived
 * (a reduce-scatter behind the product).
 *
 * parts < 1 counts as 1. bands < 1 counts as 1, and more than tiles_m as
 * tiles_m. `first` is taken modulo parts, also if it is negative.
 */
typedef struct tsr_ring {
	int64_t tiles_m, tiles_n; /* of one part */
	int32_t parts, bands, first;
} tsr_ring_t;

typedef struct tsr_ring_tile {
	tsr_pos_t at; /* in the part */
	int32_t part, band;
} tsr_ring_tile_t;

/**
 * The `index`-th tile of all parts, with index from 0 to
 * `parts * tiles_m * tiles_n - 1`. Within a part, each band is in grouped
 * order.
 */
TSR_DEV tsr_ring_tile_t tsr_ring_order(int64_t index, const tsr_ring_t *ring, int64_t group);

/** The inverse: the index of the tile `at` of `part`. */
TSR_DEV int64_t tsr_ring_index(tsr_pos_t at, int part, const tsr_ring_t *ring, int64_t group);

/**
 * The first row of tiles of a band, which is the same in every part. For the
 * band behind the last one it is tiles_m, so that the tiles of a band can be
 * counted: `(tsr_ring_row(ring, band + 1) - tsr_ring_row(ring, band)) *
 * tiles_n`.
 */
TSR_DEV int64_t tsr_ring_row(const tsr_ring_t *ring, int band);

/**
 * The work item of the `index`-th of `count` blocks, from 0 to count - 1, on a
 * device that assigns its blocks to `chiplets` chiplets in turn. Blocks of one
 * chiplet get `chunk` consecutive items, so that the chiplet's cache holds the
 * data that these items share. The chunks of all chiplets are consecutive too,
 * and share what the device's last-level cache holds.
 * chiplets < 1 counts as 1. chunk < 1: as large as possible. If the last chunks
 * are not whole, they are as equal as possible.
 * Source:     Iris paper, section 3.4 (chiplet_swizzle), without its condition
 *             that the chiplets divide the count.
 */
TSR_DEV int64_t tsr_chiplet_order(int64_t index, int64_t count, int chiplets, int64_t chunk);

#endif
