/* Matrices in memory. */
#ifndef TESSERA_DEV_VIEW_H
#define TESSERA_DEV_VIEW_H

#include "tessera/dev/port.h"

/** A matrix in my heap. Any thread. */
TSR_DEV tsr_view_t tsr_view(TSR_HEAP void *data, tsr_dtype_t dtype, int64_t rows, int64_t cols,
			    int64_t ld);

/** A matrix in the block's shared memory. */
TSR_DEV tsr_view_t tsr_view_shared(void *data, tsr_dtype_t dtype, int64_t rows, int64_t cols,
				   int64_t ld);

/**
 * The part of `view` from `at` on, at most `rows` by `cols`, cut at the view's
 * edges (perhaps to nothing). The views of one tile on different ranks are
 * equal, so one serves as my and as the peer's.
 */
TSR_DEV tsr_view_t tsr_view_part(tsr_view_t view, tsr_pos_t at, int64_t rows, int64_t cols);

#endif
