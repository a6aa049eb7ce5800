/*
 * How the CUDA port deals fragments to the lanes of warps that multiply them,
 * run on the CPU: its index functions, with an emulation of the instruction by
 * its published layout, over random whole numbers, against the plain product.
 */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/dev/lanes.h"
#include "tessera/random.h"

typedef struct tile_case {
	int m, n, k, warps;
} tile_case_t;

/* Tiles that grids of warps divide, and some that they do not. */
static const tile_case_t cases[] = {
	{64, 64, 64, 8}, {64, 64, 64, 4},  {64, 64, 64, 16}, {64, 64, 64, 32}, {32, 64, 32, 8},
	{16, 16, 16, 8}, {16, 16, 16, 32}, {80, 24, 32, 8},  {48, 24, 48, 8},  {33, 17, 16, 8},
	{8, 12, 32, 4},  {1, 1, 16, 8},    {128, 64, 32, 8}, {16, 128, 64, 4}, {200, 8, 16, 8},
	{8, 200, 16, 8}, {64, 48, 80, 8},
};
enum { CASES = sizeof cases / sizeof *cases, LANES = 32, MOST = 1 << 15 };

typedef struct products {
	tsr_cuda_lanes_t l;
	int a[200 * 128], b[128 * 200]; /* row-major: M x K, K x N */
} products_t;

/*
 * ---- the instruction, as PTX ISA 8.0 draws it in section 9.7.14.5.8: words
 * are pairs of 16 bits
 */

static void instruction(int (*a)[4][2], int (*b)[2][2], int (*sums)[4])
{
	int matrix_a[16][16], matrix_b[16][8];
	for (int lane = 0; lane < LANES; lane++)
		for (int half = 0; half < 2; half++) {
			for (int word = 0; word < 4; word++)
				matrix_a[lane / 4 + word % 2 * 8]
					[lane % 4 * 2 + half + word / 2 * 8] = a[lane][word][half];
			for (int word = 0; word < 2; word++)
				matrix_b[lane % 4 * 2 + half + word * 8][lane / 4] =
					b[lane][word][half];
		}
	for (int lane = 0; lane < LANES; lane++)
		for (int reg = 0; reg < 4; reg++)
			for (int k = 0; k < 16; k++)
				sums[lane][reg] += matrix_a[lane / 4 + reg / 2 * 8][k] *
						   matrix_b[k][lane % 4 * 2 + reg % 2];
}

/* ---- what a lane holds: of what lies past the tile's edge, anything */

static int element(const int *matrix, int rows, int cols, int row, int col)
{
	return row < rows && col < cols ? matrix[row * cols + col] : 1 << 10;
}

static int held_a(const products_t *p, int thread, int i)
{
	return element(p->a, p->l.m, p->l.k, tsr_cuda_a_row(p->l, thread, i),
		       tsr_cuda_a_k(p->l, thread, i));
}

static int held_b(const products_t *p, int thread, int i, bool transposed)
{
	const int k = transposed ? tsr_cuda_bt_k(p->l, thread, i) : tsr_cuda_b_k(p->l, thread, i);
	return element(p->b, p->l.k, p->l.n, k,
		       transposed ? tsr_cuda_bt_col(p->l, thread, i)
				  : tsr_cuda_b_col(p->l, thread, i));
}

/** The products of one warp's block, in the words that dot.h takes. */
static void multiply_block(const products_t *p, int warp, int m, int n, bool transposed,
			   int (*sums)[4])
{
	const tsr_cuda_lanes_t l = p->l;
	for (int run = 0; run < tsr_cuda_runs(l); run++)
		for (int pair = 0; pair < l.run / 2; pair += 2) {
			int a[LANES][4][2], b[LANES][2][2];
			for (int lane = 0; lane < LANES; lane++)
				for (int half = 0; half < 2; half++) {
					const int thread = warp * LANES + lane;
					for (int word = 0; word < 4; word++)
						a[lane][word][half] =
							held_a(p, thread,
							       tsr_cuda_a_at(l, m, run, word % 2,
									     2 * (pair +
										  word / 2)) +
								       half);
					for (int word = 0; word < 2; word++) {
						const int j = 2 * (pair + word);
						const int at =
							transposed ? tsr_cuda_bt_at(l, n, run, j)
								   : tsr_cuda_b_at(l, n, run, j);
						b[lane][word][half] =
							held_b(p, thread, at + half, transposed);
					}
				}
			instruction(a, b, sums);
		}
}

