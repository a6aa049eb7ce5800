/* GEMM + all-reduce as a workload for the tools. */
#include "kernels/workload.h"

#include "kernels/split_k/workload.h"

extern const workload_t gemm_all_reduce;
WORKLOAD_REGISTER(gemm_all_reduce);

static const splitk_pattern_t patterns[] = {
	[SPLITK_BULK_SYNCHRONOUS] = {.name = "bulk-synchronous",
				     .kernels = {"gar_gemm", "gar_reduce"},
				     .keeps = true,
				     .rounds = "gar_round"},
	[SPLITK_OWN_CHUNK_LAST] = {.name = "own-chunk-last",
				   .kernels = {"gar_own_chunk_last", NULL},
				   .sends = true,
				   .tells_tiles = true},
	{.name = "communicators",
	 .kernels = {"gar_communicators", NULL},
	 .keeps = true,
	 .tells_tiles = true,
	 .has_senders = true},
	{.name = "store-add", .kernels = {"gar_add", "gar_round"}, .adds = true},
};

static const splitk_kind_t kind = {
	.plan = SPLITK_PLAN(gemm_all_reduce),
	.patterns = patterns,
	.count = sizeof patterns / sizeof *patterns,
	.to_all = true,
};

/* ------------------------------------------------------------ parameters */

static bool try_senders(const workload_config_t *config, const workload_place_t *place, int index,
			workload_value_t *value_out)
{
	(void)place;
	return splitk_try_senders(&kind, config, index, value_out);
}

static const workload_param_t params[] = {
	[SPLITK_SHAPE] = SPLITK_SHAPE_PARAM,
	[SPLITK_DTYPE] = PRODUCT_DTYPE,
	[SPLITK_SUMS] = SPLITK_SUMS_PARAM,
	[SPLITK_TILE] = PRODUCT_TILE(try_tile),
	[SPLITK_BLOCKS] = PRODUCT_BLOCKS(0, NULL),
	[SPLITK_BANDS] = SPLITK_BANDS_PARAM(try_bands),
	[SPLITK_COMM_BLOCKS] = {.name = "comm-blocks",
				.letters = "C",
				.help = "how many of these only add up and send, in patterns that "
					"have such blocks (default: as many as fill the links)",
				.least = 1,
				.most = 1 << 20,
				.heading = "adding",
				.width = 6,
				.stage = 2,
				.candidate = try_senders},
	{.name = NULL},
};

static const char *const cases[] = {
	"--shape 33x40x19 --tile 16x16x16 --blocks 2",
	"--shape 5x100x64 --tile 16x16x16 --blocks 3 --bands 2",
	"--shape 64x16x7 --tile 16x16x16 --blocks 4",
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
	steps_out[1] = (workload_step_t){.op = WORKLOAD_ALL_REDUCE,
					 .name = "all-reduce",
					 .what = "all-reduce",
					 .from = SPLITK_PARTIAL,
					 .with = -1,
					 .to = SPLITK_C,
					 .rounds = true};
	return 2;
}

const workload_t gemm_all_reduce = {
	.size = sizeof(workload_t),
	.name = "gemm-all-reduce",
	.title = "GEMM + all-reduce",
	.summary = "C = the sum of the ranks' products, on every rank",
	.source = "ParallelKittens, sections 3.1.3 and 4.1",
	.params = params,
	.cases = cases,
	.baseline = baseline,
	SPLITK_FUNCTIONS,
};
