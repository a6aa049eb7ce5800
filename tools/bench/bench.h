/*
 * What the parts of `tessera bench` share. None of them knows a workload: all
 * that they do follows from its struct.
 */
#ifndef TESSERA_TOOLS_BENCH_H
#define TESSERA_TOOLS_BENCH_H

#include <jansson.h>
#include <stdbool.h>

#include "bench/baseline.h"
#include "kernels/choices/explain.h"
#include "kernels/host/judge.h"
#include "kernels/workload.h"
#include "tessera/tessera.h"

/* ---------------------------------------------------------------- patterns.c */

typedef struct bench_session bench_session_t;

/** `tessera bench WORKLOAD`; argv[0] is its name. Returns the exit code. */
int bench_workload(const workload_t *workload, int argc, char **argv);

/* ---------------------------------------------------------------- options.c */

/** The command line, read and checked before any rank starts. */
typedef struct bench_options {
	const workload_t *workload;
	int ranks;
	int nodes; /* emulated; 0: what the environment says */
	tsr_placement_t placement;
	const char *backend;              /* null: the library's choice */
	bool patterns[WORKLOAD_PATTERNS]; /* those to run, */
	bool fastest;                     /* or of these the one that the workload chooses */
	workload_config_t config;         /* its pattern: each of those in turn */
	workload_inputs_t inputs;
	int iterations, warmup;
	bool verify, record, baseline;
	/* search what is searched; leave alone what an earlier search has found */
	bool tune, no_tuned;
	bool taxes, model, explain;
	const char *json, *csv, *dump, *trace, *picture, *taxes_picture; /* null: none */
} bench_options_t;

/**
 * argv[0] is the workload's name. True where there is something to run. False:
 * `*code_out` is the exit code, and help or the one sentence has been printed.
 */
bool bench_options_read(const workload_t *workload, int argc, char **argv,
			bench_options_t *options_out, int *code_out);

enum { BENCH_PATH_BYTES = 4096 };

/**
 * The file of a pattern: `path`, or where several patterns are run, with the
 * pattern's name before its last dot. Errors: TSR_ERR_ARGUMENT (too long).
 */
tsr_status_t bench_pattern_path(const bench_options_t *options, int64_t pattern, const char *path,
				char path_out[BENCH_PATH_BYTES]);

/** Whether all that a search finds is left to the command. */
bool bench_is_automatic(const workload_t *workload, const workload_config_t *config);

/* ---------------------------------------------------------------- values.c, values_json.c */

enum { BENCH_VALUE_TEXT = 80, BENCH_KEY_TEXT = 64, BENCH_PROBLEM_TEXT = 256 };

bool bench_value_is_automatic(const workload_value_t *value);

/**
 * Reads a parameter's value as it is typed. Errors: TSR_ERR_ARGUMENT,
 * TSR_ERR_NOT_FOUND (a dtype).
 */
tsr_status_t bench_value_parse(const workload_param_t *param, const char *text,
			       workload_value_t *value_out);

/** As it is typed. */
const char *bench_value_text(const workload_param_t *param, const workload_value_t *value,
			     char text_out[BENCH_VALUE_TEXT]);

/**
 * In JSON: a number, a dtype's name, extents as an array, or by their `axes` as
 * an object. Null where there is no memory.
 */
json_t *bench_value_json(const workload_param_t *param, const workload_value_t *value,
			 bool by_axes);

/** Reads what bench_value_json has made of extents as an array, and of the others. */
bool bench_value_from_json(const workload_param_t *param, const json_t *json,
			   workload_value_t *value_out);

/** A name as a key of JSON: '-' as '_'. */
const char *bench_key(const char *name, char key_out[BENCH_KEY_TEXT]);

/**
 * The workload's parameters that say what is computed, as people write them:
 * "1024x1024x1024 bf16".
 */
const char *bench_problem_text(const workload_t *workload, const workload_config_t *config,
			       char text_out[BENCH_PROBLEM_TEXT]);

/** Operations of all ranks together. */
double bench_all_operations(const workload_t *workload, const workload_config_t *config, int ranks);

/* ---------------------------------------------------------------- samples.c */

