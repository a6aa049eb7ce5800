/*
 * A workload as a program, with nothing of the command around it: what `tessera
 * check` explores, and what mutants are made of. Each run is compared with what
 * outputs must be, of integers bit for bit, and outputs are poisoned before it.
 */
#include "tools/bench/program.h"

#include <stdio.h>
#include <string.h>

#include "kernels/host/inputs.h"
#include "kernels/host/judge.h"
#include "kernels/host/matrices.h"
#include "tools/bench/bench.h"

typedef struct options {
	workload_config_t config;
	bool all_patterns; /* one after the other, made of each other */
	long runs, in_flight;
} options_t;

static tsr_status_t find_pattern(const workload_t *workload, const char *name, int64_t *pattern_out)
{
	const char *known;
	for (int64_t p = 0; (known = workload->pattern(p)) != NULL; p++)
		if (strcmp(known, name) == 0) {
			*pattern_out = p;
			return TSR_OK;
		}
	return tsr_error(TSR_ERR_NOT_FOUND, "%s has no pattern %s", workload->name, name);
}

static tsr_status_t parse_option(const workload_t *workload, const char *name, const char *text,
				 options_t *options)
{
	if (strcmp(name, "--pattern") == 0) {
		options->all_patterns = strcmp(text, "all") == 0;
		return options->all_patterns
			       ? TSR_OK
			       : find_pattern(workload, text, &options->config.pattern);
	}
	if (strcmp(name, "--runs") == 0)
		return tsr_parse_int(name, text, 1, 1024, &options->runs);
	if (strcmp(name, "--in-flight") == 0)
		return tsr_parse_int(name, text, 1, 1024, &options->in_flight);
	for (int i = 0; workload->params[i].name; i++)
		if (strncmp(name, "--", 2) == 0 && strcmp(name + 2, workload->params[i].name) == 0)
			return bench_value_parse(&workload->params[i], text,
						 &options->config.value[i]);
	return tsr_error(TSR_ERR_CONFIG, "%s has no parameter %s", workload->name, name);
}

static tsr_status_t parse(int argc, char **argv, const workload_t **workload_out,
			  options_t *options)
{
	if (argc < 2)
		return tsr_error(TSR_ERR_CONFIG, "which workload? Name it first");
	tsr_status_t status = workload_find(argv[1], workload_out);
	for (int i = 0; status == TSR_OK && (*workload_out)->params[i].name; i++)
		if ((*workload_out)->params[i].preset)
			status = bench_value_parse(&(*workload_out)->params[i],
						   (*workload_out)->params[i].preset,
						   &options->config.value[i]);
	for (int i = 2; status == TSR_OK && i < argc; i += 2) {
		if (i + 1 == argc)
			return tsr_error(TSR_ERR_CONFIG, "%s has no value", argv[i]);
		status = parse_option(*workload_out, argv[i], argv[i + 1], options);
	}
	return status;
}

/** Looks at every output, or makes it NaN where there is no judge yet. */
static tsr_status_t each_output(tsr_world_t *world, const workload_t *workload,
				const workload_config_t *config, workload_run_t *run,
				judge_t *const *judges, verdict_t *verdict_out)
{
	workload_matrix_t matrix;
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && workload->matrix(config, i, tsr_world_rank(world),
							     tsr_world_size(world), &matrix);
	     i++) {
		if (matrix.use != WORKLOAD_OUTPUT)
			continue;
		if (verdict_out && !verdict_out->wrong)
			status = judge_view(judges[i], world, workload->view(run, i), verdict_out);
		else if (!verdict_out)
			status = matrix_poison(world, workload->view(run, i));
	}
	return status;
}

