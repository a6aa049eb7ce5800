/* The inside of a plan: plan.c makes it, run.c runs it. */
#ifndef GEMM_ALL_SCATTER_PLAN_H
#define GEMM_ALL_SCATTER_PLAN_H

#include "kernels/gemm_all_scatter/args.h"
#include "kernels/gemm_all_scatter/config.h"
#include "kernels/host/plan.h"

/* The buffers of a plan. Those from GAS_HANDOFF on depend on more than the product. */
enum {
	GAS_BUFFER_A,
	GAS_BUFFER_B,
	GAS_BUFFER_C,
	GAS_SYNC,       /* the handshake */
	GAS_TILE_READY, /* flags of tiles */
	GAS_TAKEN,      /* count of tiles taken */
	GAS_PART_SUM,   /* sums of blocks that share a tile */
	GAS_PART_READY, /* flags of these sums */
	GAS_BUFFERS,
	GAS_HANDOFF = GAS_TILE_READY
};

/* Streams that copy to peers, at most. */
enum { GAS_COPIERS = STREAMS_SIDES - 1 };

/** What a plan of this workload has of its own. */
extern const plan_kind_t gas_plan_kind;

/** Start a run, or the product of bulk-synchronous alone (run.c). */
tsr_status_t gas_run(plan_t *plan);
tsr_status_t gas_compute(plan_t *plan);

/**
 * Chooses the numbers of blocks and of sending blocks, if they are automatic.
 * The tile must be chosen already. Errors: TSR_ERR_RESIDENCY.
 */
tsr_status_t gas_blocks_choose(gas_config_t *config, const workload_place_t *place);

/**
 * The pattern that should take least time (fastest.c). If the machine's figures
 * are not known, what was the fastest of most shapes.
 */
gas_pattern_t gas_fastest(const gas_config_t *config, const workload_place_t *place);

/** The number of streams that a pattern has beside the main one. */
int gas_pattern_sides(gas_pattern_t pattern, int ranks);

/**
 * The division of this rank's part of C into bands. A band is a number of whole
 * groups of rows of tiles (tsr_grouped_order), so that one copy can put it to a
 * peer.
 */
typedef struct gas_bands {
	int64_t tiles_m, tiles_n;
	int64_t group, rows; /* rows of tiles in a group, and in each band but the last */
	int count;           /* at most GAS_BANDS */
} gas_bands_t;

struct gas_plan {
	/* Side stream 0 computes beside the main stream: the second kernel of producer-consumer, or
	 * every other band. The others copy bands. Mark b is the end of band b's launch. */
	plan_t plan;
	gas_config_t config;
	gas_args_t args;
	gas_bands_t bands; /* of a run of banded */
};

/**
 * The number of bands that is given, or else takes least time, of a part of C
 * with so many columns.
 */
int64_t gas_bands_wanted(const gas_config_t *config, int64_t cols, int ranks,
			 const machine_t *machine);

/**
 * Divides into about `wanted` bands for `blocks` blocks, in groups of about
 * `group` rows of tiles. A band has as many rows as fit into whole rounds of
 * all blocks; with one row more, the whole band would wait for the few blocks
 * that have another tile. With `exact`, a band has as many rows as give
 * `wanted` bands, or the next smaller number. Without columns there is one
 * band.
 */
gas_bands_t gas_bands(int64_t tiles_m, int64_t tiles_n, int64_t group, int64_t blocks,
		      int64_t wanted, bool exact);

/** The bands of a plan whose tasks are set; none but in banded. Records why. */
gas_bands_t gas_plan_bands(const gas_plan_t *plan);

/**
 * The first task of a band; for the band behind the last one, the number of
 * tasks.
 */
int64_t gas_band_begin(const gas_bands_t *bands, int band);

#endif
