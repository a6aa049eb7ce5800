/* Attention over a sequence that the ranks share, as a workload for the tools. */
#include "kernels/workload.h"

#include "kernels/attend/params.h"
#include "kernels/attend/tiles.h"
#include "kernels/ring_attention/ring.h"

WORKLOAD_REGISTER(ring_attention);

/* ------------------------------------------------------------ parameters */

static bool try_tile(const workload_config_t *config, const workload_place_t *place, int index,
		     workload_value_t *value_out)
{
	const ring_config_t c = ring_config_of(config);
	(void)place;
	return attend_try_tile(ring_patterns[c.pattern].kernels[0], c.dtype, c.dim, index,
			       value_out);
}

/** Candidates: numbers of blocks that move shards, in patterns that have such blocks. */
static bool try_movers(const workload_config_t *config, const workload_place_t *place, int index,
		       workload_value_t *value_out)
{
	static const int movers[] = {1, 2, 3, 4, 6, 8, 12, 16};
	const bool has_movers = config->pattern != RING_BULK_SYNCHRONOUS;
	(void)place;
	if (index >= (has_movers ? (int)(sizeof movers / sizeof *movers) : 1))
		return false;
	*value_out = (workload_value_t){{has_movers ? movers[index] : 0}};
	return true;
}

static const workload_param_t params[] = {
	[RING_BATCH] = ATTEND_EXTENT("batch", "B", 1, "1", "sequences"),
	[RING_HEADS] = ATTEND_EXTENT("heads", "H", 1, "16", "heads of Q"),
	[RING_KEY_HEADS] = ATTEND_EXTENT("key-heads", "H", 0, "0",
					 "heads of K and V, a divisor of heads; 0: as many"),
	[RING_SEQUENCE] = ATTEND_EXTENT("sequence", "S", 1, "1024",
					"positions of the whole sequence, which the ranks divide"),
	[RING_DIM] = ATTEND_EXTENT("dim", "D", 1, "128", "columns of a head"),
	[RING_MASK] = ATTEND_MASK,
	[RING_DTYPE] = ATTEND_DTYPE,
	[RING_TILE] = ATTEND_TILE(try_tile),
	[RING_BLOCKS] = PRODUCT_BLOCKS(0, NULL),
	[RING_COMM_BLOCKS] = {.name = "comm-blocks",
			      .letters = "C",
			      .help = "how many of these only move shards, in patterns that have "
				      "such blocks (default: what should take least time)",
			      .least = 1,
			      .most = 1 << 20,
			      .heading = "moving",
			      .width = 6,
			      .stage = 2,
			      .candidate = try_movers},
	[RING_CHUNK_ROWS] =
		{.name = "chunk-rows",
		 .letters = "R",
		 .help = "positions of the chunks of a key head, of keys and of values, "
			 "that are sent; each has a flag (default: 256 KiB of keys)",
		 .least = 1,
		 .most = INT32_MAX},
	{.name = NULL},
};

/* Shards that end within tiles and within steps; of one position, and of none. */
static const char *const cases[] = {
	"--heads 3 --sequence 101 --dim 16 --blocks 3 --chunk-rows 7",
	"--batch 2 --heads 4 --key-heads 2 --sequence 103 --dim 16 --mask causal --blocks 4 "
	"--comm-blocks 2 --chunk-rows 20",
	"--heads 2 --sequence 3 --dim 16 --mask causal --dtype f16 --blocks 2",
	"--heads 2 --sequence 40 --dim 16 --dtype f32 --blocks 2 --chunk-rows 64",
	"--heads 1 --sequence 190 --dim 64 --mask causal",
	NULL,
};

/* On two ranks, shards of a whole tile, of one position less, and of one more. */
static const char *const large_cases[] = {
	"--batch 2 --heads 4 --key-heads 2 --sequence 2000",
	"--heads 3 --sequence 1555 --mask causal",
	"--heads 2 --sequence 900 --dim 64 --mask causal --dtype f16 --blocks 5 --chunk-rows 100",
	"--heads 2 --sequence 255 --blocks 3",
	"--heads 2 --sequence 513 --mask causal --blocks 3",
	NULL,
};

static const char *pattern(int64_t number)
{
	return number >= 0 && number < RING_PATTERNS ? ring_patterns[number].name : NULL;
}

static const char *kernel(int64_t number, int index)
{
	return number >= 0 && number < RING_PATTERNS && index < 2
		       ? ring_patterns[number].kernels[index]
		       : NULL;
}

static tsr_status_t check_inputs(const workload_config_t *config, const workload_inputs_t *inputs)
{
	(void)config, (void)inputs; /* results are compared within bounds */
	return TSR_OK;
}

/* ------------------------------------------------------------ cost */

