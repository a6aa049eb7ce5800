/* The inside of a plan: what plan.c makes and run.c runs. */
#ifndef GEMM_ALL_SCATTER_PLAN_H
#define GEMM_ALL_SCATTER_PLAN_H

#include "kernels/gemm_all_scatter/args.h"
#include "kernels/gemm_all_scatter/config.h"

enum {
	/* most streams that copy to peers: one each on a node of eight */
	GAS_COPIERS = 7,
	GAS_SIDES = 1 + GAS_COPIERS /* streams beside the main one */
};

struct gas_plan {
	tsr_world_t *world;
	gas_config_t config;
	const tsr_kernel_t *kernels[2];
	gas_args_t args;
	/* Side 0 computes beside the main stream: producer-consumer's second kernel, every other
	 * band. The others copy bands. */
	tsr_stream_t *main, *side[GAS_SIDES];
	/* side streams begin, and end, with the main one */
	tsr_event_t *forked, *joined[GAS_SIDES];
	tsr_event_t *computed[GAS_BANDS]; /* the launch of a band has ended */
};

/**
 * Fills in blocks, and blocks that send, where they are automatic; the tile is
 * known. Errors: TSR_ERR_RESIDENCY.
 */
tsr_status_t gas_blocks_choose(gas_config_t *config, int ranks, const tsr_device_props_t *device);

/**
 * Of `tiles` tiles those that a block multiplies alone, where `blocks` blocks
 * take them in turn: whole rounds of all blocks, if the rest is multiplied in
 * `parts`, of which a block has one of a tile: where there are fewer blocks
 * than parts, all are whole.
 */
int64_t gas_whole_tiles(int64_t tiles, int64_t blocks, int parts);

/** How many streams a pattern has beside the main one. */
int gas_pattern_sides(gas_pattern_t pattern, int ranks);

/**
 * How my part of C is divided: bands of whole groups of rows of tiles
 * (tsr_grouped_order), so that one copy puts one to a peer.
 */
typedef struct gas_bands {
	int64_t tiles_m, tiles_n;
	int64_t group, rows; /* rows of tiles of a group, and of a band but the last */
	int count;           /* at most GAS_BANDS */
} gas_bands_t;

/**
 * About `wanted` bands for `blocks` blocks, in groups of about `group` rows. A
 * band is as many rows as fit into whole rounds of all blocks: one row more,
 * and all of it would wait for the few blocks that have another tile; where
 * `exact`, as many as make that number of bands, or the next below. Without
 * columns there is one.
 */
gas_bands_t gas_bands(int64_t tiles_m, int64_t tiles_n, int64_t group, int64_t blocks,
		      int64_t wanted, bool exact);

/** The task with which a band begins; of the one behind the last, the number of tasks. */
int64_t gas_band_begin(const gas_bands_t *bands, int band);

#endif