/**
 * How samples are taken, with a rest of eight times as long behind each.
 * `limit_ns`: gives up after three that are all slower than that, or one that
 * is twice as slow; 0: never.
 */
typedef struct bench_sampling {
	int iterations, warmup;
	uint64_t limit_ns;
} bench_sampling_t;

/** Sorted; of each sample the slowest rank's. */
typedef struct bench_times {
	uint64_t *ns;
	int count;
} bench_times_t;

/** Takes one sample on this rank. Collective. */
typedef tsr_status_t (*bench_sample_fn)(void *ctx, uint64_t *ns_out);

/**
 * Takes samples on all ranks together; the same times on every rank, to be
 * released by bench_times_free. Collective.
 */
tsr_status_t bench_sample(tsr_world_t *world, const bench_sampling_t *sampling,
			  bench_sample_fn sample, void *ctx, bench_times_t *times_out);

/** Makes `*ns` the slowest rank's. Collective. */
tsr_status_t bench_slowest(tsr_world_t *world, uint64_t *ns);

/** 0 where there are none. */
uint64_t bench_median_ns(const bench_times_t *times);

void bench_times_free(bench_times_t *times);

/* ---------------------------------------------------------------- record/ */

/** Moments of a run, in the order in which most patterns reach them. */
typedef enum bench_moment {
	BENCH_FIRST_PRODUCT, /* the first main loop begins */
	BENCH_LAST_PRODUCT,  /* the last one ends */
	BENCH_LAST_SEND,     /* the last write to a peer ends */
	BENCH_LAST_WORKER,   /* the last worker ends */
	BENCH_MOMENTS
} bench_moment_t;

/** What all ranks together did in one run, from its record. */
typedef struct bench_traffic {
	bool recorded; /* false: this backend keeps no record, and the rest is 0 */
	int launches;  /* on a rank; the most of any */
	uint64_t products;
	uint64_t operand_bytes, local_written_bytes, local_read_bytes, remote_written_bytes,
		remote_read_bytes;
	int senders;       /* ranks that wrote to a peer */
	int early_senders; /* of these, those that first did so before their last product ended */
	/* since the first worker's begin; the mean over the ranks that have it; 0: none has */
	double moment_ns[BENCH_MOMENTS];
} bench_traffic_t;

/** Sums up the finished recording of every rank. Collective; the same result on every rank. */
tsr_status_t bench_record_sum(tsr_world_t *world, bench_traffic_t *traffic_out);

/** What was recorded, of all ranks: each rank's rows behind those of the rank before it. */
typedef struct bench_recording {
	int ranks;
	tsr_record_entry_t *entries;
	int *entry_counts;          /* of each rank */
	tsr_record_event_t *events; /* null: they were not asked for */
	int *event_counts;
} bench_recording_t;

/**
 * The finished recordings of all ranks, on every rank; to be released by
 * bench_record_free. Collective.
 */
tsr_status_t bench_record_gather(tsr_world_t *world, bool events, bench_recording_t *recording_out);
void bench_record_free(bench_recording_t *recording);

/** What it does not say: events that had no room. And how far clocks may be apart. */
typedef struct bench_left_out {
	uint64_t events, clock_error_ns;
} bench_left_out_t;

bench_left_out_t bench_record_left_out(const bench_recording_t *recording);

/** --record: prints a row for each worker of each block. */
void bench_print_record(const bench_recording_t *recording);

/** What a file about one run says of it. */
typedef struct bench_caption {
	const char *workload, *pattern, *problem, *backend;
} bench_caption_t;

/**
 * --trace: writes the events for ui.perfetto.dev (or chrome://tracing): a
 * process a rank, a thread a worker, and arrows from signals to waits. Errors:
 * TSR_ERR_SYSTEM, TSR_ERR_NO_MEMORY.
 */
tsr_status_t bench_write_trace(const char *path, const bench_caption_t *caption,
			       const bench_recording_t *recording);

/**
 * --picture: draws the run as SVG: of each rank, which share of its workers
 * multiplied, sent and waited, over time. Errors: as above.
 */
tsr_status_t bench_draw_picture(const char *path, const bench_caption_t *caption,
				const bench_recording_t *recording);

