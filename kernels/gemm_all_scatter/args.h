/* What the host hands to every kernel of this folder. */
#ifndef GEMM_ALL_SCATTER_ARGS_H
#define GEMM_ALL_SCATTER_ARGS_H

#include "kernels/dev/handshake_state.h"

/*
 * Most parts of a tile. Beside the sums of a large one a loop that adds up
 * those of several blocks would take registers that the main loop needs: such
 * tiles are multiplied in halves at most.
 */
#define GAS_PARTS 8
#define GAS_MOST_PARTS(m_, n_) ((m_) * (n_) > 128 * 128 ? 2 : GAS_PARTS)

typedef struct gas_args {
	tsr_view_t a;      /* M x K, a copy on every rank */
	tsr_view_t b;      /* K x n: my columns of B */
	tsr_view_t c;      /* M x N: the whole product, on every rank */
	int64_t first_col; /* where my n columns begin in C */
	uint32_t tiles_m;  /* tiles of my columns of C: 2^32 in a column would be 128 GiB of it */
	uint32_t tiles_n;
	/* of the tiles those that a block multiplies alone, the first ones (parts.h) */
	int64_t whole;
	int32_t parts;         /* into which K is divided for the others; 1: no tile is divided */
	int32_t part_chunks;   /* of each part: columns of A as deep as an operand tile; */
	int32_t shorter_parts; /* so many; those behind them have one more */
	uint32_t group;        /* rows of tiles walked together: tsr_grouped_order */
	/* the blocks below this one compute, the others send: in a launch of their own, or in the
	 * same */
	int32_t gemm_blocks;
	int64_t first_task; /* banded: the launch's first, and its end */
	int64_t end_task;
	/* one flag a tile of mine: the epoch for which it stands in my C (READY, this rank only) */
	TSR_HEAP uint64_t *tile_ready;
	/* of each divided tile the sums that blocks hand to the one that has the last part */
	TSR_HEAP void *part_sum;
	/* one flag each: 1 while it stands there (READY, this rank only) */
	TSR_HEAP uint64_t *part_ready;
	TSR_HEAP handshake_t *sync;
} gas_args_t;

#endif
