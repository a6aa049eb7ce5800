/* Forward attention as a workload for the tools. */
#include "kernels/workload.h"

#include <inttypes.h>

#include "kernels/attend/params.h"
#include "kernels/attend/tiles.h"
#include "kernels/attention/attention.h"
#include "kernels/host/matrices.h"
#include "kernels/host/plan.h"

extern const workload_t attention;
WORKLOAD_REGISTER(attention);

#define KERNEL "attention_heads"

static bool try_tile(const workload_config_t *config, const workload_place_t *place, int index,
		     workload_value_t *value_out)
{
	const att_config_t c = att_config_of(config);
	(void)place;
	return attend_try_tile(KERNEL, c.dtype, c.dim, index, value_out);
}

static const workload_param_t params[] = {
	[ATT_BATCH] = ATTEND_EXTENT("batch", "B", 1, "1", "sequences"),
	[ATT_HEADS] =
		ATTEND_EXTENT("heads", "H", 1, "16", "heads of Q; ranks divide batch and heads"),
	[ATT_KEY_HEADS] = ATTEND_EXTENT("key-heads", "H", 0, "0",
					"heads of K and V, a divisor of heads; 0: as many"),
	[ATT_QUERIES] = ATTEND_EXTENT("queries", "N", 1, "1024", "queries of a head"),
	[ATT_KEYS] = ATTEND_EXTENT("keys", "N", 0, "0", "keys of a head; 0: as many as queries"),
	[ATT_DIM] = ATTEND_EXTENT("dim", "D", 1, "128", "columns of a head"),
	[ATT_MASK] = ATTEND_MASK,
	[ATT_DTYPE] = ATTEND_DTYPE,
	[ATT_TILE] = ATTEND_TILE(try_tile),
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
		if (c.batch > ATTEND_MOST / c.heads ||
		    whole.rows / (c.batch * c.heads) > ATTEND_MOST || whole.rows > ATTEND_MOST ||
		    !matrix_fits(whole.dtype, whole.rows, whole.cols))
			return tsr_error(TSR_ERR_ARGUMENT,
					 "%s of %" PRId64 " rows is too large: all heads together "
					 "have 2^30 rows at most",
					 whole.name, whole.rows);
	return attend_check_tile("attention", KERNEL, c.dtype, c.dim, c.tile);
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
	att_config_t c = att_config_of(config);
	*config_out = *config;
	if (tile_is_automatic(c.tile)) {
		c.tile = attend_largest_tile(KERNEL, c.dtype, c.dim, place->explain);
		config_out->value[ATT_TILE] = (workload_value_t){{c.tile.m, c.tile.n, c.tile.k}};
	}
	const int64_t heads = share_largest(c.batch * c.key_heads, place->ranks) * att_group(&c),
		      pairs = (tiles_of(c.queries, c.tile.m) + 1) / 2,
		      resident = place->device->resident_blocks;
	if (c.blocks == 0) {
		const int64_t blocks = heads * pairs < resident ? heads * pairs : resident;
		config_out->value[ATT_BLOCKS].x[0] = blocks;
		explain_blocks(place->explain, blocks, heads * pairs, 0, (int)resident);
	}
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
	.explain = plan_explain,
	.start = plan_start,
	.sync = plan_sync,
	.close = plan_close,
	.stream = plan_stream,
	.chosen = plan_chosen,
	.view = plan_view,
};
