/* The arguments that the host passes to every kernel of this folder. */
#ifndef GEMM_ALL_SCATTER_ARGS_H
#define GEMM_ALL_SCATTER_ARGS_H

#include "kernels/dev/handshake_state.h"

/*
 * The largest number of parts of a tile. Beside the accumulator of a large
 * tile, a loop that adds the sums of several blocks would take registers that
 * the main loop needs. So large tiles are divided into halves at most.
 */
#define GAS_PARTS 8
#define GAS_MOST_PARTS(m_, n_) ((m_) * (n_) > 128 * 128 ? 2 : GAS_PARTS)

typedef struct gas_args {
	tsr_view_t a;      /* M x K, a copy on every rank */
	tsr_view_t b;      /* K x n: this rank's columns of B */
	tsr_view_t c;      /* M x N: the whole product, on every rank */
	int64_t first_col; /* the first of this rank's n columns in C */
	/* tiles in this rank's columns of C; 32 bits suffice: 2^32 tiles in a column would be 128
	 * GiB */
	uint32_t tiles_m;
	uint32_t tiles_n;
	/* number of tiles that one block computes alone; they come first (parts.h) */
	int64_t whole;
	int32_t parts; /* number of parts of K for each of the other tiles; 1: no tile is divided */
	int32_t part_chunks;   /* K of a part, in operand tiles, */
	int32_t shorter_parts; /* for this many parts; the later ones have one operand tile more */
	uint32_t group;        /* rows of tiles walked together: tsr_grouped_order */
	/* number of blocks that compute; the other blocks send, in the same launch or in a launch
	 * of their own */
	int32_t gemm_blocks;
	int64_t first_task; /* banded: the launch's first task, and the end of its tasks */
	int64_t end_task;
	/* one flag for each tile of mine: the epoch for which it is in my C (READY, this rank
	 * only) */
	TSR_HEAP uint64_t *tile_ready;
	/* work-queue: number of this rank's tiles, in their order, that some block has taken in
	 * order to send them; 0 between launches */
	TSR_HEAP uint64_t *taken;
	/* for each divided tile: the sums that blocks hand to the block with the last part */
	TSR_HEAP void *part_sum;
	/* one flag for each sum: 1 while the sum is there (READY, this rank only) */
	TSR_HEAP uint64_t *part_ready;
	TSR_HEAP handshake_t *sync;
} gas_args_t;

#endif
