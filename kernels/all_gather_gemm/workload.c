/* All-gather + GEMM as a workload for the tools. */
#include "kernels/workload.h"

#include "kernels/all_gather_gemm/plan.h"
#include "kernels/host/product_params.h"
#include "kernels/host/share.h"

WORKLOAD_REGISTER(all_gather_gemm);

enum { SHAPE, DTYPE, ALONG, OPERAND, TILE, BLOCKS, COMM_BLOCKS, CHUNK_ROWS, ARRIVAL };

agg_config_t agg_config_of(const workload_config_t *config)
{
	const workload_value_t *v = config->value;
	return (agg_config_t){.m = v[SHAPE].x[0],
			      .n = v[SHAPE].x[1],
			      .k = v[SHAPE].x[2],
			      .dtype = (tsr_dtype_t)v[DTYPE].x[0],
			      .along = v[OPERAND].x[0] == 2 ? AGG_B_BY_ROWS : (int)v[ALONG].x[0],
			      .pattern = (agg_pattern_t)config->pattern,
			      .tile = {(int)v[TILE].x[0], (int)v[TILE].x[1], (int)v[TILE].x[2]},
			      .blocks = (int)v[BLOCKS].x[0],
			      .comm_blocks = (int)v[COMM_BLOCKS].x[0],
			      .chunk_rows = v[CHUNK_ROWS].x[0],
			      .arrival = (agg_arrival_order_t)v[ARRIVAL].x[0]};
}

static workload_config_t workload_config_of(const agg_config_t *c)
{
	return (workload_config_t){.pattern = c->pattern,
				   .value = {[SHAPE] = {{c->m, c->n, c->k}},
					     [DTYPE] = {{c->dtype}},
					     [ALONG] = {{c->along == AGG_BY_COLUMNS ? 2 : 1}},
					     [OPERAND] = {{agg_gathered(c) == AGG_B ? 2 : 1}},
					     [TILE] = {{c->tile.m, c->tile.n, c->tile.k}},
					     [BLOCKS] = {{c->blocks}},
					     [COMM_BLOCKS] = {{c->comm_blocks}},
					     [CHUNK_ROWS] = {{c->chunk_rows}},
					     [ARRIVAL] = {{c->arrival}}}};
}

/* ------------------------------------------------------------ parameters */

static bool try_tile(const workload_config_t *config, const workload_place_t *place, int index,
		     workload_value_t *value_out)
{
	const agg_config_t c = agg_config_of(config);
	tile_size_t tile;
	(void)place;
	if (!variant_candidate(agg_patterns[c.pattern].kernels[0], c.dtype, index, &tile))
		return false;
	*value_out = (workload_value_t){{tile.m, tile.n, tile.k}};
	return true;
}

/** Candidates: numbers of blocks that move A, in patterns that have such blocks. */
static bool try_movers(const workload_config_t *config, const workload_place_t *place, int index,
		       workload_value_t *value_out)
{
	static const int movers[] = {1, 2, 4, 8, 16, 24};
	const bool has_movers = agg_patterns[config->pattern].moves_apart;
	(void)place;
	if (index >= (has_movers ? (int)(sizeof movers / sizeof *movers) : 1))
		return false;
	*value_out = (workload_value_t){{has_movers ? movers[index] : 0}};
	return true;
}

/** Candidates: both orders by rows; by columns a tile needs chunks of all shards. */
static bool try_arrivals(const workload_config_t *config, const workload_place_t *place, int index,
			 workload_value_t *value_out)
{
	const agg_config_t c = agg_config_of(config);
	const bool has_two = agg_patterns[c.pattern].moves_apart && place->ranks > 2 &&
			     c.along != AGG_BY_COLUMNS;
	if (index >= (has_two ? 2 : 1))
		return false;
	*value_out = (workload_value_t){{has_two ? AGG_SHARD_AFTER_SHARD + index : 0}};
	return true;
}

