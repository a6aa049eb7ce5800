/*
 * Bodies that are equal in every port: arithmetic on views and indices, without
 * memory accesses. A port's bodies include this header after the contracts (on
 * the CPU one file of the library does).
 */
#ifndef TESSERA_COMMON_DEV_PURE_H
#define TESSERA_COMMON_DEV_PURE_H

#include "common/dev/views.h"
#include "tessera/dev/coop.h"
#include "tessera/dev/gemm.h"
#include "tessera/dev/orders.h"
#include "tessera/dev/view.h"

TSR_DEV int tsr_peer(const tsr_coop_t *coop, int i)
{
	return (tsr_rank(coop) + i) % tsr_size(coop);
}

TSR_DEV int tsr_role_of(const tsr_coop_t *block, const int32_t *shares, int roles, int *index,
			int *count)
{
	int at = tsr_block_index(block), left = tsr_block_count(block), role = 0, behind = 0;
	for (int i = 1; i < roles; i++)
		behind += shares[i] > 0; /* later roles, for each of which a block is kept */
	for (; role + 1 < roles; role++) {
		const int most = left > behind ? left - behind : 0;
		const int mine = shares[role] < 0 ? 0 : shares[role] < most ? shares[role] : most;
		if (at < mine) {
			left = mine;
			break;
		}
		at -= mine;
		left -= mine;
		behind -= shares[role + 1] > 0;
	}
	*index = at;
	*count = left;
	return role;
}

TSR_DEV tsr_view_t tsr_view(TSR_HEAP void *data, tsr_dtype_t dtype, int64_t rows, int64_t cols,
			    int64_t ld)
{
	tsr_view_t view = {data, rows, cols, ld, (int32_t)dtype, (int32_t)TSR_SPACE_HEAP};
	return view;
}

TSR_DEV tsr_view_t tsr_view_shared(void *data, tsr_dtype_t dtype, int64_t rows, int64_t cols,
				   int64_t ld)
{
	tsr_view_t view = {data, rows, cols, ld, (int32_t)dtype, (int32_t)TSR_SPACE_SHARED};
	return view;
}

TSR_DEV tsr_view_t tsr_view_part(tsr_view_t view, tsr_pos_t at, int64_t rows, int64_t cols)
{
	if (at.row < 0) { /* cut off the part of the tile that lies before the view */
		rows += at.row;
		at.row = 0;
	}
	if (at.col < 0) {
		cols += at.col;
		at.col = 0;
	}
	rows = rows < view.rows - at.row ? rows : view.rows - at.row;
	cols = cols < view.cols - at.col ? cols : view.cols - at.col;
	if (rows <= 0 || cols <= 0) { /* empty: keep the pointer inside */
		view.rows = view.cols = 0;
		return view;
	}
	view.data = (TSR_HEAP unsigned char *)view.data +
		    (at.row * view.ld + at.col) * tsr_element_bytes(view.dtype);
	view.rows = rows;
	view.cols = cols;
	return view;
}

TSR_DEV tsr_view_t tsr_view_cut(tsr_view_t view, tsr_dim_t dim, int part, int parts)
{
	tsr_pos_t at = {0, 0};
	int64_t rows = view.rows, cols = view.cols;
	if (dim == TSR_DIM_ROWS) {
		at.row = tsr_quotient(view.rows * part, parts);
		rows = tsr_quotient(view.rows * (part + 1), parts) - at.row;
	} else {
		at.col = tsr_quotient(view.cols * part, parts);
		cols = tsr_quotient(view.cols * (part + 1), parts) - at.col;
	}
	return tsr_view_part(view, at, rows, cols);
}

TSR_DEV tsr_part_t tsr_whole(tsr_pos_t at)
{
	tsr_part_t part = {at, 0, INT64_MAX, 0};
	return part;
}

TSR_DEV tsr_from_t tsr_from(int a, int b)
{
	tsr_from_t from = {a, b};
	return from;
}

TSR_DEV int64_t tsr_tiles(int64_t extent, int64_t size)
{
	return extent <= 0 ? 0 : tsr_quotient(extent - 1, size) + 1;
}

TSR_DEV tsr_pos_t tsr_grouped_order(int64_t index, int64_t tiles_m, int64_t tiles_n, int64_t group)
{
	tsr_pos_t at = {0, 0};
	if (tiles_m < 1 || tiles_n < 1)
		return at;
	group = group < 1 ? 1 : group > tiles_m ? tiles_m : group;
	/* the group's first row of tiles */
	int64_t before = tsr_quotient(index, group * tiles_n), first = before * group;
	int64_t within = index - first * tiles_n;
	/* the last group may have fewer rows */
	int64_t rows = group < tiles_m - first ? group : tiles_m - first;
	at.col = tsr_quotient(within, rows);
	at.row = first + within - at.col * rows;
	return at;
}

