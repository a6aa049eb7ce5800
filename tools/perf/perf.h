/* tessera perf, inside: what is measured (options), by whom (run), and how it is told (report). */
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
	PERF_ALL_GATHER
} perf_op_t;

/** signal: what is between the two that signal. */
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
	bool sized;                 /* a size, step or type was given */
	bool pairs;                 /* put, get, atomic: every rank with every rank */
	const char *json, *picture; /* null: none */
} perf_options_t;

enum { PERF_MAX_SAMPLES = 999 };
/* as much is of use to a block of a GPU, where it is not said how many there are */
enum { PERF_BLOCK_BYTES = 8 << 10 };

const char *perf_op_name(perf_op_t op);

/** put, get, copy, load and store move data, which other means can do too. */
bool perf_op_moves(perf_op_t op);

/** load and store move tiles between memory and registers. */
bool perf_op_tiles(perf_op_t op);

/** These, put-signal, marked and all-gather have many sizes; the others are one word each. */
bool perf_op_sized(perf_op_t op);

/** These are made by as many blocks as -V says, or as the device has use for. */
bool perf_op_blocks(perf_op_t op);

/** Buffers of a message's size that each rank has. */
int perf_op_buffers(perf_op_t op);

/** Who takes part, in words; `ranks`: of the world. */
void perf_op_pair(const perf_options_t *options, int ranks, char *text, size_t text_bytes);

/** As they are typed. */
const char *perf_scope_name(perf_scope_t scope);
const char *perf_via_name(perf_via_t via);
const char *perf_atomic_name(perf_atomic_t atomic);

void perf_print_help(void);

/** TOOL_OK, or TOOL_MISUSED after one sentence. `*help_out`: the help was asked for and printed. */
int perf_options_parse(int argc, char **argv, perf_options_t *options_out, bool *help_out);

/** The size after `size_bytes`, or 0 where there is none. */
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
 * Sorts the samples; their median, and the distance of the quartiles as a part
 * of it. 0 where there are none.
 */
double perf_samples_median(perf_samples_t *samples);
double perf_samples_spread(perf_samples_t *samples);

/**
 * Samples of an operation in a kernel, and of what the host does in its place
 * (none where it cannot), taken in turn.
 */
typedef struct perf_pair {
	perf_samples_t kernel, host;
} perf_pair_t;

/** Whether samples scatter so much that other work on the machine must have disturbed them. */
bool perf_samples_disturbed(perf_samples_t *samples);

/** The larger spread of the two, and whether either was disturbed. */
double perf_pair_spread(perf_pair_t *pair);
bool perf_pair_disturbed(perf_pair_t *pair);

/* ------------------------------------------------------------------ report */

/** One line of the table, but for its times. */
typedef struct perf_row {
	const char *what; /* null, or which of several rows of one operation */
	size_t size_bytes;
	const char *type;
	size_t type_bytes;
	/* of all-gather: the size is that of so many, of which each rank has one; else 0 */
	int pieces;
	/* bytes of one operation that a rank's link carries; 0: nothing leaves a rank */
	size_t link_bytes;
	const char *atomic; /* null, or the operation */
	const char *via;    /* null, or what moves the data, */
	int blocks;         /* and how many blocks do; 0: none, or as the head of the table says */
	bool crowded;       /* all ranks at once: no ratio is promised */
	/* every byte is where it belongs before the operation begins: none is moved */
	bool still;
	int64_t wrong; /* elements; -1: not checked */
} perf_row_t;

typedef struct perf_report {
	const perf_options_t *options;
	struct json_t *json;   /* null where no file is written */
	const char *reference; /* the other means that the operation is compared with */
	tool_progress_t progress;
	int64_t wrong;
	double worst_ratio;   /* of the rows that a promise is made for; 0: no such row */
	bool worst_disturbed; /* the row with that ratio was disturbed */
} perf_report_t;

/** Prints the head of the table. The report is rank 0's alone. */
tsr_status_t perf_report_begin(perf_report_t *report, const perf_options_t *options,
			       tsr_world_t *world);
/**
 * Prints a line. Its times, and whether they were disturbed, come from the
 * samples alone, for every operation alike.
 */
tsr_status_t perf_report_row(perf_report_t *report, const perf_row_t *row, perf_pair_t *pair);
/** Prints the last lines and writes the file. */
tsr_status_t perf_report_end(perf_report_t *report);

/* ------------------------------------------------------------------ run */

/** What the hardware carries, as far as it was measured: GB/s. 0: it was not. */
typedef struct perf_limits {
	double link;   /* between ranks 0 and 1 */
	double memory; /* between two places of a rank's memory */
} perf_limits_t;

/** A measurement on one rank. */
typedef struct perf_run {
	tsr_world_t *world;
	const perf_options_t *options;
	int rank, size;
	tsr_stream_t *stream;
	tsr_event_t *begin, *end;
	perf_report_t *report; /* null but on rank 0 */
	perf_limits_t limits;
} perf_run_t;

