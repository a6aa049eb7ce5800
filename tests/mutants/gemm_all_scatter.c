/*
 * gemm_all_scatter [--pattern P] [--shape MxNxK] [--blocks B] [--comm-blocks C] [--bands D] [--parts P] [--runs R]: the shipped
 * kernels of one pattern, in tiles of 16, with nothing of the command around them. Each run is compared, and C poisoned behind it.
 */
#include "program.h"

#include "kernels/gemm_all_scatter/gemm_all_scatter.h"
#include "kernels/gemm_all_scatter/verify.h"

typedef struct options {
	gas_config_t config;
	long runs;
} options_t;

static tsr_status_t parse_shape(const char *text, gas_config_t *config)
{
	long long m, n, k;
	char rest;
	if (sscanf(text, "%lldx%lldx%lld%c", &m, &n, &k, &rest) != 3)
		return tsr_error(TSR_ERR_CONFIG, "--shape is '%s'; it must be MxNxK", text);
	config->m = m;
	config->n = n;
	config->k = k;
	return TSR_OK;
}

static tsr_status_t parse_count(const char *name, const char *text, int *count_out)
{
	long count = 0;
	tsr_status_t status = tsr_parse_int(name, text, 0, 1024, &count);
	if (status == TSR_OK)
		*count_out = (int)count;
	return status;
}

static tsr_status_t parse_option(const char *name, const char *text, options_t *options)
{
	gas_config_t *config = &options->config;
	if (strcmp(name, "--pattern") == 0)
		return gas_pattern_parse(text, &config->pattern);
	if (strcmp(name, "--shape") == 0)
		return parse_shape(text, config);
	if (strcmp(name, "--blocks") == 0)
		return parse_count(name, text, &config->blocks);
	if (strcmp(name, "--comm-blocks") == 0)
		return parse_count(name, text, &config->comm_blocks);
	if (strcmp(name, "--bands") == 0)
		return parse_count(name, text, &config->bands);
	if (strcmp(name, "--parts") == 0)
		return parse_count(name, text, &config->parts);
	if (strcmp(name, "--runs") == 0)
		return tsr_parse_int(name, text, 1, 1024, &options->runs);
	return tsr_error(
		TSR_ERR_CONFIG,
		"there is no option %s; there are --pattern, --shape, --blocks, --comm-blocks, --bands, --parts and --runs", name);
}

static tsr_status_t parse(int argc, char **argv, options_t *options)
{
	for (int i = 1; i < argc; i += 2) {
		if (i + 1 == argc)
			return tsr_error(TSR_ERR_CONFIG, "%s has no value", argv[i]);
		tsr_status_t status = parse_option(argv[i], argv[i + 1], options);
		if (status != TSR_OK)
			return status;
	}
	return TSR_OK;
}

/** One product. No rank waits for another between its verdict and its next run: the kernels have to. */
static tsr_status_t run_once(tsr_world_t *world, gas_plan_t *plan, const gas_reference_t *reference, verdict_t *verdict_out)
{
	tsr_status_t status = gas_plan_poison(plan, world);
	if (status == TSR_OK)
		status = gas_plan_run(plan);
	if (status == TSR_OK)
		status = gas_plan_sync(plan);
	return status == TSR_OK ? gas_reference_check(reference, world, plan, verdict_out) : status;
}

TSR_MAIN(world, argc, argv)
{
	options_t options = {{32, 40, 16, TSR_F32, GAS_FUSED_SEQUENTIAL, {16, 16, 16}, 2, 0, 0, 0}, 2};
	const workload_inputs_t inputs = {7, true};
	gas_reference_t *reference;
	gas_plan_t *plan;
	int code = 0;
	TSR_TRY(parse(argc, argv, &options));
	TSR_TRY(gas_plan_create(world, &options.config, &plan));
	TSR_TRY(gas_plan_fill(plan, world, &inputs));
	TSR_TRY(gas_reference_create(world, &options.config, &inputs, &reference));
	for (long run = 0; run < options.runs && code == 0; run++) {
		verdict_t verdict = {0, 0, 0, 0, 0, 0};
		TSR_TRY(run_once(world, plan, reference, &verdict));
		if (verdict.wrong == 0)
			continue;
		fprintf(stderr, "rank %d, run %ld: %lld elements are wrong: (%lld, %lld) is %g, not %g\n", tsr_world_rank(world),
			run, (long long)verdict.wrong, (long long)verdict.row, (long long)verdict.col, verdict.got,
			verdict.expected);
		code = 1;
	}
	gas_reference_destroy(reference);
	if (code != 0)
		return code; /* the others may be in another run: nothing collective */
	TSR_TRY(gas_plan_destroy(plan));
	return 0;
}
