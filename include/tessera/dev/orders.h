/*
 * Orders of tiles and of blocks: which one comes when. Pure: any thread, no
 * memory, nothing to wait for.
 */
#ifndef TESSERA_DEV_ORDERS_H
#define TESSERA_DEV_ORDERS_H

#include "tessera/dev/port.h"

/*
 * Each is a bijection for every argument: every tile of the matrix is some
 * index's, and no tile is two's. Indices and tiles are counted from 0,
 * positions are in tiles: row = index of the tile's row. An index or a tile is
 * one of those that there are.
 */

/** How many tiles of `size` cover `extent`. */
TSR_DEV int64_t tsr_tiles(int64_t extent, int64_t size);

/**
 * The `index`-th tile of a matrix of `tiles_m` by `tiles_n` tiles in grouped
 * order: `group` rows of tiles are walked column by column, so that neighbours
 * share operands in cache (group < 1 counts as 1).
 * Source: Iris paper, section 3.4 (GROUP_SIZE_M).
 */
TSR_DEV tsr_pos_t tsr_grouped_order(int64_t index, int64_t tiles_m, int64_t tiles_n, int64_t group);

/** The reverse: the index of the tile `at`. */
TSR_DEV int64_t tsr_grouped_index(tsr_pos_t at, int64_t tiles_m, int64_t tiles_n, int64_t group);

/**
 * A matrix that is cut into `parts` parts of tiles_m by tiles_n tiles, one for
 * each rank, say. Every part is cut into `bands` bands of whole rows of tiles,
 * as near to equal as they come. The order is band by band: the first band of
 * all parts, then the second. Within a band the parts follow each other as in a
 * ring, from part `first` on.
 *
 * So what ranks send each other is spread over the whole product. Where rank r
 * has first = r, it begins with what is its own and comes to what others send
 * later (an all-gather before the product); where it has first = r + 1, it ends
 * each band with what is its own, when the others' shares of it have come (a
 * reduce-scatter behind the product). No two ranks are at one part at a time.
 *
 * parts < 1 counts as 1; bands < 1 as 1, more than tiles_m as tiles_m; `first`
 * is taken modulo parts, also where it is negative.
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
 * The `index`-th tile of all parts: index from 0 to parts * tiles_m * tiles_n -
 * 1. Each band is in grouped order within a part.
 */
TSR_DEV tsr_ring_tile_t tsr_ring_order(int64_t index, const tsr_ring_t *ring, int64_t group);

/** The reverse: the index of the tile `at` of `part`. */
TSR_DEV int64_t tsr_ring_index(tsr_pos_t at, int part, const tsr_ring_t *ring, int64_t group);

/**
 * The first row of tiles of a band, the same in every part. Of the band behind
 *  the last it is tiles_m, so that a band's tiles can be counted:
 *  (tsr_ring_row(ring, band + 1) - tsr_ring_row(ring, band)) * tiles_n.
 */
TSR_DEV int64_t tsr_ring_row(const tsr_ring_t *ring, int band);

/**
 * What the `index`-th of `count` blocks does, counted from 0 to count - 1, on a
 * device that deals its blocks to `chiplets` chiplets in turn: blocks of one
 * chiplet do `chunk` things that follow each other, so that its cache holds
 * what they share. The chunks of all chiplets follow each other too, and share
 * what the device's last cache holds.
 * chiplets < 1 counts as 1. chunk < 1: as many as there are. Where the last
 * chunks are not whole, they are as near to equal as they come.
 * Source: Iris paper, section 3.4 (chiplet_swizzle); without its condition that
 * the chiplets divide the count.
 */
TSR_DEV int64_t tsr_chiplet_order(int64_t index, int64_t count, int chiplets, int64_t chunk);

#endif
