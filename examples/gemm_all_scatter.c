/*
 * GEMM + all-scatter from a program of one's own: a plan, inputs, runs, and the verdict on every element of C. It is built with the
 * workload's sources, as README.md beside it says.
 *
 *     tessera run -n 4 ./gemm_all_scatter fused-sequential 256x256x256 32x32x16
 *     tessera check -n 4 ./gemm_all_scatter all 64x64x64 16x16x16
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm_all_scatter/verify.h"
#include "tessera/tessera.h"

static const char usage[] = "usage: gemm_all_scatter [PATTERN|all [MxNxK [TILE [RUNS]]]]\n"
			    "TILE as 32x32x16; bf16; RUNS one after the other, without waiting in between (2)\n";

/** What is asked for. */
typedef struct request {
	bool all;
	int runs;
	gas_config_t config;
} request_t;

static bool parse(int argc, char **argv, request_t *request)
{
	gas_config_t *c = &request->config;
	*request = (request_t){.all = true, .runs = 2, .config = {.m = 91, .n = 73, .k = 37, .dtype = TSR_BF16}};
	c->tile = (tile_size_t){16, 16, 16};
	if (argc > 1 && strcmp(argv[1], "all") != 0) {
		request->all = false;
		if (gas_pattern_parse(argv[1], &c->pattern) != TSR_OK) {
			fprintf(stderr, "%s\n", tsr_last_error());
			return false;
		}
	}
	return (argc < 3 || sscanf(argv[2], "%" SCNd64 "x%" SCNd64 "x%" SCNd64, &c->m, &c->n, &c->k) == 3) &&
	       (argc < 4 || sscanf(argv[3], "%dx%dx%d", &c->tile.m, &c->tile.n, &c->tile.k) == 3) &&
	       (argc < 5 || (request->runs = atoi(argv[4])) > 0) && argc < 6;
}

/** Runs the plan's pattern and looks at all of C. */
static tsr_status_t run(tsr_world_t *world, gas_plan_t *plan, const gas_reference_t *reference, int runs)
{
	const char *pattern = gas_pattern_name(gas_plan_config(plan)->pattern);
	verdict_t verdict;
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < runs; i++)
		status = gas_plan_run(plan);
	if (status == TSR_OK)
		status = gas_plan_sync(plan);
	if (status == TSR_OK)
		status = gas_reference_check(reference, world, plan, &verdict);
	if (status == TSR_OK && verdict.wrong)
		status = tsr_error(TSR_ERR_KERNEL,
				   "%s: %" PRId64 " elements of C are wrong; C(%" PRId64 ", %" PRId64 ") is %g, not %g", pattern,
				   verdict.wrong, verdict.row, verdict.col, verdict.got, verdict.expected);
	if (status == TSR_OK && tsr_world_rank(world) == 0)
		printf("%s: ok\n", pattern);
	return status;
}

TSR_MAIN(world, argc, argv)
{
	const workload_inputs_t inputs = {.seed = 1};
	gas_reference_t *reference = NULL;
	gas_plan_t *plan = NULL;
	request_t request;
	if (!parse(argc, argv, &request)) {
		fputs(usage, stderr);
		return 2;
	}
	gas_config_t config = request.config;
	TSR_TRY(gas_reference_create(world, &config, &inputs, &reference));
	TSR_TRY(gas_plan_create(world, &config, &plan));
	TSR_TRY(gas_plan_fill(plan, world, &inputs));
	for (int p = 0; p < (request.all ? GAS_PATTERN_COUNT : 1); p++) {
		if (request.all) {
			config.pattern = (gas_pattern_t)p;
			TSR_TRY(gas_plan_adapt(plan, &config));
		}
		TSR_TRY(gas_plan_poison(plan, world)); /* others store to it when this rank's kernel has told them that they may */
		TSR_TRY(run(world, plan, reference, request.runs));
	}
	TSR_TRY(gas_plan_destroy(plan));
	gas_reference_destroy(reference);
	return 0;
}
