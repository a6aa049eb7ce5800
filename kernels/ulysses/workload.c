/* Attention whose ranks exchange positions for heads, as a workload for the tools. */
#include "kernels/workload.h"

#include "kernels/attend/params.h"
#include "kernels/attend/tiles.h"
#include "kernels/choices/cost.h"
#include "kernels/ulysses/ulysses.h"

WORKLOAD_REGISTER(ulysses);

/* ------------------------------------------------------------ parameters */

static bool try_tile(const workload_config_t *config, const workload_place_t *place, int index,
		     workload_value_t *value_out)
{
	const uly_config_t c = uly_config_of(config);
	(void)place;
	return attend_try_tile(uly_patterns[c.pattern].kernels[0], c.dtype, c.dim, index,
			       value_out);
}

/** Candidates: numbers of blocks that send, in the pattern that has such blocks. */
static bool try_senders(const workload_config_t *config, const workload_place_t *place, int index,
			workload_value_t *value_out)
{
	static const int senders[] = {2, 3, 4, 6, 8, 12, 16, 24};
	const bool has_senders = config->pattern != ULY_BULK_SYNCHRONOUS;
	(void)place;
	if (index >= (has_senders ? (int)(sizeof senders / sizeof *senders) : 1))
		return false;
	*value_out = (workload_value_t){{has_senders ? senders[index] : 0}};
	return true;
}

static const workload_param_t params[] = {
	[ULY_BATCH] = ATTEND_EXTENT("batch", "B", 1, "1", "sequences"),
	[ULY_HEADS] = ATTEND_EXTENT("heads", "H", 1, "16", "heads of Q"),
	[ULY_KEY_HEADS] = ATTEND_EXTENT(
		"key-heads", "H", 0, "0",
		"heads of K and V, which the ranks divide; a divisor of heads; 0: as many"),
	[ULY_SEQUENCE] = ATTEND_EXTENT("sequence", "S", 1, "1024",
				       "positions of the whole sequence, which the ranks divide"),
	[ULY_DIM] = ATTEND_EXTENT("dim", "D", 1, "128", "columns of a head"),
	[ULY_MASK] = ATTEND_MASK,
	[ULY_DTYPE] = ATTEND_DTYPE,
	[ULY_TILE] = ATTEND_TILE(try_tile),
	[ULY_BLOCKS] = PRODUCT_BLOCKS(0, NULL),
	[ULY_COMM_BLOCKS] = {.name = "comm-blocks",
			     .letters = "C",
			     .help = "how many of these only send, in the fused pattern (default: "
				     "what should take least time)",
			     .least = 1,
			     .most = 1 << 20,
			     .heading = "moving",
			     .width = 6,
			     .stage = 2,
			     .candidate = try_senders},
	[ULY_CHUNK_ROWS] =
		{.name = "chunk-rows",
		 .letters = "R",
		 .help = "positions of a chunk, which has a flag (default: 512 KiB of Q, "
			 "or a quarter of a rank's positions)",
		 .least = 1,
		 .most = INT32_MAX},
	[ULY_GROUP] = {.name = "group-heads",
		       .letters = "G",
		       .help = "key heads of a chunk (default: as many as make rows of 1 KiB in Q)",
		       .least = 1,
		       .most = INT32_MAX},
	{.name = NULL},
};

/* Heads and positions that do not divide; ranks without either; shared key heads. */
static const char *const cases[] = {
	"--heads 5 --sequence 101 --dim 16 --blocks 3 --chunk-rows 9 --group-heads 1",
	"--batch 2 --heads 6 --key-heads 3 --sequence 53 --dim 16 --mask causal --blocks 4 "
	"--comm-blocks 2 --chunk-rows 8 --group-heads 2",
	"--batch 2 --heads 3 --sequence 3 --dim 16 --mask causal --dtype f16 --blocks 2",
	"--heads 8 --key-heads 2 --sequence 40 --dim 16 --dtype f32 --blocks 2",
	"--heads 2 --sequence 190 --dim 64",
	NULL,
};

static const char *const large_cases[] = {
	"--batch 2 --heads 8 --key-heads 4 --sequence 1000",
	"--heads 5 --sequence 777 --mask causal",
	"--heads 4 --sequence 900 --dim 64 --mask causal --dtype f16 --blocks 5 --chunk-rows 100",
	"--heads 34 --sequence 255 --blocks 7 --group-heads 16",
	NULL,
};

static const char *pattern(int64_t number)
{
	return number >= 0 && number < ULY_PATTERNS ? uly_patterns[number].name : NULL;
}

