/* GEMM + all-scatter as a workload for the tools. */
#include "kernels/workload.h"

#include "kernels/gemm_all_scatter/config.h"
#include "kernels/gemm_all_scatter/plan.h"
#include "kernels/host/product_params.h"
#include "kernels/host/share.h"

WORKLOAD_REGISTER(gemm_all_scatter);

/* ------------------------------------------------------------ parameters */

enum { SHAPE, DTYPE, TILE, BLOCKS, COMM_BLOCKS, BANDS, PARTS };

gas_config_t gas_config_of(const workload_config_t *config)
{
	const workload_value_t *v = config->value;
	return (gas_config_t){.m = v[SHAPE].x[0],
			      .n = v[SHAPE].x[1],
			      .k = v[SHAPE].x[2],
			      .dtype = (tsr_dtype_t)v[DTYPE].x[0],
			      .pattern = (gas_pattern_t)config->pattern,
			      .tile = {(int)v[TILE].x[0], (int)v[TILE].x[1], (int)v[TILE].x[2]},
			      .blocks = (int)v[BLOCKS].x[0],
			      .comm_blocks = (int)v[COMM_BLOCKS].x[0],
			      .bands = (int)v[BANDS].x[0],
			      .parts = (int)v[PARTS].x[0]};
}

workload_config_t gas_workload_config(const gas_config_t *c)
{
	return (workload_config_t){.pattern = c->pattern,
				   .value = {[SHAPE] = {{c->m, c->n, c->k}},
					     [DTYPE] = {{c->dtype}},
					     [TILE] = {{c->tile.m, c->tile.n, c->tile.k}},
					     [BLOCKS] = {{c->blocks}},
					     [COMM_BLOCKS] = {{c->comm_blocks}},
					     [BANDS] = {{c->bands}},
					     [PARTS] = {{c->parts}}}};
}

static bool sends_apart(const workload_config_t *config)
{
	return gas_pattern_kernels((gas_pattern_t)config->pattern)->sends_apart;
}

/** Candidates: the tiles that are built. */
static bool try_tile(const workload_config_t *config, const workload_place_t *place, int index,
		     workload_value_t *value_out)
{
	const gas_config_t c = gas_config_of(config);
	tile_size_t tile;
	(void)place;
	if (!variant_candidate(gas_pattern_kernels(c.pattern)->kernels[0], c.dtype, index, &tile))
		return false;
	*value_out = (workload_value_t){{tile.m, tile.n, tile.k}};
	return true;
}

/**
 * Candidates: whole tiles, halves, and the plan's choice. If a tile cannot be
 * divided, all three are the same.
 */
static bool try_parts(const workload_config_t *config, const workload_place_t *place, int index,
		      workload_value_t *value_out)
{
	static const int parts[] = {1, 2, 0};
	(void)config;
	(void)place;
	if (index >= (int)(sizeof parts / sizeof *parts))
		return false;
	*value_out = (workload_value_t){{parts[index]}};
	return true;
}

/**
 * Candidates: all blocks that the device holds, three quarters, half, and the
 * plan's choice.
 */
static bool try_blocks(const workload_config_t *config, const workload_place_t *place, int index,
		       workload_value_t *value_out)
{
	const int resident = place->device->resident_blocks;
	const int64_t blocks[] = {resident, resident * 3 / 4, resident / 2,
				  config->value[BLOCKS].x[0]};
	if (index >= (int)(sizeof blocks / sizeof *blocks))
		return false;
	*value_out = (workload_value_t){{blocks[index]}};
	return true;
}

/**
 * Candidates: fractions of the blocks, in patterns with blocks that only send.
 */
static bool try_senders(const workload_config_t *config, const workload_place_t *place, int index,
			workload_value_t *value_out)
{
	static const int divisors[] = {32, 24, 16, 12, 8, 6, 5, 4, 3, 2};
	(void)place;
	if (index >= (sends_apart(config) ? (int)(sizeof divisors / sizeof *divisors) : 1))
		return false;
	*value_out = (workload_value_t){
		{sends_apart(config) ? config->value[BLOCKS].x[0] / divisors[index] : 0}};
	return true;
}

