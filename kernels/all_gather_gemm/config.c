/* What can be said of a configuration without a device: matrices, limits, names. */
#include "kernels/all_gather_gemm/plan.h"
#include "kernels/host/share.h"

/* Largest extent of A: kernels add a tile to it, in 32 bits. */
enum { MOST_OF_A = 1 << 30 };

const agg_pattern_kernels_t agg_patterns[AGG_PATTERNS] = {
	[AGG_BULK_SYNCHRONOUS] = {"bulk-synchronous", {"agg_gather", "agg_gemm"}, false},
	[AGG_PULL] = {"pull", {"agg_pull", NULL}, false},
	[AGG_STAGED_PULL] = {"staged-pull", {"agg_staged_pull", NULL}, true},
	[AGG_PUSH] = {"push", {"agg_push", NULL}, true},
	[AGG_COPY_ENGINES] = {"copy-engines", {"agg_beside_copies", "agg_copies"}, false},
};

workload_matrix_t agg_matrix(const agg_config_t *config, int matrix, int rank, int ranks)
{
	static const char *const names[AGG_MATRICES] = {"A", "B", "C", "shards of A", "whole A"};
	static const workload_use_t uses[AGG_MATRICES] = {WORKLOAD_INPUT, WORKLOAD_INPUT,
							  WORKLOAD_OUTPUT, WORKLOAD_BETWEEN,
							  WORKLOAD_BETWEEN};
	const bool is_c = matrix == AGG_C, is_b = matrix == AGG_B;
	const int64_t rows = is_b ? config->k : config->m,
		      cols = is_b || is_c ? config->n : config->k;
	const share_t all_rows = {0, rows}, all_cols = {0, cols};
	const bool rows_shared = matrix == AGG_A && config->along == AGG_BY_ROWS,
		   cols_shared =
			   is_b || is_c || (matrix == AGG_A && config->along == AGG_BY_COLUMNS);
	const share_t of_rows = rows_shared ? share_of(rows, rank, ranks) : all_rows;
	const share_t of_cols = cols_shared ? share_of(cols, rank, ranks) : all_cols;
	return (workload_matrix_t){.name = names[matrix],
				   .use = uses[matrix],
				   .dtype = config->dtype,
				   .stream = is_b,
				   .rows = rows,
				   .cols = cols,
				   .first_row = of_rows.first,
				   .part_rows = of_rows.count,
				   .first_col = of_cols.first,
				   .part_cols = of_cols.count,
				   .in_place = matrix == AGG_A};
}

product_t agg_product(const agg_config_t *config)
{
	return (product_t){.m = config->m, .n = config->n, .k = config->k, .dtype = config->dtype};
}

int64_t agg_most_chunks(const agg_config_t *config, int ranks)
{
	const int64_t rows =
		config->along == AGG_BY_ROWS ? share_largest(config->m, ranks) : config->m;
	return (rows - 1) / config->chunk_rows + 1;
}

static tsr_status_t check_blocks(const agg_config_t *c, int ranks)
{
	const char *pattern = agg_patterns[c->pattern].name;
	if (!agg_patterns[c->pattern].moves_apart || ranks == 1 || c->blocks == 0)
		return TSR_OK;
	if (c->blocks == 1)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "pattern %s needs at least 2 blocks, one that computes and one "
				 "that moves A; 1 was asked for",
				 pattern);
	if (c->comm_blocks >= c->blocks)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%d of %d blocks move A, so none computes; let at most %d do it",
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
	if (status == TSR_OK && (c->m > MOST_OF_A || c->k > MOST_OF_A))
		status = tsr_error(TSR_ERR_ARGUMENT,
				   "A of %lldx%lld cannot be gathered: its rows and its columns "
				   "are counted to %d",
				   (long long)c->m, (long long)c->k, MOST_OF_A);
	if (status == TSR_OK)
		status = check_blocks(c, ranks);
	return status != TSR_OK
		       ? status
		       : variant_check("all-gather + GEMM", agg_patterns[c->pattern].kernels[0],
				       c->dtype, c->tile);
}
