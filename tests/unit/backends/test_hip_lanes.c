/*
 * How the HIP port deals a tile to the lanes of matrix cores, run on the CPU:
 * its index functions, with an emulation of the instructions by their published
 * layouts, over random whole numbers, against the plain product. And which
 * banks of shared memory the lanes meet in.
 */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hip/dev/attend_lanes.h"
#include "hip/dev/lanes.h"
#include "hip/dev/threads.h"
#include "tessera/random.h"

typedef struct tile_case {
	int m, n, k, element_bytes, waves;
} tile_case_t;

/*
 * Every tile that the project builds with matrix cores, by a block and by a
 * worker, and some that are neither square nor even.
 */
static const tile_case_t cases[] = {
	{128, 256, 64, 2, 4}, {64, 64, 32, 2, 4},  {64, 64, 32, 2, 1}, {32, 32, 16, 2, 4},
	{32, 32, 16, 2, 1},   {16, 16, 16, 2, 1},  {64, 64, 32, 4, 4}, {64, 64, 32, 4, 1},
	{32, 32, 16, 4, 4},   {32, 32, 16, 4, 1},  {16, 16, 16, 4, 1}, {64, 64, 16, 2, 4},
	{32, 128, 64, 2, 4},  {256, 32, 32, 2, 4}, {48, 64, 32, 2, 1}, {64, 96, 48, 2, 4},
};
enum { CASES = sizeof cases / sizeof *cases };

static tsr_hip_lanes_t lanes_of(tile_case_t c)
{
	return tsr_hip_lanes(c.m, c.n, c.k, c.element_bytes, c.waves,
			     c.waves == 1 ? 32 * 1024 / c.element_bytes : 48 * 1024);
}

/*
 * ---- the instructions, as AMD's matrix instruction calculator prints their
 * layouts: one block, `each` elements of K a lane
 */

static int published_k(int edge, int each, int lane, int element)
{
	return each * (lane / edge) + element;
}

static int published_row(int edge, int lane, int reg)
{
	return edge == 32 ? 8 * (reg / 4) % 32 + 4 * (lane / 32) + reg % 4 : 4 * (lane / 16) + reg;
}

/** What one instruction adds: a and b are [lane][element], sums [lane][register]. */
static void instruction(int edge, int each, int (*a)[4], int (*b)[4], int (*sums)[16])
{
	static const int lanes = 64;
	int matrix_a[32][16], matrix_b[16][32], depth = lanes / edge * each;
	for (int lane = 0; lane < lanes; lane++)
		for (int element = 0; element < each; element++) {
			matrix_a[lane % edge][published_k(edge, each, lane, element)] =
				a[lane][element];
			matrix_b[published_k(edge, each, lane, element)][lane % edge] =
				b[lane][element];
		}
	for (int lane = 0; lane < lanes; lane++)
		for (int reg = 0; reg < edge * edge / lanes; reg++)
			for (int k = 0; k < depth; k++)
				sums[lane][reg] += matrix_a[published_row(edge, lane, reg)][k] *
						   matrix_b[k][lane % edge];
}

/* ---- a coop's way through one stage: what gemm.h does, thread after thread */

enum { NOTHING = 1 << 20 }; /* what no operand holds */

/**
 * One operand's half of a stage: `rows` rows, whose elements are `row_step`
 * apart in `of`, those of K `k_step`.
 */
typedef struct half {
	int rows;
	bool along;
	const int *of;
	int row_step, k_step;
} half_t;