static const workload_param_t params[] = {
	[SHAPE] = PRODUCT_SHAPE(
		"shape of the whole product; rank r of W computes columns [r*N/W, (r+1)*N/W)"),
	[DTYPE] = PRODUCT_DTYPE,
	[TILE] = PRODUCT_TILE(try_tile),
	[BLOCKS] = PRODUCT_BLOCKS(2, try_blocks),
	[COMM_BLOCKS] = {.name = "comm-blocks",
			 .letters = "C",
			 .help = "how many of these only send, in patterns that have such blocks "
				 "(default: as many as keep up)",
			 .least = 1,
			 .most = 1 << 20,
			 .heading = "sending",
			 .width = 7,
			 .stage = 2,
			 .candidate = try_senders},
	[BANDS] = {.name = "bands",
		   .letters = "B",
		   .help = "bands that banded cuts C into, 1 to 10 (default: by how much is sent)",
		   .least = 1,
		   .most = GAS_BANDS},
	[PARTS] = {.name = "parts",
		   .letters = "P",
		   .help = "parts of K that the last tiles are divided into, 1 to 8 (default: what "
			   "should take least time)",
		   .least = 1,
		   .most = TILING_PARTS,
		   .heading = "parts",
		   .width = 5,
		   .stage = 1,
		   .candidate = try_parts},
	{.name = NULL},
};

static const char *const cases[] = {
	"--shape 32x40x16 --tile 16x16x16 --blocks 2",
	"--shape 33x100x19 --tile 16x16x16 --blocks 3",
	NULL,
};

/*
 * The second shape has rows that tensor cores and 16-byte stores accept, and
 * does not fill its tiles. The third gives each rank at least 25 tiles, which
 * do not fill whole rounds of seven blocks.
 */
static const char *const large_cases[] = {
	"--shape 512x512x512",
	"--shape 200x264x72 --tile 128x128x64",
	"--shape 520x2112x328 --tile 128x128x64 --blocks 7 --parts 2",
	NULL,
};

static const char *pattern(int64_t number)
{
	return number < GAS_PATTERN_COUNT ? gas_pattern_name((gas_pattern_t)number) : NULL;
}

static const char *kernel(int64_t number, int index)
{
	return index < 2 ? gas_pattern_kernels((gas_pattern_t)number)->kernels[index] : NULL;
}

static tsr_status_t find_pattern(const char *text, int64_t *pattern_out)
{
	gas_pattern_t pattern;
	tsr_status_t status = gas_pattern_parse(text, &pattern);
	if (status == TSR_OK)
		*pattern_out = pattern;
	return status;
}

static tsr_status_t check(const workload_config_t *config, int ranks)
{
	const gas_config_t c = gas_config_of(config);
	return gas_config_check(&c, ranks);
}

static tsr_status_t check_inputs(const workload_config_t *config, const workload_inputs_t *inputs)
{
	const gas_config_t c = gas_config_of(config);
	const product_t product = gas_product(&c);
	return product_check_inputs(&product, inputs);
}

/**
 * True if there are more computing blocks than tasks, or no computing block, or
 * no sending block in a pattern that needs one.
 */
static bool is_idle(const workload_config_t *config, int ranks)
{
	const gas_config_t c = gas_config_of(config);
	const int64_t tasks = gas_most_tiles(&c, c.tile, ranks) * (c.parts > 1 ? c.parts : 1);
	return c.blocks < 1 || c.comm_blocks >= c.blocks ||
	       (sends_apart(config) && c.comm_blocks < 1) || c.blocks - c.comm_blocks > tasks;
}

/* ------------------------------------------------------------ the problem */

static bool matrix(const workload_config_t *config, int index, int rank, int ranks,
		   workload_matrix_t *matrix_out)
{
	const gas_config_t c = gas_config_of(config);
	if (index >= GAS_MATRICES)
		return false;
	*matrix_out = gas_matrix(&c, index, rank, ranks);
	return true;
}