static const workload_param_t params[] = {
	[SHAPE] = PRODUCT_SHAPE("shape of the whole product; rank r of W computes columns [r*N/W, "
				"(r+1)*N/W), or rows with --operand 2"),
	[DTYPE] = PRODUCT_DTYPE,
	[ALONG] = {.name = "along",
		   .letters = "D",
		   .help = "how the operand that is gathered is divided: 1: by rows, 2: by "
			   "columns",
		   .preset = "1",
		   .least = 1,
		   .most = 2,
		   .problem = true},
	[OPERAND] = {.name = "operand",
		     .letters = "O",
		     .help = "which operand is gathered: 1: A; 2: B, by rows, and rank r computes "
			     "rows [r*M/W, (r+1)*M/W)",
		     .preset = "1",
		     .least = 1,
		     .most = 2,
		     .problem = true},
	[TILE] = PRODUCT_TILE(try_tile),
	[BLOCKS] = PRODUCT_BLOCKS(0, NULL),
	[COMM_BLOCKS] = {.name = "comm-blocks",
			 .letters = "C",
			 .help = "how many of these only send or fetch, in patterns that have "
				 "such blocks (default: as many as fill the links)",
			 .least = 1,
			 .most = 1 << 20,
			 .heading = "moving",
			 .width = 6,
			 .stage = 2,
			 .candidate = try_movers},
	[CHUNK_ROWS] = {.name = "chunk-rows",
			.letters = "R",
			.help = "rows of the chunks that are sent; each has a flag (default: "
				"512 KiB, or 4 MiB for copy engines)",
			.least = 1,
			.most = INT32_MAX},
	[ARRIVAL] = {.name = "arrival",
		     .letters = "A",
		     .help = "in which order blocks send or fetch: 1: shard after shard; 2: a "
			     "chunk of each shard in turn (default: 2 by columns, and where each "
			     "pair of devices has a link)",
		     .least = AGG_SHARD_AFTER_SHARD,
		     .most = AGG_IN_TURN,
		     .stage = 2,
		     .candidate = try_arrivals},
	{.name = NULL},
};

/* Tiles at whose edges shards begin, and others; shards of a row, of a column, and of none. */
static const char *const cases[] = {
	"--shape 53x40x37 --tile 16x16x16 --blocks 3 --chunk-rows 5",
	"--shape 53x40x37 --tile 16x16x16 --blocks 3 --chunk-rows 9 --along 2",
	"--shape 1x100x64 --tile 16x16x16 --blocks 3 --along 2",
	"--shape 40x53x37 --tile 16x16x16 --blocks 3 --chunk-rows 5 --operand 2",
	"--shape 3x7x5 --tile 16x16x16 --blocks 2",
	"--shape 90x40x37 --tile 16x16x16 --blocks 3 --chunk-rows 5 --arrival 2",
	"--shape 97x33x131 --tile 16x16x16 --blocks 3 --comm-blocks 2 --chunk-rows 32 --along 2",
	NULL,
};

/*
 * The second and third shapes have rows that tensor cores and 16-byte stores
 * accept, and do not fill their tiles.
 */
static const char *const large_cases[] = {
	"--shape 512x512x512",
	"--shape 200x264x72 --tile 128x128x64 --blocks 7 --chunk-rows 24",
	"--shape 520x328x2112 --tile 128x128x64 --blocks 7 --chunk-rows 100 --along 2",
	"--shape 2112x328x520 --tile 128x128x64 --blocks 7 --chunk-rows 100 --arrival 2",
	"--shape 328x520x2112 --tile 128x128x64 --blocks 7 --chunk-rows 100 --operand 2",
	NULL,
};

static const char *pattern(int64_t number)
{
	return number < AGG_PATTERNS ? agg_patterns[number].name : NULL;
}

static const char *kernel(int64_t number, int index)
{
	return index < 2 ? agg_patterns[number].kernels[index] : NULL;
}

static tsr_status_t check(const workload_config_t *config, int ranks)
{
	const agg_config_t c = agg_config_of(config);
	if (config->value[OPERAND].x[0] == 2 && config->value[ALONG].x[0] == 2)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "columns of B need not be gathered: each rank computes those that "
				 "it has. With --operand 2, leave --along at 1");
	return agg_config_check(&c, ranks);
}

static tsr_status_t check_inputs(const workload_config_t *config, const workload_inputs_t *inputs)
{
	const agg_config_t c = agg_config_of(config);
	const product_t product = agg_product(&c);
	return product_check_inputs(&product, inputs);
}

/* ------------------------------------------------------------ the problem */

static bool matrix(const workload_config_t *config, int index, int rank, int ranks,
		   workload_matrix_t *matrix_out)
{
	const agg_config_t c = agg_config_of(config);
	/* rows that lie one after the other are in their places at once */
	const int count = c.along == AGG_BY_COLUMNS ? AGG_MATRICES : AGG_MATRICES - 1;
	if (index >= count)
		return false;
	*matrix_out = agg_matrix(&c, index, rank, ranks);
	return true;
}

static tsr_status_t expect(tsr_world_t *world, const workload_config_t *config,
			   const workload_inputs_t *inputs, workload_expected_t **expected_out)
{
	const agg_config_t c = agg_config_of(config);
	const product_t product = agg_product(&c);
	return product_expect(world, &product, inputs, expected_out);
}

/** Meetings of all ranks in a run, by pattern: before shards are moved, and at the end. */
static const int meetings[AGG_PATTERNS] = {
	[AGG_BULK_SYNCHRONOUS] = 2, [AGG_PULL] = 2,   [AGG_STAGED_PULL] = 2, [AGG_PUSH] = 1,
	[AGG_COPY_ENGINES] = 1,     [AGG_MARKED] = 0,
};

