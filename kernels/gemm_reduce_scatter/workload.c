/* GEMM + reduce-scatter as a workload for the tools. */
#include "kernels/workload.h"

#include "kernels/host/product_params.h"
#include "kernels/split_k/split_k.h"

extern const workload_t gemm_reduce_scatter;
WORKLOAD_REGISTER(gemm_reduce_scatter);

enum { OWN_CHUNK_LAST = 1 };

static const splitk_pattern_t patterns[] = {
	{.name = "bulk-synchronous", .kernels = {"grs_gemm", "grs_reduce"}, .keeps = true},
	[OWN_CHUNK_LAST] = {.name = "own-chunk-last",
			    .kernels = {"grs_own_chunk_last", NULL},
			    .sends = true,
			    .tells_tiles = true},
	{.name = "ring", .kernels = {"grs_ring", NULL}, .sends = true, .tells_tiles = true},
	{.name = "store-add", .kernels = {"grs_add", "grs_round"}, .adds = true},
};

static const splitk_kind_t kind = {
	.plan = SPLITK_PLAN(gemm_reduce_scatter),
	.patterns = patterns,
	.count = sizeof patterns / sizeof *patterns,
	.to_all = false,
};

/* ------------------------------------------------------------ parameters */

static bool try_tile(const workload_config_t *config, const workload_place_t *place, int index,
		     workload_value_t *value_out)
{
	(void)place;
	return splitk_try_tile(&kind, config, index, value_out);
}

static bool try_bands(const workload_config_t *config, const workload_place_t *place, int index,
		      workload_value_t *value_out)
{
	(void)place;
	return splitk_try_bands(&kind, config, index, value_out);
}

static const workload_param_t params[] = {
	[SPLITK_SHAPE] = SPLITK_SHAPE_PARAM,
	[SPLITK_DTYPE] = PRODUCT_DTYPE,
	[SPLITK_SUMS] = SPLITK_SUMS_PARAM,
	[SPLITK_TILE] = PRODUCT_TILE(try_tile),
	[SPLITK_BLOCKS] = PRODUCT_BLOCKS(0, NULL),
	[SPLITK_BANDS] = SPLITK_BANDS_PARAM(try_bands),
	{.name = NULL},
};

static const char *const cases[] = {
	"--shape 33x40x19 --tile 16x16x16 --blocks 2",
	"--shape 5x100x64 --tile 16x16x16 --blocks 3 --bands 2",
	"--shape 64x16x7 --tile 16x16x16",
	NULL,
};

/*
 * The second shape has rows that tensor cores and 16-byte stores accept, and
 * does not fill its tiles.
 */
static const char *const large_cases[] = {
	"--shape 512x512x512",
	"--shape 200x264x72 --tile 128x128x64",
	"--shape 520x328x2112 --tile 128x128x64 --blocks 7 --bands 2",
	NULL,
};

/* ------------------------------------------------------------ for the tools */

static const char *pattern(int64_t number)
{
	return splitk_pattern_name(&kind, number);
}

static const char *kernel(int64_t number, int index)
{
	return splitk_kernel(&kind, number, index);
}

static tsr_status_t check(const workload_config_t *config, int ranks)
{
	return splitk_check(&kind, config, ranks);
}

static bool matrix(const workload_config_t *config, int index, int rank, int ranks,
		   workload_matrix_t *matrix_out)
{
	return splitk_matrix(&kind, config, index, rank, ranks, matrix_out);
}

static workload_cost_t cost(const workload_config_t *config, int rank, int ranks)
{
	return splitk_cost(&kind, config, rank, ranks);
}

static tsr_status_t choose(const workload_config_t *config, const workload_place_t *place,
			   workload_config_t *config_out)
{
	return splitk_choose(&kind, config, place, config_out);
}

/** It sends sums while the product goes on, and keeps none in memory on one rank. */
static int64_t fastest(const workload_config_t *config, const workload_place_t *place)
{
	(void)config;
	(void)place;
	return OWN_CHUNK_LAST;
}

static int baseline(const workload_config_t *config, workload_step_t steps_out[WORKLOAD_STEPS])
{
	(void)config;
	steps_out[0] = (workload_step_t){.op = WORKLOAD_PRODUCT,
					 .name = "product",
					 .what = "product",
					 .from = SPLITK_A,
					 .with = SPLITK_B,
					 .to = SPLITK_PARTIAL};
	steps_out[1] = (workload_step_t){.op = WORKLOAD_REDUCE_SCATTER,
					 .name = "reduce-scatter",
					 .what = "reduce-scatter",
					 .from = SPLITK_PARTIAL,
					 .with = -1,
					 .to = SPLITK_C,
					 .rounds = true};
	return 2;
}

static tsr_status_t open_run(tsr_world_t *world, const workload_config_t *config,
			     workload_run_t **run_out)
{
	return plan_open(&kind.plan, world, config, run_out);
}

const workload_t gemm_reduce_scatter = {
	.size = sizeof(workload_t),
	.name = "gemm-reduce-scatter",
	.title = "GEMM + reduce-scatter",
	.summary = "C = the sum of the ranks' products; each rank gets its rows of C",
	.source = "ParallelKittens, section 4.1",
	.params = params,
	.compute_pattern = 0,
	.cases = cases,
	.large_cases = large_cases,
	.pattern = pattern,
	.kernel = kernel,
	.check = check,
	.check_inputs = splitk_check_inputs,
	.matrix = matrix,
	.expect = splitk_expect,
	.cost = cost,
	.choose = choose,
	.fastest = fastest,
	.baseline = baseline,
	.open = open_run,
	PLAN_FUNCTIONS,
};