/* ---------------------------------------------------------------- taxes/, the parts */

/** Parts of a run, each measured by itself, before any pattern is. */
typedef struct bench_alone {
	uint64_t launch_ns; /* a launch that does nothing, directly behind another one */
	/* the workload's computation without communication; 0: it cannot be told apart */
	uint64_t compute_ns;
	double send_gbps; /* each rank stores to each other; 0: not measured */
} bench_alone_t;

/** What a recorded run says of taxes. */
typedef struct bench_idling {
	bool known; /* false: no record, or events had no room; the rest is 0 */
	int launches, meetings;
	double idle_ns; /* in meetings; the mean over ranks */
	/* 0 to 1: how much of the shorter of both a rank multiplied and communicated at once */
	double overlap;
	double run_ns; /* of the recorded run, by events of its stream; 0: not measured */
} bench_idling_t;

/**
 * What a pattern's run consists of. The parts are measured by themselves, and
 * not computed from the whole. Times are those of one run.
 */
typedef struct bench_taxes {
	bool measured;
	bench_idling_t idling;
	bool met; /* the record has all meetings of the pattern */
	int launches;
	double between_bytes; /* intermediates that a rank writes and reads back; the most of any */
	double send_bytes;    /* to peers and from them; the most of any rank */
	/* negative: not known */
	double whole_ns, launch_ns, idle_ns, between_ns, compute_ns, send_ns, overlap_ns;
} bench_taxes_t;

/** All parts, with what overlaps counted once; negative: one is not known. */
double bench_taxes_sum(const bench_taxes_t *taxes);

/** Of the pattern that was just timed. Collective. */
tsr_status_t bench_taxes_measure(bench_session_t *session, const bench_alone_t *alone,
				 const bench_times_t *whole, bench_taxes_t *taxes_out);

/** The second of two runs that one recording has. Errors: TSR_ERR_NO_MEMORY. */
tsr_status_t bench_idling_of(const bench_recording_t *recording, bench_idling_t *idling_out);

/* ---------------------------------------------------------------- verify.c */

/** What outputs were found to be; the same on every rank. */
typedef struct bench_judgement {
	bool verified;
	int wrong_rank;          /* the first with a wrong element, or -1 */
	const char *wrong_run;   /* which of its runs */
	workload_matrix_t wrong; /* which output, and that rank's part of it */
	verdict_t verdict;       /* of that rank, run and output */
} bench_judgement_t;

/** A verdict of this rank: on which output, after which run. */
typedef struct bench_finding {
	int run, matrix;
	verdict_t verdict;
} bench_finding_t;

/** Makes judges of all outputs. Collective. */
tsr_status_t bench_judges_create(bench_session_t *session);
void bench_judges_destroy(bench_session_t *session);

/** Fills the inputs; makes all outputs NaN. This rank alone, no run in flight. */
tsr_status_t bench_fill(bench_session_t *session);
tsr_status_t bench_poison(bench_session_t *session);

/**
 * Looks at this rank's outputs where something is verified; keeps the first
 * verdict that finds something wrong.
 */
tsr_status_t bench_judge(const bench_session_t *session, int run, bench_finding_t *finding);

/** The first rank with something wrong speaks for all. `runs`: the names of runs. Collective. */
tsr_status_t bench_agree_on(const bench_session_t *session, bool verified, const char *const *runs,
			    const bench_finding_t *finding, bench_judgement_t *judgement_out);

/* ---------------------------------------------------------------- run.c */

/** One configuration that was tried. */
typedef struct bench_trial {
	workload_config_t config; /* with what was automatic filled in */
	uint64_t median_ns;
	int samples;
	bool abandoned, best;
} bench_trial_t;

enum { BENCH_MOST_TRIALS = 128 };

typedef struct bench_trials {
	bench_trial_t trial[BENCH_MOST_TRIALS];
	int count;
} bench_trials_t;

