/*
 * The interface between a workload and the tools. A folder below kernels/
 * contains kernels, a host half, and one struct of this type, which
 * WORKLOAD_REGISTER lists. tessera bench, tessera check, tests and measurements
 * run all listed workloads, and name none of them.
 *
 * A workload computes output matrices from input matrices. The matrices are
 * distributed over the ranks of a team, whole or in parts. A workload has
 * several patterns, which differ in how the ranks communicate. Parameters say
 * what it computes, and how.
 */
#ifndef KERNELS_WORKLOAD_H
#define KERNELS_WORKLOAD_H

#include <stdbool.h>

#include "tessera/tessera.h"

enum {
	WORKLOAD_PARAMS = 20,   /* parameters of a workload, at most */
	WORKLOAD_EXTENTS = 3,   /* numbers in one parameter, such as M x N x K */
	WORKLOAD_PATTERNS = 16, /* patterns, at most */
	WORKLOAD_MATRICES = 16  /* matrices, at most */
};

/* ------------------------------------------------------------ parameters */

typedef enum workload_kind {
	WORKLOAD_NUMBER, /* an integer */
	WORKLOAD_SHAPE,  /* three integers: 512x512x512 */
	WORKLOAD_DTYPE,  /* the name of a tsr_dtype_t */
	WORKLOAD_NAME    /* one of a list of names, by its number: from 1 on */
} workload_kind_t;

/**
 * The value of a parameter: a number, three extents, or a dtype in x[0]. All 0:
 * the workload chooses. (For a dtype 0 means "not chosen".)
 */
typedef struct workload_value {
	int64_t x[WORKLOAD_EXTENTS];
} workload_value_t;

/**
 * A configuration to run: a pattern, and a value for each of the workload's
 * parameters, in their order. Configurations are compared and sent byte by
 * byte.
 */
typedef struct workload_config {
	int64_t pattern; /* its number, or WORKLOAD_FASTEST */
	workload_value_t value[WORKLOAD_PARAMS];
} workload_config_t;

/** In place of a pattern's number: the pattern that should take least time. */
enum { WORKLOAD_FASTEST = -1 };

/** The team and the device on which a workload is to run. */
typedef struct workload_place {
	int ranks;
	const tsr_device_props_t *device; /* null: not known yet */
	const struct machine *machine;    /* its figures (kernels/choices/machine.h) */
	int nodes;                        /* on which the ranks are; 0: one */
	/* where choosing code records why it chooses (kernels/choices/explain.h); null: nowhere */
	struct explain *explain;
} workload_place_t;

/**
 * The `index`-th value that a search tries for a parameter, when the other
 * parameters have the values in `config`. Returns false past the last value.
 * Any thread.
 */
typedef bool (*workload_candidate_fn)(const workload_config_t *config,
				      const workload_place_t *place, int index,
				      workload_value_t *value_out);

/**
 * One parameter. It becomes an option of the command, a key in JSON and in the
 * file of search results ('-' becomes '_'), and a column of the report.
 */
typedef struct workload_param {
	/* the option's name, and its value in --help: "shape", "MxNxK" */
	const char *name, *letters;
	const char *help;
	workload_kind_t kind;
	const char *preset;       /* the default, as it is typed; null: the workload chooses */
	int64_t least, most;      /* smallest and largest number, or extent */
	const char *const *names; /* of WORKLOAD_NAME: ends with null; then most is their number */
	bool problem; /* true: says what is computed, equal in all patterns; false: says how */
	/* keys of a shape in JSON: an object with these letters; null: an array */
	const char *axes;
	/* The column in the list of a search's trials, and with in_row in a pattern's row too;
	 * null: none. */
	const char *heading;
	int width;
	bool in_row;
	/* 1: searched first. 2: searched for the two best results of stage 1. 0: never searched. */
	int stage;
	workload_candidate_fn candidate;
} workload_param_t;

/* ------------------------------------------------------------ matrices */

typedef enum workload_use {
	WORKLOAD_INPUT,
	WORKLOAD_OUTPUT,
	WORKLOAD_BETWEEN /* only in a baseline: output of one step, input of a later one */
} workload_use_t;

