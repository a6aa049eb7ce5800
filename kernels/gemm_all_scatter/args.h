/* What the host hands to every kernel of this folder. */
#ifndef GEMM_ALL_SCATTER_ARGS_H
#define GEMM_ALL_SCATTER_ARGS_H

#include "kernels/dev/handshake_state.h"
#include "kernels/dev/tiling_state.h"

typedef struct gas_args {
	tsr_view_t a;      /* M x K, a copy on every rank */
	tsr_view_t b;      /* K x n: this rank's columns of B */
	tsr_view_t c;      /* M x N: the whole product, on every rank */
	int64_t first_col; /* the first of this rank's n columns in C */
	/* of this rank's columns of C; blocks beyond tiling.blocks send, in the same launch or in a
	 * launch of their own */
	tiling_t tiling;
	int64_t first_task; /* banded: the launch's first task, and the end of its tasks */
	int64_t end_task;
	/* work-queue: number of this rank's tiles, in their order, that some block has taken in
	 * order to send them; 0 between launches */
	TSR_HEAP uint64_t *taken;
	TSR_HEAP handshake_t *sync;
} gas_args_t;

#endif
