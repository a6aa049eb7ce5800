/* What can be said of a configuration without a device: matrices, limits, names. */
#include "kernels/all_gather_gemm/plan.h"
#include "kernels/host/share.h"

/* Largest extent of what is gathered: kernels add a tile to it, in 32 bits. */
enum { MOST = 1 << 30 };

const agg_pattern_kernels_t agg_patterns[AGG_PATTERNS] = {
	[AGG_BULK_SYNCHRONOUS] = {"bulk-synchronous", {"agg_gather", "agg_gemm"}, false},
	[AGG_PULL] = {"pull", {"agg_pull", NULL}, false},
	[AGG_STAGED_PULL] = {"staged-pull", {"agg_staged_pull", NULL}, true},
	[AGG_PUSH] = {"push", {"agg_push", NULL}, true},
	[AGG_COPY_ENGINES] = {"copy-engines", {"agg_beside_copies", "agg_copies"}, false},
	[AGG_MARKED] = {"marked", {"agg_marked", NULL}, true},
};

agg_extents_t agg_extents(const agg_config_t *c, int ranks)
{
	agg_extents_t e = {c->m, c->k, c->m, c->k};
	if (c->along == AGG_B_BY_ROWS)
		e = (agg_extents_t){c->k, c->n, c->k, c->n};
	if (c->along == AGG_BY_COLUMNS)
		e.shard_cols = share_largest(e.cols, ranks);
	else
		e.shard_rows = share_largest(e.rows, ranks);
	return e;
}

/** A rank's part of matrix A, B or C. */
static void set_part(const agg_config_t *c, workload_matrix_t *matrix, int number, int rank,
		     int ranks)
{
	const bool b_gathered = agg_gathered(c) == AGG_B;
	/* of A and B one is divided as `along` says; the other, and C, by what the rank computes */
	const bool by_rows = number == agg_gathered(c) ? c->along != AGG_BY_COLUMNS : b_gathered;
	const share_t rows = share_of(matrix->rows, rank, ranks),
		      cols = share_of(matrix->cols, rank, ranks);
	if (by_rows) {
		matrix->first_row = rows.first;
		matrix->part_rows = rows.count;
	} else {
		matrix->first_col = cols.first;
		matrix->part_cols = cols.count;
	}
}

workload_matrix_t agg_matrix(const agg_config_t *config, int number, int rank, int ranks)
{
	static const char *const names[AGG_MATRICES] = {"A", "B", "C", "shards", "whole"};
	const bool is_between = number > AGG_C;
	const int like = is_between ? agg_gathered(config) : number;
	const int64_t rows = like == AGG_B ? config->k : config->m,
		      cols = like == AGG_A ? config->k : config->n;
	workload_matrix_t matrix = {.name = names[number],
				    .use = is_between        ? WORKLOAD_BETWEEN
					   : number == AGG_C ? WORKLOAD_OUTPUT
							     : WORKLOAD_INPUT,
				    .dtype = config->dtype,
				    .stream = number == AGG_B,
				    .rows = rows,
				    .cols = cols,
				    .part_rows = rows,
				    .part_cols = cols,
				    .in_place = number == agg_gathered(config)};
	if (!is_between)
		set_part(config, &matrix, number, rank, ranks);
	return matrix;
}

product_t agg_product(const agg_config_t *config)
{
	return (product_t){.m = config->m, .n = config->n, .k = config->k, .dtype = config->dtype};
}

int64_t agg_most_chunks(const agg_config_t *config, int ranks)
{
	return (agg_extents(config, ranks).shard_rows - 1) / config->chunk_rows + 1;
}

int64_t agg_shard_bytes(const agg_config_t *config, int ranks)
{
	const agg_extents_t e = agg_extents(config, ranks);
	return e.shard_rows * e.shard_cols * (int64_t)tsr_dtype_bytes(config->dtype);
}

static tsr_status_t check_shards(const agg_config_t *c, int ranks)
{
	const int64_t bytes = agg_shard_bytes(c, ranks);
	if (c->pattern != AGG_MARKED || bytes <= AGG_MARKED_BYTES)
		return TSR_OK;
	return tsr_error(TSR_ERR_UNSUPPORTED,
			 "pattern %s is for shards of up to %s, and these have %s: use %s",
			 agg_patterns[AGG_MARKED].name, TSR_SIZE(AGG_MARKED_BYTES),
			 TSR_SIZE((size_t)bytes), agg_patterns[AGG_PUSH].name);
}

static tsr_status_t check_blocks(const agg_config_t *c, int ranks)
{
	const char *pattern = agg_patterns[c->pattern].name;
	if (!agg_patterns[c->pattern].moves_apart || ranks == 1 || c->blocks == 0)
		return TSR_OK;
	if (c->blocks == 1)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "pattern %s needs at least 2 blocks, one that computes and one "
				 "that moves shards; 1 was asked for",
				 pattern);
	if (c->comm_blocks >= c->blocks)
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"%d of %d blocks move shards, so none computes; let at most %d do it",
			c->comm_blocks, c->blocks, c->blocks - 1);
	return TSR_OK;
}

tsr_status_t agg_config_check(const agg_config_t *c, int ranks)
{
	if (ranks < 1 || ranks > TSR_MAX_RANKS)
		return tsr_error(TSR_ERR_ARGUMENT, "a world has 1 to %d ranks, not %d",
				 TSR_MAX_RANKS, ranks);
	const product_t product = agg_product(c);
	tsr_status_t status = product_check(&product);
	const agg_extents_t e = agg_extents(c, ranks);
	if (status == TSR_OK && (e.rows > MOST || e.cols > MOST))
		status = tsr_error(TSR_ERR_ARGUMENT,
				   "%s of %lldx%lld cannot be gathered: its rows and its columns "
				   "are counted to %d",
				   agg_gathered(c) == AGG_A ? "A" : "B", (long long)e.rows,
				   (long long)e.cols, MOST);
	if (status == TSR_OK)
		status = check_blocks(c, ranks);
	if (status == TSR_OK)
		status = check_shards(c, ranks);
	return status != TSR_OK
		       ? status
		       : variant_check("all-gather + GEMM", agg_patterns[c->pattern].kernels[0],
				       c->dtype, c->tile);
}
