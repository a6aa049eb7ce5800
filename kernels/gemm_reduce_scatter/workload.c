/* GEMM + reduce-scatter as a workload for the tools. */
#include "kernels/workload.h"

#include "kernels/gemm_reduce_scatter/plan.h"
#include "kernels/host/product_params.h"
#include "kernels/host/share.h"

WORKLOAD_REGISTER(gemm_reduce_scatter);

enum { SHAPE, DTYPE, SUMS, TILE, BLOCKS, BANDS };

grs_config_t grs_config_of(const workload_config_t *config)
{
	const workload_value_t *v = config->value;
	return (grs_config_t){.m = v[SHAPE].x[0],
			      .n = v[SHAPE].x[1],
			      .k = v[SHAPE].x[2],
			      .dtype = (tsr_dtype_t)v[DTYPE].x[0],
			      .sums = (tsr_dtype_t)v[SUMS].x[0],
			      .pattern = (grs_pattern_t)config->pattern,
			      .tile = {(int)v[TILE].x[0], (int)v[TILE].x[1], (int)v[TILE].x[2]},
			      .blocks = (int)v[BLOCKS].x[0],
			      .bands = (int)v[BANDS].x[0]};
}

static workload_config_t workload_config_of(const grs_config_t *c)
{
	return (workload_config_t){.pattern = c->pattern,
				   .value = {[SHAPE] = {{c->m, c->n, c->k}},
					     [DTYPE] = {{c->dtype}},
					     [SUMS] = {{c->sums}},
					     [TILE] = {{c->tile.m, c->tile.n, c->tile.k}},
					     [BLOCKS] = {{c->blocks}},
					     [BANDS] = {{c->bands}}}};
}

/* ------------------------------------------------------------ parameters */

static bool try_tile(const workload_config_t *config, const workload_place_t *place, int index,
		     workload_value_t *value_out)
{
	const grs_config_t c = grs_config_of(config);
	tile_size_t tile;
	(void)place;
	if (!variant_candidate(grs_patterns[c.pattern].kernels[0], c.dtype, index, &tile))
		return false;
	*value_out = (workload_value_t){{tile.m, tile.n, tile.k}};
	return true;
}

/**
 * Candidates: with several bands, the sums for one band are in flight while the
 * next is computed.
 */
static bool try_bands(const workload_config_t *config, const workload_place_t *place, int index,
		      workload_value_t *value_out)
{
	static const int bands[] = {1, 2, 4, 8};
	(void)place;
	if (index >= (config->pattern == GRS_OWN_CHUNK_LAST ? 4 : 1))
		return false;
	*value_out = (workload_value_t){{bands[index]}};
	return true;
}

static const workload_param_t params[] = {
	[SHAPE] = PRODUCT_SHAPE(
		"shape of the whole product; rank r of W has columns [r*K/W, (r+1)*K/W) of "
		"A, and those rows of B"),
	[DTYPE] = PRODUCT_DTYPE,
	[SUMS] = {.name = "sums",
		  .letters = "D",
		  .help = "element type in which sums are sent: f32, or that of the matrices, "
			  "which is half as much and rounds each sum once more",
		  .kind = WORKLOAD_DTYPE,
		  .preset = "f32",
		  .problem = true},
	[TILE] = PRODUCT_TILE(try_tile),
	[BLOCKS] = PRODUCT_BLOCKS(0, NULL),
	[BANDS] =
		{.name = "bands",
		 .letters = "G",
		 .help = "bands of each rank's rows in own-chunk-last; more of them spread what is "
			 "sent over the product (default 1)",
		 .least = 1,
		 .most = 1 << 20,
		 .heading = "bands",
		 .width = 5,
		 .stage = 1,
		 .candidate = try_bands},
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

static const char *pattern(int64_t number)
{
	return number < GRS_PATTERNS ? grs_patterns[number].name : NULL;
}

static const char *kernel(int64_t number, int index)
{
	return index < 2 ? grs_patterns[number].kernels[index] : NULL;
}

static tsr_status_t check(const workload_config_t *config, int ranks)
{
	const grs_config_t c = grs_config_of(config);
	return grs_config_check(&c, ranks);
}

static product_t product_of(const workload_config_t *config, int ranks)
{
	const grs_config_t c = grs_config_of(config);
	return (product_t){.m = c.m,
			   .n = c.n,
			   .k = c.k,
			   .dtype = c.dtype,
			   .roundings = c.sums == TSR_F32 || c.dtype == TSR_F32 ? 0 : ranks};
}

static tsr_status_t check_inputs(const workload_config_t *config, const workload_inputs_t *inputs)
{
	const product_t product = product_of(config, 1);
	if (inputs->integers && config->value[SUMS].x[0] != TSR_F32)
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"sums of integers are not exact where they are sent as %s: give --sums f32",
			tsr_dtype_name((tsr_dtype_t)config->value[SUMS].x[0]));
	return product_check_inputs(&product, inputs);
}

