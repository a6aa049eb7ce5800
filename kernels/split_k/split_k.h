/*
 * Host half of the products whose K is divided among the ranks: C = A * B, where
 * rank r has its share of A's columns and of B's rows. So each rank's product is
 * a part of every sum. A workload says who gets the sums: each rank its share of
 * C's rows, or every rank all of C.
 */
#ifndef SPLIT_K_SPLIT_K_H
#define SPLIT_K_SPLIT_K_H

#include "kernels/dev/tiling_state.h"
#include "kernels/host/plan.h"
#include "kernels/host/product.h"
#include "kernels/split_k/args.h"
#include "kernels/workload.h"

/** A pattern: its name, its kernels, of which the second may be null, and what they need. */
typedef struct splitk_pattern {
	const char *name;
	const char *kernels[PLAN_KERNELS];
	bool keeps;       /* each rank keeps its partial sums of all rows */
	bool sends;       /* ranks send tiles to slots */
	bool passes_on;   /* and add theirs to what the next rank has sent before */
	bool adds;        /* ranks add to totals, which have the sums' dtype */
	bool tells_tiles; /* ranks raise a flag for each tile of another rank's chunk */
	bool has_senders; /* some blocks only communicate */
	/* Not null: in a world of several nodes the library's collectives take the place of the
	 * second kernel (by_nodes.c), and the kernel of this name rounds their totals to C. */
	const char *rounds;
} splitk_pattern_t;

/** A workload of this kind. */
typedef struct splitk_kind {
	plan_kind_t plan; /* made by SPLITK_PLAN */
	const splitk_pattern_t *patterns;
	int64_t count; /* number of patterns */
	bool to_all;   /* every rank gets all of C; otherwise its share of the rows */
} splitk_kind_t;

/* The places of the patterns that all kinds have. */
enum { SPLITK_BULK_SYNCHRONOUS = 0, SPLITK_OWN_CHUNK_LAST = 1 };

/** What a plan is made for. */
typedef struct splitk_config {
	int64_t m, n, k;
	tsr_dtype_t dtype; /* of A, B and C */
	tsr_dtype_t sums;  /* in which partial sums are kept, sent or added */
	int64_t pattern;
	tile_size_t tile; /* all 0: the tile with the shortest expected time */
	int blocks;       /* 0: one for each tile, at most what the device can hold */
	int bands;        /* in each chunk; 0: chosen */
	int comm_blocks;  /* number of blocks that only communicate; 0: chosen */
} splitk_config_t;

/* The places of the parameters in a workload's table. */
enum {
	SPLITK_SHAPE,
	SPLITK_DTYPE,
	SPLITK_SUMS,
	SPLITK_TILE,
	SPLITK_BLOCKS,
	SPLITK_BANDS,
	SPLITK_COMM_BLOCKS /* not in all workloads */
};

splitk_config_t splitk_config_of(const workload_config_t *config);
workload_config_t splitk_workload_config(const splitk_config_t *config);

/** Numbers of the matrices: inputs, output, and one of the baseline. */
enum { SPLITK_A, SPLITK_B, SPLITK_C, SPLITK_PARTIAL, SPLITK_MATRICES };

/* ------------------------------------------------------------ the parts of a workload_t */

bool splitk_matrix(const splitk_kind_t *kind, const workload_config_t *config, int index, int rank,
		   int ranks, workload_matrix_t *matrix_out);

const char *splitk_pattern_name(const splitk_kind_t *kind, int64_t number);
const char *splitk_kernel(const splitk_kind_t *kind, int64_t number, int index);

/**
 * Checks everything that can be checked without a device. Errors:
 * TSR_ERR_ARGUMENT, TSR_ERR_NOT_FOUND.
 */
tsr_status_t splitk_check(const splitk_kind_t *kind, const workload_config_t *config, int ranks);

/** Errors: TSR_ERR_ARGUMENT (results for these inputs cannot be verified). */
tsr_status_t splitk_check_inputs(const workload_config_t *config, const workload_inputs_t *inputs);

tsr_status_t splitk_expect(tsr_world_t *world, const workload_config_t *config,
			   const workload_inputs_t *inputs, workload_expected_t **expected_out);

workload_cost_t splitk_cost(const splitk_kind_t *kind, const workload_config_t *config, int rank,
			    int ranks);

/**
 * Chooses what is automatic. Errors: TSR_ERR_UNSUPPORTED (no tile fits the
 * device), TSR_ERR_RESIDENCY, TSR_ERR_ARGUMENT (no block computes).
 */
tsr_status_t splitk_choose(const splitk_kind_t *kind, const workload_config_t *config,
			   const workload_place_t *place, workload_config_t *config_out);

