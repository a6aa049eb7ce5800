/*
 * GEMM + all-scatter, host half: C = A * B on every rank. Rank r of W computes
 * columns [r*N/W, (r+1)*N/W) of C from its columns of B, and sends them to
 * every other rank. A plan runs one pattern; README.md describes how the
 * patterns differ.
 */
#ifndef GEMM_ALL_SCATTER_H
#define GEMM_ALL_SCATTER_H

#include <stdbool.h>

#include "kernels/gemm_all_scatter/args.h"
#include "kernels/host/variants.h"
#include "tessera/tessera.h"

/**
 * The patterns: those of the Iris paper, section 4 (it names
 * fused-wave-specialized and work-queue and does not measure them), and banded.
 */
typedef enum gas_pattern {
	GAS_BULK_SYNCHRONOUS = 0,
	GAS_PRODUCER_CONSUMER = 1,
	GAS_FUSED_SEQUENTIAL = 2,
	GAS_FUSED_WORKGROUP = 3,
	GAS_FUSED_WAVE = 4,
	GAS_BANDED = 5,
	GAS_WORK_QUEUE = 6
} gas_pattern_t;

enum { GAS_PATTERN_COUNT = 7 };

/**
 * "bulk-synchronous", "producer-consumer", "fused-sequential",
 * "fused-workgroup-specialized", "fused-wave-specialized", "banded",
 * "work-queue". Any thread.
 */
const char *gas_pattern_name(gas_pattern_t pattern);

/**
 * Finds a pattern by its name. Accepts "unfused-" before the unfused ones, and
 * the spelling "-specialised". Any thread. Errors: TSR_ERR_NOT_FOUND (names the
 * nearest, and all).
 */
tsr_status_t gas_pattern_parse(const char *text, gas_pattern_t *pattern_out);

/** The largest number of bands in a run. */
enum { GAS_BANDS = 10 };

/** What a plan is made for. The same on every rank. */
typedef struct gas_config {
	int64_t m, n, k;   /* extents of the whole product */
	tsr_dtype_t dtype; /* of A, B and C: bf16, f16 or f32; sums are f32 */
	gas_pattern_t pattern;
	/* all 0: chosen by the cost of its area, of its edges and of rounds of blocks, among the
	 * tiles that the device multiplies fast */
	tile_size_t tile;
	/* blocks of a run on one rank, all resident together; 0: one for each tile, at most what
	 * the device can hold */
	int blocks;
	/* number of these blocks that only send, in patterns that have such blocks; 0: as many as
	 * keep up with the others */
	int comm_blocks;
	/* banded: number of bands, at most GAS_BANDS; 0: chosen by the number of bytes to send */
	int bands;
	/* number of parts of K for each of the last tiles, if the pattern can divide them and has
	 * enough blocks; at most TILING_MOST_PARTS of the tile; 0: chosen by the expected time */
	int parts;
} gas_config_t;

/**
 * Checks everything in `config` that can be checked without a device: before
 * ranks start, and again in gas_plan_create.
 *
 * Called by:  any thread.
 * Errors:     TSR_ERR_ARGUMENT (an extent below 1, a product of extents that
 *             overflows, too few blocks for the pattern, too many bands or
 *             parts), TSR_ERR_NOT_FOUND (a dtype or tile that is not built; the
 *             sentence lists those that are).
 */
tsr_status_t gas_config_check(const gas_config_t *config, int ranks);

/** The memory, streams and arguments of one pattern on one rank. */
typedef struct gas_plan gas_plan_t;

/**
 * Makes a plan. A, B and C are not initialised.
 *
 * Called by:  every rank, one thread a rank (collective), with the same
 *             `config`.
 * Errors:     those of gas_config_check; TSR_ERR_NO_MEMORY (A, B, C, flags and
 *             sums need more than the heap has free; nothing was allocated);
 *             TSR_ERR_RESIDENCY (the blocks do not fit on the device together);
 *             TSR_ERR_UNSUPPORTED (the tile needs more shared memory or workers
 *             than a block can have); those of tsr_heap_alloc and
 *             tsr_stream_create.
 */
tsr_status_t gas_plan_create(tsr_world_t *world, const gas_config_t *config, gas_plan_t **plan_out);

/**
 * Changes the plan's pattern, tile or split of blocks, for the same product. A,
 * B and C keep their contents. Waits for the plan's runs.
 *
 * Called by:  every rank, one thread a rank (collective), with the same
 *             `config`.
 * Errors:     those of gas_plan_create, and TSR_ERR_ARGUMENT for another shape
 *             or dtype. The new flags and sums are allocated while the old ones
 *             still exist. After an error the plan is unchanged, unless waiting
 *             for its runs or creating a stream failed.
 */
tsr_status_t gas_plan_adapt(gas_plan_t *plan, const gas_config_t *config);

/**
 * Waits for the plan's runs and destroys it. Collective; null on every rank is
 * TSR_OK. Returns the first error; the plan is destroyed even then.
 */
tsr_status_t gas_plan_destroy(gas_plan_t *plan);

/**
 * The same after a failure: returns `status`, and keeps its sentence as the
 * last error.
 */
tsr_status_t gas_plan_abandon(gas_plan_t *plan, tsr_status_t status);

/**
 * The configuration with all automatic members filled in. Valid as long as the
 * plan. Any thread.
 */
const gas_config_t *gas_plan_config(const gas_plan_t *plan);

/**
 * The plan's matrices, row-major: A is M x K and C is M x N, on every rank; B
 * is K x n, this rank's columns. Rows begin at multiples of 16 bytes, so that
 * copy engines and wide loads can be used for every shape. `ld` is the distance
 * between rows; nothing uses the elements between the end of a row and the next
 * row. Copy from and to the host with matrix_read and matrix_write while no run
 * is in flight on this rank. Any thread.
 */
tsr_view_t gas_plan_a(const gas_plan_t *plan);
tsr_view_t gas_plan_b(const gas_plan_t *plan);
tsr_view_t gas_plan_c(const gas_plan_t *plan);

/**
 * Starts one product after the earlier ones, and returns at once. When the run
 * has ended on a rank, all of C on that rank is complete. The call may be
 * repeated without waiting. After gas_plan_sync a rank may read or overwrite
 * its C without synchronising with the others.
 *
 * Called by:  one thread a rank; every rank equally often.
 * Errors:     those of tsr_launch, tsr_launch_group, tsr_stream_put_2d and of
 *             events. After an error the plan can only be destroyed.
 */
tsr_status_t gas_plan_run(gas_plan_t *plan);

/**
 * Starts the product of this rank's columns alone, into its own C; only for
 * bulk-synchronous plans. Not collective. In all else like gas_plan_run.
 */
tsr_status_t gas_plan_run_product(gas_plan_t *plan);

/**
 * The stream on which runs begin and end: events recorded there before and
 * after a run enclose it. Valid as long as the plan.
 */
tsr_stream_t *gas_plan_stream(const gas_plan_t *plan);

/**
 * Waits until this rank's runs have ended. Errors: those of tsr_stream_sync.
 */
tsr_status_t gas_plan_sync(gas_plan_t *plan);

#endif
