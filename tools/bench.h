/* What the parts of `tessera bench` share. */
#ifndef TESSERA_TOOLS_BENCH_H
#define TESSERA_TOOLS_BENCH_H

#include <stdbool.h>

#include "kernels/gemm_all_scatter/verify.h"
#include "tessera/tessera.h"

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
	bool verify, record;
	const char *json, *dump; /* null: none */
} bench_gas_options_t;

/** True where there is something to run. False: `*code_out` is the exit code, and help or the one sentence has been printed. */
bool bench_gas_options_read(int argc, char **argv, bench_gas_options_t *options_out, int *code_out);

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

/* ---------------------------------------------------------------- bench_gas_report.c */

/** One pattern's outcome, the same on every rank. */
typedef struct bench_gas_result {
	gas_config_t config; /* with what was automatic filled in */
	int iterations;
	uint64_t *times_ns; /* of each iteration: the slowest rank's; sorted */
	bench_traffic_t traffic;
	bool verified;
	int wrong_rank;        /* the first with a wrong element, or -1 */
	const char *wrong_run; /* which of its runs */
	gas_verdict_t verdict; /* of that rank and run */
} bench_gas_result_t;

void bench_gas_print_header(const tsr_world_t *world, const bench_gas_options_t *options);
void bench_gas_print_result(const bench_gas_result_t *result);
/** Prints the rows of bench_record_gather's `ranks` ranks. */
void bench_print_record(int ranks, const tsr_record_entry_t *entries, const int *counts);

/** Writes the results to options->json. Errors: TSR_ERR_SYSTEM. */
tsr_status_t bench_gas_write_json(const tsr_world_t *world, const bench_gas_options_t *options, const bench_gas_result_t *results,
				  int count);

/* ---------------------------------------------------------------- bench_gas_dump.c */

/** Write A, B and the manifest, and this rank's C of one pattern. Called by rank 0. Errors: TSR_ERR_SYSTEM, TSR_ERR_NO_MEMORY. */
tsr_status_t bench_gas_dump_inputs(const bench_gas_options_t *options);
tsr_status_t bench_gas_dump_c(const bench_gas_options_t *options, tsr_world_t *world, const gas_plan_t *plan);

#endif
