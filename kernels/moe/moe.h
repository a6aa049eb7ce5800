/* Mixture of experts, host half: what its files share. */
#ifndef MOE_MOE_H
#define MOE_MOE_H

#include "kernels/host/plan.h"
#include "kernels/moe/args.h"

typedef enum moe_pattern {
	MOE_BULK_SYNCHRONOUS = 0,
	MOE_FUSED = 1,
	MOE_COPY_ENGINES = 2
} moe_pattern_t;

enum { MOE_PATTERNS = 3 };

/** A pattern: its name, and its kernels. */
typedef struct moe_pattern_kernels {
	const char *name;
	const char *kernels[PLAN_KERNELS];
} moe_pattern_kernels_t;

extern const moe_pattern_kernels_t moe_patterns[MOE_PATTERNS];

/* The places of the kernels of bulk-synchronous, and behind the plan those of the others. */
enum { MOE_KERNEL_PLAN, MOE_KERNEL_MOVE, MOE_KERNEL_FIRST, MOE_KERNEL_SECOND };
enum { MOE_KERNEL_DISPATCH = 1, MOE_KERNEL_COMBINE, MOE_KERNEL_SAY };

/* The places of the parameters. */
enum {
	MOE_TOKENS,
	MOE_LAYER,
	MOE_TOP_K,
	MOE_PRODUCTS,
	MOE_ACTIVATION,
	MOE_ROUTING,
	MOE_ROUTING_SEED,
	MOE_SPREAD,
	MOE_PADDING,
	MOE_CAPACITY,
	MOE_DTYPE,
	MOE_TILE,
	MOE_BLOCKS,
	MOE_SENDERS,
	MOE_EXPANDERS,
	MOE_CHUNK_ROWS,
	MOE_EARLY,
	MOE_BANDS
};

/* How many tokens ranks have: `spread`. */
enum { MOE_EVEN = 1, MOE_RAMP };

/** Numbers of the matrices. The first product alone has the first four. */
enum { MOE_X, MOE_W1, MOE_CHOSEN, MOE_OUT, MOE_W2, MOE_WEIGHTS, MOE_MATRICES };

/** What a plan is made for. */
typedef struct moe_config {
	int64_t tokens; /* of a rank, at most */
	int64_t experts, hidden, inner;
	int64_t top_k;  /* experts of a token */
	bool is_layer;  /* both products, and combined; else the first product alone */
	int activation; /* MOE_LINEAR, MOE_RELU */
	workload_odds_t odds;
	int64_t routing_seed;
	int spread;
	int64_t padding, capacity; /* rows; 0: chosen, by moe_padding and moe_capacity */
	tsr_dtype_t dtype;
	moe_pattern_t pattern;
	tile_size_t tile; /* all 0: chosen */
	int blocks;       /* of a launch, all resident; 0: chosen */
	/* of these, those that send and then fill rows, and that only fill rows; 0: chosen */
	int senders, expanders;
	int64_t chunk_rows; /* tokens that have a flag together; 0: chosen */
	int64_t early; /* per cent of a rank's experts that begin with its own tokens; 0: chosen */
	int64_t bands; /* of columns of the second product; 0: chosen */
} moe_config_t;

moe_config_t moe_config_of(const workload_config_t *config);

/** How many tokens a rank has, and how many the ranks before it have. */
int64_t moe_tokens_of(const moe_config_t *c, int rank, int ranks);
int64_t moe_tokens_before(const moe_config_t *c, int rank, int ranks);

/** What the rows of an expert are padded to a multiple of. */
int64_t moe_padding(const moe_config_t *c, int ranks);

/** Rows that a rank has for its experts' tokens: by default enough for any choices. */
int64_t moe_capacity(const moe_config_t *c, int ranks);

/** Tokens of a piece of the plan, and pieces of `tokens`. */
int64_t moe_piece(const moe_config_t *c);
int64_t moe_pieces(const moe_config_t *c, int64_t tokens);

/** Chunks of the most tokens of any rank. They are chosen. */
int64_t moe_chunks(const moe_config_t *c);

bool moe_matrix(const workload_config_t *config, int index, int rank, int ranks,
		workload_matrix_t *matrix_out);

/**
 * Checks everything that can be checked without a device. Errors:
 * TSR_ERR_ARGUMENT, TSR_ERR_NOT_FOUND.
 */
tsr_status_t moe_check(const workload_config_t *config, int ranks);

/** Chooses what is automatic. Errors: TSR_ERR_RESIDENCY, TSR_ERR_UNSUPPORTED. */
tsr_status_t moe_choose(const workload_config_t *config, const workload_place_t *place,
			workload_config_t *config_out);

/** The pattern that should take least time: fused, where copies beside the product hide any. */
int64_t moe_fastest(const moe_config_t *c, const workload_place_t *place);

/* ------------------------------------------------------------ routing (routing.c) */

/** The choices of tokens first .. first + count - 1 of all ranks' tokens. */
void moe_choices(const moe_config_t *c, int ranks, int64_t first, int64_t count,
		 int32_t *choices_out);

/** What the choices give a rank to do. */
typedef struct moe_load {
	int64_t rows, padded; /* of its experts, without padding and with it */
	int64_t experts;      /* that some token has chosen */
	/* tokens that go to other ranks, once to each, and that come from them */
	int64_t sent, received;
} moe_load_t;

/** Counts all ranks' choices. Any thread. */
void moe_count_loads(const moe_config_t *c, int ranks, moe_load_t loads_out[TSR_MAX_RANKS]);

/* ------------------------------------------------------------ */

/** Errors: TSR_ERR_ARGUMENT, TSR_ERR_NO_MEMORY (host). */
tsr_status_t moe_check_inputs(const workload_config_t *config, const workload_inputs_t *inputs);
tsr_status_t moe_expect(tsr_world_t *world, const workload_config_t *config,
			const workload_inputs_t *inputs, workload_expected_t **expected_out);

typedef struct moe_plan {
	plan_t plan; /* copy-engines: a side stream copies to one peer, or to several */
	moe_config_t config;
	moe_args_t args;
} moe_plan_t;

/** The number of streams that copy. */
int moe_copiers(const moe_config_t *c, int ranks);

/** Start a run, or its products alone (run.c). */
tsr_status_t moe_run(plan_t *plan);
tsr_status_t moe_compute(plan_t *plan);

/** Errors: TSR_ERR_NO_MEMORY, where an expert had more tokens than there is room for. */
tsr_status_t moe_ended(const plan_t *plan);

/** The workload, and the kind of its plans. */
extern const workload_t moe;
extern const plan_kind_t moe_plan_kind;

#endif