/* ------------------------------------------------------------ the problem */

static bool matrix(const workload_config_t *config, int index, int rank, int ranks,
		   workload_matrix_t *matrix_out)
{
	const grs_config_t c = grs_config_of(config);
	if (index >= GRS_MATRICES)
		return false;
	*matrix_out = grs_matrix(&c, index, rank, ranks);
	return true;
}

static tsr_status_t expect(tsr_world_t *world, const workload_config_t *config,
			   const workload_inputs_t *inputs, workload_expected_t **expected_out)
{
	const product_t product = product_of(config, tsr_world_size(world));
	return product_expect(world, &product, inputs, expected_out);
}

static workload_cost_t cost(const workload_config_t *config, int rank, int ranks)
{
	const grs_config_t c = grs_config_of(config);
	const double m = (double)c.m, n = (double)c.n, k = (double)share_of(c.k, rank, ranks).count;
	const double rows = (double)share_of(c.m, rank, ranks).count,
		     element = (double)tsr_dtype_bytes(c.dtype);
	const double sums = (double)tsr_dtype_bytes(c.sums);
	return (workload_cost_t){.operations = 2.0 * m * n * k,
				 .memory_bytes = element * (m * k + k * n + rows * n) +
						 sums * rows * n * (ranks - 1),
				 .link_bytes = sums * (m - rows) * n,
				 .launches = grs_patterns[c.pattern].kernels[1] ? 2 : 1,
				 .meetings = 2};
}

static tsr_status_t choose(const workload_config_t *config, const workload_place_t *place,
			   workload_config_t *config_out)
{
	grs_config_t c = grs_config_of(config);
	const tsr_status_t status = grs_choose(&c, place);
	if (status == TSR_OK)
		*config_out = workload_config_of(&c);
	return status;
}

static int baseline(const workload_config_t *config, workload_step_t steps_out[WORKLOAD_STEPS])
{
	(void)config;
	steps_out[0] = (workload_step_t){.op = WORKLOAD_PRODUCT,
					 .name = "product",
					 .what = "product",
					 .from = GRS_A,
					 .with = GRS_B,
					 .to = GRS_PARTIAL};
	steps_out[1] = (workload_step_t){.op = WORKLOAD_REDUCE_SCATTER,
					 .name = "reduce-scatter",
					 .what = "reduce-scatter",
					 .from = GRS_PARTIAL,
					 .with = -1,
					 .to = GRS_C,
					 .rounds = true};
	return 2;
}

static tsr_status_t open_run(tsr_world_t *world, const workload_config_t *config,
			     workload_run_t **run_out)
{
	return plan_open(&grs_plan_kind, world, config, run_out);
}

const workload_t gemm_reduce_scatter = {
	.size = sizeof(workload_t),
	.name = "gemm-reduce-scatter",
	.title = "GEMM + reduce-scatter",
	.summary = "C = the sum of the ranks' products; each rank gets its rows of C",
	.source = "ParallelKittens, section 4.1",
	.params = params,
	.compute_pattern = GRS_BULK_SYNCHRONOUS,
	.cases = cases,
	.large_cases = large_cases,
	.pattern = pattern,
	.kernel = kernel,
	.check = check,
	.check_inputs = check_inputs,
	.matrix = matrix,
	.expect = expect,
	.cost = cost,
	.choose = choose,
	.baseline = baseline,
	.open = open_run,
	PLAN_FUNCTIONS,
};