/** One pattern's outcome, the same on every rank. */
typedef struct bench_result {
	workload_config_t config; /* with what was automatic filled in */
	workload_config_t asked;  /* as the command line and searches left it */
	explain_t *explain;       /* of --explain, on rank 0: why it was filled in so; or null */
	bool remembered;          /* what is searched is that of an earlier search, */
	char tuned_on[24];        /* of this date */
	bench_trials_t *trials;   /* of --tune; null: none */
	bench_times_t times;
	bench_traffic_t traffic;
	bench_taxes_t taxes; /* of --taxes */
	bench_judgement_t judgement;
} bench_result_t;

/** What one rank works with, from the first pattern to the last. */
struct bench_session {
	const bench_options_t *options;
	const workload_t *workload;
	tsr_world_t *world;
	/* reconfigured for each pattern: inputs are made once */
	workload_run_t *run;
	workload_expected_t *expected;      /* null: nothing is verified */
	judge_t *judges[WORKLOAD_MATRICES]; /* of outputs; null: of others */
	tsr_event_t *begin, *end;
	int64_t fastest;    /* the pattern that the workload chooses, where that one is asked for */
	explain_t *explain; /* why it is, until a result has it; or null */
};

/** The run's configuration with everything filled in. */
workload_config_t bench_chosen(const bench_session_t *session);

/** A matrix, and this rank's part. */
bool bench_matrix(const bench_session_t *session, int index, workload_matrix_t *matrix_out);

/** Starts runs on the session's stream: the workload's start, or compute. */
typedef tsr_status_t (*bench_start_fn)(workload_run_t *run);

/**
 * Times runs by events: each directly behind another one, so that no launch is
 * waited for. Collective.
 */
tsr_status_t bench_time(bench_session_t *session, bench_start_fn start,
			const bench_sampling_t *sampling, bench_times_t *times_out);

/**
 * All stages of the session's pattern: recorded, repeated and timed runs, each
 * judged. Collective.
 */
tsr_status_t bench_run(bench_session_t *session, bench_result_t *result);

/**
 * What rank 0 alone does, and must do: where it fails, the world ends, so that
 * no other rank waits for it.
 */
tsr_status_t bench_rank_0_only(tsr_world_t *world, tsr_status_t status);

/* ---------------------------------------------------------------- taxes/ */

/** Whether times mean something here: on the emulator only shares of the whole do. */
bool bench_taxes_have_times(const tsr_world_t *world);

/** --taxes: a row for each pattern. */
void bench_print_taxes(const bench_session_t *session, const bench_result_t *results, int count);

/** In JSON; null where nothing was measured. */
json_t *bench_taxes_json(const tsr_world_t *world, const bench_taxes_t *taxes);

/** --taxes-picture: a stacked bar for each pattern, as SVG. Errors: TSR_ERR_SYSTEM. */
tsr_status_t bench_draw_taxes(const bench_session_t *session, const bench_result_t *results,
			      int count);

/* ---------------------------------------------------------------- tune.c, remember.c */

/** Searches for the pattern of `config`, and fills in what it finds. Collective. */
tsr_status_t bench_tune(bench_session_t *session, workload_config_t *config,
			bench_trials_t *trials);

/**
 * Fills in what an earlier search has found, where this build and device can
 * run that. Collective.
 */
tsr_status_t bench_recall(bench_session_t *session, workload_config_t *config,
			  bench_result_t *result);

/** Remembers the result of a search. Collective; rank 0 writes. */
tsr_status_t bench_remember(bench_session_t *session, const bench_result_t *result);

/* ---------------------------------------------------------------- model.c */

/**
 * --model: what `tessera sim` says that the patterns should have taken, and
 * where a run and the simulated one part. Rank 0 alone.
 */
void bench_print_model(const bench_session_t *session, const bench_result_t *results, int count);

/* ---------------------------------------------------------------- baseline.c */

/** Steps of the baseline that are timed together, or stores: a row of its table. */
typedef struct bench_line {
	bench_timed_t timed;
	char key[BENCH_VALUE_TEXT], what[BENCH_VALUE_TEXT];
	char missing[512]; /* why it has no times; "" where it has */
	bench_times_t times;
	bool judged; /* all steps, so that outputs are what they must be */
} bench_line_t;

enum { BENCH_MOST_LINES = WORKLOAD_STEPS + 4 };

/**
 * What the vendor's libraries, or what take their place, do with the same
 * inputs; and the floor below every pattern.
 */