/** Fills inputs, and makes a judge of each output. */
static tsr_status_t prepare(tsr_world_t *world, const workload_t *workload,
			    const workload_config_t *config, workload_run_t *run,
			    const workload_expected_t *expected, judge_t **judges)
{
	const workload_inputs_t inputs = {7, true};
	workload_matrix_t matrix;
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && workload->matrix(config, i, tsr_world_rank(world),
							     tsr_world_size(world), &matrix);
	     i++) {
		if (matrix.use == WORKLOAD_INPUT)
			status = inputs_fill(world, &inputs, &matrix, workload->view(run, i));
		else if (matrix.use == WORKLOAD_OUTPUT)
			status = judge_create(expected, i, &matrix, !workload->rounds, &judges[i]);
	}
	return status;
}

/**
 * Starts as many runs as may be in flight, and judges the last. No rank waits
 * for another between its verdict and its next run: the kernels have to.
 */
static tsr_status_t run_once(tsr_world_t *world, const workload_t *workload,
			     const options_t *options, workload_run_t *run, judge_t *const *judges,
			     verdict_t *verdict_out)
{
	tsr_status_t status = each_output(world, workload, &options->config, run, judges, NULL);
	for (long i = 0; status == TSR_OK && i < options->in_flight; i++)
		status = workload->start(run);
	if (status == TSR_OK)
		status = workload->sync(run);
	return status == TSR_OK
		       ? each_output(world, workload, &options->config, run, judges, verdict_out)
		       : status;
}

/** All runs of one pattern. */
static tsr_status_t run_pattern(tsr_world_t *world, const workload_t *workload,
				const options_t *options, workload_run_t *run,
				judge_t *const *judges, bool *right_out)
{
	tsr_status_t status = TSR_OK;
	*right_out = true;
	for (long i = 0; status == TSR_OK && *right_out && i < options->runs; i++) {
		verdict_t verdict = {0};
		status = run_once(world, workload, options, run, judges, &verdict);
		if (status != TSR_OK || verdict.wrong == 0)
			continue;
		fprintf(stderr,
			"%s, rank %d, run %ld: %lld elements are wrong: (%lld, %lld) is %g, not "
			"%g\n",
			workload->pattern(options->config.pattern), tsr_world_rank(world), i,
			(long long)verdict.wrong, (long long)verdict.row, (long long)verdict.col,
			verdict.got, verdict.expected);
		*right_out = false;
	}
	return status;
}

/** The pattern, or all of them, of which each is made of the one before. */
static tsr_status_t run_patterns(tsr_world_t *world, const workload_t *workload, options_t *options,
				 workload_run_t *run, judge_t *const *judges, bool *right_out)
{
	workload_config_t *config = &options->config;
	tsr_status_t status = run_pattern(world, workload, options, run, judges, right_out);
	if (!options->all_patterns)
		return status;
	while (status == TSR_OK && *right_out && workload->pattern(config->pattern + 1)) {
		config->pattern++;
		status = workload->reconfigure(run, config);
		if (status == TSR_OK)
			status = run_pattern(world, workload, options, run, judges, right_out);
	}
	return status;
}

int bench_program(tsr_world_t *world, int argc, char **argv)
{
	const workload_inputs_t inputs = {7, true};
	const workload_t *workload;
	workload_run_t *run;
	workload_expected_t *expected;
	judge_t *judges[WORKLOAD_MATRICES] = {NULL};
	options_t options = {.runs = 2, .in_flight = 1};
	bool right;
	TSR_TRY(parse(argc, argv, &workload, &options));
	TSR_TRY(workload->open(world, &options.config, &run));
	TSR_TRY(workload->expect(world, &options.config, &inputs, &expected));
	TSR_TRY(prepare(world, workload, &options.config, run, expected, judges));
	TSR_TRY(run_patterns(world, workload, &options, run, judges, &right));
	for (int i = 0; i < WORKLOAD_MATRICES; i++)
		judge_destroy(judges[i]);
	expected->close(expected);
	if (!right)
		return 1; /* the others may be in another run: nothing collective */
	TSR_TRY(workload->close(run, TSR_OK));
	return 0;
}
