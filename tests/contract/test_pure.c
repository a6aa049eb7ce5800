/*
 * Pure functions of the device API, which are the same everywhere: called here
 * as the CPU's code that they are.
 */
#include <string.h>

#include <criterion/criterion.h>

#include "tessera/dev.h"

Test(pure, grouped_order_is_a_bijection)
{
	for (int64_t m = 1; m <= 7; m++)
		for (int64_t n = 1; n <= 6; n++)
			for (int64_t group = -1; group <= 9; group++) {
				char seen[7][6] = {{0}};
				for (int64_t i = 0; i < m * n; i++) {
					tsr_pos_t at = tsr_grouped_order(i, m, n, group);
					cr_assert(at.row >= 0 && at.row < m && at.col >= 0 &&
						  at.col < n);
					cr_assert_eq(tsr_grouped_index(at, m, n, group), i,
						     "tile %d of %d x %d in groups of %d", (int)i,
						     (int)m, (int)n, (int)group);
					cr_expect(seen[at.row][at.col]++ == 0,
						  "%d x %d tiles in groups of %d: tile twice",
						  (int)m, (int)n, (int)group);
				}
			}
	cr_expect_eq(tsr_grouped_order(1, 4, 4, 2).row, 1, "a group is walked column by column");
	cr_expect_eq(tsr_grouped_order(2, 4, 4, 2).col, 1, "then its next column follows");
}

/*
 * ---- rings: every tile of every part has one index, and the order is band by
 * band, part by part, in grouped order
 */

enum { PARTS = 5, ROWS = 7, COLS = 3 };

typedef struct walk {
	tsr_ring_t ring;
	int64_t group;
	char seen[PARTS][ROWS][COLS];
} walk_t;

/** Bands, parts and rows that a ring's numbers stand for. */
static int64_t bands_of(const tsr_ring_t *ring)
{
	return ring->bands < 1 ? 1 : ring->bands > ring->tiles_m ? ring->tiles_m : ring->bands;
}

static int parts_of(const tsr_ring_t *ring)
{
	return ring->parts < 1 ? 1 : ring->parts;
}

/** What comes `index`-th, found by counting. */
static tsr_ring_tile_t counted(const walk_t *walk, int64_t index)
{
	const tsr_ring_t *ring = &walk->ring;
	for (int band = 0; band < bands_of(ring); band++)
		for (int step = 0; step < parts_of(ring); step++) {
			const int64_t first = tsr_ring_row(ring, band),
				      rows = tsr_ring_row(ring, band + 1) - first;
			if (index < rows * ring->tiles_n) {
				const int part =
					((ring->first + step) % parts_of(ring) + parts_of(ring)) %
					parts_of(ring);
				tsr_pos_t at =
					tsr_grouped_order(index, rows, ring->tiles_n, walk->group);
				at.row += first;
				return (tsr_ring_tile_t){at, part, band};
			}
			index -= rows * ring->tiles_n;
		}
	return (tsr_ring_tile_t){{-1, -1}, -1, -1};
}

static bool walks(walk_t *walk)
{
	const tsr_ring_t *ring = &walk->ring;
	const int64_t tiles = parts_of(ring) * ring->tiles_m * ring->tiles_n;
	memset(walk->seen, 0, sizeof walk->seen);
	for (int64_t i = 0; i < tiles; i++) {
		const tsr_ring_tile_t tile = tsr_ring_order(i, ring, walk->group),
				      want = counted(walk, i);
		if (tile.at.row != want.at.row || tile.at.col != want.at.col ||
		    tile.part != want.part || tile.band != want.band)
			return false;
		if (tile.at.row >= ring->tiles_m || tile.at.col >= ring->tiles_n ||
		    tile.part >= parts_of(ring))
			return false;
		if (walk->seen[tile.part][tile.at.row][tile.at.col]++ != 0)
			return false;
		if (tsr_ring_index(tile.at, tile.part, ring, walk->group) != i)
			return false;
	}
	return true;
}

Test(pure, ring_order_is_a_bijection)
{
	walk_t walk;
	for (int parts = 0; parts <= PARTS; parts++)
		for (int m = 1; m <= ROWS; m++)
			for (int n = 1; n <= COLS; n++)
				for (int bands = -1; bands <= ROWS + 1; bands++)
					for (int first = -PARTS; first <= 2 * PARTS; first++)
						for (int group = 0; group <= 3; group++) {
							walk.ring = (tsr_ring_t){m, n, parts, bands,
										 first};
							walk.group = group;
							cr_assert(walks(&walk),
								  "%d parts of %d x %d, %d bands "
								  "from %d in groups of %d",
								  parts, m, n, bands, first, group);
						}
}

