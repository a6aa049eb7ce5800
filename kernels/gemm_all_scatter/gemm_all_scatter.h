/*
 * GEMM + all-scatter, host half: C = A * B on every rank, where rank r computes
 * columns [r*N/W, (r+1)*N/W) of C from its columns of B and sends them to every
 * other rank. One plan a pattern; README.md says what sets the patterns apart.
 */
#ifndef GEMM_ALL_SCATTER_H
#define GEMM_ALL_SCATTER_H

#include <stdbool.h>

#include "kernels/gemm_all_scatter/args.h"
#include "kernels/host/variants.h"
#include "tessera/tessera.h"

/**
 * The taxonomy of the Iris paper, section 4, whose fused-wave-specialized is
 * named there and left as future work; and banded.
 */
typedef enum gas_pattern {
	GAS_BULK_SYNCHRONOUS = 0,
	GAS_PRODUCER_CONSUMER = 1,
	GAS_FUSED_SEQUENTIAL = 2,
	GAS_FUSED_WORKGROUP = 3,
	GAS_FUSED_WAVE = 4,
	GAS_BANDED = 5
} gas_pattern_t;

enum { GAS_PATTERN_COUNT = 6 };

/**
 * "bulk-synchronous", "producer-consumer", "fused-sequential",
 * "fused-workgroup-specialized", "fused-wave-specialized", "banded". Any
 * thread.
 */
const char *gas_pattern_name(gas_pattern_t pattern);

/**
 * The reverse; takes "unfused-" before those that are, and "-specialised" too.
 * Errors: TSR_ERR_NOT_FOUND (the nearest, and all).
 */
tsr_status_t gas_pattern_parse(const char *text, gas_pattern_t *pattern_out);

/** Most bands of a run. */
enum { GAS_BANDS = 10 };

/** What a plan is made for. The same on every rank. */
typedef struct gas_config {
	int64_t m, n, k;   /* of the whole product */
	tsr_dtype_t dtype; /* of A, B and C: bf16, f16 or f32; sums are f32 */
	gas_pattern_t pattern;
	/* all 0: the cheapest by area, edges and rounds of blocks, of those that the device is fast
	 * at */
	tile_size_t tile;
	/* of a run on a rank, all resident at one time; 0: one a tile, at most what is resident */
	int blocks;
	/* of these, those that only send, where the pattern has such blocks; 0: what keeps up */
	int comm_blocks;
	int bands; /* of banded, at most GAS_BANDS; 0: by what is sent */
	/* of K, in which the last tiles are multiplied, where the pattern can and has as many
	 * blocks: at most GAS_MOST_PARTS of the tile; 0: by what that takes */
	int parts;
} gas_config_t;

/**
 * Checks all of `config` that can be judged without a device: before ranks
 * start, and again by gas_plan_create.
 * Any thread. Errors: TSR_ERR_ARGUMENT (an extent below 1, a product of extents
 * that overflows, too few blocks for the pattern,
 *                     too many bands or parts), TSR_ERR_NOT_FOUND (a dtype or
 *                     tile that is not built: lists those that are).
 */
tsr_status_t gas_config_check(const gas_config_t *config, int ranks);

/** The memory, streams and arguments of one pattern on one rank. */
typedef struct gas_plan gas_plan_t;

/**
 * Makes a plan. A, B and C are not initialised.
 *
 * Called by:  collective, one thread a rank; every rank with the same `config`.
 * Errors:     those of gas_config_check; TSR_ERR_NO_MEMORY where A, B, C, flags
 *             and sums exceed what the heap has free (before any allocation);
 *             TSR_ERR_RESIDENCY where the blocks do not fit the device
 *             together; TSR_ERR_UNSUPPORTED where the tile needs more shared
 *             memory or workers than a block can have; those of tsr_heap_alloc
 *             and tsr_stream_create.
 */
tsr_status_t gas_plan_create(tsr_world_t *world, const gas_config_t *config, gas_plan_t **plan_out);

/**
 * Makes the plan one of another pattern, tile or split of blocks, for the same
 * product: A, B and C stay as they are.
 *
 * Called by:  collective, one thread a rank; every rank with the same `config`.
 *             Waits for the plan's runs.
 * Errors:     those of gas_plan_create, and TSR_ERR_ARGUMENT for another shape
 *             or dtype. Its flags and sums are allocated beside the plan's old
 *             ones. The plan is as it was before, unless waiting for its runs
 *             or creating a stream failed.
 */
tsr_status_t gas_plan_adapt(gas_plan_t *plan, const gas_config_t *config);

/**
 * Waits for the plan's runs and releases it. Collective; null on every rank is
 * TSR_OK. The first error; released all the same.
 */
tsr_status_t gas_plan_destroy(gas_plan_t *plan);

/** The same after a failure: returns `status`, and leaves its sentence as the last error. */
tsr_status_t gas_plan_abandon(gas_plan_t *plan, tsr_status_t status);

/**
 * The configuration with every automatic field filled in. Valid as long as the
 * plan. Any thread.
 */
const gas_config_t *gas_plan_config(const gas_plan_t *plan);

/**
 * The plan's matrices, row-major: A is M x K and C is M x N, on every rank; B
 * is K x n, this rank's columns. Their rows begin at multiples of 16 bytes, so
 * that copy engines and wide loads take them whatever the shape: `ld` says how
 * far rows are apart, and what lies behind a row is nobody's.
 * Any thread. A host copy goes by matrix_read and matrix_write while no run is
 * in flight on this rank.
 */
tsr_view_t gas_plan_a(const gas_plan_t *plan);
tsr_view_t gas_plan_b(const gas_plan_t *plan);
tsr_view_t gas_plan_c(const gas_plan_t *plan);

/**
 * Starts one product behind the earlier ones; returns at once. When it has
 * ended on a rank, all of C on that rank is complete.
 * May be called again without waiting, and C may be read or overwritten after
 * gas_plan_sync without asking the other ranks.
 * Called by:  one thread a rank; every rank equally often. Errors: those of
 *             tsr_launch, tsr_launch_group, tsr_stream_put_2d and of events;
 *             then the plan is good for gas_plan_destroy alone.
 */
tsr_status_t gas_plan_run(gas_plan_t *plan);

/**
 * Starts the product of this rank's columns alone, into its own C:
 * bulk-synchronous plans only. Not collective; else as above.
 */
tsr_status_t gas_plan_run_product(gas_plan_t *plan);

/**
 * The stream on which runs begin and end: events recorded there before and
 * after a run enclose it. As long as the plan.
 */
tsr_stream_t *gas_plan_stream(const gas_plan_t *plan);

/** Waits until this rank's runs have ended. Errors: those of tsr_stream_sync. */
tsr_status_t gas_plan_sync(gas_plan_t *plan);

#endif