/**
 * Runs `kernel` with the arguments `lead`, and at once behind it with `args`;
 * says how long the second took on the device. So the device is awake and,
 * where ranks meet in the kernel, they have met when time begins.
 */
tsr_status_t perf_time(perf_run_t *run, const tsr_kernel_t *kernel, int blocks, const void *lead,
		       const void *args, double *ns_out);

/** The same for `launches` launches with `args`, each of which is an operation. */
tsr_status_t perf_time_launches(perf_run_t *run, const tsr_kernel_t *kernel, int blocks,
				const void *args, uint64_t launches, double *ns_out);

/**
 * Operations of the first launch where the second has `repeats`: enough to last
 * until the second is queued.
 */
uint64_t perf_lead(uint64_t repeats);

/**
 * How many operations make a sample long enough, where the fastest of some
 * launches took `ns` for `repeats` of them.
 */
uint64_t perf_enough(uint64_t repeats, double ns);

/** Runs an operation `times` times on every rank; nanoseconds to `*ns_out`. */
typedef tsr_status_t (*perf_play_fn)(void *ctx, uint64_t times, double *ns_out);

/**
 * How often an operation runs in a sample: as the options say, else as often as
 * rank 0 finds that it takes, which tries `first` times and tells the others.
 * Warms up on the way. Collective.
 */
tsr_status_t perf_choose(const perf_run_t *run, uint64_t first, perf_play_fn play, void *ctx,
			 uint64_t *times_out);

/** Takes one sample of each kind. */
typedef tsr_status_t (*perf_sample_fn)(void *ctx, perf_pair_t *pair);

/**
 * Takes as many samples as the options say. Where they scatter, something else
 * has disturbed them: they are taken again, a few times, and those that scatter
 * least count. `collective`: every rank calls this, and rank 0's samples
 * decide; else rank 0 alone.
 */
tsr_status_t perf_sample(perf_run_t *run, bool collective, perf_sample_fn sample, void *ctx,
			 perf_pair_t *pair_out);

/** Whether the heaps are host memory that this process maps: the emulator's. */
bool perf_on_host(const perf_run_t *run);

/**
 * `rank`'s copy of my `pointer` as the host may use it; null where this
 * backend's heap is not the host's memory.
 */
void *perf_host_address(const perf_run_t *run, TSR_HEAP void *pointer, int rank);

/** A cleared piece of heap. Collective. */
tsr_status_t perf_alloc_clear(perf_run_t *run, size_t size_bytes, const char *name,
			      TSR_HEAP void **pointer_out);

/** The sum over the ranks. Collective. */
tsr_status_t perf_sum(perf_run_t *run, int64_t mine, int64_t *sum_out);

/** Whether a run compares with what the hardware carries: its ranks are on GPUs. */
bool perf_has_limits(const perf_options_t *options, bool on_host);

/**
 * Measures run->limits: the fastest of plain stores, plain loads and the
 * device's copy engine. Rank 0 tells. Collective.
 */
tsr_status_t perf_measure_limits(perf_run_t *run);

/**
 * put, get, copy: `actor` moves options->max_bytes to or from `other`.
 * `*pair_out` is written on the actor. Collective.
 */
tsr_status_t perf_measure_move(perf_run_t *run, int actor, int other, perf_pair_t *pair_out,
			       int64_t *wrong_out);

/** All ranks at one time to, or from, the next one; the slowest rank's time. Collective. */
tsr_status_t perf_measure_moves_together(perf_run_t *run, perf_pair_t *pair_out);

/** atomic: `actor` at `owner`'s word; all ranks at rank 0's. Collective. */
tsr_status_t perf_measure_atomic(perf_run_t *run, perf_atomic_t atomic, int actor, int owner,
				 perf_pair_t *pair_out, int64_t *wrong_out);
tsr_status_t perf_measure_atomics_together(perf_run_t *run, perf_atomic_t atomic,
					   perf_pair_t *pair_out, int64_t *wrong_out);

/** What a picture of pairs shows, at `[row * ranks + column]`: of rank `row` with `column`. */
typedef struct perf_heat {
	int ranks;
	const double *value;   /* more is better */
	const double *share;   /* of what the reference reaches: 1 is as much */
	double together;       /* `value` of each rank when all are at it */
	double together_share; /* and its `share` */
	const char *unit, *reference;
	char title[96];
} perf_heat_t;

/** Draws them as SVG, one below the other. Errors: TSR_ERR_SYSTEM. */
tsr_status_t perf_draw_heats(const char *path, const perf_heat_t *heats, int count);

/** Whether the backend has the only way that the options ask for. Errors: TSR_ERR_UNSUPPORTED. */
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
tsr_status_t perf_run_all_gather(perf_run_t *run);

/** Hands an error on. */
#define PERF_TRY(call_)                             \
	do {                                        \
		tsr_status_t try_status_ = (call_); \
		if (try_status_ != TSR_OK)          \
			return try_status_;         \
	} while (0)

#endif
