/* `tessera bench gemm-all-scatter`: runs the patterns, in turn, on every rank. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/bench.h"
#include "tools/progress.h"
#include "tools/usage.h"

/* Written before the ranks start and only read by them: an entry gets no context of its own, and ranks may be threads. */
static bench_gas_options_t line;

/** The runs of a pattern after which C is judged. */
typedef enum bench_stage { STAGE_FIRST, STAGE_REPEATED, STAGE_TIMED } bench_stage_t;

static const char *const stage_names[] = {
	[STAGE_FIRST] = "first run", [STAGE_REPEATED] = "repeated runs", [STAGE_TIMED] = "timed runs"};

/** One pattern's run on one rank. */
typedef struct bench_run {
	const bench_gas_options_t *options;
	tsr_world_t *world;
	int number;                       /* of the pattern in this bench, from 0 */
	const gas_reference_t *reference; /* null: nothing is verified */
	gas_plan_t *plan;
	tool_progress_t progress;  /* shown by rank 0 */
	bench_stage_t wrong_stage; /* of the first verdict that found something wrong on this rank, */
	gas_verdict_t verdict;     /* and that verdict */
} bench_run_t;

static uint64_t now_ns(void)
{
	struct timespec t;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static tsr_status_t run_and_wait(bench_run_t *run, int times)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < times; i++)
		status = gas_plan_run(run->plan);
	return status == TSR_OK ? gas_plan_sync(run->plan) : status;
}

/** Compares this rank's C; keeps the first verdict that finds something wrong. */
static tsr_status_t judge(bench_run_t *run, bench_stage_t stage)
{
	gas_verdict_t verdict;
	if (!run->reference || run->verdict.wrong)
		return TSR_OK;
	tsr_status_t status = gas_reference_check(run->reference, run->world, run->plan, &verdict);
	if (status == TSR_OK && verdict.wrong) {
		run->wrong_stage = stage;
		run->verdict = verdict;
	}
	return status;
}

/* ---------------------------------------------------------------- the stages of a pattern */

static tsr_status_t print_record(bench_run_t *run)
{
	tsr_record_entry_t *entries;
	int *counts;
	tsr_status_t status = bench_record_gather(run->world, &entries, &counts);
	if (status != TSR_OK)
		return status;
	if (tsr_world_rank(run->world) == 0) {
		(void)printf("%s, what each worker did in one run:\n", gas_pattern_name(gas_plan_config(run->plan)->pattern));
		bench_print_record(tsr_world_size(run->world), entries, counts);
	}
	free(entries);
	free(counts);
	return TSR_OK;
}

/** One run with a record. A backend without one is no error: the columns say so. */
static tsr_status_t recorded_run(bench_run_t *run, bench_traffic_t *traffic_out)
{
	tsr_status_t status = gas_plan_poison(run->plan, run->world);
	if (status != TSR_OK)
		return status;
	status = tsr_record_start(run->world);
	bool recorded = status == TSR_OK;
	if (recorded || status == TSR_ERR_UNSUPPORTED)
		status = run_and_wait(run, 1);
	if (recorded && status == TSR_OK)
		status = tsr_record_stop(run->world);
	if (recorded && status == TSR_OK)
		status = bench_record_sum(run->world, traffic_out);
	if (recorded && status == TSR_OK && run->options->record)
		status = print_record(run);
	return status == TSR_OK ? judge(run, STAGE_FIRST) : status;
}

/** Two runs in a row, without waiting and with nothing reset: what is left of one must not serve the other. */
static tsr_status_t repeated_run(bench_run_t *run)
{
	tsr_status_t status = run->reference ? gas_plan_poison(run->plan, run->world) : TSR_OK;
	if (run->reference && status == TSR_OK)
		status = run_and_wait(run, 2);
	return status == TSR_OK ? judge(run, STAGE_REPEATED) : status;
}

