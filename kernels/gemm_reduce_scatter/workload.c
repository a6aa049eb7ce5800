/* GEMM + reduce-scatter as a workload for the tools. */
#include "kernels/workload.h"

#include "kernels/split_k/workload.h"

extern const workload_t gemm_reduce_scatter;
WORKLOAD_REGISTER(gemm_reduce_scatter);

static const splitk_pattern_t patterns[] = {
	[SPLITK_BULK_SYNCHRONOUS] = {.name = "bulk-synchronous",
				     .kernels = {"grs_gemm", "grs_reduce"},
				     .keeps = true,
				     .rounds = "grs_round"},
	[SPLITK_OWN_CHUNK_LAST] = {.name = "own-chunk-last",
				   .kernels = {"grs_own_chunk_last", NULL},
				   .sends = true,
				   .tells_tiles = true},
	{.name = "ring",
	 .kernels = {"grs_ring", NULL},
	 .sends = true,
	 .passes_on = true,
	 .tells_tiles = true},
	{.name = "store-add", .kernels = {"grs_add", "grs_round"}, .adds = true},
};

static const splitk_kind_t kind = {
	.plan = SPLITK_PLAN(gemm_reduce_scatter),
	.patterns = patterns,
	.count = sizeof patterns / sizeof *patterns,
	.to_all = false,
};

/* ------------------------------------------------------------ parameters */

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

const workload_t gemm_reduce_scatter = {
	.size = sizeof(workload_t),
	.name = "gemm-reduce-scatter",
	.title = "GEMM + reduce-scatter",
	.summary = "C = the sum of the ranks' products; each rank gets its rows of C",
	.source = "ParallelKittens, section 4.1",
	.params = params,
	.cases = cases,
	.baseline = baseline,
	SPLITK_FUNCTIONS,
};