/** Lays it as the threads do that load it. False where not every element is laid once. */
static bool lay_half(tsr_hip_lanes_t l, half_t h, int *stage)
{
	const int unit = tsr_hip_unit(l), each = h.along ? unit : unit * TSR_HIP_QUAD;
	const int pieces =
		h.along ? tsr_hip_pieces_along(l, h.rows) : tsr_hip_pieces_across(l, h.rows);
	bool once = true;
	for (int i = 0; i < h.rows * l.depth; i++)
		stage[i] = NOTHING;
	for (int e = 0; e < pieces; e++)
		for (int j = 0; j < each; j++) {
			int row = h.along ? tsr_hip_along_row(l, e)
					  : tsr_hip_across_row(l, h.rows, e) + j / TSR_HIP_QUAD;
			int k = h.along ? tsr_hip_along_k(l, e) : tsr_hip_across_k(l, h.rows, e),
			    i = h.along ? j : j % TSR_HIP_QUAD;
			int *to = stage + tsr_hip_place(l, row, k) + i;
			once = once && to < stage + h.rows * l.depth && *to == NOTHING;
			*to = h.of[row * h.row_step + (k + i) * h.k_step];
		}
	for (int i = 0; i < h.rows * l.depth; i++)
		once = once && stage[i] != NOTHING;
	return once;
}

/** Adds the products of a stage to block (bm, bn) of a wave: sums are [thread][v]. */
static void multiply_block(tsr_hip_lanes_t l, const int *stage, int wave, int bm, int bn, int *sums,
			   int held)
{
	int each = tsr_hip_each(l), first = wave * TSR_HIP_LANES;
	int a[64][4], b[64][4], block[64][16];
	memset(block, 0, sizeof block);
	for (int step = 0; step < l.depth / tsr_hip_step(l); step++)
		for (int part = 0; part < l.run / each; part++) {
			for (int lane = 0; lane < TSR_HIP_LANES; lane++) {
				int thread = first + lane, k = tsr_hip_read_k(l, thread, step);
				int at_a = tsr_hip_place(l, tsr_hip_read_row_a(l, thread, bm), k);
				int at_b = tsr_hip_place(l, tsr_hip_read_col_b(l, thread, bn), k);
				memcpy(a[lane], stage + at_a + part * each,
				       (size_t)each * sizeof **a);
				memcpy(b[lane], stage + l.m * l.depth + at_b + part * each,
				       (size_t)each * sizeof **b);
			}
			instruction(l.edge, each, a, b, block);
		}
	for (int lane = 0; lane < TSR_HIP_LANES; lane++)
		for (int reg = 0; reg < l.edge * l.edge / TSR_HIP_LANES; reg++)
			sums[(first + lane) * held + tsr_hip_held(l, bm, bn, reg)] +=
				block[lane][reg];
}

/**
 * How many elements of the tile are not what the plain product gives, or are
 * held by no thread, or by two.
 */
static int wrong_elements(tsr_hip_lanes_t l, const int *a, const int *b, int k, const int *sums,
			  int held)
{
	int wrong = 0, *times = (int *)calloc((size_t)(l.m * l.n), sizeof *times);
	for (int i = 0; i < l.m * l.n; i++) {
		int thread = i / held, row = tsr_hip_held_row(l, thread, i % held),
		    col = tsr_hip_held_col(l, thread, i % held);
		int want = 0, inside = row >= 0 && row < l.m && col >= 0 && col < l.n;
		for (int j = 0; inside && j < k; j++)
			want += a[row * k + j] * b[j * l.n + col];
		wrong += !inside || sums[i] != want || times[row * l.n + col]++ != 0;
	}
	free(times);
	return wrong;
}

static int *random_matrix(uint64_t seed, int elements)
{
	int *matrix = (int *)malloc((size_t)elements * sizeof *matrix);
	for (int i = 0; i < elements; i++)
		matrix[i] = (int)tsr_random_int(seed, (uint64_t)i, -8, 9);
	return matrix;
}

