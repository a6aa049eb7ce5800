/* What the files of tessera perf share: options, samples, the report, and the measurements. */
#ifndef TESSERA_TOOLS_PERF_PERF_H
#define TESSERA_TOOLS_PERF_PERF_H

#include <stdbool.h>

#include "tessera/tessera.h"
#include "tools/progress.h"

/* ------------------------------------------------------------------ options */

typedef enum perf_op {
	PERF_PUT,
	PERF_GET,
	PERF_COPY,
	PERF_LOAD,
	PERF_STORE,
	PERF_PUT_SIGNAL,
	PERF_MARKED,
	PERF_ATOMIC,
	PERF_SIGNAL,
	PERF_BARRIER,
	PERF_ALL_GATHER, /* from here on collectives */
	PERF_ALL_REDUCE,
	PERF_REDUCE_SCATTER,
	PERF_ALL_TO_ALL,
	PERF_BROADCAST,
	PERF_REDUCE,
	PERF_GATHER,
	PERF_SCATTER
} perf_op_t;

/** signal: where the two sides of a ping-pong are. */
typedef enum perf_scope { PERF_SCOPE_SYSTEM, PERF_SCOPE_DEVICE, PERF_SCOPE_BLOCK } perf_scope_t;

/** atomic: the operations. */
typedef enum perf_atomic {
	PERF_ADD,
	PERF_AND,
	PERF_OR,
	PERF_XOR,
	PERF_MIN,
	PERF_MAX,
	PERF_XCHG,
	PERF_CAS
} perf_atomic_t;
enum { PERF_ATOMICS = 8 };

/** put: what moves the data. */
typedef enum perf_via {
	PERF_VIA_THREADS,    /* tsr_put: threads load and store */
	PERF_VIA_BULK,       /* a multiprocessor's copy engine, through shared memory */
	PERF_VIA_COPY_ENGINE /* the device's copy engine: tsr_stream_put_2d */
} perf_via_t;
enum { PERF_VIAS = 3 };

typedef struct perf_options {
	perf_op_t op;
	perf_scope_t scope;
	unsigned atomics; /* atomic: a bit for each operation that is measured */
	unsigned vias;    /* put: a bit for each way that is compared with the others; 0: none is */
	tsr_launcher_t launcher;
	size_t min_bytes, max_bytes;
	size_t factor, step_bytes; /* one of them is 0 */
	tsr_dtype_t dtype;
	long samples, warmup;
	long blocks;  /* that move the data; 0: as many as the device has use for */
	long repeats; /* operations in one sample; 0: as many as make it long enough */
	bool each;    /* every move is a launch of its own, and launches count */
	bool check;
	bool sized;                       /* a size, step or type was given */
	bool pairs;                       /* every rank with every rank */
	const char *json, *csv, *picture; /* null: none */
} perf_options_t;

enum { PERF_MAX_SAMPLES = 999 };
/* bytes for each block of a GPU, if the user does not choose the number of blocks */
enum { PERF_BLOCK_BYTES = 8 << 10 };

const char *perf_op_name(perf_op_t op);

/** Whether the operation is put, get, copy, load or store. */
bool perf_op_moves(perf_op_t op);

/** Whether the operation is load or store, which move tiles. */
bool perf_op_tiles(perf_op_t op);

/** Whether it is a collective: all blocks of all ranks take part. */
bool perf_op_collects(perf_op_t op);

/** Whether it sums elements. */
bool perf_op_sums(perf_op_t op);

/** Finds the operation of this name. TOOL_OK, or TOOL_MISUSED after one sentence. */
int perf_op_parse(const char *text, perf_op_t *op_out);

/** Says that `text` is no operation, or, if it is null, that none was given. TOOL_MISUSED. */
int perf_op_misused(const char *text);

/** Whether the operation has sizes. The others move one word each. */
bool perf_op_sized(perf_op_t op);

/** Whether -V chooses the number of blocks of the operation. */
bool perf_op_blocks(perf_op_t op);

/** Number of buffers of a message's size on each rank. */
int perf_op_buffers(perf_op_t op);

/** Writes which ranks take part; `ranks` is the size of the world. */
void perf_op_pair(const perf_options_t *options, int ranks, char *text, size_t text_bytes);

/** Names, as users type them. */
const char *perf_scope_name(perf_scope_t scope);
const char *perf_via_name(perf_via_t via);
const char *perf_atomic_name(perf_atomic_t atomic);

void perf_print_help(void);

/** TOOL_OK, or TOOL_MISUSED after one sentence. `*help_out`: the user asked for the help. */
int perf_options_parse(int argc, char **argv, perf_options_t *options_out, bool *help_out);

