/* The arguments that the host passes to every kernel of this folder. */
#ifndef GEMM_REDUCE_SCATTER_ARGS_H
#define GEMM_REDUCE_SCATTER_ARGS_H

#include "kernels/dev/handshake_state.h"

typedef struct grs_args {
	tsr_view_t a;       /* M x k: this rank's columns of A */
	tsr_view_t b;       /* k x N: this rank's rows of B */
	tsr_view_t c;       /* this rank's rows of C */
	tsr_view_t partial; /* bulk-synchronous: M x N, this rank's partial sums of all rows */
	int64_t chunk_rows; /* M divided by the ranks, without the rest; */
	/* rows of tiles that cover the largest chunk; a chunk is the rows of C that one rank
	 * gets */
	int64_t tiles_m;
	int64_t tiles_n;
	int32_t bands;        /* in each chunk: tsr_ring_order */
	int32_t group;        /* rows of tiles walked together */
	int32_t sums;         /* the tsr_dtype_t in which partial sums are sent */
	int32_t rest;         /* the rest: so many chunks have one more row */
	int64_t slot_bytes;   /* size of a sent tile */
	TSR_HEAP void *inbox; /* one slot for each source rank and each tile of this rank's chunk */
	TSR_HEAP uint64_t *come; /* one flag for each slot: the epoch whose sum is there (READY) */
	TSR_HEAP handshake_t *sync;
} grs_args_t;

#endif