/** How often the numbers of a draw come: a row has each number once at most. */
typedef enum workload_odds {
	WORKLOAD_EQUAL = 1, /* all alike */
	WORKLOAD_ZIPF,      /* with weights 1, 1/2, 1/3 ..., spread over the numbers */
	WORKLOAD_FIRST      /* every row has the first ones, in their order */
} workload_odds_t;

/** Drawn inputs: each row has different numbers of 0 .. below - 1. */
typedef struct workload_draw {
	int64_t below; /* 0: the matrix is not drawn */
	workload_odds_t odds;
	uint64_t seed;
} workload_draw_t;

/** A matrix, and the part of it that belongs to one rank. */
typedef struct workload_matrix {
	const char *name; /* "A" */
	workload_use_t use;
	tsr_dtype_t dtype;
	/* for an input: the number of its random stream; an element depends on its position in the
	 * whole matrix */
	uint64_t stream;
	/* of an input of TSR_I32 whose elements are choices, such as the experts of a token: in
	 * place of the stream, and the same whatever the inputs' seed */
	workload_draw_t draw;
	int64_t rows, cols;                                 /* of the whole matrix */
	int64_t first_row, part_rows, first_col, part_cols; /* a part may be empty */
	/* true: each rank has memory for the whole matrix, with its part in its place. What lies
	 * between the part's rows is other ranks'. */
	bool in_place;
} workload_matrix_t;

/* ------------------------------------------------------------ verification */

/**
 * The values of the inputs. An element depends only on its position in the
 * whole matrix, not on the team.
 */
typedef struct workload_inputs {
	uint64_t seed;
	/* true: small integers, so that sums are exact and results can be compared bit for bit;
	 * false: uniform in [-1, 1) */
	bool integers;
} workload_inputs_t;

/**
 * The expected outputs. A workload's `expect` makes one; kernels/host/product.h
 * makes that of a product. Element (row, first_col + i) of the whole output
 * `matrix` must be within bound[i] of value[i]. With integer inputs it must
 * equal value[i], rounded once to the output's dtype, bit for bit, unless the
 * workload's results are rounded on the way (workload_t.rounds).
 */
typedef struct workload_expected workload_expected_t;
struct workload_expected {
	void (*row)(const workload_expected_t *expected, int matrix, int64_t row, int64_t first_col,
		    int64_t cols, double *value, double *bound);
	void (*close)(workload_expected_t *expected);
};

/* ------------------------------------------------------ costs and baselines */

/** The least work that one rank has to do. */
typedef struct workload_cost {
	double operations;   /* floating-point operations */
	double memory_bytes; /* read and written in the rank's own memory */
	double link_bytes;   /* stored to all peers, and loaded from them, together */
	/* intermediates in the rank's own memory, written there by one part of a run, on whatever
	 * rank, and read back by another: both counted. What is an output too counts when it is
	 * read back, and operands that are read several times count once. */
	double between_bytes;
	int launches; /* of kernels */
	/* how often every rank waits for flags of all others, in a team of more than one. These
	 * flags lie in an allocation whose name ends with ".sync", or in the state of a collective,
	 * whose name ends with ".state". */
	int meetings;
} workload_cost_t;

/**
 * What a library does in one step of a baseline. Matrices are given by their
 * numbers; "a part" is this rank's part of one, row-major and dense. `from` and
 * `with` are inputs or come from earlier steps, `to` is no input, and all have
 * one dtype (f32, f16 or bf16) but for the indices of WORKLOAD_COPY_ROWS. Parts
 * may be empty. Steps whose matrices do not fit are refused when the baseline
 * opens.
 *
 * Sums over ranks: the emulator adds in f32, from rank 0 to the last, and
 * rounds once to the dtype. NCCL and RCCL choose the order, and may round every
 * partial sum.
 */
