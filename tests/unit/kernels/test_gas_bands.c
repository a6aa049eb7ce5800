/*
 * Bands of GEMM + all-scatter: each is whole rows of tiles, all of them once,
 * and there are not too many.
 */
#include <criterion/criterion.h>

#include "kernels/gemm_all_scatter/plan.h"
#include "tessera/dev.h"

/** The tasks of every band are the tiles of its rows. */
static void walk(const gas_bands_t *bands)
{
	int64_t row = 0;
	for (int band = 0; band < bands->count; band++) {
		const int64_t begin = gas_band_begin(bands, band),
			      end = gas_band_begin(bands, band + 1);
		const int64_t below =
			row + bands->rows < bands->tiles_m ? row + bands->rows : bands->tiles_m;
		cr_assert_eq(end - begin, (below - row) * bands->tiles_n);
		for (int64_t task = begin; task < end; task++) {
			const tsr_pos_t at = tsr_grouped_order(task, bands->tiles_m, bands->tiles_n,
							       bands->group);
			cr_assert(at.row >= row && at.row < below,
				  "task %lld of band %d is in row %lld, not in %lld .. %lld",
				  (long long)task, band, (long long)at.row, (long long)row,
				  (long long)below - 1);
		}
		row = below;
	}
	cr_assert_eq(row, bands->tiles_m);
	cr_assert_eq(gas_band_begin(bands, bands->count), bands->tiles_m * bands->tiles_n);
}

Test(gas_bands, are_whole_rows_and_not_too_many)
{
	for (int64_t m = 1; m < 140; m += 1 + m / 9)
		for (int64_t n = 1; n < 40; n += 1 + n / 3)
			for (int64_t blocks = 1; blocks < 300; blocks += 1 + blocks / 2)
				for (int64_t wanted = 1; wanted <= GAS_BANDS; wanted++) {
					const gas_bands_t bands = gas_bands(m, n, 6, blocks, wanted,
									    (m + n + wanted) % 2);
					cr_assert(bands.count >= 1 && bands.count <= GAS_BANDS &&
							  bands.group >= 1,
						  "%d bands", bands.count);
					cr_assert(wanted > 1 || bands.count == 1);
					walk(&bands);
				}
}

/*
 * One row of tiles more, and a band would take a second round for a few tiles:
 * 8192 cubed on four GPUs, tiles of 128 x 256.
 */
Test(gas_bands, fit_into_rounds)
{
	const gas_bands_t bands = gas_bands(64, 8, 6, 132, 7, false);
	cr_assert(bands.rows * bands.tiles_n <= 132 && (bands.rows + 2) * bands.tiles_n >= 132,
		  "%d rows", (int)bands.rows);
}

Test(gas_bands, of_no_columns_are_one)
{
	const gas_bands_t bands = gas_bands(64, 0, 6, 132, 7, false);
	cr_assert_eq(bands.count, 1);
	cr_assert_eq(gas_band_begin(&bands, 1), 0);
}

Test(gas_bands, are_as_many_as_were_asked_for)
{
	for (int64_t wanted = 1; wanted <= GAS_BANDS; wanted++) {
		const gas_bands_t bands = gas_bands(64, 8, 6, 132, wanted, true);
		/* No division of 64 rows into bands of one height makes 9. */
		cr_assert_eq(bands.count, wanted == 9 ? 8 : wanted, "%d bands of %d", bands.count,
			     (int)wanted);
	}
}
