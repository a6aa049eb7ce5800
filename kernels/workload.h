/*
 * What a workload tells the tools. A folder below kernels/ has kernels, a host
 * half, and one struct of this type, which WORKLOAD_REGISTER lists: tessera
 * bench, tessera check, tests and measurements run what is listed, and know no
 * workload by name.
 *
 * A workload computes output matrices from input matrices, which lie on the
 * ranks of a team, whole or in parts. It can do so in several patterns, which
 * differ in how the ranks communicate. What it computes and how is said by
 * parameters.
 */
#ifndef KERNELS_WORKLOAD_H
#define KERNELS_WORKLOAD_H

#include <stdbool.h>

#include "tessera/tessera.h"

enum {
	WORKLOAD_PARAMS = 16,   /* most parameters of a workload */
	WORKLOAD_EXTENTS = 3,   /* numbers of one of them, such as M x N x K */
	WORKLOAD_PATTERNS = 16, /* most patterns */
	WORKLOAD_MATRICES = 16  /* most matrices */
};

/* ---------------------------------------------------------------- parameters */

typedef enum workload_kind {
	WORKLOAD_NUMBER, /* a whole number */
	WORKLOAD_SHAPE,  /* three of them: 512x512x512 */
	WORKLOAD_DTYPE   /* a tsr_dtype_t by its name */
} workload_kind_t;

/**
 * The value of a parameter: a number, extents, or a dtype in x[0]. All 0: the
 * workload chooses. (The dtype 0 is none.)
 */
typedef struct workload_value {
	int64_t x[WORKLOAD_EXTENTS];
} workload_value_t;

/**
 * What is run: a pattern, and a value for each of the workload's parameters in
 * their order. Compared and sent byte by byte.
 */
typedef struct workload_config {
	int64_t pattern;
	workload_value_t value[WORKLOAD_PARAMS];
} workload_config_t;

/** Where a workload is to run. */
typedef struct workload_place {
	int ranks;
	const tsr_device_props_t *device; /* null: not known yet */
} workload_place_t;

/**
 * The `index`-th value that a search tries for a parameter, beside those that
 * `config` has for the others. False past the last. Any thread.
 */
typedef bool (*workload_candidate_fn)(const workload_config_t *config,
				      const workload_place_t *place, int index,
				      workload_value_t *value_out);

/**
 * One parameter: an option of the command, a key of JSON and of the file of
 * searches ('-' as '_'), a column of the report.
 */
typedef struct workload_param {
	/* of the option, and what stands for its value in --help: "shape", "MxNxK" */
	const char *name, *letters;
	const char *help;
	workload_kind_t kind;
	const char *preset;  /* as it is typed; null: the workload chooses */
	int64_t least, most; /* of a number, or of each extent */
	bool problem;        /* what is computed, the same in all patterns; false: how */
	/* of a shape in JSON: an object with these letters as keys; null: an array */
	const char *axes;
	/* A column where trials of a search are listed, and of a pattern's row too; null: none. */
	const char *heading;
	int width;
	bool in_row;
	/* Searched first (1), or for the two best of the first (2); 0: never. */
	int stage;
	workload_candidate_fn candidate;
} workload_param_t;

/* ---------------------------------------------------------------- matrices */

typedef enum workload_use {
	WORKLOAD_INPUT,
	WORKLOAD_OUTPUT,
	WORKLOAD_BETWEEN /* of a baseline's steps alone: from one step to the next */
} workload_use_t;

/** A matrix, and the part of it that one rank has. */
typedef struct workload_matrix {
	const char *name; /* "A" */
	workload_use_t use;
	tsr_dtype_t dtype;
	/* of an input: elements are the numbers of this stream, by their places in the whole
	 * matrix */
	uint64_t stream;
	int64_t rows, cols;                                 /* of the whole */
	int64_t first_row, part_rows, first_col, part_cols; /* a part may be empty */
} workload_matrix_t;

/* ---------------------------------------------------------------- what is right */

/**
 * Which numbers the inputs hold. An element depends on its place in the whole
 * matrix alone, not on the team.
 */
typedef struct workload_inputs {
	uint64_t seed;
	/* small ones, so that sums are exact and results right bit for bit; else uniform in [-1,
	 * 1) */
	bool integers;
} workload_inputs_t;

/**
 * What the outputs must be. A workload's `expect` makes one;
 * kernels/host/product.h has that of a product.
 * Element (row, first_col + i) of the whole output `matrix` must lie within
 * bound[i] of value[i]. With integer inputs it must be value[i], rounded once
 * to the output's dtype, bit for bit.
 */
typedef struct workload_expected workload_expected_t;
struct workload_expected {
	void (*row)(const workload_expected_t *expected, int matrix, int64_t row, int64_t first_col,
		    int64_t cols, double *value, double *bound);
	void (*close)(workload_expected_t *expected);
};

/* --------------------------------------------------- what it costs, and what users have instead */

/** What one rank does at least. */
typedef struct workload_cost {
	double operations;   /* on floating-point numbers */
	double memory_bytes; /* read and written in its own memory */
	double link_bytes;   /* stored to, or loaded from, all peers together */
	int launches;
	int meetings; /* of all ranks */
} workload_cost_t;

/** What a library does in one step of a baseline. Matrices by their numbers. */
typedef enum workload_op {
	WORKLOAD_PRODUCT, /* to = from * with, each the rank's part */
	/* to: the parts of `from` of all ranks, one behind the other, each row-major and dense */
	WORKLOAD_ALL_GATHER,
	/* to: the sum over ranks of `from`, of which each rank gets the rows of its part */
	WORKLOAD_REDUCE_SCATTER,
	/* to: the parts in `from`, each put where it belongs in the whole matrix of `with` */
	WORKLOAD_PLACE
} workload_op_t;

