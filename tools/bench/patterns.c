/* `tessera bench WORKLOAD`: runs the patterns, in turn, on every rank. */
#include <stdlib.h>

#include "kernels/choices/machine.h"
#include "tools/bench/bench.h"
#include "tools/network.h"
#include "tools/usage.h"

/*
 * Written before the ranks start and only read by them: an entry gets no
 * context of its own, and ranks may be threads.
 */
static bench_options_t line;

/** Everything that a rank finds out. */
typedef struct findings {
	bench_theirs_t theirs;
	bench_alone_t alone; /* of --taxes */
	bench_result_t results[WORKLOAD_PATTERNS];
	int count; /* of the results */
} findings_t;

static bool is_rank_0(const bench_session_t *session)
{
	return tsr_world_rank(session->world) == 0;
}

/** --pattern fastest: the workload chooses, by the machine that the ranks run on. */
static tsr_status_t choose_fastest(bench_session_t *session, workload_config_t *config)
{
	tsr_device_props_t device;
	workload_place_t place;
	tsr_status_t status = bench_explain_new(session, &session->explain);
	if (status == TSR_OK)
		status = machine_place(session->world, &device, &place);
	if (status != TSR_OK)
		return status;
	place.explain = session->explain;
	config->pattern = WORKLOAD_FASTEST;
	config->pattern = session->workload->fastest(config, &place);
	session->fastest = config->pattern;
	return TSR_OK;
}

/** The run shows that the problem fits; then inputs are made, and what outputs must be. */
static tsr_status_t begin(bench_session_t *session)
{
	const bench_options_t *options = session->options;
	workload_config_t config = options->config;
	for (int p = WORKLOAD_PATTERNS; p-- > 0;)
		if (options->patterns[p])
			config.pattern = p;
	tsr_status_t status = options->fastest ? choose_fastest(session, &config) : TSR_OK;
	if (status == TSR_OK)
		status = session->workload->open(session->world, &config, &session->run);
	if (status != TSR_OK)
		return status;
	if (is_rank_0(session))
		bench_print_head(session->world, options);
	status = bench_fill(session);
	if (status == TSR_OK && options->verify)
		status = bench_judges_create(session);
	if (status == TSR_OK)
		status = tsr_event_create(session->world, &session->begin);
	if (status == TSR_OK)
		status = tsr_event_create(session->world, &session->end);
	return status;
}

/** Reconfigures for a pattern, and records why with --explain. */
static tsr_status_t configure(bench_session_t *session, const workload_config_t *config,
			      bench_result_t *result)
{
	const workload_t *workload = session->workload;
	tsr_status_t status = TSR_OK;
	result->asked = *config;
	result->explain = session->explain;
	session->explain = NULL;
	if (!result->explain)
		status = bench_explain_new(session, &result->explain);
	if (status != TSR_OK)
		return status;
	if (workload->explain)
		workload->explain(session->run, result->explain);
	status = workload->reconfigure(session->run, config);
	if (workload->explain)
		workload->explain(session->run, NULL);
	return status;
}

static tsr_status_t run_pattern(bench_session_t *session, int pattern, const bench_alone_t *alone,
				bench_result_t *result)
{
	const bench_options_t *options = session->options;
	workload_config_t config = options->config;
	tsr_status_t status = TSR_OK;
	config.pattern = pattern;
	if (options->tune) {
		result->trials = calloc(1, sizeof *result->trials);
		if (!result->trials)
			return tsr_error(TSR_ERR_NO_MEMORY,
					 "the host has no memory for a list of trials; free some");
		status = bench_tune(session, &config, result->trials);
	} else if (!options->no_tuned) {
		status = bench_recall(session, &config, result);
	}
	if (status == TSR_OK)
		status = configure(session, &config, result);
	if (status == TSR_OK)
		status = bench_run(session, result);
	if (status == TSR_OK && options->taxes)
		status = bench_taxes_measure(session, alone, &result->times, &result->taxes);
	if (status == TSR_OK && options->tune && result->judgement.wrong_rank < 0)
		status = bench_remember(session, result);
	if (status == TSR_OK && options->dump)
		status = bench_dump_outputs(session);
	return status;
}

