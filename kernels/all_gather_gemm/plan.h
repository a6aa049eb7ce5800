/*
 * All-gather + GEMM, host half: the memory of a pattern on one rank (plan.c), and
 * its launches (run.c).
 */
#ifndef ALL_GATHER_GEMM_PLAN_H
#define ALL_GATHER_GEMM_PLAN_H

#include "kernels/all_gather_gemm/args.h"
#include "kernels/host/plan.h"
#include "kernels/host/product.h"
#include "kernels/workload.h"

typedef enum agg_pattern {
	AGG_BULK_SYNCHRONOUS = 0,
	AGG_PULL = 1,
	AGG_STAGED_PULL = 2,
	AGG_PUSH = 3,
	AGG_COPY_ENGINES = 4,
	AGG_MARKED = 5
} agg_pattern_t;

enum { AGG_PATTERNS = 6 };

/** In which order blocks move chunks. */
typedef enum agg_arrival_order {
	AGG_ANY_ORDER = 0, /* it is chosen */
	AGG_SHARD_AFTER_SHARD = 1,
	AGG_IN_TURN = 2 /* a chunk of each shard, then the next ones */
} agg_arrival_order_t;

/** A pattern: its name, and its kernels, of which the second may be null. */
typedef struct agg_pattern_kernels {
	const char *name;
	const char *kernels[2];
	bool moves_apart; /* some blocks only send, or only fetch */
} agg_pattern_kernels_t;

extern const agg_pattern_kernels_t agg_patterns[AGG_PATTERNS];

/**
 * What a plan is made for: C = A * B. If A is gathered, rank r has its share of
 * A's rows or columns, and of B's columns; it gets its share of C's columns. If B
 * is gathered, rank r has its share of A's rows, and of B's rows; it gets its share
 * of C's rows.
 */
typedef struct agg_config {
	int64_t m, n, k;
	tsr_dtype_t dtype; /* of A, B and C; sums are f32 */
	int along;         /* AGG_BY_ROWS, ... */
	agg_pattern_t pattern;
	tile_size_t tile;   /* all 0: the tile with the shortest expected time */
	int blocks;         /* of a run, all resident; 0: chosen */
	int comm_blocks;    /* number of these that only send or fetch; 0: chosen */
	int64_t chunk_rows; /* of a shard's chunks; 0: chosen by their bytes */
	agg_arrival_order_t arrival;
} agg_config_t;

/** Numbers of the matrices: inputs, output, and those of the baseline. */
enum { AGG_A, AGG_B, AGG_C, AGG_PARTS, AGG_WHOLE, AGG_MATRICES };

/** The operand that is gathered: AGG_A or AGG_B. */
static inline int agg_gathered(const agg_config_t *config)
{
	return config->along == AGG_B_BY_ROWS ? AGG_B : AGG_A;
}

/** An extent of the operand that is gathered: all of it, and the largest shard of it. */
typedef struct agg_extents {
	int64_t rows, cols, shard_rows, shard_cols;
} agg_extents_t;

agg_extents_t agg_extents(const agg_config_t *config, int ranks);

workload_matrix_t agg_matrix(const agg_config_t *config, int matrix, int rank, int ranks);

product_t agg_product(const agg_config_t *config);

/** The number of chunks of the largest shard. `chunk_rows` is chosen. */
int64_t agg_most_chunks(const agg_config_t *config, int ranks);

/** The largest shard that marked takes: its inboxes need four times as much from each rank. */
enum { AGG_MARKED_BYTES = 4 << 20 };

/** Bytes of the largest shard. */
int64_t agg_shard_bytes(const agg_config_t *config, int ranks);

/**
 * Checks everything that can be checked without a device. Errors:
 * TSR_ERR_ARGUMENT, TSR_ERR_NOT_FOUND, TSR_ERR_UNSUPPORTED (shards that are too
 * large for marked).
 */
tsr_status_t agg_config_check(const agg_config_t *config, int ranks);

/**
 * Chooses what is automatic. Errors: TSR_ERR_UNSUPPORTED (no tile fits the
 * device), TSR_ERR_RESIDENCY, TSR_ERR_ARGUMENT (no block computes).
 */
tsr_status_t agg_choose(agg_config_t *config, const workload_place_t *place);

/** The pattern that should take least time. */
int64_t agg_fastest(const agg_config_t *config, const workload_place_t *place);

/* The buffers of a plan. Those from AGG_EXCHANGE on depend on more than the product. */
enum {
	AGG_BUFFER_WHOLE, /* the operand that is gathered */
	AGG_BUFFER_OWN,   /* the other one */
	AGG_BUFFER_C,
	AGG_SYNC,       /* the handshake */
	AGG_COME,       /* flags of chunks */
	AGG_FIRST_SUMS, /* by columns: sums of the first part of a tile's K */
	AGG_WORDS,      /* marked: the inboxes, */
	AGG_COUNTED,    /* how many rows of a chunk are here, */
	AGG_TOKEN,      /* and a token */
	AGG_STATE,      /* several nodes, bulk-synchronous: of the library's all-gather */
	AGG_BUFFERS,
	AGG_EXCHANGE = AGG_COME
};

typedef struct agg_plan {
	/* copy-engines: a side stream copies to one peer, or to several. Mark 0: the peers' memory
	 * may be overwritten. */
	plan_t plan;
	agg_config_t config;
	agg_args_t args;
} agg_plan_t;

/**
 * Whether the library's all-gather takes the place of the first kernel. In a world
 * of several nodes it brings each shard to each node once (dev/collective.h).
 */
bool agg_gathers_by_nodes(const agg_plan_t *plan, const agg_config_t *config);

/** What a plan of this workload has of its own. */
extern const plan_kind_t agg_plan_kind;

/** The workload, and the configuration that its parameters give. */
extern const workload_t all_gather_gemm;
agg_config_t agg_config_of(const workload_config_t *config);

/** The number of streams that copy. */
int agg_copiers(const agg_config_t *config, int ranks);

/** Start a run, or the product of bulk-synchronous alone (run.c). */
tsr_status_t agg_run(plan_t *plan);
tsr_status_t agg_compute(plan_t *plan);

/** The view of this rank's part of an input or output. */
tsr_view_t agg_view(const plan_t *plan, int matrix);

#endif