/** Kernels of a run. In copy-engines: the product, begin and end, and one behind each copy. */
static int launches(const agg_config_t *c, int ranks)
{
	if (c->pattern == AGG_BULK_SYNCHRONOUS)
		return ranks > 1 ? 2 : 1;
	if (c->pattern != AGG_COPY_ENGINES)
		return 1;
	const int64_t chunks = c->chunk_rows > 0 ? agg_most_chunks(c, ranks) : 1;
	return ranks > 1 ? 3 + (ranks - 1) * (int)chunks : 2;
}

/**
 * How often what comes from peers lies in memory before it is multiplied: once
 * in most patterns, and twice as many bytes if each word has its flag.
 */
static const int copies_between[AGG_PATTERNS] = {
	[AGG_BULK_SYNCHRONOUS] = 1, [AGG_PULL] = 0,   [AGG_STAGED_PULL] = 1, [AGG_PUSH] = 1,
	[AGG_COPY_ENGINES] = 1,     [AGG_MARKED] = 2,
};

static workload_cost_t cost(const workload_config_t *config, int rank, int ranks)
{
	const agg_config_t c = agg_config_of(config);
	const workload_matrix_t mine = agg_matrix(&c, agg_gathered(&c), rank, ranks),
				of_c = agg_matrix(&c, AGG_C, rank, ranks);
	const double m = (double)of_c.part_rows, n = (double)of_c.part_cols, k = (double)c.k,
		     shard = (double)mine.part_rows * (double)mine.part_cols,
		     others = (double)mine.rows * (double)mine.cols - shard,
		     element = (double)tsr_dtype_bytes(c.dtype);
	return (workload_cost_t){.operations = 2.0 * m * n * k,
				 .memory_bytes = element * (m * k + k * n + m * n),
				 .link_bytes = element * shard * (ranks - 1),
				 .between_bytes = 2 * element * others * copies_between[c.pattern],
				 .launches = launches(&c, ranks),
				 .meetings = meetings[c.pattern]};
}

static tsr_status_t choose(const workload_config_t *config, const workload_place_t *place,
			   workload_config_t *config_out)
{
	agg_config_t c = agg_config_of(config);
	const tsr_status_t status = agg_choose(&c, place);
	if (status == TSR_OK)
		*config_out = workload_config_of(&c);
	return status;
}

static int64_t fastest(const workload_config_t *config, const workload_place_t *place)
{
	const agg_config_t c = agg_config_of(config);
	return agg_fastest(&c, place);
}

/** Libraries gather shards one after the other. Columns must then be brought to their places. */
static int baseline(const workload_config_t *config, workload_step_t steps_out[WORKLOAD_STEPS])
{
	const agg_config_t c = agg_config_of(config);
	const bool by_rows = c.along != AGG_BY_COLUMNS;
	const int whole = by_rows ? AGG_PARTS : AGG_WHOLE, gathered = agg_gathered(&c);
	int count = 0;
	steps_out[count++] = (workload_step_t){.op = WORKLOAD_ALL_GATHER,
					       .name = "all-gather",
					       .what = "all-gather",
					       .from = gathered,
					       .with = -1,
					       .to = AGG_PARTS};
	if (!by_rows)
		steps_out[count++] = (workload_step_t){.op = WORKLOAD_PLACE,
						       .name = "layout",
						       .what = "columns to their places",
						       .from = AGG_PARTS,
						       .with = AGG_A,
						       .to = AGG_WHOLE};
	steps_out[count++] = (workload_step_t){.op = WORKLOAD_PRODUCT,
					       .name = "product",
					       .what = "product",
					       .from = gathered == AGG_A ? whole : AGG_A,
					       .with = gathered == AGG_A ? AGG_B : whole,
					       .to = AGG_C};
	return count;
}

static tsr_status_t open_run(tsr_world_t *world, const workload_config_t *config,
			     workload_run_t **run_out)
{
	return plan_open(&agg_plan_kind, world, config, run_out);
}

const workload_t all_gather_gemm = {
	.size = sizeof(workload_t),
	.name = "all-gather-gemm",
	.title = "all-gather + GEMM",
	.summary = "C = A * B: each rank has a share of A, or of B, and computes its part of C",
	.source = "ParallelKittens, section 4.1; \"Three Taxes\", section 4.1",
	.params = params,
	.compute_pattern = AGG_BULK_SYNCHRONOUS,
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
	.fastest = fastest,
	.baseline = baseline,
	.open = open_run,
	.plan = &agg_plan_kind,
	PLAN_FUNCTIONS,
};
