/*
 * The variants of a workload's kernels that an executable contains: one for
 * each dtype and tile of its variants.list.
 */
#ifndef KERNELS_HOST_VARIANTS_H
#define KERNELS_HOST_VARIANTS_H

#include <stdbool.h>

#include "tessera/tessera.h"

/** M and N of an output tile, and K of an operand tile. */
typedef struct tile_size {
	int m, n, k;
} tile_size_t;

static inline bool tile_is_automatic(tile_size_t tile)
{
	return tile.m == 0 && tile.n == 0 && tile.k == 0;
}

/** The number of tiles that cover an extent, which may be 0. */
static inline int64_t tiles_of(int64_t extent, int tile)
{
	return extent / tile + (extent % tile != 0);
}

enum { VARIANT_NAME = 48 };

/** The name of a variant, such as "bf16_64x64x32". */
void variant_name(tsr_dtype_t dtype, tile_size_t tile, char name_out[VARIANT_NAME]);

/**
 * Walks the tiles of a kernel's variants for one dtype: writes the next one
 * from `*index` on (0 at first). Returns false past the last.
 */
bool variant_at(int *index, const char *kernel, tsr_dtype_t dtype, tile_size_t *tile_out);

/** The `index`-th of these tiles, for a search. Returns false past the last. */
bool variant_candidate(const char *kernel, tsr_dtype_t dtype, int index, tile_size_t *tile_out);

/**
 * Checks that a variant is built for the dtype, and for the tile unless that is
 * automatic. `workload` is the name for people. Errors: TSR_ERR_NOT_FOUND; the
 * sentence lists what is built.
 */
tsr_status_t variant_check(const char *workload, const char *kernel, tsr_dtype_t dtype,
			   tile_size_t tile);

/** Whether a block of this kernel fits on the device. */
bool variant_fits(const tsr_kernel_t *kernel, const tsr_device_props_t *device);

/**
 * Finds the kernel's variant. Errors: TSR_ERR_NOT_FOUND; TSR_ERR_UNSUPPORTED (a
 * block of the device cannot hold it).
 */
tsr_status_t variant_find(const char *kernel, tsr_dtype_t dtype, tile_size_t tile,
			  const tsr_device_props_t *device, const tsr_kernel_t **kernel_out);

#endif
