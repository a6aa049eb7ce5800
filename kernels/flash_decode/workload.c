/* Flash decode as a workload for the tools. */
#include "kernels/workload.h"

#include <inttypes.h>

#include "kernels/attend/tiles.h"
#include "kernels/flash_decode/flash_decode.h"
#include "kernels/host/matrices.h"
#include "kernels/host/product_params.h"

extern const workload_t flash_decode;
WORKLOAD_REGISTER(flash_decode);

enum { MOST = 1 << 30 }; /* rows of a matrix, which GPUs count in 32 bits */

#define EXTENT(name_, letters_, least_, preset_, help_)                                       \
	{                                                                                     \
		.name = (name_), .letters = (letters_), .help = (help_), .preset = (preset_), \
		.least = (least_), .most = MOST, .problem = true                              \
	}

static const workload_param_t params[] = {
	[FD_BATCH] = EXTENT("batch", "B", 1, "1", "sequences, of one query each"),
	[FD_HEADS] = EXTENT("heads", "H", 1, "96", "heads of Q"),
	[FD_KEY_HEADS] = EXTENT("key-heads", "H", 0, "0",
				"heads of K and V, a divisor of heads; 0: as many"),
	[FD_KEYS] = EXTENT("keys", "N", 1, "8192", "keys of a head; rank r of W has its share"),
	[FD_LENGTHS] = {.name = "lengths",
			.letters = "NxNxN",
			.help = "in place of --keys, how many keys of a head ranks have, in turn; "
				"0x0x0: shares of --keys",
			.kind = WORKLOAD_SHAPE,
			.preset = "0x0x0",
			.least = 0,
			.most = MOST,
			.problem = true},
	[FD_DIM] = EXTENT("dim", "D", 1, "128", "columns of a head"),
	[FD_DTYPE] = {.name = "dtype",
		      .letters = "D",
		      .help = "element type of Q, K, V and O: bf16, f16 or f32; results that ranks "
			      "exchange are f32",
		      .kind = WORKLOAD_DTYPE,
		      .preset = "f16",
		      .problem = true},
	[FD_TILE] = {.name = "tile",
		     .letters = "MxNxD",
		     .help = "heads of a tile, keys of a step, columns of a head: one that is "
			     "built (default: the largest)",
		     .kind = WORKLOAD_SHAPE,
		     .least = 1,
		     .most = INT32_MAX,
		     .heading = "tile",
		     .width = 12,
		     .in_row = true,
		     .stage = 1,
		     .candidate = fd_try_tile},
	[FD_BLOCKS] = {.name = "blocks",
		       .letters = "B",
		       .help = "blocks that keys are divided among, all resident at one time "
			       "(default: one for each group of heads or 2 steps of keys)",
		       .least = 1,
		       .most = 1 << 20,
		       .heading = "blocks",
		       .width = 6,
		       .stage = 2,
		       .candidate = fd_try_blocks},
	{.name = NULL},
};

static const char *const cases[] = {
	"--heads 6 --key-heads 3 --keys 229 --dim 16 --blocks 4",
	"--batch 2 --heads 3 --keys 37 --dim 16 --dtype f32 --blocks 4",
	"--heads 2 --lengths 0x1x63 --dim 16 --dtype bf16 --blocks 3",
	"--heads 40 --key-heads 2 --lengths 64x65x0 --dim 16",
	"--heads 1 --keys 3 --dim 16 --blocks 2",
	"--heads 8 --key-heads 1 --keys 401 --dim 128 --blocks 3",
	"--heads 4 --key-heads 2 --lengths 130x0x65 --dim 64 --dtype bf16 --blocks 2",
	NULL,
};

static const char *const large_cases[] = {
	"--heads 96 --keys 8192",
	"--heads 96 --key-heads 12 --keys 65536",
	"--batch 5 --heads 32 --key-heads 8 --keys 1000 --dtype bf16",
	"--batch 3 --heads 24 --key-heads 3 --lengths 63x4097x0 --dim 64",
	"--heads 32 --key-heads 1 --lengths 65x2000x1 --blocks 7",
	NULL,
};