typedef struct workload_step {
	workload_op_t op;
	const char *name; /* "all-gather"; a key of JSON */
	const char *what; /* the same for readers */
	int from, with, to;
	/* what users may do without: measured, and left out where patterns are compared with the
	 * baseline */
	bool extra;
	/* sums are rounded on the way, other than in the patterns: what it makes is not judged */
	bool rounds;
} workload_step_t;

enum { WORKLOAD_STEPS = 8 };

/* ---------------------------------------------------------------- the workload */

/**
 * A workload that is ready on one rank: its memory, streams and kernels. Each
 * workload has its own.
 */
typedef struct workload_run workload_run_t;

typedef struct workload {
	size_t size;
	const char *name;    /* "gemm-all-scatter", as on command lines */
	const char *title;   /* "GEMM + all-scatter" */
	const char *summary; /* one line */
	const char *source;  /* the paper and section */

	const workload_param_t *params; /* ends with a null name */
	int compute_pattern;            /* the one in which `compute` works, or -1 */
	/* options beside the pattern, such as "--shape 32x100x16": small ones; ends with null */
	const char *const *cases;
	/* the same for GPUs: tiles that the emulator takes long for; null: none */
	const char *const *large_cases;

	/** The name of a pattern by its number, from 0 on; null past the last. Any thread. */
	const char *(*pattern)(int64_t number);
	/**
	 * A pattern's number, also by another spelling. Null: by its name alone. Errors:
	 * TSR_ERR_NOT_FOUND.
	 */
	tsr_status_t (*find_pattern)(const char *text, int64_t *pattern_out);

	/**
	 * Checks all of `config` that can be judged without a device, before ranks start.
	 * Errors: TSR_ERR_ARGUMENT; TSR_ERR_NOT_FOUND where there is no kernel for it. Any thread.
	 */
	tsr_status_t (*check)(const workload_config_t *config, int ranks);
	/** Whether the inputs can be judged. Errors: TSR_ERR_ARGUMENT. Any thread. */
	tsr_status_t (*check_inputs)(const workload_config_t *config,
				     const workload_inputs_t *inputs);
	/**
	 * Whether a search need not try a configuration: some blocks would have nothing to do.
	 * Null: it tries all. Any thread.
	 */
	bool (*is_idle)(const workload_config_t *config, int ranks);

	/** The `index`-th matrix, and rank `rank`'s part of it. False past the last. Any thread. */
	bool (*matrix)(const workload_config_t *config, int index, int rank, int ranks,
		       workload_matrix_t *matrix_out);
	/** Makes what `row` above gives. Collective, every rank with the same arguments. */
	tsr_status_t (*expect)(tsr_world_t *world, const workload_config_t *config,
			       const workload_inputs_t *inputs, workload_expected_t **expected_out);
	workload_cost_t (*cost)(const workload_config_t *config, int rank, int ranks);
	/**
	 * Fills in what `config` leaves to the workload, as `open` does, for a device that need not
	 * be here. Null: nothing is left to it. Any thread. Errors: TSR_ERR_UNSUPPORTED,
	 * TSR_ERR_RESIDENCY.
	 */
	tsr_status_t (*choose)(const workload_config_t *config, const workload_place_t *place,
			       workload_config_t *config_out);
	/**
	 * The steps that users would run instead, into `steps_out`; returns how many. Null: there
	 * are none. Any thread.
	 */
	int (*baseline)(const workload_config_t *config, workload_step_t steps_out[WORKLOAD_STEPS]);

	/**
	 * Allocates and prepares; inputs and outputs are not initialised. Collective, every rank
	 * with the same config.
	 */
	tsr_status_t (*open)(tsr_world_t *world, const workload_config_t *config,
			     workload_run_t **run_out);
	/**
	 * Makes it a run of another pattern or parameters, for the same problem; inputs stay. Waits
	 * for its runs. Collective.
	 */
	tsr_status_t (*reconfigure)(workload_run_t *run, const workload_config_t *config);
	/** Starts one run behind the earlier ones, and returns. Every rank equally often. */
	tsr_status_t (*start)(workload_run_t *run);
	/** The same for the computation alone, on this rank. Null: it cannot be told apart. */
	tsr_status_t (*compute)(workload_run_t *run);
	/** Waits until this rank's runs have ended. */
	tsr_status_t (*sync)(workload_run_t *run);
	/**
	 * Waits and releases; after a failure (`status`), returns that with its sentence.
	 * Collective. Null is TSR_OK.
	 */
	tsr_status_t (*close)(workload_run_t *run, tsr_status_t status);

	/**
	 * Events recorded on it before and after a run enclose the run. As long as the run is open.
	 */
	tsr_stream_t *(*stream)(workload_run_t *run);
	/** The configuration with everything filled in that the workload has chosen. */
	void (*chosen)(const workload_run_t *run, workload_config_t *config_out);
	/** Where the rank's part of an input or output lies; rows may be apart. */
	tsr_view_t (*view)(const workload_run_t *run, int matrix);
} workload_t;

/**
 * Lists a workload: WORKLOAD_REGISTER(gemm_all_scatter) lists `const workload_t
 * gemm_all_scatter`.
 */
#define WORKLOAD_REGISTER(workload_)                                            \
	__attribute__((used, section("tsr_workloads"))) static const workload_t \
		*const workload_listed_##workload_ = &(workload_)

/** The `index`-th workload of this executable, by their names; null past the last. Any thread. */
const workload_t *workload_at(int index);

/** By name. Errors: TSR_ERR_NOT_FOUND, with the nearest. Any thread. */
tsr_status_t workload_find(const char *name, const workload_t **workload_out);

#endif