/** How many elements of the tile are wrong, or are held by no thread, or by two. */
static int wrong_elements(const products_t *p, bool transposed)
{
	const tsr_cuda_lanes_t l = p->l;
	int wrong = 0, *times = (int *)calloc((size_t)(l.m * l.n), sizeof *times);
	for (int warp = 0; warp < l.warps_m * l.warps_n; warp++)
		for (int block = 0; block < l.blocks_m * l.blocks_n; block++) {
			const int m = block / l.blocks_n, n = block % l.blocks_n;
			int sums[LANES][4] = {{0}};
			multiply_block(p, warp, m, n, transposed, sums);
			for (int i = 0; i < LANES * 4; i++) {
				const int thread = warp * LANES + i / 4,
					  at = tsr_cuda_sum_at(l, m, n) + i % 4;
				const int row = tsr_cuda_sum_row(l, thread, at),
					  col = tsr_cuda_sum_col(l, thread, at);
				int want = 0;
				for (int k = 0; k < l.k && row < l.m && col < l.n; k++)
					want += p->a[row * l.k + k] * p->b[k * l.n + col];
				if (row < l.m && col < l.n)
					wrong += sums[i / 4][i % 4] != want ||
						 times[row * l.n + col]++ != 0;
			}
		}
	for (int i = 0; i < l.m * l.n; i++)
		wrong += times[i] != 1;
	free(times);
	return wrong;
}

Test(cuda_lanes, products_by_the_published_layout_are_right)
{
	products_t *p = (products_t *)malloc(sizeof *p);
	cr_assert(p != NULL);
	for (int i = 0; i < CASES; i++) {
		const tile_case_t c = cases[i];
		p->l = tsr_cuda_lanes(c.m, c.n, c.k, c.warps, 1 << 10);
		cr_assert(p->l.run > 0 && p->l.warps_m * p->l.warps_n <= c.warps);
		for (int e = 0; e < c.m * c.k; e++)
			p->a[e] = (int)tsr_random_int((uint64_t)(2 * i), (uint64_t)e, -8, 9);
		for (int e = 0; e < c.k * c.n; e++)
			p->b[e] = (int)tsr_random_int((uint64_t)(2 * i + 1), (uint64_t)e, -8, 9);
		cr_expect(wrong_elements(p, false) == 0, "%dx%dx%d by %d warps", c.m, c.n, c.k,
			  c.warps);
		cr_expect(wrong_elements(p, true) == 0, "%dx%dx%d by %d warps, transposed", c.m,
			  c.n, c.k, c.warps);
	}
	free(p);
}

/** What a lane moves at once stands side by side: units of B's and the sums' columns, runs of K. */
Test(cuda_lanes, what_a_lane_moves_stands_side_by_side)
{
	for (int i = 0; i < CASES; i++) {
		const tsr_cuda_lanes_t l =
			tsr_cuda_lanes(cases[i].m, cases[i].n, cases[i].k, cases[i].warps, 1 << 10);
		for (int thread = 0; thread < l.warps_m * l.warps_n * LANES; thread++) {
			for (int j = 0; j < l.run; j++)
				cr_assert(tsr_cuda_a_k(l, thread, j) ==
						  tsr_cuda_a_k(l, thread, 0) + j &&
					  tsr_cuda_bt_k(l, thread, j) ==
						  tsr_cuda_bt_k(l, thread, 0) + j);
			for (int j = 0; j < l.unit; j++) {
				const int b = tsr_cuda_b_at(l, j, 0, 0),
					  even = tsr_cuda_sum_at(l, 0, j), odd = even + 1;
				cr_assert(tsr_cuda_b_col(l, thread, b) ==
					  tsr_cuda_b_col(l, thread, 0) + j);
				cr_assert(tsr_cuda_sum_col(l, thread, even) ==
					  tsr_cuda_sum_col(l, thread, 0) + j);
				cr_assert(tsr_cuda_sum_col(l, thread, odd) ==
					  tsr_cuda_sum_col(l, thread, 0) + l.unit + j);
			}
		}
	}
}

Test(cuda_lanes, operands_that_do_not_fit_the_registers_are_not_held)
{
	const tsr_cuda_lanes_t fits = tsr_cuda_lanes(64, 64, 64, 8, TSR_CUDA_HELD_WORDS);
	cr_expect(fits.run == 8 && fits.warps_m == 4 && fits.warps_n == 2 && fits.unit == 4 &&
		  tsr_cuda_held_words(fits) == 64);
	cr_expect(tsr_cuda_lanes(128, 256, 64, 8, TSR_CUDA_HELD_WORDS).run == 0);
	cr_expect(tsr_cuda_lanes(64, 64, 40, 8, TSR_CUDA_HELD_WORDS).run == 0,
		  "K is no multiple of a step");
}
