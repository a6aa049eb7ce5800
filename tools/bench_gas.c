/* `tessera bench gemm-all-scatter`: runs the patterns, in turn, on every rank. */
#include <stdlib.h>

#include "tools/bench.h"
#include "tools/usage.h"

/* Written before the ranks start and only read by them: an entry gets no context of its own, and ranks may be threads. */
static bench_gas_options_t line;

/** Everything that a rank finds out. */
typedef struct findings {
	bench_gas_baseline_t baseline;
	bench_gas_result_t results[GAS_PATTERN_COUNT];
	int count; /* of the results */
} findings_t;

static bool is_rank_0(const bench_gas_session_t *session)
{
	return tsr_world_rank(session->world) == 0;
}

/** The plan shows that the shape fits; then inputs and reference are made. */
static tsr_status_t begin(bench_gas_session_t *session)
{
	const bench_gas_options_t *options = session->options;
	gas_config_t config = options->config;
	for (int p = GAS_PATTERN_COUNT; p-- > 0;)
		if (options->patterns[p])
			config.pattern = (gas_pattern_t)p;
	tsr_status_t status = gas_plan_create(session->world, &config, &session->plan);
	if (status != TSR_OK)
		return status;
	if (is_rank_0(session))
		bench_gas_print_head(session->world, options);
	status = gas_plan_fill(session->plan, session->world, &options->inputs);
	if (status == TSR_OK && options->verify)
		status = gas_reference_create(session->world, &config, &options->inputs, &session->reference);
	if (status == TSR_OK)
		status = tsr_event_create(session->world, &session->begin);
	if (status == TSR_OK)
		status = tsr_event_create(session->world, &session->end);
	return status;
}

static tsr_status_t run_pattern(bench_gas_session_t *session, gas_pattern_t pattern, bench_gas_result_t *result)
{
	const bench_gas_options_t *options = session->options;
	gas_config_t config = options->config;
	tsr_status_t status = TSR_OK;
	config.pattern = pattern;
	if (options->tune) {
		result->trials = calloc(1, sizeof *result->trials);
		if (!result->trials)
			return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a list of trials; free some");
		status = bench_gas_tune(session, &config, result->trials);
	} else if (!options->no_tuned) {
		status = bench_gas_recall(session, &config, result);
	}
	if (status == TSR_OK)
		status = gas_plan_adapt(session->plan, &config);
	if (status == TSR_OK)
		status = bench_gas_run(session, result);
	if (status == TSR_OK && options->tune && result->judgement.wrong_rank < 0)
		status = bench_gas_remember(session, result);
	if (status == TSR_OK && options->dump && is_rank_0(session))
		status = bench_rank_0_only(session->world, bench_gas_dump_c(options, session->world, session->plan));
	return status;
}

static tsr_status_t run_patterns(bench_gas_session_t *session, findings_t *findings)
{
	const bench_gas_options_t *options = session->options;
	bool first = is_rank_0(session);
	tsr_status_t status = TSR_OK;
	/* The table of a search stands above the row of its pattern, and so do the heads of the columns. */
	if (first && !options->tune)
		bench_gas_print_columns(&findings->baseline);
	for (int p = 0; status == TSR_OK && p < GAS_PATTERN_COUNT; p++) {
		if (!options->patterns[p])
			continue;
		bench_gas_result_t *result = &findings->results[findings->count++];
		status = run_pattern(session, (gas_pattern_t)p, result);
		if (status != TSR_OK || !first)
			continue;
		if (result->trials) {
			bench_gas_print_trials(result->trials);
			bench_gas_print_columns(&findings->baseline);
		}
		bench_gas_print_result(result, &findings->baseline);
	}
	if (status == TSR_OK && first)
		bench_gas_print_tuned(findings->results, findings->count);
	return status;
}

/** The first failure's sentence stays: after one, what is left is the world's to release. */
static tsr_status_t finish(bench_gas_session_t *session, tsr_status_t status)
{
	gas_reference_destroy(session->reference);
	(void)tsr_event_destroy(session->begin);
	(void)tsr_event_destroy(session->end);
	return status == TSR_OK ? gas_plan_destroy(session->plan) : gas_plan_abandon(session->plan, status);
}

static tsr_status_t run_all(tsr_world_t *world, findings_t *findings)
{
	bench_gas_session_t session = {.options = &line, .world = world};
	bool first = is_rank_0(&session);
	tsr_status_t status = TSR_OK;
	if (first && line.dump)
		status = bench_rank_0_only(world, bench_gas_dump_inputs(&line));
	if (status == TSR_OK)
		status = begin(&session);
	if (status == TSR_OK && line.baseline)
		status = bench_gas_baseline(&session, &findings->baseline);
	if (status == TSR_OK && line.baseline && first)
		bench_gas_print_baseline(&session, &findings->baseline);
	if (status == TSR_OK)
		status = run_patterns(&session, findings);
	if (status == TSR_OK && first && line.json)
		status = bench_rank_0_only(
			world, bench_gas_write_json(world, &line, &findings->baseline, findings->results, findings->count));
	return finish(&session, status);
}

/** The entry of a rank. */
static int bench_rank(tsr_world_t *world, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	findings_t findings = {.count = 0};
	tsr_status_t status = run_all(world, &findings);
	int code = status == TSR_OK ? TOOL_OK : tsr_fail(world);
	bool wrong = findings.baseline.measured && findings.baseline.judgement.wrong_rank >= 0;
	for (int i = 0; i < findings.count; i++) {
		wrong = wrong || findings.results[i].judgement.wrong_rank >= 0;
		bench_times_free(&findings.results[i].times);
		free(findings.results[i].trials);
	}
	bench_gas_baseline_free(&findings.baseline);
	return code == TOOL_OK && wrong ? TOOL_FAILED : code;
}

int bench_gas(int argc, char **argv)
{
	int code;
	char name[] = "gemm-all-scatter", *arguments[] = {name, NULL};
	if (!bench_gas_options_read(argc, argv, &line, &code))
		return code;
	tsr_launcher_t launcher = {
		.size = sizeof launcher, .ranks = line.ranks, .placement = line.placement, .backend = line.backend};
	return tsr_launch_world(&launcher, 1, arguments, bench_rank);
}