TSR_DEV int64_t tsr_grouped_index(tsr_pos_t at, int64_t tiles_m, int64_t tiles_n, int64_t group)
{
	if (tiles_m < 1 || tiles_n < 1)
		return 0;
	group = group < 1 ? 1 : group > tiles_m ? tiles_m : group;
	int64_t first = tsr_quotient(at.row, group) * group, rest = tiles_m - first;
	return first * tiles_n + at.col * (group < rest ? group : rest) + at.row - first;
}

/** The number of bands of the ring. */
TSR_FN int64_t tsr_ring_bands(const tsr_ring_t *ring)
{
	return ring->bands < 1 ? 1 : ring->bands > ring->tiles_m ? ring->tiles_m : ring->bands;
}

/**
 * The step of a band in which the ring reaches `part`: part - first, modulo
 * parts.
 */
TSR_FN int64_t tsr_ring_step(const tsr_ring_t *ring, int32_t part)
{
	const int32_t parts = ring->parts < 1 ? 1 : ring->parts;
	/* 32-bit remainders, and a difference that is corrected by additions */
	int64_t step = (int64_t)(part % parts) - ring->first % parts;
	step += step < 0 ? parts : 0;
	step += step < 0 ? parts : 0;
	return step < parts ? step : step - parts;
}

TSR_DEV int64_t tsr_ring_row(const tsr_ring_t *ring, int band)
{
	return ring->tiles_m < 1 ? 0 : tsr_quotient(ring->tiles_m * band, tsr_ring_bands(ring));
}

/** The band of a row of tiles: the last one that begins at or before it. */
TSR_FN int tsr_ring_band(const tsr_ring_t *ring, int64_t row)
{
	return (int)tsr_quotient((row + 1) * tsr_ring_bands(ring) - 1, ring->tiles_m);
}

TSR_DEV tsr_ring_tile_t tsr_ring_order(int64_t index, const tsr_ring_t *ring, int64_t group)
{
	tsr_ring_tile_t tile = {{0, 0}, 0, 0};
	if (ring->tiles_m < 1 || ring->tiles_n < 1)
		return tile;
	const int64_t parts = ring->parts < 1 ? 1 : ring->parts;
	tile.band = tsr_ring_band(ring, tsr_quotient(index, parts * ring->tiles_n));
	const int64_t first = tsr_ring_row(ring, tile.band),
		      rows = tsr_ring_row(ring, tile.band + 1) - first;
	const int64_t within = index - first * parts * ring->tiles_n,
		      step = tsr_quotient(within, rows * ring->tiles_n);
	const int64_t part = step + parts - tsr_ring_step(ring, 0); /* less than twice the parts */
	tile.part = (int32_t)(part < parts ? part : part - parts);
	tile.at =
		tsr_grouped_order(within - step * rows * ring->tiles_n, rows, ring->tiles_n, group);
	tile.at.row += first;
	return tile;
}

TSR_DEV int64_t tsr_ring_index(tsr_pos_t at, int part, const tsr_ring_t *ring, int64_t group)
{
	if (ring->tiles_m < 1 || ring->tiles_n < 1)
		return 0;
	const int64_t parts = ring->parts < 1 ? 1 : ring->parts;
	const int band = tsr_ring_band(ring, at.row);
	const int64_t first = tsr_ring_row(ring, band), rows = tsr_ring_row(ring, band + 1) - first;
	at.row -= first;
	return (first * parts + tsr_ring_step(ring, part) * rows) * ring->tiles_n +
	       tsr_grouped_index(at, rows, ring->tiles_n, group);
}

TSR_DEV int64_t tsr_chiplet_order(int64_t index, int64_t count, int chiplets, int64_t chunk)
{
	if (count < 1)
		return 0;
	const int64_t dealt = chiplets < 1 ? 1 : chiplets, most = tsr_tiles(count, dealt);
	const int64_t round = dealt * (chunk < 1 || chunk > most ? most : chunk);
	const int64_t first = tsr_quotient(index, round) * round, within = index - first;
	/* the last round may be smaller */
	const int64_t size = round < count - first ? round : count - first;
	const int64_t turn = tsr_quotient(within, dealt), chiplet = within - turn * dealt;
	/* the first `more` chiplets have one item more */
	const int64_t each = tsr_quotient(size, dealt), more = size - each * dealt;
	return first + chiplet * each + (chiplet < more ? chiplet : more) + turn;
}

#endif