Test(hip_lanes, products_by_the_published_layouts_are_right)
{
	for (int i = 0; i < 4 * CASES; i++) {
		const bool a_along = i / CASES < 2, b_along = i / CASES % 2 != 0;
		tile_case_t c = cases[i % CASES];
		tsr_hip_lanes_t l = lanes_of(c);
		int held = c.m * c.n / (c.waves * TSR_HIP_LANES);
		cr_assert(l.depth > 0 && c.k % l.depth == 0, "%dx%dx%d is not multiplied", c.m, c.n,
			  c.k);
		int *a = random_matrix((uint64_t)(2 * i), c.m * c.k),
		    *b = random_matrix((uint64_t)(2 * i + 1), c.k * c.n);
		int *stage = (int *)malloc((size_t)((c.m + c.n) * l.depth) * sizeof *stage);
		int *sums = (int *)calloc((size_t)(c.m * c.n), sizeof *sums);
		for (int k = 0; k < c.k; k += l.depth) {
			half_t of_a = {c.m, a_along, a + k, c.k, 1},
			       of_b = {c.n, b_along, b + k * c.n, 1, c.n};
			cr_expect(lay_half(l, of_a, stage) &&
					  lay_half(l, of_b, stage + c.m * l.depth),
				  "%dx%dx%d: a stage is not laid once", c.m, c.n, c.k);
			for (int w = 0; w < c.waves; w++)
				for (int bm = 0; bm < tsr_hip_blocks_m(l); bm++)
					for (int bn = 0; bn < tsr_hip_blocks_n(l); bn++)
						multiply_block(l, stage, w, bm, bn, sums, held);
		}
		cr_expect_eq(wrong_elements(l, a, b, c.k, sums, held), 0,
			     "%dx%dx%d of %d bytes by %d waves", c.m, c.n, c.k, c.element_bytes,
			     c.waves);
		free(a), free(b), free(stage), free(sums);
	}
}

/* What the epilogue relies on: elements that are looked at together lie in the same four rows. */
Test(hip_lanes, elements_held_together_share_four_rows)
{
	for (int i = 0; i < CASES; i++) {
		tsr_hip_lanes_t l = lanes_of(cases[i]);
		int held = l.m * l.n / (cases[i].waves * TSR_HIP_LANES),
		    together = tsr_hip_together(l), wrong = held % together != 0;
		for (int e = 0; e < l.m * l.n; e++) {
			int first = tsr_hip_held_row(l, e / held, e % held / together * together);
			wrong += first % TSR_HIP_QUAD != 0 ||
				 tsr_hip_held_row(l, e / held, e % held) / TSR_HIP_QUAD !=
					 first / TSR_HIP_QUAD;
		}
		cr_expect_eq(wrong, 0, "%dx%d", l.m, l.n);
	}
}

/* ---- banks: which lanes are served together, as ROCm's documentation of composable kernel says */

enum { BANKS = 32, MOST_WORDS = 4 };

/**
 * Turns that `count` lanes take, each with `bytes` at its own address. Lanes
 * that want the same words share them.
 */
static int turns(const int *address, int count, int bytes)
{
	int worst = 0;
	for (int bank = 0; bank < BANKS; bank++) {
		int words[8 * MOST_WORDS], found = 0;
		for (int i = 0; i < count; i++)
			for (int word = address[i] / 4; word < (address[i] + bytes) / 4; word++) {
				bool known = word % BANKS != bank;
				for (int j = 0; j < found && !known; j++)
					known = words[j] == word;
				if (!known)
					words[found++] = word;
			}
		worst = found > worst ? found : worst;
	}
	return worst;
}

/** The lanes of a read of 16 bytes that are served in turn `turn`. */
static int served(int turn, int i)
{
	static const int firsts[4][2] = {{0, 20}, {4, 16}, {8, 28}, {12, 24}};
	return turn / 4 * 32 + firsts[turn % 4][i / 4] + i % 4;
}

static int read_turns(tsr_hip_lanes_t l, bool of_b)
{
	int worst = 0, address[8];
	for (int wave = 0; wave < l.waves_m * l.waves_n; wave++)
		for (int block = 0; block < (of_b ? tsr_hip_blocks_n(l) : tsr_hip_blocks_m(l));
		     block++)
			for (int step = 0; step < l.depth / tsr_hip_step(l); step++)
				for (int turn = 0; turn < 8; turn++) {
					for (int i = 0; i < 8; i++) {
						int thread = wave * TSR_HIP_LANES + served(turn, i);
						int row =
							of_b ? tsr_hip_read_col_b(l, thread, block)
							     : tsr_hip_read_row_a(l, thread, block);
						address[i] = tsr_hip_place(l, row,
									   tsr_hip_read_k(l, thread,
											  step)) *
							     l.element_bytes;
					}
					int here = turns(address, 8, 16);
					worst = here > worst ? here : worst;
				}
	return worst;
}

