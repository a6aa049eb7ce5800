/* What the parts of the host half share among themselves. */
#ifndef GEMM_ALL_SCATTER_CONFIG_H
#define GEMM_ALL_SCATTER_CONFIG_H

#include "kernels/gemm_all_scatter/gemm_all_scatter.h"

/** The kernels of a pattern, in the order of their launch. */
typedef struct gas_pattern_kernels {
	const char *name;       /* of the pattern */
	const char *kernels[2]; /* null: none */
	bool sends_apart;       /* some of the blocks only send */
} gas_pattern_kernels_t;

const gas_pattern_kernels_t *gas_pattern_kernels(gas_pattern_t pattern);

/** Whether the pattern's kernels can multiply tiles in parts. */
bool gas_can_divide(gas_pattern_t pattern);

/** The most columns that any rank's share of `n` has: what every rank allocates. */
int64_t gas_largest_share(int64_t n, int ranks);

/** How many tiles cover an extent, which may be 0. */
int64_t gas_tiles(int64_t extent, int tile);

/* What copy engines take at least; a line of caches, and rows that are long beside it. */
enum { GAS_UNIT_BYTES = 16, GAS_LINE_BYTES = 128, GAS_LONG_ROW_BYTES = 1024 };

/** Columns from one row of a plan's matrix to the next, so that rows begin at multiples of a unit, and long ones of a line: a box
 * whose rows begin elsewhere takes lines that it needs little of. 1 where there are no columns. */
int64_t gas_row_pitch(tsr_dtype_t dtype, int64_t cols);

/** How many tiles cover the largest share of C. */
int64_t gas_most_tiles(const gas_config_t *config, gas_tile_size_t tile, int ranks);

enum { GAS_VARIANT_SIZE = 48 };

/** The variant's name, such as "bf16_64x64x32". */
void gas_variant_name(tsr_dtype_t dtype, gas_tile_size_t tile, char name_out[GAS_VARIANT_SIZE]);

/** Walks the tiles that this executable has for a dtype: the next from `*index` on (0 at first). False past the last. */
bool gas_tile_at(int *index, tsr_dtype_t dtype, gas_pattern_t pattern, gas_tile_size_t *tile_out);

/**
 * Fills in the tile: the cheapest that the device is fast at, or else that suits the shape, or the smallest; of those that are
 * built and fit the device. Errors: TSR_ERR_UNSUPPORTED where none does.
 */
tsr_status_t gas_tile_choose(gas_config_t *config, int ranks, const tsr_device_props_t *device);

static inline bool gas_tile_is_automatic(gas_tile_size_t tile)
{
	return tile.m == 0 && tile.n == 0 && tile.k == 0;
}

#endif
