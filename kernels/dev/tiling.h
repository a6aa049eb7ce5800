/*
 * The tiles of a matrix in their order. Positions are in elements, and relative
 * to the matrix. The including unit has declared the tile configuration `tile`.
 */
#ifndef KERNELS_DEV_TILING_H
#define KERNELS_DEV_TILING_H

#include "kernels/dev/tiling_state.h"
#include "tessera/dev.h"

TSR_FN int64_t tiling_count(const tiling_t *t)
{
	return (int64_t)t->tiles_m * t->tiles_n;
}

/** The position of tile `index`. */
TSR_FN tsr_pos_t tiling_at(const tiling_t *t, int64_t index)
{
	tsr_pos_t place = tsr_grouped_order(index, t->tiles_m, t->tiles_n, t->group);
	tsr_pos_t at = {place.row * TSR_TILE_M(tile), place.col * TSR_TILE_N(tile)};
	return at;
}

/** The inverse: the index of the tile at `at`. */
TSR_FN int64_t tiling_index(const tiling_t *t, tsr_pos_t at)
{
	tsr_pos_t place = {(uint32_t)(at.row / TSR_TILE_M(tile)),
			   (uint32_t)(at.col / TSR_TILE_N(tile))};
	return tsr_grouped_index(place, t->tiles_m, t->tiles_n, t->group);
}

#endif