static tsr_status_t timed_runs(bench_run_t *run, uint64_t *times_ns)
{
	int iterations = run->options->iterations;
	tsr_status_t status = run->reference ? gas_plan_poison(run->plan, run->world) : TSR_OK;
	if (status == TSR_OK)
		status = run_and_wait(run, run->options->warmup);
	for (int i = 0; status == TSR_OK && i < iterations; i++) {
		tool_progress_step(&run->progress, "%s: timed runs", gas_pattern_name(gas_plan_config(run->plan)->pattern));
		status = tsr_barrier(run->world);
		uint64_t begin = now_ns();
		if (status == TSR_OK)
			status = run_and_wait(run, 1);
		times_ns[i] = now_ns() - begin;
	}
	return status == TSR_OK ? judge(run, STAGE_TIMED) : status;
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/** Each iteration lasts as long as its slowest rank. */
static tsr_status_t agree_on_times(tsr_world_t *world, uint64_t *times_ns, int count)
{
	int ranks = tsr_world_size(world);
	uint64_t *all = malloc((size_t)ranks * (size_t)count * sizeof *all);
	if (!all)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for %d times of %d ranks", count, ranks);
	tsr_status_t status = tsr_allgather(world, times_ns, all, (size_t)count * sizeof *all);
	for (int i = 0; status == TSR_OK && i < ranks * count; i++)
		if (all[i] > times_ns[i % count])
			times_ns[i % count] = all[i];
	free(all);
	qsort(times_ns, (size_t)count, sizeof *times_ns, compare_ns);
	return status;
}

/** The first rank with something wrong speaks for all. */
static tsr_status_t agree_on_verdict(const bench_run_t *run, bench_gas_result_t *result)
{
	struct {
		bench_stage_t stage;
		gas_verdict_t verdict;
	} mine, all[TSR_MAX_RANKS];
	memset(&mine, 0, sizeof mine); /* padding travels too */
	mine.stage = run->wrong_stage;
	mine.verdict = run->verdict;
	tsr_status_t status = tsr_allgather(run->world, &mine, all, sizeof mine);
	result->verified = run->reference != NULL;
	result->wrong_rank = -1;
	for (int r = 0; status == TSR_OK && r < tsr_world_size(run->world); r++) {
		if (all[r].verdict.wrong == 0)
			continue;
		result->wrong_rank = r;
		result->wrong_run = stage_names[all[r].stage];
		result->verdict = all[r].verdict;
		break;
	}
	return status;
}

/** What rank 0 alone does, and must do: where it fails, the world ends, so that no other rank waits for it. */
static tsr_status_t rank_0_only(tsr_world_t *world, tsr_status_t status)
{
	if (status != TSR_OK)
		tsr_abort(world, tsr_last_error());
	return status;
}

/* ---------------------------------------------------------------- a pattern, and all */

static tsr_status_t run_stages(bench_run_t *run, bench_gas_result_t *result)
{
	const bench_gas_options_t *options = run->options;
	tsr_status_t status = gas_plan_fill(run->plan, run->world, &options->inputs);
	if (status == TSR_OK)
		status = recorded_run(run, &result->traffic);
	if (status == TSR_OK)
		status = repeated_run(run);
	if (status == TSR_OK)
		status = timed_runs(run, result->times_ns);
	tool_progress_clear(&run->progress);
	if (status == TSR_OK)
		status = agree_on_times(run->world, result->times_ns, options->iterations);
	if (status == TSR_OK)
		status = agree_on_verdict(run, result);
	if (status == TSR_OK && options->dump && tsr_world_rank(run->world) == 0)
		status = rank_0_only(run->world, bench_gas_dump_c(options, run->world, run->plan));
	return status;
}

/** The reference is made once a plan has shown that the shape fits. */
static tsr_status_t run_pattern(bench_run_t *run, gas_pattern_t pattern, gas_reference_t **reference, bench_gas_result_t *result)
{
	const bench_gas_options_t *options = run->options;
	bool first = tsr_world_rank(run->world) == 0;
	gas_config_t config = options->config;
	config.pattern = pattern;
	result->iterations = options->iterations;
	result->times_ns = calloc((size_t)options->iterations, sizeof *result->times_ns);
	if (!result->times_ns)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for %d times", options->iterations);
	tsr_status_t status = gas_plan_create(run->world, &config, &run->plan);
	if (status != TSR_OK)
		return status;
	result->config = *gas_plan_config(run->plan);
	if (first && run->number == 0)
		bench_gas_print_header(run->world, options);
	if (options->verify && !*reference)
		status = gas_reference_create(run->world, &options->config, &options->inputs, reference);
	run->reference = *reference;
	if (status == TSR_OK)
		status = run_stages(run, result);
	if (status != TSR_OK)
		return gas_plan_abandon(run->plan, status);
	if (first)
		bench_gas_print_result(result);
	return gas_plan_destroy(run->plan);
}

static tsr_status_t run_patterns(tsr_world_t *world, const bench_gas_options_t *options, bench_gas_result_t *results,
				 int *count_out)
{
	gas_reference_t *reference = NULL;
	tsr_status_t status = TSR_OK;
	for (int p = 0; status == TSR_OK && p < GAS_PATTERN_COUNT; p++) {
		bench_run_t run = {.options = options, .world = world, .number = *count_out};
		if (!options->patterns[p])
			continue;
		if (tsr_world_rank(world) == 0)
			run.progress = tool_progress_begin(options->iterations);
		status = run_pattern(&run, (gas_pattern_t)p, &reference, &results[(*count_out)++]);
	}
	gas_reference_destroy(reference);
	return status;
}

/** The entry of a rank. */
static int bench_rank(tsr_world_t *world, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	const bench_gas_options_t *options = &line;
	bench_gas_result_t results[GAS_PATTERN_COUNT] = {{.iterations = 0}};
	int count = 0, wrong = 0;
	bool first = tsr_world_rank(world) == 0;
	tsr_status_t status = TSR_OK;
	if (first && options->dump)
		status = rank_0_only(world, bench_gas_dump_inputs(options));
	if (status == TSR_OK)
		status = run_patterns(world, options, results, &count);
	if (status == TSR_OK && first && options->json)
		status = rank_0_only(world, bench_gas_write_json(world, options, results, count));
	int code = status == TSR_OK ? 0 : tsr_fail(world);
	for (int i = 0; i < count; i++) {
		wrong += results[i].verified && results[i].wrong_rank >= 0;
		free(results[i].times_ns);
	}
	return code == 0 && wrong ? TOOL_FAILED : code;
}

int bench_gas(int argc, char **argv)
{
	int code;
	char name[] = "gemm-all-scatter", *arguments[] = {name, NULL};
	if (!bench_gas_options_read(argc, argv, &line, &code))
		return code;
	tsr_launcher_t launcher = {.ranks = line.ranks, .placement = line.placement, .backend = line.backend};
	return tsr_launch_world(&launcher, 1, arguments, bench_rank);
}
