/* What the host hands to every kernel of this folder. */
#ifndef GEMM_REDUCE_SCATTER_ARGS_H
#define GEMM_REDUCE_SCATTER_ARGS_H

#include "kernels/dev/handshake_state.h"

typedef struct grs_args {
	tsr_view_t a;       /* M x k: my columns of A */
	tsr_view_t b;       /* k x N: my rows of B */
	tsr_view_t c;       /* my rows of C */
	tsr_view_t partial; /* bulk-synchronous: M x N, my sums of all rows */
	int64_t rows;       /* M */
	int64_t tiles_m;    /* rows of tiles that cover the largest chunk: a rank's rows of C */
	int64_t tiles_n;
	int32_t bands; /* of each chunk: tsr_ring_order */
	int32_t group; /* rows of tiles walked together */
	int32_t sums;  /* the tsr_dtype_t that sums are sent in */
	int32_t reserved;
	int64_t slot_bytes;      /* of a sent tile */
	TSR_HEAP void *inbox;    /* a slot for each source and tile of my chunk */
	TSR_HEAP uint64_t *come; /* one flag each: the epoch whose sum stands there (READY) */
	TSR_HEAP handshake_t *sync;
} grs_args_t;

#endif