typedef enum workload_op {
	/* to = from * with, each the rank's own part; sums in f32, rounded once to the dtype */
	WORKLOAD_PRODUCT,
	/* to = the parts of `from` of all ranks, one after the other, each row-major and dense */
	WORKLOAD_ALL_GATHER,
	/* to = the sum of `from` over all ranks; each rank gets the rows of its part */
	WORKLOAD_REDUCE_SCATTER,
	/* to = the parts in `from`, each copied to its place in the whole matrix `with` */
	WORKLOAD_PLACE,
	/* to = the sum of `from` over all ranks, the same on every rank; all parts of both
	 * matrices have one shape */
	WORKLOAD_ALL_REDUCE,
	/* A part of `from` consists of rows for rank 0, then rows for rank 1, and so on; a part of
	 * `to`, of rows from rank 0, then from rank 1, and so on. The step's `rows` says how many
	 * from whom to whom, as the sizes of splits that users give to torch's
	 * all_to_all_single. */
	WORKLOAD_ALL_TO_ALL,
	/* to = rank 0's part of `from`, on every rank; the other ranks' parts are not read */
	WORKLOAD_BROADCAST,
	/* Row i of `to` = row with[i] of `from`, within the rank, as torch.index_select does.
	 * `with` is one column of TSR_I32. An index that `from` has no row for is an error on
	 * the emulator; on GPUs that row of `to` stays as it is. GPUs run a kernel: a batch of
	 * copies would need the indices on the host. */
	WORKLOAD_COPY_ROWS
} workload_op_t;

typedef struct workload_step {
	workload_op_t op;
	const char *name; /* "all-gather"; a key in JSON */
	const char *what; /* the same for people */
	int from, with, to;
	/* true: users may not need this step. It is measured, and left out when patterns are
	 * compared with the baseline. */
	bool extra;
	/* true: sums are rounded on the way, unlike in the patterns, so the result is not
	 * checked */
	bool rounds;
	/* of WORKLOAD_ALL_TO_ALL: how many rows rank `source` has for rank `target`, itself
	 * included. Null: equally many for each. */
	int64_t (*rows)(const workload_config_t *config, int source, int target, int ranks);
} workload_step_t;

enum { WORKLOAD_STEPS = 8 };

/* ------------------------------------------------------------ the workload */

/**
 * A workload that is ready to run on one rank: its memory, streams and kernels.
 * Each workload has its own struct.
 */
typedef struct workload_run workload_run_t;

