/* What the parts of `tessera bench` share. */
#ifndef TESSERA_TOOLS_BENCH_H
#define TESSERA_TOOLS_BENCH_H

#include <stdbool.h>

#include "bench/baseline.h"
#include "kernels/gemm_all_scatter/verify.h"
#include "tessera/tessera.h"
#include "tools/tune_file.h"

/** `tessera bench gemm-all-scatter`; argv[0] is the workload. */
int bench_gas(int argc, char **argv);

/* ---------------------------------------------------------------- bench_gas_options.c */

/** The command line, read and checked before any rank starts. */
typedef struct bench_gas_options {
	int ranks;
	tsr_placement_t placement;
	const char *backend;              /* null: the library's choice */
	bool patterns[GAS_PATTERN_COUNT]; /* those to run */
	gas_config_t config;              /* its pattern: each of those in turn */
	gas_inputs_t inputs;
	int iterations, warmup;
	bool verify, record, baseline;
	bool tune, no_tuned;     /* search the tile and the split; leave alone what an earlier search has found */
	const char *json, *dump; /* null: none */
} bench_gas_options_t;

/** Whether the tile and the split of blocks are for the command to choose. */
static inline bool bench_gas_is_automatic(const bench_gas_options_t *options)
{
	const gas_config_t *c = &options->config;
	return c->tile.m == 0 && c->blocks == 0 && c->comm_blocks == 0 && c->bands == 0 && c->parts == 0;
}

/** True where there is something to run. False: `*code_out` is the exit code, and help or the one sentence has been printed. */
bool bench_gas_options_read(int argc, char **argv, bench_gas_options_t *options_out, int *code_out);

/* ---------------------------------------------------------------- bench_samples.c */

/**
 * How samples are taken, with a rest of eight times as long behind each. `limit_ns`: gives up after three that are all slower than
 * that, or one that is twice as slow; 0: never.
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

/** Takes samples on all ranks together; the same times on every rank, to be released by bench_times_free. Collective. */
tsr_status_t bench_sample(tsr_world_t *world, const bench_sampling_t *sampling, bench_sample_fn sample, void *ctx,
			  bench_times_t *times_out);

/** Makes `*ns` the slowest rank's. Collective. */
tsr_status_t bench_slowest(tsr_world_t *world, uint64_t *ns);

/** 0 where there are none. */
uint64_t bench_median_ns(const bench_times_t *times);

void bench_times_free(bench_times_t *times);

/* ---------------------------------------------------------------- bench_record.c */

/** What all ranks together did in one run, from its record. */
typedef struct bench_traffic {
	bool recorded; /* false: this backend keeps no record, and the rest is 0 */
	int launches;  /* on a rank; the most of any */
	uint64_t products;
	uint64_t operand_bytes, local_written_bytes, local_read_bytes, remote_written_bytes, remote_read_bytes;
	int senders;       /* ranks that wrote to a peer */
	int early_senders; /* of these, those that first did so before their last product ended */
} bench_traffic_t;

/** Sums up the finished recording of every rank. Collective; the same result on every rank. */
tsr_status_t bench_record_sum(tsr_world_t *world, bench_traffic_t *traffic_out);

/** The rows of every rank, rank after rank, and how many each has; on every rank, to be freed. Collective. */
tsr_status_t bench_record_gather(tsr_world_t *world, tsr_record_entry_t **entries_out, int **counts_out);

/* ---------------------------------------------------------------- bench_gas_run.c */

/** What C was found to be; the same on every rank. */
typedef struct bench_judgement {
	bool verified;
	int wrong_rank;        /* the first with a wrong element, or -1 */
	const char *wrong_run; /* which of its runs */
	gas_verdict_t verdict; /* of that rank and run */
} bench_judgement_t;

