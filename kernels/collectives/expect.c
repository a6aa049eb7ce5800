/*
 * Expected outputs: shards of the inputs, or their sums in double precision with
 * a bound on the error of a sum in f32.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "kernels/collectives/collectives.h"
#include "kernels/host/inputs.h"
#include "kernels/host/judge.h"

typedef struct reference {
	workload_expected_t base;
	workload_config_t config;
	workload_inputs_t inputs;
	int ranks;
	void *row; /* of the inputs, as a kernel gets it */
} reference_t;

/** Reads elements of row `row` of the whole src into the reference's row. */
static void take_row(const reference_t *r, int64_t row, int64_t first_col, int64_t cols)
{
	workload_matrix_t src;
	(void)coll_matrix(&r->config, COLL_SRC, 0, r->ranks, &src);
	src.first_row = row;
	src.part_rows = 1;
	src.first_col = first_col;
	src.part_cols = cols;
	inputs_make(&r->inputs, &src, r->row);
}

/** The first row of the whole src that goes into row `row` of the whole dst. */
static int64_t first_source(const coll_config_t *c, int64_t row, int ranks)
{
	const int64_t shard = row / c->rows, in_shard = row % c->rows;
	/* what rank q gets from rank p is shard q * ranks + p, and was p * ranks + q */
	return c->what == COLL_ALL_TO_ALL
		       ? (shard % ranks * ranks + shard / ranks) * c->rows + in_shard
		       : row;
}

static void expect_row(const workload_expected_t *expected, int matrix, int64_t row,
		       int64_t first_col, int64_t cols, double *value, double *bound)
{
	const reference_t *r = (const reference_t *)expected;
	const coll_config_t c = coll_config_of(&r->config);
	const int addends = coll_combines(c.what) ? r->ranks : 1;
	(void)matrix; /* there is one output */
	for (int64_t i = 0; i < cols; i++)
		value[i] = bound[i] = 0;
	for (int p = 0; p < addends; p++) {
		/* a rank's rows follow those of the rank before */
		take_row(r,
			 first_source(&c, row, r->ranks) +
				 p * c.rows * coll_src_shards(c.what, r->ranks),
			 first_col, cols);
		for (int64_t i = 0; i < cols; i++) {
			const double x = tsr_dtype_get(c.dtype, r->row, (size_t)i);
			value[i] += x;
			bound[i] += fabs(x);
		}
	}
	for (int64_t i = 0; i < cols; i++) {
		const double error = addends * (double)FLT_EPSILON * bound[i];
		bound[i] =
			addends == 1 ? 0 : error + judge_half_ulp(c.dtype, fabs(value[i]) + error);
	}
}

static void reference_close(workload_expected_t *expected)
{
	reference_t *r = (reference_t *)expected;
	if (r)
		free(r->row);
	free(r);
}

tsr_status_t coll_expect(tsr_world_t *world, const workload_config_t *config,
			 const workload_inputs_t *inputs, workload_expected_t **expected_out)
{
	const coll_config_t c = coll_config_of(config);
	const size_t bytes = (size_t)c.cols * tsr_dtype_bytes(c.dtype);
	reference_t *r = calloc(1, sizeof *r);
	void *row = malloc(bytes);
	if (!r || !row) {
		free(r);
		free(row);
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory to verify with: %s for a row",
				 TSR_SIZE(bytes));
	}
	*r = (reference_t){.base = {expect_row, reference_close},
			   .config = *config,
			   .inputs = *inputs,
			   .ranks = tsr_world_size(world),
			   .row = row};
	*expected_out = &r->base;
	return TSR_OK;
}