static const char *pattern(int64_t number)
{
	return number >= 0 && number < FD_PATTERNS ? fd_patterns[number].name : NULL;
}

static const char *kernel(int64_t number, int index)
{
	return index < PLAN_KERNELS ? fd_patterns[number].kernels[index] : NULL;
}

/* ------------------------------------------------------------ checks */

/** Checks that a tile is built for the head's columns, and that its units can be counted. */
static tsr_status_t check_tile(const fd_config_t *c, int ranks)
{
	fd_config_t in = *c;
	const tsr_status_t status =
		attend_check_tile("flash decode", "fd_attend", c->dtype, c->dim, c->tile);
	if (status != TSR_OK)
		return status;
	if (tile_is_automatic(c->tile))
		in.tile = attend_largest_tile("fd_attend", c->dtype, c->dim, NULL);
	for (int rank = 0; rank < ranks; rank++)
		if (fd_units(&in, rank, ranks) > MOST)
			return tsr_error(TSR_ERR_ARGUMENT,
					 "rank %d has %" PRId64
					 " steps of keys in all heads, and 2^30 is the most: take "
					 "fewer sequences",
					 rank, fd_units(&in, rank, ranks));
	return TSR_OK;
}

static tsr_status_t check(const workload_config_t *config, int ranks)
{
	const fd_config_t c = fd_config_of(config);
	if (!pattern(config->pattern))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "flash decode has no such pattern; 'tessera bench --list' says "
				 "which there are");
	if (c.heads % c.key_heads != 0)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%" PRId64 " heads cannot share %" PRId64
				 " key heads: take a divisor",
				 c.heads, c.key_heads);
	for (int i = 0; i < FD_MATRICES; i++) {
		workload_matrix_t part;
		const bool too_many = c.batch > MOST / c.heads ||
				      fd_most_keys(&c, ranks) > MOST / (c.batch * c.key_heads);
		if (too_many || !fd_matrix(config, i, 0, ranks, &part) ||
		    !matrix_fits(part.dtype, part.rows, part.cols))
			return tsr_error(TSR_ERR_ARGUMENT,
					 "%" PRId64 " sequences of %" PRId64 " heads and %" PRId64
					 " keys are too many: a rank has 2^30 rows at most",
					 c.batch, c.heads, fd_most_keys(&c, ranks));
	}
	return check_tile(&c, ranks);
}

static tsr_status_t check_inputs(const workload_config_t *config, const workload_inputs_t *inputs)
{
	(void)config, (void)inputs; /* results are compared within bounds */
	return TSR_OK;
}

/** Nothing is between the keys and the output, and nothing else is sent. */
static int64_t fastest(const workload_config_t *config, const workload_place_t *place)
{
	(void)config;
	explain_pattern_rule(place->explain, 1U << FD_ONE_LAUNCH, FD_ONE_LAUNCH,
			     "nothing but keys and output passes through memory, and nothing "
			     "else is sent: no pattern does less");
	return FD_ONE_LAUNCH;
}

static tsr_status_t open_run(tsr_world_t *world, const workload_config_t *config,
			     workload_run_t **run_out)
{
	return plan_open(&fd_plan_kind, world, config, run_out);
}

const workload_t flash_decode = {
	.size = sizeof(workload_t),
	.name = "flash-decode",
	.title = "Flash decode",
	.summary =
		"O = softmax(Q * K^T) * V of one query a head; each rank has a share of the keys",
	.source = "\"Three Taxes\", section 4.2",
	.params = params,
	.compute_pattern = FD_BULK_SYNCHRONOUS,
	.rounds = true,
	.cases = cases,
	.large_cases = large_cases,
	.pattern = pattern,
	.kernel = kernel,
	.check = check,
	.check_inputs = check_inputs,
	.matrix = fd_matrix,
	.expect = fd_expect,
	.cost = fd_cost,
	.choose = fd_choose,
	.fastest = fastest,
	.open = open_run,
	PLAN_FUNCTIONS,
};
