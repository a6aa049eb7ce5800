/*
 * GEMM + reduce-scatter, host half: the memory of a pattern on one rank, and
 * its launches.
 */
#ifndef GEMM_REDUCE_SCATTER_PLAN_H
#define GEMM_REDUCE_SCATTER_PLAN_H

#include "kernels/dev/tiling_state.h"
#include "kernels/gemm_reduce_scatter/args.h"
#include "kernels/host/plan.h"
#include "kernels/host/product.h"
#include "kernels/workload.h"

typedef enum grs_pattern {
	GRS_BULK_SYNCHRONOUS = 0,
	GRS_OWN_CHUNK_LAST = 1,
	GRS_PATTERNS = 2
} grs_pattern_t;

/** A pattern: its name, and its kernels, of which the second may be null. */
typedef struct grs_pattern_kernels {
	const char *name;
	const char *kernels[2];
} grs_pattern_kernels_t;

extern const grs_pattern_kernels_t grs_patterns[GRS_PATTERNS];

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
	plan_t plan;
	grs_config_t config;
	grs_args_t args;
} grs_plan_t;

/** What a plan of this workload has of its own. */
extern const plan_kind_t grs_plan_kind;

/** The workload, and the configuration that its parameters give. */
extern const workload_t gemm_reduce_scatter;
grs_config_t grs_config_of(const workload_config_t *config);

#endif
