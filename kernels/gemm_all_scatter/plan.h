/* The inside of a plan: what plan.c makes and run.c runs. */
#ifndef GEMM_ALL_SCATTER_PLAN_H
#define GEMM_ALL_SCATTER_PLAN_H

#include "kernels/gemm_all_scatter/args.h"
#include "kernels/gemm_all_scatter/config.h"

enum {
	GAS_COPIERS = 7,             /* most streams that copy to peers: one each on a node of eight */
	GAS_SIDES = 1 + GAS_COPIERS, /* streams beside the main one */
	GAS_BANDS = 10               /* most bands of a run */
};

struct gas_plan {
	tsr_world_t *world;
	gas_config_t config;
	const tsr_kernel_t *kernels[2];
	gas_args_t args;
	/* Side 0 computes beside the main stream: producer-consumer's second kernel, every other band. The others copy bands. */
	tsr_stream_t *main, *side[GAS_SIDES];
	tsr_event_t *forked, *joined[GAS_SIDES]; /* side streams begin, and end, with the main one */
	tsr_event_t *computed[GAS_BANDS];        /* the launch of a band has ended */
};

/** How many streams a pattern has beside the main one. */
int gas_pattern_sides(gas_pattern_t pattern, int ranks);

/** A part of C in tiles: rows and columns from `at` on. */
typedef struct gas_part {
	tsr_pos_t at;
	int64_t rows, cols;
} gas_part_t;

enum { GAS_BAND_PARTS = 3 };

/**
 * What is complete when all tasks below `end` have ended and was not when all below `first` had, in tsr_grouped_order: at most
 * three parts, whole columns of a group of rows each. Bands that follow one another cover all tiles, each once. Returns how many
 * parts.
 */
int gas_band_parts(int64_t tiles_m, int64_t tiles_n, int64_t group, int64_t first, int64_t end, gas_part_t parts[GAS_BAND_PARTS]);

#endif
