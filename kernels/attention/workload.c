/* Forward attention as a workload for the tools. */
#include "kernels/workload.h"

#include <inttypes.h>

#include "kernels/attention/attention.h"
#include "kernels/host/matrices.h"
#include "kernels/host/plan.h"
#include "kernels/host/product_params.h"

extern const workload_t attention;
WORKLOAD_REGISTER(attention);

#define KERNEL "attention_heads"
enum { MOST = 1 << 30 }; /* of an extent: rows of all heads are counted in 32 bits on GPUs */

static const char *const mask_names[] = {"full", "causal", NULL};

static bool try_tile(const workload_config_t *config, const workload_place_t *place, int index,
		     workload_value_t *value_out)
{
	const att_config_t c = att_config_of(config);
	tile_size_t tile;
	int at = 0;
	(void)place;
	while (variant_at(&at, KERNEL, c.dtype, &tile))
		if (tile.k == c.dim && index-- == 0) {
			*value_out = (workload_value_t){{tile.m, tile.n, tile.k}};
			return true;
		}
	return false;
}

#define EXTENT(name_, letters_, least_, preset_, help_)                                       \
	{                                                                                     \
		.name = (name_), .letters = (letters_), .help = (help_), .preset = (preset_), \
		.least = (least_), .most = MOST, .problem = true                              \
	}

static const workload_param_t params[] = {
	[ATT_BATCH] = EXTENT("batch", "B", 1, "1", "sequences"),
	[ATT_HEADS] = EXTENT("heads", "H", 1, "16", "heads of Q; ranks divide batch and heads"),
	[ATT_KEY_HEADS] = EXTENT("key-heads", "H", 0, "0",
				 "heads of K and V, a divisor of heads; 0: as many"),
	[ATT_QUERIES] = EXTENT("queries", "N", 1, "1024", "queries of a head"),
	[ATT_KEYS] = EXTENT("keys", "N", 0, "0", "keys of a head; 0: as many as queries"),
	[ATT_DIM] = EXTENT("dim", "D", 1, "128", "columns of a head"),
	[ATT_MASK] = {.name = "mask",
		      .letters = "NAME",
		      .help = "full or causal; causal: the last query sees the last key",
		      .kind = WORKLOAD_NAME,
		      .preset = "full",
		      .least = 1,
		      .most = ATT_CAUSAL,
		      .names = mask_names,
		      .problem = true},
	[ATT_DTYPE] = {.name = "dtype",
		       .letters = "D",
		       .help = "element type of Q, K, V and O: bf16, f16 or f32; sums are f32",
		       .kind = WORKLOAD_DTYPE,
		       .preset = "bf16",
		       .problem = true},
	[ATT_TILE] = {.name = "tile",
		      .letters = "MxNxD",
		      .help = "queries of a tile, keys of a step, columns of a head: one that is "
			      "built (default: the largest)",
		      .kind = WORKLOAD_SHAPE,
		      .least = 1,
		      .most = INT32_MAX,
		      .heading = "tile",
		      .width = 12,
		      .in_row = true,
		      .stage = 1,
		      .candidate = try_tile},
	[ATT_BLOCKS] = PRODUCT_BLOCKS(0, NULL),
	{.name = NULL},
};

static const char *const cases[] = {
	"--heads 3 --queries 37 --dim 16 --blocks 2",
	"--batch 2 --heads 4 --key-heads 2 --queries 20 --keys 53 --dim 16 --mask causal",
	"--heads 2 --queries 40 --keys 17 --dim 16 --mask causal --dtype f16 --blocks 1",
	"--heads 2 --queries 33 --dim 16 --dtype f32",
	"--heads 1 --queries 130 --keys 70 --dim 128",
	NULL,
};

static const char *const large_cases[] = {
	"--batch 2 --heads 4 --key-heads 2 --queries 1000 --keys 1333",
	"--heads 3 --queries 777 --mask causal",
	"--heads 2 --queries 300 --keys 900 --dim 64 --mask causal --dtype f16",
	"--heads 2 --queries 513 --keys 100 --mask causal --dtype f16 --blocks 3",
	NULL,
};

static const char *pattern(int64_t number)
{
	return number == 0 ? "local" : NULL;
}

static const char *kernel(int64_t number, int index)
{
	return number == 0 && index == 0 ? KERNEL : NULL;
}

