/* What can be said of a configuration without a device: matrices, limits, costs. */
#include "kernels/host/share.h"
#include "kernels/split_k/split_k.h"

splitk_config_t splitk_config_of(const workload_config_t *config)
{
	const workload_value_t *v = config->value;
	const int64_t *shape = v[SPLITK_SHAPE].x, *tile = v[SPLITK_TILE].x;
	return (splitk_config_t){.m = shape[0],
				 .n = shape[1],
				 .k = shape[2],
				 .dtype = (tsr_dtype_t)v[SPLITK_DTYPE].x[0],
				 .sums = (tsr_dtype_t)v[SPLITK_SUMS].x[0],
				 .pattern = config->pattern,
				 .tile = {(int)tile[0], (int)tile[1], (int)tile[2]},
				 .blocks = (int)v[SPLITK_BLOCKS].x[0],
				 .bands = (int)v[SPLITK_BANDS].x[0],
				 .comm_blocks = (int)v[SPLITK_COMM_BLOCKS].x[0]};
}

workload_config_t splitk_workload_config(const splitk_config_t *c)
{
	return (workload_config_t){.pattern = c->pattern,
				   .value = {[SPLITK_SHAPE] = {{c->m, c->n, c->k}},
					     [SPLITK_DTYPE] = {{c->dtype}},
					     [SPLITK_SUMS] = {{c->sums}},
					     [SPLITK_TILE] = {{c->tile.m, c->tile.n, c->tile.k}},
					     [SPLITK_BLOCKS] = {{c->blocks}},
					     [SPLITK_BANDS] = {{c->bands}},
					     [SPLITK_COMM_BLOCKS] = {{c->comm_blocks}}}};
}

const char *splitk_pattern_name(const splitk_kind_t *kind, int64_t number)
{
	return number < kind->count ? kind->patterns[number].name : NULL;
}

const char *splitk_kernel(const splitk_kind_t *kind, int64_t number, int index)
{
	return index < PLAN_KERNELS ? kind->patterns[number].kernels[index] : NULL;
}

bool splitk_matrix(const splitk_kind_t *kind, const workload_config_t *config, int index, int rank,
		   int ranks, workload_matrix_t *matrix_out)
{
	static const char *const names[SPLITK_MATRICES] = {"A", "B", "C", "sums"};
	static const workload_use_t uses[SPLITK_MATRICES] = {WORKLOAD_INPUT, WORKLOAD_INPUT,
							     WORKLOAD_OUTPUT, WORKLOAD_BETWEEN};
	const splitk_config_t c = splitk_config_of(config);
	if (index >= SPLITK_MATRICES)
		return false;
	const int64_t rows = index == SPLITK_B ? c.k : c.m, cols = index == SPLITK_A ? c.k : c.n;
	const bool shares_rows = index == SPLITK_B || (index == SPLITK_C && !kind->to_all);
	const share_t all_rows = {0, rows}, all_cols = {0, cols};
	const share_t of_rows = shares_rows ? share_of(rows, rank, ranks) : all_rows;
	const share_t of_cols = index == SPLITK_A ? share_of(cols, rank, ranks) : all_cols;
	*matrix_out = (workload_matrix_t){.name = names[index],
					  .use = uses[index],
					  .dtype = c.dtype,
					  .stream = index == SPLITK_B,
					  .rows = rows,
					  .cols = cols,
					  .first_row = of_rows.first,
					  .part_rows = of_rows.count,
					  .first_col = of_cols.first,
					  .part_cols = of_cols.count};
	return true;
}

/* ------------------------------------------------------------ checks */

static tsr_status_t check_blocks(const splitk_kind_t *kind, const splitk_config_t *c)
{
	const splitk_pattern_t *pattern = &kind->patterns[c->pattern];
	if (!pattern->has_senders || c->blocks == 0)
		return TSR_OK;
	if (c->blocks == 1)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "pattern %s needs at least 2 blocks, one that computes and one "
				 "that adds up; 1 was asked for",
				 pattern->name);
	if (c->comm_blocks >= c->blocks)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%d of %d blocks add up, so none computes; let at most %d do it",
				 c->comm_blocks, c->blocks, c->blocks - 1);
	return TSR_OK;
}