static tsr_status_t expect(tsr_world_t *world, const workload_config_t *config,
			   const workload_inputs_t *inputs, workload_expected_t **expected_out)
{
	const gas_config_t c = gas_config_of(config);
	const product_t product = gas_product(&c);
	return product_expect(world, &product, inputs, expected_out);
}

/**
 * How often a pattern reads its part of C back, to send it: once, once for each
 * peer where copy engines send, and never from where it was computed.
 */
static int times_read_back(gas_pattern_t pattern, int peers)
{
	switch (pattern) {
	case GAS_FUSED_SEQUENTIAL:
	case GAS_FUSED_WAVE:
		return 0;
	case GAS_BANDED:
		return peers;
	default:
		return peers > 0;
	}
}

static workload_cost_t cost(const workload_config_t *config, int rank, int ranks)
{
	const gas_config_t c = gas_config_of(config);
	const double m = (double)c.m, k = (double)c.k,
		     cols = (double)share_of(c.n, rank, ranks).count;
	const double element = (double)tsr_dtype_bytes(c.dtype);
	const int kernels = gas_pattern_kernels(c.pattern)->kernels[1] ? 2 : 1;
	return (workload_cost_t){.operations = 2.0 * m * cols * k,
				 .memory_bytes = element * (m * k + k * cols + m * cols),
				 .link_bytes = element * m * cols * (ranks - 1),
				 .between_bytes =
					 element * m * cols * times_read_back(c.pattern, ranks - 1),
				 .launches = c.pattern == GAS_BANDED ? c.bands + 1 : kernels,
				 .meetings = 2};
}

static tsr_status_t choose(const workload_config_t *config, const workload_place_t *place,
			   workload_config_t *config_out)
{
	gas_config_t c = gas_config_of(config);
	tsr_status_t status = TSR_OK;
	if (tile_is_automatic(c.tile))
		status = gas_tile_choose(&c, place);
	if (status == TSR_OK)
		status = gas_blocks_choose(&c, place);
	if (status == TSR_OK)
		*config_out = gas_workload_config(&c);
	return status;
}

static int64_t fastest(const workload_config_t *config, const workload_place_t *place)
{
	const gas_config_t c = gas_config_of(config);
	return gas_fastest(&c, place);
}

static int baseline(const workload_config_t *config, workload_step_t steps_out[WORKLOAD_STEPS])
{
	(void)config;
	steps_out[0] = (workload_step_t){.op = WORKLOAD_PRODUCT,
					 .name = "product",
					 .what = "product",
					 .from = GAS_A,
					 .with = GAS_B,
					 .to = GAS_PART};
	steps_out[1] = (workload_step_t){.op = WORKLOAD_ALL_GATHER,
					 .name = "all-gather",
					 .what = "all-gather",
					 .from = GAS_PART,
					 .with = -1,
					 .to = GAS_PARTS_OF_ALL};
	steps_out[2] = (workload_step_t){.op = WORKLOAD_PLACE,
					 .name = "layout",
					 .what = "columns to their places",
					 .from = GAS_PARTS_OF_ALL,
					 .with = GAS_PART,
					 .to = GAS_C,
					 .extra = true};
	return 3;
}

static tsr_status_t open_run(tsr_world_t *world, const workload_config_t *config,
			     workload_run_t **run_out)
{
	return plan_open(&gas_plan_kind, world, config, run_out);
}

const workload_t gemm_all_scatter = {
	.size = sizeof(workload_t),
	.name = "gemm-all-scatter",
	.title = "GEMM + all-scatter",
	.summary = "C = A * B on every rank: each computes its columns and sends them to all",
	.source = "Iris paper, section 4",
	.params = params,
	.compute_pattern = GAS_BULK_SYNCHRONOUS,
	.cases = cases,
	.large_cases = large_cases,
	.pattern = pattern,
	.kernel = kernel,
	.find_pattern = find_pattern,
	.check = check,
	.check_inputs = check_inputs,
	.is_idle = is_idle,
	.matrix = matrix,
	.expect = expect,
	.cost = cost,
	.choose = choose,
	.fastest = fastest,
	.baseline = baseline,
	.open = open_run,
	.plan = &gas_plan_kind,
	PLAN_FUNCTIONS,
};
