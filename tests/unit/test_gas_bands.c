/* Bands of GEMM + all-scatter: what is put is complete, and all of it is put once. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "kernels/gemm_all_scatter/plan.h"
#include "tessera/dev.h"

enum { MOST = 12 };

typedef struct grid {
	int64_t m, n, group;
	bool computed[MOST][MOST];
	int put[MOST][MOST];
} grid_t;

static void put_parts(grid_t *grid, int64_t first, int64_t end)
{
	gas_part_t parts[GAS_BAND_PARTS];
	const int count = gas_band_parts(grid->m, grid->n, grid->group, first, end, parts);
	for (int p = 0; p < count; p++)
		for (int64_t row = parts[p].at.row; row < parts[p].at.row + parts[p].rows; row++)
			for (int64_t col = parts[p].at.col; col < parts[p].at.col + parts[p].cols; col++) {
				cr_assert(row < grid->m && col < grid->n, "%lld, %lld of %lld x %lld", (long long)row,
					  (long long)col, (long long)grid->m, (long long)grid->n);
				cr_assert(grid->computed[row][col], "%lld, %lld is put before it is computed: tasks %lld .. %lld",
					  (long long)row, (long long)col, (long long)first, (long long)end);
				grid->put[row][col]++;
			}
}

static void walk(int64_t m, int64_t n, int64_t group, int64_t each)
{
	grid_t grid = {.m = m, .n = n, .group = group};
	for (int64_t first = 0; first < m * n; first += each) {
		const int64_t end = first + each < m * n ? first + each : m * n;
		for (int64_t task = first; task < end; task++) {
			const tsr_pos_t at = tsr_grouped_order(task, m, n, group);
			grid.computed[at.row][at.col] = true;
		}
		put_parts(&grid, first, end);
	}
	for (int64_t row = 0; row < m; row++)
		for (int64_t col = 0; col < n; col++)
			cr_assert_eq(grid.put[row][col], 1,
				     "%lld x %lld, groups of %lld, bands of %lld: %lld, %lld is put %d times", (long long)m,
				     (long long)n, (long long)group, (long long)each, (long long)row, (long long)col,
				     grid.put[row][col]);
}

Test(gas_bands, cover_every_tile_once_and_none_too_early)
{
	for (int64_t m = 1; m <= MOST; m++)
		for (int64_t n = 1; n <= MOST; n++)
			for (int64_t group = 0; group <= m + 1; group++)
				for (int64_t each = 1; each <= m * n + 1; each += 1 + each / 3)
					walk(m, n, group, each);
}

Test(gas_bands, of_nothing_have_no_parts)
{
	gas_part_t parts[GAS_BAND_PARTS];
	cr_assert_eq(gas_band_parts(0, 5, 6, 0, 0, parts), 0);
	cr_assert_eq(gas_band_parts(5, 0, 6, 0, 0, parts), 0);
	cr_assert_eq(gas_band_parts(5, 5, 6, 10, 10, parts), 0);
}