tsr_status_t splitk_check(const splitk_kind_t *kind, const workload_config_t *config, int ranks)
{
	const splitk_config_t of = splitk_config_of(config), *c = &of;
	if (ranks < 1 || ranks > TSR_MAX_RANKS)
		return tsr_error(TSR_ERR_ARGUMENT, "a world has 1 to %d ranks, not %d",
				 TSR_MAX_RANKS, ranks);
	/* checked with the largest element, because sums may be wider than the matrices */
	const product_t product = {.m = c->m, .n = c->n, .k = c->k, .dtype = TSR_F64};
	tsr_status_t status = product_check(&product);
	if (status != TSR_OK)
		return status;
	if (c->sums != TSR_F32 && c->sums != c->dtype)
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"sums are sent as f32, or in the matrices' dtype %s, and not as %s",
			tsr_dtype_name(c->dtype), tsr_dtype_name(c->sums));
	status = check_blocks(kind, c);
	return status != TSR_OK
		       ? status
		       : variant_check(kind->plan.workload->title,
				       kind->patterns[c->pattern].kernels[0], c->dtype, c->tile);
}

/**
 * The product, with what patterns round on the way if sums are not f32. Rounding
 * each rank's part of a sum counts once: the bounds of the parts add up to that of
 * the sum. Rounding the sums so far, as ring and store-add do, counts for each
 * rank but the first.
 */
static product_t product_of(const splitk_config_t *c, int ranks)
{
	const bool is_exact = c->sums == TSR_F32 || c->dtype == TSR_F32;
	return (product_t){.m = c->m,
			   .n = c->n,
			   .k = c->k,
			   .dtype = c->dtype,
			   .roundings = is_exact ? 0 : ranks};
}

tsr_status_t splitk_check_inputs(const workload_config_t *config, const workload_inputs_t *inputs)
{
	const splitk_config_t c = splitk_config_of(config);
	const product_t product = product_of(&c, 1);
	if (inputs->integers && c.sums != TSR_F32)
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"sums of integers are not exact where they are sent as %s: give --sums f32",
			tsr_dtype_name(c.sums));
	return product_check_inputs(&product, inputs);
}

tsr_status_t splitk_expect(tsr_world_t *world, const workload_config_t *config,
			   const workload_inputs_t *inputs, workload_expected_t **expected_out)
{
	const splitk_config_t c = splitk_config_of(config);
	const product_t product = product_of(&c, tsr_world_size(world));
	return product_expect(world, &product, inputs, expected_out);
}

/* ------------------------------------------------------------ costs */

/**
 * Partial sums that lie in a rank's memory before they are added up: those of
 * all rows, those that the peers sent, or the totals.
 */
static double kept_elements(const splitk_kind_t *kind, const splitk_config_t *c, double rows,
			    double peers)
{
	const splitk_pattern_t *pattern = &kind->patterns[c->pattern];
	const double m = (double)c->m, n = (double)c->n;
	if (pattern->keeps)
		return m * n;
	if (pattern->adds)
		return (kind->to_all ? m : rows) * n;
	return rows * n * peers;
}

workload_cost_t splitk_cost(const splitk_kind_t *kind, const workload_config_t *config, int rank,
			    int ranks)
{
	const splitk_config_t c = splitk_config_of(config);
	const splitk_pattern_t *pattern = &kind->patterns[c.pattern];
	const double m = (double)c.m, n = (double)c.n, k = (double)share_of(c.k, rank, ranks).count,
		     rows = (double)share_of(c.m, rank, ranks).count;
	const double element = (double)tsr_dtype_bytes(c.dtype),
		     sums = (double)tsr_dtype_bytes(c.sums), peers = ranks - 1;
	/* each rank's sums go to the owners, or to all; finished rows go to all */
	const bool adds_to_all = kind->to_all && pattern->adds;
	const double sent = adds_to_all    ? sums * m * n * peers
			    : kind->to_all ? sums * (m - rows) * n + element * rows * n * peers
					   : sums * (m - rows) * n;
	return (workload_cost_t){.operations = 2.0 * m * n * k,
				 .memory_bytes =
					 element * (m * k + k * n + (kind->to_all ? m : rows) * n) +
					 sums * (adds_to_all ? m : rows) * n * peers,
				 .link_bytes = sent,
				 .between_bytes = 2 * sums * kept_elements(kind, &c, rows, peers),
				 .launches = pattern->kernels[1] ? 2 : 1,
				 .meetings = 2};
}