/** Whether a pattern is to run. */
static bool is_wanted(const bench_session_t *session, int pattern)
{
	return session->options->fastest ? session->fastest == pattern
					 : session->options->patterns[pattern];
}

static tsr_status_t run_patterns(bench_session_t *session, findings_t *findings)
{
	const bench_options_t *options = session->options;
	const bool first = is_rank_0(session);
	tsr_status_t status = TSR_OK;
	/* The table of a search stands above the row of its pattern, and so do the heads of the
	 * columns. */
	if (first && !options->tune)
		bench_print_columns(session, &findings->theirs);
	for (int p = 0; status == TSR_OK && p < WORKLOAD_PATTERNS; p++) {
		if (!is_wanted(session, p))
			continue;
		bench_result_t *result = &findings->results[findings->count++];
		status = run_pattern(session, p, &findings->alone, result);
		if (status != TSR_OK || !first)
			continue;
		if (result->trials) {
			bench_print_trials(session->workload, result->trials);
			bench_print_columns(session, &findings->theirs);
		}
		bench_print_result(session, result, &findings->theirs);
	}
	if (status == TSR_OK && first)
		bench_print_tuned(session->workload, findings->results, findings->count);
	if (status == TSR_OK && first && options->explain)
		bench_print_explain(session, findings->results, findings->count);
	if (status == TSR_OK && first && options->taxes)
		bench_print_taxes(session, findings->results, findings->count);
	if (status == TSR_OK && first && options->model)
		bench_print_model(session, findings->results, findings->count);
	return status;
}

/** The first failure's sentence stays: after one, what is left is the world's to release. */
static tsr_status_t finish(bench_session_t *session, tsr_status_t status)
{
	bench_judges_destroy(session);
	explain_free(session->explain);
	(void)tsr_event_destroy(session->begin);
	(void)tsr_event_destroy(session->end);
	return session->run ? session->workload->close(session->run, status) : status;
}

static tsr_status_t run_all(tsr_world_t *world, findings_t *findings)
{
	bench_session_t session = {.options = &line, .workload = line.workload, .world = world};
	const bool first = is_rank_0(&session);
	tsr_status_t status = TSR_OK;
	if (first && line.dump)
		status = bench_rank_0_only(world, bench_dump_inputs(&line));
	if (status == TSR_OK)
		status = begin(&session);
	if (status == TSR_OK && line.baseline)
		status = bench_theirs_measure(&session, &findings->theirs);
	if (status == TSR_OK && line.baseline && first)
		bench_print_theirs(&session, &findings->theirs);
	if (status == TSR_OK && line.taxes)
		status = bench_alone_measure(&session, &findings->theirs, &findings->alone);
	if (status == TSR_OK)
		status = run_patterns(&session, findings);
	if (status == TSR_OK && first && line.taxes_picture)
		status = bench_rank_0_only(world, bench_draw_taxes(&session, findings->results,
								   findings->count));
	if (status == TSR_OK && first && (line.json || line.csv))
		status = bench_rank_0_only(world,
					   bench_write_json(world, &line, &findings->theirs,
							    findings->results, findings->count));
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
	bool wrong = findings.theirs.measured && findings.theirs.judgement.wrong_rank >= 0;
	for (int i = 0; i < findings.count; i++) {
		wrong = wrong || findings.results[i].judgement.wrong_rank >= 0;
		bench_times_free(&findings.results[i].times);
		free(findings.results[i].trials);
		explain_free(findings.results[i].explain);
	}
	bench_theirs_free(&findings.theirs);
	return code == TOOL_OK && wrong ? TOOL_FAILED : code;
}

int bench_workload(const workload_t *workload, int argc, char **argv)
{
	int code;
	char *arguments[] = {argv[0], NULL};
	if (!bench_options_read(workload, argc, argv, &line, &code))
		return code;
	tsr_launcher_t launcher = {.size = sizeof launcher,
				   .ranks = line.ranks,
				   .placement = line.placement,
				   .backend = line.backend,
				   .nodes = line.nodes};
	if ((code = tool_check_nodes("bench", &launcher)) != TOOL_OK ||
	    (code = tool_check_network("bench", launcher.nodes)) != TOOL_OK)
		return code;
	return tsr_launch_world(&launcher, 1, arguments, bench_rank);
}
