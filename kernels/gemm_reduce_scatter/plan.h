/*
 * GEMM + reduce-scatter, host half: the memory of a pattern on one rank, and
 * its launches.
 */
#ifndef GEMM_REDUCE_SCATTER_PLAN_H
#define GEMM_REDUCE_SCATTER_PLAN_H

#include "kernels/gemm_reduce_scatter/args.h"
#include "kernels/host/buffers.h"
#include "kernels/host/product.h"
#include "kernels/host/streams.h"
#include "kernels/host/variants.h"
#include "kernels/workload.h"

typedef enum grs_pattern {
	GRS_BULK_SYNCHRONOUS = 0,
	GRS_OWN_CHUNK_LAST = 1,
	GRS_PATTERNS = 2
} grs_pattern_t;

/**
 * The kernels of a pattern in the order of their launches; the second may be
 * null.
 */
extern const char *const grs_kernels[GRS_PATTERNS][2];

/**
 * What a plan is made for: C = A * B. Rank r has its share of A's columns and
 * of B's rows, and gets its share of C's rows.
 */
typedef struct grs_config {
	int64_t m, n, k;
	tsr_dtype_t dtype; /* of A, B and C */
	tsr_dtype_t sums;  /* in which partial sums are sent */
	grs_pattern_t pattern;
	tile_size_t tile; /* all 0: the tile with the shortest expected time */
	int blocks;       /* 0: one for each tile, at most what the device can hold */
	int bands;        /* in each chunk; 0: 1 */
} grs_config_t;

/** Numbers of the matrices: inputs, output, and one of the baseline. */
enum { GRS_A, GRS_B, GRS_C, GRS_PARTIAL, GRS_MATRICES };

workload_matrix_t grs_matrix(const grs_config_t *config, int matrix, int rank, int ranks);

/**
 * Checks everything that can be checked without a device. Errors:
 * TSR_ERR_ARGUMENT, TSR_ERR_NOT_FOUND.
 */
tsr_status_t grs_config_check(const grs_config_t *config, int ranks);

/**
 * Chooses tile, blocks and bands if they are automatic. Errors:
 * TSR_ERR_UNSUPPORTED (no tile fits the device), TSR_ERR_RESIDENCY.
 */
tsr_status_t grs_choose(grs_config_t *config, const workload_place_t *place);

/* The buffers of a plan. Those from GRS_EXCHANGE on depend on more than the product. */
enum {
	GRS_BUFFER_A,
	GRS_BUFFER_B,
	GRS_BUFFER_C,
	GRS_SYNC,  /* the handshake */
	GRS_SUMS,  /* bulk-synchronous: this rank's sums of all rows */
	GRS_INBOX, /* own-chunk-last: slots of sent tiles */
	GRS_COME,  /* their flags */
	GRS_BUFFERS,
	GRS_EXCHANGE = GRS_SUMS
};

typedef struct grs_plan {
	tsr_world_t *world;
	grs_config_t config;
	const tsr_kernel_t *kernels[2];
	grs_args_t args;
	buffer_t buffer[GRS_BUFFERS];
	streams_t streams; /* the main one alone */
} grs_plan_t;

tsr_status_t grs_plan_create(tsr_world_t *world, const grs_config_t *config, grs_plan_t **plan_out);

/**
 * Changes the pattern, tile or split of blocks, for the same product.
 * Collective; waits for the plan's runs.
 */
tsr_status_t grs_plan_adapt(grs_plan_t *plan, const grs_config_t *config);

tsr_status_t grs_plan_run(grs_plan_t *plan);
tsr_status_t grs_plan_run_product(grs_plan_t *plan);
tsr_status_t grs_plan_destroy(grs_plan_t *plan);

#endif
