/*
 * How the tiles of a matrix become tasks of blocks, as the host hands it to a
 * kernel. The device half: kernels/dev/tiling.h, parts.h and handoff.h.
 */
#ifndef KERNELS_DEV_TILING_STATE_H
#define KERNELS_DEV_TILING_STATE_H

#include "tessera/types.h"

/**
 * The largest number of parts of a tile. Beside the accumulator of a large
 * tile, a loop that adds the sums of several blocks would take registers that
 * the main loop needs. So large tiles are divided into halves at most.
 */
#define TILING_PARTS 8
#define TILING_MOST_PARTS(m_, n_) ((m_) * (n_) > 128 * 128 ? 2 : TILING_PARTS)

/**
 * Rows of tiles that are walked together, so that neighbours share operands in
 * cache. The Iris paper's runs use about 6.
 */
enum { TILING_GROUP = 6 };

typedef struct tiling {
	/* 32 bits suffice: 2^32 tiles in a column would be 128 GiB */
	uint32_t tiles_m;
	uint32_t tiles_n;
	uint32_t group; /* rows of tiles walked together: tsr_grouped_order */
	int32_t blocks; /* number of blocks that compute */
	/* number of tiles that one block computes alone; they come first (parts.h) */
	int64_t whole;
	int32_t parts; /* number of parts of K for each of the other tiles; 1: no tile is divided */
	int32_t part_chunks;   /* K of a part, in operand tiles, */
	int32_t shorter_parts; /* for this many parts; the later ones have one operand tile more */
	int32_t reserved;
	/* for each divided tile: the sums that blocks hand to the block with the last part */
	TSR_HEAP void *part_sum;
	/* one flag for each sum: 1 while the sum is there (READY, this rank only) */
	TSR_HEAP uint64_t *part_ready;
	/* one flag for each tile: the epoch for which it is in this rank's memory (READY, this
	 * rank only) */
	TSR_HEAP uint64_t *tile_ready;
} tiling_t;

#endif