typedef struct workload {
	size_t size;
	const char *name;    /* "gemm-all-scatter", as on command lines */
	const char *title;   /* "GEMM + all-scatter" */
	const char *summary; /* one line */
	const char *source;  /* the paper and the section */

	const workload_param_t *params; /* ends with a null name */
	int compute_pattern;            /* the pattern in which `compute` works, or -1 */
	/* true: results of integers are rounded too, and compared within bounds */
	bool rounds;
	/* option lists beside the pattern, such as "--shape 32x100x16"; small, so that the emulator
	 * is fast; ends with null */
	const char *const *cases;
	/* the same for GPUs only, because their tiles take the emulator long; null: none */
	const char *const *large_cases;

	/** The name of pattern `number`, from 0 on; null past the last. Any thread. */
	const char *(*pattern)(int64_t number);
	/**
	 * The name of kernel `index` of a pattern, from 0 on; null past the last, and from 0 on if
	 * the pattern calls the library alone. Any thread.
	 */
	const char *(*kernel)(int64_t pattern, int index);
	/**
	 * The number of a pattern, for workloads that accept other spellings of a name. Null: only
	 * the names. Any thread. Errors: TSR_ERR_NOT_FOUND.
	 */
	tsr_status_t (*find_pattern)(const char *text, int64_t *pattern_out);

	/**
	 * Checks everything in `config` that can be checked without a device, before ranks start.
	 * Any thread. Errors: TSR_ERR_ARGUMENT, TSR_ERR_NOT_FOUND (no kernel for it).
	 */
	tsr_status_t (*check)(const workload_config_t *config, int ranks);
	/**
	 * Checks that results for these inputs can be verified. Any thread. Errors:
	 * TSR_ERR_ARGUMENT.
	 */
	tsr_status_t (*check_inputs)(const workload_config_t *config,
				     const workload_inputs_t *inputs);
	/**
	 * Whether some blocks would have no work in this configuration, so that a search can skip
	 * it. Null: it tries all. Any thread.
	 */
	bool (*is_idle)(const workload_config_t *config, int ranks);

	/**
	 * The `index`-th matrix, and the part of `rank`. Returns false past the last. Any
	 * thread.
	 */
	bool (*matrix)(const workload_config_t *config, int index, int rank, int ranks,
		       workload_matrix_t *matrix_out);
	/** Computes the expected outputs. Collective, every rank with the same arguments. */
	tsr_status_t (*expect)(tsr_world_t *world, const workload_config_t *config,
			       const workload_inputs_t *inputs, workload_expected_t **expected_out);
	workload_cost_t (*cost)(const workload_config_t *config, int rank, int ranks);
	/**
	 * Fills in the parameters that `config` leaves open, as `open` does. The device need not be
	 * present. Null: the workload chooses nothing. Any thread. Errors: TSR_ERR_UNSUPPORTED,
	 * TSR_ERR_RESIDENCY.
	 */
	tsr_status_t (*choose)(const workload_config_t *config, const workload_place_t *place,
			       workload_config_t *config_out);
	/**
	 * The pattern that should take least time. It can run the problem. Null: the workload
	 * does not know, and takes no WORKLOAD_FASTEST. Any thread.
	 */
	int64_t (*fastest)(const workload_config_t *config, const workload_place_t *place);
	/**
	 * Writes the steps that users would run instead to `steps_out`; returns their number. Null:
	 * there are none. Any thread.
	 */
	int (*baseline)(const workload_config_t *config, workload_step_t steps_out[WORKLOAD_STEPS]);

	/**
	 * Allocates memory and prepares runs. Inputs and outputs are not initialised. Collective,
	 * every rank with the same config.
	 */
	tsr_status_t (*open)(tsr_world_t *world, const workload_config_t *config,
			     workload_run_t **run_out);
	/**
	 * The kind of its plans, for products that a program brings its own matrices to
	 * (kernels/host/plan.h). Null: there are none.
	 */
	const struct plan_kind *plan;
	/**
	 * Changes the pattern or parameters of `run`, for the same problem. Inputs are kept. Waits
	 * for earlier runs, of all ranks. Collective.
	 */
	tsr_status_t (*reconfigure)(workload_run_t *run, const workload_config_t *config);
	/**
	 * From now on reconfigurations of `run` record in `explain` why they choose what they do;
	 * null: nowhere. The record must outlive them. This rank alone. Null: the workload chooses
	 * nothing.
	 */
	void (*explain)(workload_run_t *run, struct explain *explain);
	/**
	 * Starts one run after the earlier ones, and returns without waiting. Every rank makes the
	 * call equally often.
	 */
	tsr_status_t (*start)(workload_run_t *run);
	/**
	 * The same for the computation alone, without communication, on this rank. Null: the two
	 * cannot be separated.
	 */
	tsr_status_t (*compute)(workload_run_t *run);
	/** Waits until this rank's runs have ended. */
	tsr_status_t (*sync)(workload_run_t *run);
	/**
	 * Waits for the runs and releases everything. Collective. Null is TSR_OK. If `status` is an
	 * error, returns that error with its sentence.
	 */
	tsr_status_t (*close)(workload_run_t *run, tsr_status_t status);

	/**
	 * The stream for events: one recorded before a run and one recorded after it enclose the
	 * run. Valid while the run is open.
	 */
	tsr_stream_t *(*stream)(workload_run_t *run);
	/** The configuration with all parameters that the workload has chosen. */
	void (*chosen)(const workload_run_t *run, workload_config_t *config_out);
	/**
	 * The place of the rank's part of an input or output. The distance between rows may exceed
	 * their length.
	 */
	tsr_view_t (*view)(const workload_run_t *run, int matrix);
} workload_t;

/**
 * Lists a workload: WORKLOAD_REGISTER(gemm_all_scatter) lists
 * `const workload_t gemm_all_scatter`.
 */
#define WORKLOAD_REGISTER(workload_)                                            \
	__attribute__((used, section("tsr_workloads"))) static const workload_t \
		*const workload_listed_##workload_ = &(workload_)

/**
 * The `index`-th workload of this executable, sorted by name; null past the
 * last. Any thread.
 */
const workload_t *workload_at(int index);

/**
 * Finds a workload by its name. Any thread. Errors: TSR_ERR_NOT_FOUND, with the
 * nearest name.
 */
tsr_status_t workload_find(const char *name, const workload_t **workload_out);

#endif