typedef struct bench_theirs {
	bool measured;
	char name[128];
	bench_line_t line[BENCH_MOST_LINES];
	int count;
	/* lines: the product (without one: the first step), the baseline, stores to one and to
	 * each; -1: there is none */
	int product, whole, pair, all;
	size_t push_bytes;
	bench_judgement_t judgement;
	workload_config_t own_config; /* of the workload's own computation without communication, */
	bench_times_t own;            /* and its times; none where it cannot be told apart */
	/* stores out of a rank, in 10^9 bytes a second; 0: not measured */
	double pair_gbps, all_gbps;
	uint64_t exchange_ns; /* what a rank must send, at pair_gbps */
	/* the larger of that line and exchange_ns; 0: not known */
	uint64_t floor_ns;
} bench_theirs_t;

/** Measures it; the run is left in another pattern. Collective. */
tsr_status_t bench_theirs_measure(bench_session_t *session, bench_theirs_t *theirs);
void bench_theirs_free(bench_theirs_t *theirs);

/**
 * The workload's computation without communication, with the tile and split
 * that its pattern would be run with; no times where the two cannot be told
 * apart. The run is left in another pattern. Collective.
 */
tsr_status_t bench_own_measure(bench_session_t *session, workload_config_t *config_out,
			       bench_times_t *times_out);

/** What the library takes for the steps that users need; 0: not measured. */
uint64_t bench_theirs_ns(const bench_theirs_t *theirs);

/**
 * Measures what all patterns have in common, but for what `theirs` has already;
 * the run is left in another pattern. Collective.
 */
tsr_status_t bench_alone_measure(bench_session_t *session, const bench_theirs_t *theirs,
				 bench_alone_t *alone);

/** What a rank does at least. */
workload_cost_t bench_cost(const bench_session_t *session, const workload_config_t *config,
			   int rank);

/* ---------------------------------------------------------------- explain.c, explain_json.c */

/**
 * The record of --explain; null without that option, and on other ranks than 0.
 * Collective where it fails. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t bench_explain_new(const bench_session_t *session, explain_t **explain_out);

/** --explain: for each pattern why its parameters have their values. */
void bench_print_explain(const bench_session_t *session, const bench_result_t *results, int count);

/** In JSON; null without --explain. */
json_t *bench_explain_json(const bench_options_t *options, const bench_result_t *result);

/* ---------------------------------------------------------------- report.c */

void bench_print_head(const tsr_world_t *world, const bench_options_t *options);
void bench_print_theirs(const bench_session_t *session, const bench_theirs_t *theirs);
void bench_print_trials(const workload_t *workload, const bench_trials_t *trials);
/**
 * The heads of the columns, and the row of a pattern: with ratios where the
 * baseline was measured.
 */
void bench_print_columns(const bench_session_t *session, const bench_theirs_t *theirs);
void bench_print_result(const bench_session_t *session, const bench_result_t *result,
			const bench_theirs_t *theirs);
/** Which rows were configured from the file; nothing where none was. */
void bench_print_tuned(const workload_t *workload, const bench_result_t *results, int count);

/** "640", "1.5K", "33.0M". */
enum { BENCH_SHORT_TEXT = 24 };
const char *bench_bytes_text(uint64_t bytes, char text_out[BENCH_SHORT_TEXT]);

/* ---------------------------------------------------------------- json.c */

/** Writes the results to options->json and options->csv. Errors: TSR_ERR_SYSTEM. */
tsr_status_t bench_write_json(const tsr_world_t *world, const bench_options_t *options,
			      const bench_theirs_t *theirs, const bench_result_t *results,
			      int count);

/* ---------------------------------------------------------------- dump.c */

/**
 * Write the inputs and the manifest (rank 0), and a rank's parts of the outputs
 * of one pattern. Errors: TSR_ERR_SYSTEM, TSR_ERR_NO_MEMORY.
 */
tsr_status_t bench_dump_inputs(const bench_options_t *options);
tsr_status_t bench_dump_outputs(const bench_session_t *session);

/* ---------------------------------------------------------------- list.c */

/** `tessera bench --list`. */
void bench_list(void);

#endif
