/*
 * Sums that are added in a fixed order have the same bits in every run, however
 * the ranks' sums arrive. Inputs are random, so that another order shows.
 */
#include "kernels/host/inputs.h"
#include "kernels/host/matrices.h"
#include "kernels/split_k/split_k.h"
#include "tests/multi/each_world.h"

enum { M = 48, N = 20, K = 211, RUNS = 40 };

static int fill(tsr_world_t *world, const workload_t *w, const workload_config_t *config,
		workload_run_t *run)
{
	const workload_inputs_t inputs = {.seed = 5};
	workload_matrix_t matrix;
	for (int i = 0; i <= SPLITK_B; i++) {
		CHECK(w->matrix(config, i, tsr_world_rank(world), tsr_world_size(world), &matrix));
		CHECK(inputs_fill(world, &inputs, &matrix, w->view(run, i)) == TSR_OK);
	}
	return 0;
}

/** Runs it again and again, each time when all ranks are ready. */
static int run_often(tsr_world_t *world, const workload_t *w, workload_run_t *run,
		     const char *pattern)
{
	float first[M * N] = {0}, now[M * N] = {0};
	for (int i = 0; i < RUNS; i++) {
		CHECK(tsr_barrier(world) == TSR_OK);
		CHECK(w->start(run) == TSR_OK && w->sync(run) == TSR_OK);
		CHECK(matrix_read(world, w->view(run, SPLITK_C), now) == TSR_OK);
		if (i == 0)
			memcpy(first, now, sizeof first);
		CHECK(memcmp(first, now, sizeof first) == 0, "%s: run %d has other bits", pattern,
		      i);
	}
	return 0;
}

static int try_pattern(tsr_world_t *world, const workload_t *w, int64_t pattern)
{
	const splitk_config_t c = {.m = M,
				   .n = N,
				   .k = K,
				   .dtype = TSR_F32,
				   .sums = TSR_F32,
				   .pattern = pattern,
				   .tile = {16, 16, 16},
				   .blocks = 2};
	const workload_config_t config = splitk_workload_config(&c);
	workload_run_t *run;
	CHECK(w->open(world, &config, &run) == TSR_OK, "%s", tsr_last_error());
	if (fill(world, w, &config, run) || run_often(world, w, run, w->pattern(pattern)))
		return 1;
	CHECK(w->close(run, TSR_OK) == TSR_OK);
	return 0;
}

static int try_patterns(tsr_world_t *world, int argc, char **argv)
{
	const workload_t *w;
	(void)argc, (void)argv;
	CHECK(workload_find("gemm-reduce-scatter", &w) == TSR_OK);
	for (int64_t p = 0; w->pattern(p); p++)
		/* ranks add in memory as they come */
		if (strcmp(w->pattern(p), "store-add") != 0 && try_pattern(world, w, p))
			return 1;
	return 0;
}

Test(same_bits, sums_do_not_depend_on_who_comes_first)
{
	each_world(try_patterns, NULL);
}