/**
 * Writes of a half of `rows` rows: 16 bytes by eight lanes in a row where K
 * runs along them, else 128 bytes by neighbours.
 */
static int write_turns(tsr_hip_lanes_t l, int rows, bool along)
{
	int worst = 0, address[16],
	    bytes = along ? TSR_HIP_UNIT_BYTES : TSR_HIP_QUAD * l.element_bytes,
	    count = 128 / bytes;
	int all = along ? tsr_hip_pieces_along(l, rows) : tsr_hip_pieces_across(l, rows);
	for (int first = 0; first + count <= all; first += count)
		for (int j = 0; j < (along ? 1 : tsr_hip_unit(l)); j++) {
			for (int i = 0; i < count; i++) {
				int e = first + i;
				int row = along ? tsr_hip_along_row(l, e)
						: tsr_hip_across_row(l, rows, e) + j;
				int k = along ? tsr_hip_along_k(l, e)
					      : tsr_hip_across_k(l, rows, e);
				address[i] = tsr_hip_place(l, row, k) * l.element_bytes;
			}
			int here = turns(address, count, bytes);
			worst = here > worst ? here : worst;
		}
	return worst;
}

Test(hip_lanes, lanes_served_together_meet_in_no_bank)
{
	for (int i = 0; i < CASES; i++) {
		tsr_hip_lanes_t l = lanes_of(cases[i]);
		if (l.m % 32 || l.n % 32 || (l.depth & (l.depth - 1)) ||
		    l.run * l.element_bytes != TSR_HIP_UNIT_BYTES)
			continue; /* small or uneven: right, if not fast */
		cr_expect_eq(read_turns(l, false), 1, "%dx%d, %d deep: reads of A", l.m, l.n,
			     l.depth);
		cr_expect_eq(read_turns(l, true), 1, "%dx%d, %d deep: reads of B", l.m, l.n,
			     l.depth);
		cr_expect_eq(write_turns(l, l.m, true), 1, "%dx%d, %d deep: writes of rows of A",
			     l.m, l.n, l.depth);
		cr_expect_eq(write_turns(l, l.n, true), 1, "%dx%d, %d deep: writes of columns of B",
			     l.m, l.n, l.depth);
		cr_expect_eq(write_turns(l, l.n, false), 1, "%dx%d, %d deep: writes of rows of B",
			     l.m, l.n, l.depth);
		if (l.m > 32 || l.depth <= 32) /* else too few neighbours for all banks */
			cr_expect_eq(write_turns(l, l.m, false), 1,
				     "%dx%d, %d deep: writes of columns of A", l.m, l.n, l.depth);
	}
}

/* ---- attention */

/** Reads of a step's keys, whose rows lanes take in another order. */
static int key_read_turns(int d)
{
	int worst = 0, address[8];
	for (int block = 0; block < tsr_hip_attend_keys(d) / TSR_HIP_ATTEND_EDGE; block++)
		for (int group = 0; group < d / 16; group++)
			for (int turn = 0; turn < 8; turn++) {
				for (int i = 0; i < 8; i++) {
					int lane = served(turn, i);
					address[i] = tsr_hip_attend_place(
							     d,
							     block * TSR_HIP_ATTEND_EDGE +
								     tsr_hip_key_of_lane(lane),
							     tsr_hip_attend_read(lane, group)) *
						     2;
				}
				int here = turns(address, 8, 16);
				worst = here > worst ? here : worst;
			}
	return worst;
}

Test(hip_lanes, lanes_of_attention_meet_in_no_bank)
{
	for (int d = 64; d <= 128; d += 64) {
		cr_expect_eq(key_read_turns(d), 1, "%d columns: reads of keys", d);
		cr_expect_eq(read_turns(tsr_hip_attend_v(d), false), 1,
			     "%d columns: reads of values", d);
		cr_expect_eq(write_turns(tsr_hip_attend_k(), tsr_hip_attend_k().m, true), 1,
			     "%d columns: writes of keys", d);
		cr_expect_eq(write_turns(tsr_hip_attend_v(d), d, false), 1,
			     "%d columns: writes of values", d);
	}
}

