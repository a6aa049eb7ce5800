#include "kernels/host/variants.h"

#include <stdio.h>
#include <string.h>

void variant_name(tsr_dtype_t dtype, tile_size_t tile, char name_out[VARIANT_NAME])
{
	(void)snprintf(name_out, VARIANT_NAME, "%s_%dx%dx%d", tsr_dtype_name(dtype), tile.m, tile.n,
		       tile.k);
}

bool variant_at(int *index, const char *name, tsr_dtype_t dtype, tile_size_t *tile_out)
{
	const tsr_kernel_t *kernel;
	while ((kernel = tsr_kernel_at((*index)++)) != NULL) {
		tile_size_t tile;
		char variant[VARIANT_NAME];
		const char *extents = strchr(kernel->variant, '_');
		if (strcmp(kernel->name, name) != 0 || !extents ||
		    sscanf(extents, "_%dx%dx%d", &tile.m, &tile.n, &tile.k) != 3)
			continue;
		variant_name(dtype, tile, variant);
		if (strcmp(kernel->variant, variant) != 0)
			continue;
		*tile_out = tile;
		return true;
	}
	return false;
}

bool variant_candidate(const char *kernel, tsr_dtype_t dtype, int index, tile_size_t *tile_out)
{
	int at = 0;
	for (int i = 0; i <= index; i++)
		if (!variant_at(&at, kernel, dtype, tile_out))
			return false;
	return true;
}

/**
 * Writes the list of tiles, such as "16x16x16, 64x64x32"; "" if there are none.
 */
static void list(const char *kernel, tsr_dtype_t dtype, char *text, size_t size)
{
	tile_size_t tile;
	size_t used = 0;
	text[0] = '\0';
	for (int index = 0; used < size && variant_at(&index, kernel, dtype, &tile);)
		used += (size_t)snprintf(text + used, size - used, "%s%dx%dx%d", used ? ", " : "",
					 tile.m, tile.n, tile.k);
}

/** Whether it is built for that; where the tile is automatic, for any tile. */
static bool is_built(const char *kernel, tsr_dtype_t dtype, tile_size_t tile)
{
	char variant[VARIANT_NAME];
	if (tile_is_automatic(tile))
		return variant_candidate(kernel, dtype, 0, &tile);
	variant_name(dtype, tile, variant);
	return tsr_kernel_find(kernel, variant) != NULL;
}

tsr_status_t variant_check(const char *workload, const char *kernel, tsr_dtype_t dtype,
			   tile_size_t tile)
{
	char built[256];
	if (is_built(kernel, dtype, tile))
		return TSR_OK;
	list(kernel, dtype, built, sizeof built);
	if (built[0] == '\0')
		return tsr_error(TSR_ERR_NOT_FOUND,
				 "%s is not built for dtype %s; use bf16, f16 or f32", workload,
				 tsr_dtype_name(dtype));
	return tsr_error(TSR_ERR_NOT_FOUND,
			 "tile %dx%dx%d (MxNxK) is not built for %s; built are %s", tile.m, tile.n,
			 tile.k, tsr_dtype_name(dtype), built);
}

bool variant_fits(const tsr_kernel_t *kernel, const tsr_device_props_t *device)
{
	return kernel->shared_bytes <= device->shared_bytes &&
	       (int)kernel->workers <= device->workers_per_block;
}

tsr_status_t variant_find(const char *name, tsr_dtype_t dtype, tile_size_t tile,
			  const tsr_device_props_t *device, const tsr_kernel_t **kernel_out)
{
	char variant[VARIANT_NAME];
	variant_name(dtype, tile, variant);
	const tsr_kernel_t *kernel = tsr_kernel_find(name, variant);
	if (!kernel)
		return tsr_error(TSR_ERR_NOT_FOUND, "kernel %s is not built for %s", name, variant);
	if (!variant_fits(kernel, device))
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "kernel %s for %s needs %s of shared memory and %u workers a "
				 "block, and %s has %s and %d; use a "
				 "smaller tile",
				 name, variant, TSR_SIZE(kernel->shared_bytes), kernel->workers,
				 device->name, TSR_SIZE(device->shared_bytes),
				 device->workers_per_block);
	*kernel_out = kernel;
	return TSR_OK;
}