/** One configuration that was tried. */
typedef struct bench_trial {
	gas_config_t config; /* with what was automatic filled in */
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
typedef struct bench_gas_result {
	gas_config_t config;    /* with what was automatic filled in */
	bool remembered;        /* tile and split are those of an earlier search, */
	char tuned_on[24];      /* of this date */
	bench_trials_t *trials; /* of --tune; null: none */
	bench_times_t times;
	bench_traffic_t traffic;
	bench_judgement_t judgement;
} bench_gas_result_t;

/** What one rank works with, from the first pattern to the last. */
typedef struct bench_gas_session {
	const bench_gas_options_t *options;
	tsr_world_t *world;
	gas_plan_t *plan;           /* adapted to each pattern: A and B are made once */
	gas_reference_t *reference; /* null: nothing is verified */
	tsr_event_t *begin, *end;
} bench_gas_session_t;

/** Starts runs on the plan's stream: gas_plan_run, or the product alone. */
typedef tsr_status_t (*bench_gas_start_fn)(gas_plan_t *plan);

/** Times runs of the plan by events: each directly behind another one, so that no launch is waited for. Collective. */
tsr_status_t bench_gas_time(bench_gas_session_t *session, bench_gas_start_fn start, const bench_sampling_t *sampling,
			    bench_times_t *times_out);

/** All stages of the plan's pattern: recorded, repeated and timed runs, each judged. Collective. */
tsr_status_t bench_gas_run(bench_gas_session_t *session, bench_gas_result_t *result);

/** The first rank with something wrong speaks for all. Collective. */
tsr_status_t bench_gas_agree(tsr_world_t *world, bool verified, const char *const *runs, int run, const gas_verdict_t *verdict,
			     bench_judgement_t *judgement_out);

/** What rank 0 alone does, and must do: where it fails, the world ends, so that no other rank waits for it. */
tsr_status_t bench_rank_0_only(tsr_world_t *world, tsr_status_t status);

/* ---------------------------------------------------------------- bench_gas_tune.c */

/** Searches tile and split for the pattern of `config`, and fills them in. Collective. */
tsr_status_t bench_gas_tune(bench_gas_session_t *session, gas_config_t *config, bench_trials_t *trials);

/** Fills in tile and split as an earlier search has found them, where this build and device can run that. Collective. */
tsr_status_t bench_gas_recall(bench_gas_session_t *session, gas_config_t *config, bench_gas_result_t *result);

/** Remembers the result of a search. Collective; rank 0 writes. */
tsr_status_t bench_gas_remember(bench_gas_session_t *session, const bench_gas_result_t *result);

/* ---------------------------------------------------------------- bench_gas_baseline.c */

/** What cuBLAS + NCCL, or what takes their place, do with the same A and B; and the floor below every pattern. */
typedef struct bench_gas_baseline {
	bool measured;
	char name[128];
	char missing[BENCH_STEPS][512]; /* why a step has no times; "" where it has */
	bench_times_t times[BENCH_STEPS];
	size_t push_bytes;
	bench_judgement_t judgement; /* of BENCH_LAYOUT */
	gas_config_t product_config; /* of the product alone by Tessera's own kernel, */
	bench_times_t product;       /* and its times */
	double pair_gbps, all_gbps;  /* stores out of a rank, in 10^9 bytes a second; 0: not measured */
	uint64_t exchange_ns;        /* what a rank must store, at pair_gbps */
	uint64_t floor_ns;           /* the larger of the product by the library, and exchange_ns; 0: not known */
} bench_gas_baseline_t;

/** Measures it; the plan is left with another pattern. Collective. */
tsr_status_t bench_gas_baseline(bench_gas_session_t *session, bench_gas_baseline_t *baseline);

void bench_gas_baseline_free(bench_gas_baseline_t *baseline);

/* ---------------------------------------------------------------- bench_gas_report.c */

void bench_gas_print_head(const tsr_world_t *world, const bench_gas_options_t *options);
void bench_gas_print_baseline(const bench_gas_session_t *session, const bench_gas_baseline_t *baseline);
void bench_gas_print_trials(const bench_trials_t *trials);
/** The heads of the columns, and the row of a pattern: with ratios where the baseline was measured. */
void bench_gas_print_columns(const bench_gas_baseline_t *baseline);
void bench_gas_print_result(const bench_gas_result_t *result, const bench_gas_baseline_t *baseline);
/** Which rows have a tile and a split from the file; nothing where none has. */
void bench_gas_print_tuned(const bench_gas_result_t *results, int count);
/** Prints the rows of bench_record_gather's `ranks` ranks. */
void bench_print_record(int ranks, const tsr_record_entry_t *entries, const int *counts);

/** "640", "1.5K", "33.0M". */
enum { BENCH_SHORT_TEXT = 24 };
const char *bench_bytes_text(uint64_t bytes, char text_out[BENCH_SHORT_TEXT]);

/* ---------------------------------------------------------------- bench_gas_json.c */

/** Writes the results to options->json. Errors: TSR_ERR_SYSTEM. */
tsr_status_t bench_gas_write_json(const tsr_world_t *world, const bench_gas_options_t *options,
				  const bench_gas_baseline_t *baseline, const bench_gas_result_t *results, int count);

/* ---------------------------------------------------------------- bench_gas_dump.c */

/** Write A, B and the manifest, and this rank's C of one pattern. Called by rank 0. Errors: TSR_ERR_SYSTEM, TSR_ERR_NO_MEMORY. */
tsr_status_t bench_gas_dump_inputs(const bench_gas_options_t *options);
tsr_status_t bench_gas_dump_c(const bench_gas_options_t *options, tsr_world_t *world, const gas_plan_t *plan);

#endif