/** Number of sizes, and the size after `size_bytes`; 0: it was the last. */
int perf_sizes(const perf_options_t *options);
size_t perf_next_size(const perf_options_t *options, size_t size_bytes);

/* ------------------------------------------------------------------ samples */

/** The monotonic clock. */
uint64_t perf_now_ns(void);

typedef struct perf_samples {
	double ns[PERF_MAX_SAMPLES];
	int count;
} perf_samples_t;

void perf_samples_add(perf_samples_t *samples, double ns);
/**
 * Sorts the samples. Return the median, and the distance between the quartiles
 * divided by the median; 0 if there are no samples.
 */
double perf_samples_median(perf_samples_t *samples);
double perf_samples_spread(perf_samples_t *samples);

/**
 * Samples of an operation (`kernel`) and of its reference (`host`; none if it
 * has no reference), taken in turn.
 */
typedef struct perf_pair {
	perf_samples_t kernel, host;
} perf_pair_t;

/** Whether the samples scatter so much that other work must have disturbed them. */
bool perf_samples_disturbed(perf_samples_t *samples);

/** The larger spread of the two; whether at least one was disturbed. */
double perf_pair_spread(perf_pair_t *pair);
bool perf_pair_disturbed(perf_pair_t *pair);

/* ------------------------------------------------------------------ report */

/** One line of the table, without its times. */
typedef struct perf_row {
	const char *what; /* null, or which of several rows of one operation */
	size_t size_bytes;
	const char *type;
	size_t type_bytes;
	/* collectives: the number of pieces that the size consists of; 0 or 1: none */
	int pieces;
	/* bytes that a rank's link carries in one operation; 0: nothing leaves a rank */
	size_t link_bytes;
	const char *atomic; /* null, or the operation */
	const char *via;    /* null, or the way that moves the data */
	int blocks;         /* --via: the blocks that move it; else 0 */
	bool crowded;       /* all ranks at once: no ratio is promised */
	/* every byte is already in its place, so that the operation moves none */
	bool still;
	int64_t wrong; /* elements; -1: not checked */
} perf_row_t;

typedef struct perf_report {
	const perf_options_t *options;
	struct json_t *json;   /* null where no file of lines is written */
	const char *reference; /* its name */
	tool_progress_t progress;
	int64_t wrong;
	double worst_ratio;   /* of the rows whose ratio is promised; 0: no such row */
	bool worst_disturbed; /* the row with that ratio was disturbed */
} perf_report_t;

/** Prints the head of the table. Only rank 0 has a report. */
tsr_status_t perf_report_begin(perf_report_t *report, const perf_options_t *options,
			       tsr_world_t *world);
/** Prints a line. Its times, and whether they were disturbed, come from the samples. */
tsr_status_t perf_report_row(perf_report_t *report, const perf_row_t *row, perf_pair_t *pair);
/** Prints the last lines and writes the file. */
tsr_status_t perf_report_end(perf_report_t *report);

/* ------------------------------------------------------------------ run */

/** Measured limits of the hardware in GB/s; 0: not measured. */
typedef struct perf_limits {
	double link;   /* between ranks 0 and 1 */
	double memory; /* between two places of a rank's memory */
} perf_limits_t;

/** A measurement on one rank. */
typedef struct perf_run {
	tsr_world_t *world;
	const perf_options_t *options;
	int rank, size;
	/* on several nodes: hosts reach no heap of another node, so words have no reference */
	bool far;
	tsr_stream_t *stream;
	tsr_event_t *begin, *end;
	perf_report_t *report; /* null but on rank 0 */
	perf_limits_t limits;
} perf_run_t;

/**
 * Launches `kernel` with the arguments `lead`, then with `args`, and times the
 * second launch on the device. When it begins, the device is awake, and ranks
 * whose kernels meet have met.
 */
tsr_status_t perf_time(perf_run_t *run, const tsr_kernel_t *kernel, int blocks, const void *lead,
		       const void *args, double *ns_out);

/** Times `launches` launches with `args`, each of which is one operation. */
tsr_status_t perf_time_launches(perf_run_t *run, const tsr_kernel_t *kernel, int blocks,
				const void *args, uint64_t launches, double *ns_out);

/**
 * Number of operations of the first launch if the second has `repeats`: it
 * should run until the second is queued.
 */
uint64_t perf_lead(uint64_t repeats);

/**
 * Number of operations that make a sample long enough, if `repeats` of them took
 * `ns` in the fastest launch.
 */
uint64_t perf_enough(uint64_t repeats, double ns);

/** Runs an operation `times` times on every rank, and gives the nanoseconds. */
typedef tsr_status_t (*perf_play_fn)(void *ctx, uint64_t times, double *ns_out);