/* All that lanes load of a step is all of it, once, and each key is laid in a place of its own. */
Test(hip_lanes, a_step_of_attention_is_loaded_once)
{
	for (int d = 64; d <= 128; d += 64) {
		static bool keys[TSR_HIP_ATTEND_STEP], places[TSR_HIP_ATTEND_STEP],
			values[TSR_HIP_ATTEND_STEP];
		const tsr_hip_lanes_t l = tsr_hip_attend_v(d);
		int wrong = tsr_hip_pieces_across(l, d) != TSR_HIP_ATTEND_LOADERS;
		memset(keys, 0, sizeof keys);
		memset(places, 0, sizeof places);
		memset(values, 0, sizeof values);
		for (int e = 0; e < TSR_HIP_ATTEND_STEP / 8; e++)
			for (int j = 0; j < 8; j++) {
				int key = tsr_hip_attend_load_key(d, e),
				    col = tsr_hip_attend_load_col(d, e),
				    place = tsr_hip_attend_place(d, key, col) + j;
				wrong += keys[key * d + col + j] || places[place];
				keys[key * d + col + j] = places[place] = true;
			}
		for (int e = 0; e < TSR_HIP_ATTEND_LOADERS; e++)
			for (int j = 0; j < 8 * TSR_HIP_QUAD; j++) {
				int at = (tsr_hip_across_k(l, d, e) + j / 8) * d +
					 tsr_hip_across_row(l, d, e) + j % 8;
				wrong += values[at];
				values[at] = true;
			}
		cr_expect_eq(wrong, 0, "%d columns", d);
	}
}

/*
 * What the second product relies on: the registers of a lane's scores are of the keys
 * that it reads of the values, in their order. And each element of O is held once.
 */
Test(hip_lanes, scores_stay_where_the_second_product_takes_them)
{
	static bool held[TSR_HIP_ATTEND_QUERIES * 128];
	int wrong = 0;
	for (int lane = 0; lane < TSR_HIP_LANES; lane++)
		for (int reg = 0; reg < 16; reg++) {
			int source = published_row(32, lane, reg),
			    key = tsr_hip_key_of_sum(lane, reg);
			wrong += tsr_hip_key_of_lane(source) != key;
			wrong += tsr_hip_attend_read(lane, reg / 8) + reg % 8 != key;
		}
	for (int thread = 0; thread < 256; thread++)
		for (int i = 0; i < 64; i++) {
			int row = tsr_hip_attend_row(thread), col = tsr_hip_attend_col(thread, i);
			wrong += row != thread / 64 * 32 + thread % 32;
			wrong += col != i / 16 * 32 + published_row(32, thread % 64, i % 16);
			wrong += held[row * 128 + col];
			held[row * 128 + col] = true;
		}
	cr_expect_eq(wrong, 0);
}

Test(hip_lanes, other_tiles_of_attention_are_refused)
{
	cr_expect(tsr_hip_attend_takes(128, 128, 64) && tsr_hip_attend_takes(128, 32, 128));
	cr_expect(!tsr_hip_attend_takes(16, 16, 16) && !tsr_hip_attend_takes(16, 64, 128) &&
		  !tsr_hip_attend_takes(128, 32, 64) && !tsr_hip_attend_takes(128, 128, 96) &&
		  !tsr_hip_attend_takes(64, 128, 64));
}

/* Tiles that the matrix cores cannot take are left to the plain main loop. */
Test(hip_lanes, other_tiles_are_refused)
{
	static const tile_case_t none[] = {{16, 16, 16, 2, 4},
					   {33, 17, 5, 4, 4},
					   {32, 48, 32, 2, 4},
					   {128, 256, 64, 2, 1},
					   {64, 64, 5, 2, 4}};
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		cr_expect_eq(lanes_of(none[i]).depth, 0, "%dx%dx%d by %d waves", none[i].m,
			     none[i].n, none[i].k, none[i].waves);
}