/** Checks that a tile is built for the head's columns. */
static tsr_status_t check_tile(const workload_config_t *config, const att_config_t *c)
{
	workload_value_t built;
	for (int index = 0; try_tile(config, NULL, index, &built); index++)
		if (tile_is_automatic(c->tile) ||
		    (built.x[0] == c->tile.m && built.x[1] == c->tile.n))
			return TSR_OK;
	return tsr_error(TSR_ERR_NOT_FOUND,
			 "attention is not built for this tile, %" PRId64
			 " columns a head and dtype %s; heads have 16, 64 or 128 columns, and "
			 "without --tile the largest tile is taken",
			 c->dim, tsr_dtype_name(c->dtype));
}

static tsr_status_t check(const workload_config_t *config, int ranks)
{
	const att_config_t c = att_config_of(config);
	workload_matrix_t whole;
	(void)ranks;
	if (config->pattern != 0)
		return tsr_error(TSR_ERR_ARGUMENT, "attention has one pattern: local");
	if (c.heads % c.key_heads != 0)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%" PRId64 " heads cannot share %" PRId64
				 " key heads: take a divisor",
				 c.heads, c.key_heads);
	for (int i = 0; att_matrix(config, i, 0, 1, &whole); i++)
		if (c.batch > MOST / c.heads || whole.rows / (c.batch * c.heads) > MOST ||
		    whole.rows > MOST || !matrix_fits(whole.dtype, whole.rows, whole.cols))
			return tsr_error(TSR_ERR_ARGUMENT,
					 "%s of %" PRId64 " rows is too large: all heads together "
					 "have 2^30 rows at most",
					 whole.name, whole.rows);
	return check_tile(config, &c);
}

static tsr_status_t check_inputs(const workload_config_t *config, const workload_inputs_t *inputs)
{
	(void)config, (void)inputs; /* results are compared within bounds */
	return TSR_OK;
}

static workload_cost_t cost(const workload_config_t *config, int rank, int ranks)
{
	const att_config_t c = att_config_of(config);
	const double heads = (double)(att_share(&c, rank, ranks).count * att_group(&c));
	double bytes = 0, pairs = (double)c.queries * (double)c.keys;
	workload_matrix_t part;
	for (int i = 0; att_matrix(config, i, rank, ranks, &part); i++)
		bytes += (double)part.part_rows * (double)part.part_cols *
			 (double)tsr_dtype_bytes(part.dtype);
	if (c.causal && c.keys >= c.queries) /* all but the triangle above the diagonal */
		pairs -= (double)c.queries * (double)(c.queries - 1) / 2;
	else if (c.causal)
		pairs = (double)c.keys * (double)(c.keys + 1) / 2;
	return (workload_cost_t){.operations = 4 * heads * pairs * (double)c.dim,
				 .memory_bytes = bytes,
				 .launches = 1};
}

static tsr_status_t choose(const workload_config_t *config, const workload_place_t *place,
			   workload_config_t *config_out)
{
	workload_value_t tile = config->value[ATT_TILE], built;
	for (int index = 0; tile.x[0] == 0 && try_tile(config, place, index, &built); index++)
		config_out->value[ATT_TILE] = built; /* the list ends with the largest */
	const workload_value_t largest = config_out->value[ATT_TILE];
	*config_out = *config;
	if (tile.x[0] == 0)
		config_out->value[ATT_TILE] = largest;
	const att_config_t c = att_config_of(config_out);
	const int64_t heads = share_largest(c.batch * c.key_heads, place->ranks) * att_group(&c),
		      pairs = (tiles_of(c.queries, c.tile.m) + 1) / 2,
		      resident = place->device->resident_blocks;
	if (c.blocks == 0)
		config_out->value[ATT_BLOCKS].x[0] =
			heads * pairs < resident ? heads * pairs : resident;
	if (c.blocks > resident)
		return tsr_error(TSR_ERR_RESIDENCY,
				 "%d blocks are not resident at one time on %s: take %" PRId64
				 " at most",
				 c.blocks, place->device->name, resident);
	return TSR_OK;
}

const workload_t attention = {
	.size = sizeof(workload_t),
	.name = "attention",
	.title = "Attention",
	.summary = "O = softmax(Q * K^T) * V; each rank has its share of the heads",
	.source = "FlashAttention-3; ParallelKittens, section 4.2",
	.params = params,
	.compute_pattern = -1,
	.rounds = true,
	.cases = cases,
	.large_cases = large_cases,
	.pattern = pattern,
	.kernel = kernel,
	.check = check,
	.check_inputs = check_inputs,
	.matrix = att_matrix,
	.expect = att_expect,
	.cost = cost,
	.choose = choose,
	.open = att_open,
	.reconfigure = plan_reconfigure,
	.start = plan_start,
	.sync = plan_sync,
	.close = plan_close,
	.stream = plan_stream,
	.chosen = plan_chosen,
	.view = plan_view,
};
