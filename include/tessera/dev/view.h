/* Views: matrices in memory. */
#ifndef TESSERA_DEV_VIEW_H
#define TESSERA_DEV_VIEW_H

#include "tessera/dev/port.h"

/**
 * A matrix in my heap: `rows` by `cols` elements, consecutive rows `ld`
 * elements apart. Not checked (tsr_heap_view on the host checks). Any thread.
 */
TSR_DEV tsr_view_t tsr_view(TSR_HEAP void *data, tsr_dtype_t dtype, int64_t rows, int64_t cols,
			    int64_t ld);

/** A matrix in the block's shared memory. Any thread. */
TSR_DEV tsr_view_t tsr_view_shared(void *data, tsr_dtype_t dtype, int64_t rows, int64_t cols,
				   int64_t ld);

/**
 * The part of `view` that begins at `at`, at most `rows` by `cols`, cut at the
 * view's edges; it may be empty. A tile has the same view on all ranks, so one
 * view serves as mine and as the peer's.
 */
TSR_DEV tsr_view_t tsr_view_part(tsr_view_t view, tsr_pos_t at, int64_t rows, int64_t cols);

/** The dimensions of a view. */
typedef enum tsr_dim { TSR_DIM_ROWS = 0, TSR_DIM_COLS = 1 } tsr_dim_t;

/**
 * Part `part` of `parts` along `dim`: rows `rows * part / parts` up to `rows *
 * (part + 1) / parts`, rounded down, or the same columns. So parts follow each
 * other and differ by at most one row or column. A part may be empty. Any
 * thread.
 */
TSR_DEV tsr_view_t tsr_view_cut(tsr_view_t view, tsr_dim_t dim, int part, int parts);

#endif
