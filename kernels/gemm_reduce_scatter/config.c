/* What can be said of a configuration without a device: matrices, limits, names. */
#include "kernels/gemm_reduce_scatter/plan.h"
#include "kernels/host/share.h"

const grs_pattern_kernels_t grs_patterns[GRS_PATTERNS] = {
	[GRS_BULK_SYNCHRONOUS] = {"bulk-synchronous", {"grs_gemm", "grs_reduce"}},
	[GRS_OWN_CHUNK_LAST] = {"own-chunk-last", {"grs_own_chunk_last", NULL}},
};

workload_matrix_t grs_matrix(const grs_config_t *config, int matrix, int rank, int ranks)
{
	static const char *const names[GRS_MATRICES] = {"A", "B", "C", "sums"};
	static const workload_use_t uses[GRS_MATRICES] = {WORKLOAD_INPUT, WORKLOAD_INPUT,
							  WORKLOAD_OUTPUT, WORKLOAD_BETWEEN};
	const int64_t rows = matrix == GRS_B ? config->k : config->m,
		      cols = matrix == GRS_A ? config->k : config->n;
	const share_t all_rows = {0, rows}, all_cols = {0, cols};
	const share_t of_rows =
		matrix == GRS_B || matrix == GRS_C ? share_of(rows, rank, ranks) : all_rows;
	const share_t of_cols = matrix == GRS_A ? share_of(cols, rank, ranks) : all_cols;
	return (workload_matrix_t){.name = names[matrix],
				   .use = uses[matrix],
				   .dtype = config->dtype,
				   .stream = matrix == GRS_B,
				   .rows = rows,
				   .cols = cols,
				   .first_row = of_rows.first,
				   .part_rows = of_rows.count,
				   .first_col = of_cols.first,
				   .part_cols = of_cols.count};
}

tsr_status_t grs_config_check(const grs_config_t *c, int ranks)
{
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
	return variant_check("GEMM + reduce-scatter", grs_patterns[c->pattern].kernels[0], c->dtype,
			     c->tile);
}
