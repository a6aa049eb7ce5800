/* Bands: the division of a rank's rows of tiles into launches. */
#include "kernels/gemm_all_scatter/plan.h"

/**
 * Makes bands of at most `rows` rows of tiles; or of at least `rows`, with
 * `exact` or if there would be more than GAS_BANDS bands.
 */
static void divide(gas_bands_t *bands, int64_t rows, bool exact)
{
	const int64_t groups = rows > bands->group ? (rows + bands->group / 2) / bands->group : 1;
	bands->group = rows / groups;
	if (exact || bands->group * groups * GAS_BANDS < bands->tiles_m)
		bands->group = (rows + groups - 1) / groups;
	bands->rows = bands->group * groups;
	bands->count = (int)((bands->tiles_m - 1) / bands->rows + 1);
}

gas_bands_t gas_bands(int64_t tiles_m, int64_t tiles_n, int64_t group, int64_t blocks,
		      int64_t wanted, bool exact)
{
	gas_bands_t bands = {tiles_m, tiles_n, group, tiles_m, 1};
	const int64_t least = (tiles_m + GAS_BANDS - 1) / GAS_BANDS;
	if (wanted > 1 && tiles_n > 0) {
		const int64_t rounds = (tiles_m * tiles_n + blocks - 1) / blocks;
		const int64_t rows = exact ? (tiles_m + wanted - 1) / wanted
					   : (rounds + wanted - 1) / wanted * blocks / tiles_n;
		divide(&bands, rows > least ? rows : least, exact);
	}
	return bands;
}

/*
 * The band that is computed last is sent last, with nothing left to compute: more
 * bands make it smaller. But each band is one more launch. The sum of both costs
 * is least if the number of bands is the square root of the bytes to send, in
 * units of what a link moves while one launch gives way to the next.
 */
int64_t gas_bands_wanted(const gas_config_t *c, int64_t cols, int ranks, const machine_t *machine)
{
	const double bytes =
		(double)c->m * (double)cols * (double)tsr_dtype_bytes(c->dtype) * (ranks - 1);
	int64_t count = 1;
	if (c->bands > 0)
		return c->bands;
	while (count < GAS_BANDS && (double)(count * count) * machine->launch_gap < bytes)
		count++;
	return count;
}

int64_t gas_band_begin(const gas_bands_t *bands, int band)
{
	const int64_t row = band * bands->rows;
	return (row < bands->tiles_m ? row : bands->tiles_m) * bands->tiles_n;
}