/**
 * The pattern that should take least time (fastest.c). If the machine's figures
 * are not known: own-chunk-last, or bulk-synchronous between nodes.
 */
int64_t splitk_fastest(const splitk_kind_t *kind, const workload_config_t *config,
		       const workload_place_t *place);

/** Candidates of a search: tiles that are built; bands; blocks that only communicate. */
bool splitk_try_tile(const splitk_kind_t *kind, const workload_config_t *config, int index,
		     workload_value_t *value_out);
bool splitk_try_bands(const splitk_kind_t *kind, const workload_config_t *config, int index,
		      workload_value_t *value_out);
bool splitk_try_senders(const splitk_kind_t *kind, const workload_config_t *config, int index,
			workload_value_t *value_out);

/** Entries of a table of parameters. */
#define SPLITK_SHAPE_PARAM                                                                      \
	PRODUCT_SHAPE("shape of the whole product; rank r of W has columns [r*K/W, (r+1)*K/W) " \
		      "of A, and those rows of B")

#define SPLITK_SUMS_PARAM                                                                     \
	{                                                                                     \
		.name = "sums", .letters = "D",                                               \
		.help = "element type in which sums are sent: f32, or that of the matrices, " \
			"which is half as much and rounds each sum once more",                \
		.kind = WORKLOAD_DTYPE, .preset = "f32", .problem = true                      \
	}

#define SPLITK_BANDS_PARAM(candidate_)                                                          \
	{                                                                                       \
		.name = "bands", .letters = "G",                                                \
		.help = "bands of each rank's rows; more of them spread what is sent over the " \
			"product (default: 8 for an all-reduce, else 1)",                       \
		.least = 1, .most = 1 << 20, .heading = "bands", .width = 5, .stage = 1,        \
		.candidate = (candidate_)                                                       \
	}

/* ------------------------------------------------------------ plans */

/* The buffers of a plan. Those from SPLITK_EXCHANGE on depend on more than the product. */
enum {
	SPLITK_BUFFER_A,
	SPLITK_BUFFER_B,
	SPLITK_BUFFER_C,
	SPLITK_SYNC,  /* the handshake */
	SPLITK_KEPT,  /* this rank's partial sums of all rows */
	SPLITK_TOTAL, /* sums that ranks add to, or that collectives give */
	SPLITK_INBOX, /* slots of sent tiles */
	SPLITK_COME,  /* flags of slots, or of tiles */
	SPLITK_STATE, /* several nodes: of the library's collectives */
	SPLITK_BUFFERS,
	SPLITK_EXCHANGE = SPLITK_KEPT
};

typedef struct splitk_plan {
	plan_t plan;
	splitk_config_t config;
	splitk_args_t args;
} splitk_plan_t;

/** The kind, and the pattern of its configuration. */
const splitk_kind_t *splitk_kind_of(const plan_t *plan);
const splitk_pattern_t *splitk_pattern_of(const plan_t *plan);

/**
 * Whether the library's collectives add up what ranks keep. In a world of several
 * nodes they add the sums of a node's ranks there, so that each element's sum
 * crosses to its owner once from each node (dev/reduction.h).
 */
bool splitk_adds_by_nodes(const plan_t *plan);

/** Bytes for the totals of a rank's chunk: none, if collectives write to C. */
size_t splitk_total_by_nodes(const plan_t *plan, const splitk_config_t *config);

/** Starts the collectives behind the product. */
tsr_status_t splitk_add_by_nodes(plan_t *plan);

void splitk_words(const plan_t *plan, char words_out[PLAN_WORDS]);
void splitk_prepare(plan_t *plan);
void splitk_set_product(plan_t *plan);
void splitk_set_exchange(plan_t *plan);
tsr_status_t splitk_run(plan_t *plan);
tsr_status_t splitk_compute(plan_t *plan);
tsr_view_t splitk_view(const plan_t *plan, int matrix);
void splitk_place(plan_t *plan, int matrix, tsr_view_t view);

/** The plan_kind_t of such a workload. */
#define SPLITK_PLAN(workload_)                                                                     \
	{                                                                                          \
		.workload = &(workload_), .size_bytes = sizeof(splitk_plan_t),                     \
		.buffers = SPLITK_BUFFERS, .kept = SPLITK_EXCHANGE, .words = splitk_words,         \
		.prepare = splitk_prepare, .set_problem = splitk_set_product,                      \
		.set_exchange = splitk_set_exchange, .run = splitk_run, .compute = splitk_compute, \
		.view = splitk_view, .place = splitk_place                                         \
	}

#endif
