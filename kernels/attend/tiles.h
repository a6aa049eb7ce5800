/* The tiles of attention that are built: what can be chosen, and what is. */
#ifndef ATTEND_TILES_H
#define ATTEND_TILES_H

#include "kernels/choices/explain.h"
#include "kernels/host/variants.h"
#include "kernels/workload.h"

/** The `index`-th tile that is built for heads of `dim` columns; false past the last. */
bool attend_try_tile(const char *kernel, tsr_dtype_t dtype, int64_t dim, int index,
		     workload_value_t *value_out);

/**
 * Checks that a tile is built for heads of `dim` columns: this one, or any if it
 * is automatic. `workload` begins the sentence. Errors: TSR_ERR_NOT_FOUND.
 */
tsr_status_t attend_check_tile(const char *workload, const char *kernel, tsr_dtype_t dtype,
			       int64_t dim, tile_size_t tile);

/** The largest tile that is built for heads of `dim` columns; there is one. Records the choice. */
tile_size_t attend_largest_tile(const char *kernel, tsr_dtype_t dtype, int64_t dim,
				explain_t *explain);

#endif
