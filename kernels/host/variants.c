#include "kernels/host/variants.h"

#include <stdio.h>
#include <string.h>

void variant_name(tsr_dtype_t dtype, tile_size_t tile, char name_out[VARIANT_NAME])
{
	(void)snprintf(name_out, VARIANT_NAME, "%s_%dx%dx%d", tsr_dtype_name(dtype), tile.m, tile.n, tile.k);
}

bool variant_at(int *index, const char *name, tsr_dtype_t dtype, tile_size_t *tile_out)
{
	const tsr_kernel_t *kernel;
	while ((kernel = tsr_kernel_at((*index)++)) != NULL) {
		tile_size_t tile;
		char variant[VARIANT_NAME];
		const char *extents = strchr(kernel->variant, '_');
		if (strcmp(kernel->name, name) != 0 || !extents || sscanf(extents, "_%dx%dx%d", &tile.m, &tile.n, &tile.k) != 3)
			continue;
		variant_name(dtype, tile, variant);
		if (strcmp(kernel->variant, variant) != 0)
			continue;
		*tile_out = tile;
		return true;
	}
	return false;
}

void variant_list(const char *kernel, tsr_dtype_t dtype, char *list, size_t size)
{
	tile_size_t tile;
	size_t used = 0;
	list[0] = '\0';
	for (int index = 0; used < size && variant_at(&index, kernel, dtype, &tile);)
		used += (size_t)snprintf(list + used, size - used, "%s%dx%dx%d", used ? ", " : "", tile.m, tile.n, tile.k);
}

bool variant_fits(const tsr_kernel_t *kernel, const tsr_device_props_t *device)
{
	return kernel->shared_bytes <= device->shared_bytes && (int)kernel->workers <= device->workers_per_block;
}

tsr_status_t variant_find(const char *name, tsr_dtype_t dtype, tile_size_t tile, const tsr_device_props_t *device,
			  const tsr_kernel_t **kernel_out)
{
	char variant[VARIANT_NAME];
	variant_name(dtype, tile, variant);
	const tsr_kernel_t *kernel = tsr_kernel_find(name, variant);
	if (!kernel)
		return tsr_error(TSR_ERR_NOT_FOUND, "kernel %s is not built for %s", name, variant);
	if (!variant_fits(kernel, device))
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "kernel %s for %s needs %s of shared memory and %u workers a block, and %s has %s and %d; use a "
				 "smaller tile",
				 name, variant, TSR_SIZE(kernel->shared_bytes), kernel->workers, device->name,
				 TSR_SIZE(device->shared_bytes), device->workers_per_block);
	*kernel_out = kernel;
	return TSR_OK;
}