Test(pure, bands_cover_the_rows_evenly)
{
	for (int64_t m = 1; m <= 40; m++)
		for (int bands = 1; bands <= m; bands++) {
			const tsr_ring_t ring = {m, 1, 1, bands, 0};
			cr_expect_eq(tsr_ring_row(&ring, 0), 0);
			cr_expect_eq(tsr_ring_row(&ring, bands), m);
			for (int band = 0; band < bands; band++) {
				int64_t rows =
					tsr_ring_row(&ring, band + 1) - tsr_ring_row(&ring, band);
				cr_expect(rows == m / bands || rows == tsr_tiles(m, bands),
					  "band %d of %d has %d of %d rows", band, bands, (int)rows,
					  (int)m);
			}
		}
}

Test(pure, rings_of_nothing_and_of_much)
{
	const tsr_ring_t none = {0, 4, 2, 1, 1},
			 much = {INT64_C(1) << 30, INT64_C(1) << 20, 1000, 1 << 20, 999};
	const tsr_pos_t origin = {0, 0};
	cr_expect(tsr_ring_order(0, &none, 1).at.row == 0 &&
		  tsr_ring_index(origin, 0, &none, 1) == 0 && tsr_ring_row(&none, 1) == 0);
	for (uint64_t i = 0; i < 1000; i++) {
		const int64_t index =
			(int64_t)(i * UINT64_C(0x9e3779b97f4a7c15) >> 1) % (INT64_C(1000) << 50);
		const tsr_ring_tile_t tile = tsr_ring_order(index, &much, 8);
		cr_expect(tile.at.row < much.tiles_m && tile.at.col < much.tiles_n &&
			  tile.part < much.parts);
		cr_expect_eq(tsr_ring_index(tile.at, tile.part, &much, 8), index);
	}
}

/* ---- chiplets */

enum { BLOCKS = 60 };

/** Which work the blocks of each chiplet do, for as long as they all have a chunk to do. */
static void check_chunks(int count, int chiplets, int chunk)
{
	for (int i = 0; i + chiplets < count / (chiplets * chunk) * chiplets * chunk; i++) {
		const int64_t work = tsr_chiplet_order(i, count, chiplets, chunk);
		/* of its chunk; the next is behind those of the others */
		const bool last = i / chiplets % chunk == chunk - 1;
		cr_expect_eq(tsr_chiplet_order(i + chiplets, count, chiplets, chunk),
			     last ? work + 1 + (int64_t)(chiplets - 1) * chunk : work + 1,
			     "block %d of %d, %d chiplets, chunks of %d", i, count, chiplets,
			     chunk);
	}
}

Test(pure, chiplet_order_is_a_bijection)
{
	for (int count = 1; count <= BLOCKS; count++)
		for (int chiplets = -1; chiplets <= BLOCKS + 1; chiplets++)
			for (int chunk = -1; chunk <= BLOCKS + 1; chunk++) {
				char seen[BLOCKS] = {0};
				for (int i = 0; i < count; i++) {
					const int64_t work =
						tsr_chiplet_order(i, count, chiplets, chunk);
					cr_assert(work >= 0 && work < count,
						  "block %d of %d, %d chiplets, chunks of %d: work "
						  "%d",
						  i, count, chiplets, chunk, (int)work);
					cr_assert(seen[work]++ == 0,
						  "%d blocks, %d chiplets, chunks of %d: work %d "
						  "twice",
						  count, chiplets, chunk, (int)work);
				}
				if (chiplets >= 1 && chunk >= 1)
					check_chunks(count, chiplets, chunk);
			}
	cr_expect_eq(tsr_chiplet_order(0, 0, 8, 4), 0);
}

Test(pure, a_chiplet_does_what_follows_each_other)
{
	/* 304 blocks on 8 chiplets, and 300, which 8 does not divide: with whole shares every
	 * chiplet does one run of 37 or 38. */
	for (int64_t count = 300; count <= 304; count += 4)
		for (int64_t i = 0; i + 8 < count; i++)
			cr_expect_eq(tsr_chiplet_order(i + 8, count, 8, 0),
				     tsr_chiplet_order(i, count, 8, 0) + 1);
	cr_expect_eq(tsr_chiplet_order(INT64_MAX / 2, INT64_MAX / 2 + 1, 8, 36), INT64_MAX / 2);
}

Test(pure, a_whole_part_has_all_of_k)
{
	const tsr_pos_t at = {3, 5};
	const tsr_part_t part = tsr_whole(at);
	cr_expect(part.at.row == 3 && part.at.col == 5 && part.k0 == 0 && part.k1 == INT64_MAX);
}

Test(pure, tiles_cover)
{
	cr_expect_eq(tsr_tiles(0, 16), 0);
	cr_expect_eq(tsr_tiles(1, 16), 1);
	cr_expect_eq(tsr_tiles(16, 16), 1);
	cr_expect_eq(tsr_tiles(17, 16), 2);
	cr_expect_eq(tsr_tiles(INT64_MAX, 1), INT64_MAX);
}