/**
 * Chooses how often an operation runs in a sample. If the options do not say,
 * rank 0 chooses after runs of `first` operations, and tells the others. These
 * runs also warm up. Collective.
 */
tsr_status_t perf_choose(const perf_run_t *run, uint64_t first, perf_play_fn play, void *ctx,
			 uint64_t *times_out);

/** Takes one sample of each kind. */
typedef tsr_status_t (*perf_sample_fn)(void *ctx, perf_pair_t *pair);

/**
 * Takes as many samples as the options say. If they scatter, other work has
 * disturbed them. Then it takes them again, up to four times, and keeps those
 * that scatter least. `collective`: every rank calls this, and rank 0's samples
 * decide; otherwise one rank calls it alone.
 */
tsr_status_t perf_sample(perf_run_t *run, bool collective, perf_sample_fn sample, void *ctx,
			 perf_pair_t *pair_out);

/** Whether the host maps all heaps: on the emulator. */
bool perf_on_host(const perf_run_t *run);

/** The host's address of `rank`'s copy of my `pointer`; null: the host maps no heaps. */
void *perf_host_address(const perf_run_t *run, TSR_HEAP void *pointer, int rank);

/** Allocates heap memory that is 0. Collective. */
tsr_status_t perf_alloc_clear(perf_run_t *run, size_t size_bytes, const char *name,
			      TSR_HEAP void **pointer_out);

/** Sums `mine` over all ranks. Collective. */
tsr_status_t perf_sum(perf_run_t *run, int64_t mine, int64_t *sum_out);

/** Whether the reference of a run is the measured limit; never on the emulator. */
bool perf_has_limits(const perf_options_t *options, bool on_host);

/**
 * Measures run->limits: the fastest of plain stores, plain loads and the
 * device's copy engine. Rank 0 prints them. Collective.
 */
tsr_status_t perf_measure_limits(perf_run_t *run);

/**
 * Measures how `actor` moves options->max_bytes to or from `other`. Writes
 * `*pair_out` on the actor. Collective.
 */
tsr_status_t perf_measure_move(perf_run_t *run, int actor, int other, perf_pair_t *pair_out,
			       int64_t *wrong_out);

/** All ranks move to or from the next rank at once. The slowest rank counts. Collective. */
tsr_status_t perf_measure_moves_together(perf_run_t *run, size_t size_bytes, perf_pair_t *pair_out);

/** Measures `actor` on `owner`'s word, or all ranks on rank 0's. Collective. */
tsr_status_t perf_measure_atomic(perf_run_t *run, perf_atomic_t atomic, int actor, int owner,
				 perf_pair_t *pair_out, int64_t *wrong_out);
tsr_status_t perf_measure_atomics_together(perf_run_t *run, perf_atomic_t atomic,
					   perf_pair_t *pair_out, int64_t *wrong_out);

/** Rates, where more is better, and the rates divided by those of the reference. */
typedef struct perf_figures {
	double *value, *share;
} perf_figures_t;

/** A heat map, and below it a line for all ranks at once. */
typedef struct perf_heat {
	int ranks, sizes;
	perf_figures_t pairs;    /* [row * ranks + column]: of rank `row` with rank `column` */
	perf_figures_t together; /* [size]: of each rank, if all move at once */
	const size_t *bytes;     /* [size] */
	const char *unit, *reference;
	char title[96];
} perf_heat_t;

/** Draws them as SVG, one below the other. Errors: TSR_ERR_SYSTEM. */
tsr_status_t perf_draw_heats(const char *path, const perf_heat_t *heats, int count);

/** Refuses a --via that the backend does not have. Errors: TSR_ERR_UNSUPPORTED. */
tsr_status_t perf_check_vias(const perf_run_t *run);

/* The measurements: collective; rank 0 reports. */
tsr_status_t perf_run_pairs(perf_run_t *run);
tsr_status_t perf_run_move(perf_run_t *run);
tsr_status_t perf_run_vias(perf_run_t *run);
tsr_status_t perf_run_signal(perf_run_t *run);
tsr_status_t perf_run_local_signal(perf_run_t *run);
tsr_status_t perf_run_put_signal(perf_run_t *run);
tsr_status_t perf_run_marked(perf_run_t *run);
tsr_status_t perf_run_atomic(perf_run_t *run);
tsr_status_t perf_run_barrier(perf_run_t *run);
tsr_status_t perf_run_collective(perf_run_t *run);

/** Returns an error to the caller. */
#define PERF_TRY(call_)                             \
	do {                                        \
		tsr_status_t try_status_ = (call_); \
		if (try_status_ != TSR_OK)          \
			return try_status_;         \
	} while (0)

#endif
