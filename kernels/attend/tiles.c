#include "kernels/attend/tiles.h"

#include <inttypes.h>
#include <stdio.h>

#include "kernels/attend/params.h"

const char *const attend_mask_names[] = {"full", "causal", NULL};

bool attend_try_tile(const char *kernel, tsr_dtype_t dtype, int64_t dim, int index,
		     workload_value_t *value_out)
{
	tile_size_t tile;
	int at = 0;
	while (variant_at(&at, kernel, dtype, &tile))
		if (tile.k == dim && index-- == 0) {
			*value_out = (workload_value_t){{tile.m, tile.n, tile.k}};
			return true;
		}
	return false;
}

/** "16, 64, 128": the columns of heads for which a kernel is built. */
static void list_dims(const char *kernel, tsr_dtype_t dtype, char *text, size_t bytes)
{
	enum { MOST = 8 };
	tile_size_t tile;
	size_t length = 0;
	int at = 0, dims[MOST], count = 0;
	*text = '\0';
	while (variant_at(&at, kernel, dtype, &tile) && count < MOST) {
		int i = 0;
		while (i < count && dims[i] != tile.k)
			i++;
		if (i < count)
			continue;
		dims[count++] = tile.k;
		length += (size_t)snprintf(text + length, bytes - length, "%s%d",
					   length > 0 ? ", " : "", tile.k);
	}
	if (count == 0)
		snprintf(text, bytes, "no number of");
}

tsr_status_t attend_check_tile(const char *workload, const char *kernel, tsr_dtype_t dtype,
			       int64_t dim, tile_size_t tile)
{
	workload_value_t built;
	for (int index = 0; attend_try_tile(kernel, dtype, dim, index, &built); index++)
		if (tile_is_automatic(tile) || (built.x[0] == tile.m && built.x[1] == tile.n))
			return TSR_OK;
	char dims[128];
	list_dims(kernel, dtype, dims, sizeof dims);
	return tsr_error(TSR_ERR_NOT_FOUND,
			 "%s is not built for this tile, %" PRId64
			 " columns a head and dtype %s; in %s heads have %s columns, and without "
			 "--tile the largest tile is taken",
			 workload, dim, tsr_dtype_name(dtype), tsr_dtype_name(dtype), dims);
}

tile_size_t attend_largest_tile(const char *kernel, tsr_dtype_t dtype, int64_t dim,
				explain_t *explain)
{
	workload_value_t built, largest = {{0, 0, 0}};
	explain_begin(explain, "tile");
	for (int index = 0; attend_try_tile(kernel, dtype, dim, index, &built); index++) {
		explain_try(explain, built);
		largest = built; /* the list ends with it */
	}
	explain_end(explain, largest, 0,
		    "the largest that is built for %s and heads of %" PRId64 " columns",
		    tsr_dtype_name(dtype), dim);
	return (tile_size_t){(int)largest.x[0], (int)largest.x[1], (int)largest.x[2]};
}