static const char *kernel(int64_t number, int index)
{
	return number >= 0 && number < ULY_PATTERNS && index < 2
		       ? uly_patterns[number].kernels[index]
		       : NULL;
}

static tsr_status_t check_inputs(const workload_config_t *config, const workload_inputs_t *inputs)
{
	(void)config, (void)inputs; /* results are compared within bounds */
	return TSR_OK;
}

/* ------------------------------------------------------------ cost */

static workload_cost_t cost(const workload_config_t *config, int rank, int ranks)
{
	const uly_config_t c = uly_config_of(config);
	const bool is_bulk = c.pattern == ULY_BULK_SYNCHRONOUS, has_peers = ranks > 1;
	const double s = (double)c.sequence, share = (double)uly_share(&c),
		     positions = (double)uly_positions_of(&c, rank, ranks).count,
		     key_heads = (double)uly_key_heads_of(&c, rank, ranks).count,
		     others = (double)c.key_heads - key_heads,
		     pairs = c.causal ? s * (s + 1) / 2 : s * s,
		     /* bytes of a head at all positions of one kind, for each position */
		unit = (double)c.batch * (double)c.dim * (double)tsr_dtype_bytes(c.dtype),
		     inputs = (share + 2) * s * key_heads,
		     results = is_bulk ? share * s * key_heads : 0;
	return (workload_cost_t){
		.operations = 4 * (double)c.batch * key_heads * share * pairs * (double)c.dim,
		.memory_bytes = unit * (2 * share + 2) * s * key_heads,
		.link_bytes = unit * ((share + 2) * positions * others +
				      share * key_heads * (s - positions)),
		.between_bytes = is_bulk && !has_peers ? 0 : 2 * unit * (inputs + results),
		.launches = is_bulk && has_peers ? 3 : 1,
		.meetings = is_bulk ? 4 : 1};
}

/**
 * Fused: its exchanges go on beside the attention. Not where there is little to
 * exchange: of 6144 positions on two H100s attention is 2.6 times as long as the
 * exchange, and loses more to the blocks that move; of 3072, 1.3 times.
 */
static int64_t fastest(const workload_config_t *config, const workload_place_t *place)
{
	const unsigned both = 1U << ULY_BULK_SYNCHRONOUS | 1U << ULY_FUSED;
	const machine_t *machine = place->machine;
	const workload_cost_t c = cost(config, 0, place->ranks);
	const bool is_alone = place->ranks == 1 || uly_config_of(config).blocks == 1;
	if (is_alone || !cost_knows_links(machine) || machine->tensor_rate <= 0) {
		const int64_t pattern = is_alone ? ULY_BULK_SYNCHRONOUS : ULY_FUSED;
		explain_pattern_rule(place->explain, both, pattern, "%s",
				     is_alone ? "one rank has nothing to exchange, and one block "
						"cannot move positions beside others that compute"
					      : "its exchanges go on beside the attention; the "
						"machine's file has no figures of links");
		return pattern;
	}
	const double computing = c.operations / (machine->tensor_rate * 1e12),
		     sending = c.link_bytes / (machine->link_pair * 1e9);
	const int64_t pattern = computing > 2 * sending ? ULY_BULK_SYNCHRONOUS : ULY_FUSED;
	explain_pattern_rule(place->explain, both, pattern,
			     "computing takes %.1f us (tensor_rate) and sending %.1f (link_pair): "
			     "from twice as long on, blocks that move cost more than they hide",
			     computing * 1e6, sending * 1e6);
	return pattern;
}

static tsr_status_t open_run(tsr_world_t *world, const workload_config_t *config,
			     workload_run_t **run_out)
{
	return plan_open(&uly_plan_kind, world, config, run_out);
}

const workload_t ulysses = {
	.size = sizeof(workload_t),
	.name = "ulysses",
	.title = "Ulysses",
	.summary = "O = softmax(Q * K^T) * V; ranks have positions, and exchange them for heads",
	.source = "DeepSpeed-Ulysses; ParallelKittens, section 4.2",
	.params = params,
	.compute_pattern = ULY_BULK_SYNCHRONOUS,
	.rounds = true,
	.cases = cases,
	.large_cases = large_cases,
	.pattern = pattern,
	.kernel = kernel,
	.check = uly_check,
	.check_inputs = check_inputs,
	.matrix = uly_matrix,
	.expect = uly_expect,
	.cost = cost,
	.choose = uly_choose,
	.fastest = fastest,
	.open = open_run,
	PLAN_FUNCTIONS,
};