/** How many pairs of a query and a key a head of the rank has. */
static double pairs_of(const ring_config_t *c, int rank, int ranks)
{
	const ring_share_t share = ring_share(c, rank, ranks);
	const double early = (double)share.early, late = (double)(share.count - share.early);
	if (!c->causal)
		return early * (double)c->sequence;
	return early * (double)share.at + early * (early + 1) / 2 + late * (double)share.late_at +
	       late * (late + 1) / 2;
}

/** Elements of a rank's shard of keys, and of values. */
static double shard_of(const ring_config_t *c, int rank, int ranks)
{
	return (double)ring_share(c, rank, ranks).count * (double)ring_all_key_heads(c) *
	       (double)c->dim;
}

/** What a rank puts to others: what they see of its shard; or to one, all but that one's. */
static double sent_of(const ring_config_t *c, int rank, int ranks)
{
	const double unit = (double)ring_all_key_heads(c) * (double)c->dim;
	const ring_share_t own = ring_share(c, rank, ranks);
	double elements = 0;
	if (c->pattern != RING_ROTATE) /* of ranks behind it, all see its early piece alone */
		return unit * ((double)rank * (double)own.count +
			       (double)(ranks - 1 - rank) * (double)own.early);
	for (int step = 0; step + 1 < ranks; step++)
		elements += shard_of(c, (rank - step + ranks) % ranks, ranks);
	return elements;
}

/** What other ranks put to this one. */
static double come_of(const ring_config_t *c, int rank, int ranks)
{
	double elements = 0;
	for (int source = 0; source < ranks; source++) {
		const ring_share_t share = ring_share(c, source, ranks);
		const bool is_cut = source < rank && c->pattern != RING_ROTATE;
		if (source != rank)
			elements += (double)(is_cut ? share.early : share.count);
	}
	return elements * (double)ring_all_key_heads(c) * (double)c->dim;
}

static workload_cost_t cost(const workload_config_t *config, int rank, int ranks)
{
	static const int meetings[RING_PATTERNS] = {
		[RING_BULK_SYNCHRONOUS] = 2, [RING_GATHER] = 1, [RING_ROTATE] = 0};
	const ring_config_t c = ring_config_of(config);
	const double queries =
			     (double)ring_share(&c, rank, ranks).count * (double)ring_all_heads(&c),
		     element = (double)tsr_dtype_bytes(c.dtype),
		     keys = (double)c.sequence * (double)ring_all_key_heads(&c) * (double)c.dim,
		     others = come_of(&c, rank, ranks),
		     states = c.pattern == RING_ROTATE
				      ? queries * (double)(c.dim + 2) * sizeof(float) * (ranks - 1)
				      : 0;
	return (workload_cost_t){
		.operations =
			4 * (double)ring_all_heads(&c) * pairs_of(&c, rank, ranks) * (double)c.dim,
		.memory_bytes = element * (2 * queries * (double)c.dim + 2 * keys) +
				queries * sizeof(float),
		.link_bytes = 2 * element * sent_of(&c, rank, ranks),
		.between_bytes = 2 * (2 * element * others + states),
		.launches = c.pattern == RING_BULK_SYNCHRONOUS && ranks > 1 ? 2 : 1,
		.meetings = meetings[c.pattern]};
}

/**
 * Its states stay in registers. On one rank nothing is gathered, and one block
 * cannot move shards beside others that compute.
 */
static int64_t fastest(const workload_config_t *config, const workload_place_t *place)
{
	const bool is_alone = place->ranks == 1, has_movers = ring_config_of(config).blocks != 1;
	const int64_t pattern = is_alone || !has_movers ? RING_BULK_SYNCHRONOUS : RING_GATHER;
	explain_pattern_rule(place->explain, 1U << RING_BULK_SYNCHRONOUS | 1U << RING_GATHER,
			     pattern, "%s",
			     is_alone ? "one rank has nothing to gather"
			     : has_movers
				     ? "its states stay in registers while keys and values arrive"
				     : "no block is left that could move shards");
	return pattern;
}

static tsr_status_t open_run(tsr_world_t *world, const workload_config_t *config,
			     workload_run_t **run_out)
{
	return plan_open(&ring_plan_kind, world, config, run_out);
}

const workload_t ring_attention = {
	.size = sizeof(workload_t),
	.name = "ring-attention",
	.title = "Ring attention",
	.summary = "O = softmax(Q * K^T) * V; each rank has its share of the positions",
	.source = "ParallelKittens, section 4.2",
	.params = params,
	.compute_pattern = RING_BULK_SYNCHRONOUS,
	.rounds = true,
	.cases = cases,
	.large_cases = large_cases,
	.pattern = pattern,
	.kernel = kernel,
	.check = ring_check,
	.check_inputs = check_inputs,
	.matrix = ring_matrix,
	.expect = ring_expect,
	.cost = cost,
	.choose = ring_choose,
	.fastest = fastest,
	.open = open_run,
	PLAN_FUNCTIONS,
};
