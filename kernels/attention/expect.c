/* Expected outputs: a softmax in two passes, in double. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/attention/attention.h"
#include "kernels/host/inputs.h"
#include "kernels/host/judge.h"

typedef struct reference {
	workload_expected_t base;
	workload_config_t config;
	workload_inputs_t inputs;
	att_config_t c;
	int64_t key_head, row;     /* whose keys, and whose factors, are there; -1: none */
	double *k, *v, *q, *p;     /* keys x dim twice, dim, keys */
	unsigned char *stage;      /* a row as a kernel gets it */
	double lse, p_sum, v_most; /* of the row; the largest |v| of the key head */
} reference_t;

/** Row `row` of input `index`, of the whole matrix. */
static void take_row(const reference_t *r, int index, int64_t row, double *to)
{
	workload_matrix_t matrix;
	(void)att_matrix(&r->config, index, 0, 1, &matrix);
	matrix.first_row = row;
	matrix.part_rows = 1;
	inputs_make(&r->inputs, &matrix, r->stage);
	for (int64_t col = 0; col < r->c.dim; col++)
		to[col] = tsr_dtype_get(r->c.dtype, r->stage, (size_t)col);
}

static void take_key_head(reference_t *r, int64_t key_head)
{
	const int64_t dim = r->c.dim;
	r->key_head = key_head;
	r->v_most = 0;
	for (int64_t key = 0; key < r->c.keys; key++) {
		take_row(r, ATT_K, key_head * r->c.keys + key, r->k + key * dim);
		take_row(r, ATT_V, key_head * r->c.keys + key, r->v + key * dim);
	}
	for (int64_t i = 0; i < r->c.keys * dim; i++)
		r->v_most = fmax(r->v_most, fabs(r->v[i]));
}

/** Keys that query `query` of a head sees. */
static int64_t seen(const att_config_t *c, int64_t query)
{
	const int64_t own = query + att_diagonal(c) + 1;
	return !c->causal || own > c->keys ? c->keys : own > 0 ? own : 0;
}

/** The factors of a row of the whole Q, and their logarithm. */
static void take_query(reference_t *r, int64_t row)
{
	const att_config_t *c = &r->c;
	const int64_t head = row / c->queries, keys = seen(c, row % c->queries);
	double top = -INFINITY;
	if (head / att_group(c) != r->key_head)
		take_key_head(r, head / att_group(c));
	take_row(r, ATT_Q, row, r->q);
	r->row = row;
	r->p_sum = 0;
	for (int64_t key = 0; key < keys; key++) {
		r->p[key] = 0;
		for (int64_t col = 0; col < c->dim; col++)
			r->p[key] += r->q[col] * r->k[key * c->dim + col];
		r->p[key] *= att_scale(c);
		top = fmax(top, r->p[key]);
	}
	for (int64_t key = 0; key < keys; key++)
		r->p_sum += r->p[key] = exp(r->p[key] - top);
	r->lse = keys > 0 ? top + log(r->p_sum) : -INFINITY;
}

/** What include/tessera/dev/attend.h promises of the dtype; the output's rounding is in it. */
static double promised(tsr_dtype_t dtype)
{
	return dtype == TSR_BF16 ? 0x1p-7 : dtype == TSR_F16 ? 0x1p-10 : 0x1p-18;
}

static void expect_row(const workload_expected_t *expected, int matrix, int64_t row,
		       int64_t first_col, int64_t cols, double *value, double *bound)
{
	/* the rows of a judge come in order: what is kept is not const behind the interface */
	reference_t *r = (reference_t *)(uintptr_t)expected;
	const att_config_t *c = &r->c;
	if (row != r->row)
		take_query(r, row);
	if (matrix == ATT_LSE) {
		value[0] = r->lse;
		bound[0] = isinf(r->lse) ? 0 : 1e-5 * (8 + fabs(r->lse));
		return;
	}
	const int64_t keys = seen(c, row % c->queries);
	const double small = c->dtype == TSR_F16 ? (double)keys * 0x1p-24 * r->v_most : 0;
	for (int64_t i = 0; i < cols; i++) {
		double sum = 0, weight = 0;
		for (int64_t key = 0; key < keys; key++) {
			const double x = r->p[key] * r->v[key * c->dim + first_col + i];
			sum += x;
			weight += fabs(x);
		}
		value[i] = keys > 0 ? sum / r->p_sum : 0;
		bound[i] = keys > 0 ? (promised(c->dtype) + (double)keys * 0x1p-24) * weight /
						      r->p_sum +
					      small
				    : 0;
	}
}

static void reference_close(workload_expected_t *expected)
{
	reference_t *r = (reference_t *)expected;
	if (!r)
		return;
	free(r->k);
	free(r->v);
	free(r->q);
	free(r->p);
	free(r->stage);
	free(r);
}

tsr_status_t att_expect(tsr_world_t *world, const workload_config_t *config,
			const workload_inputs_t *inputs, workload_expected_t **expected_out)
{
	const att_config_t c = att_config_of(config);
	const size_t keys = (size_t)c.keys, dim = (size_t)c.dim;
	reference_t *r = calloc(1, sizeof *r);
	(void)world;
	if (!r)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory to verify with; free some");
	*r = (reference_t){.base = {expect_row, reference_close},
			   .config = *config,
			   .inputs = *inputs,
			   .c = c,
			   .key_head = -1,
			   .row = -1,
			   .k = malloc(keys * dim * sizeof(double)),
			   .v = malloc(keys * dim * sizeof(double)),
			   .q = malloc(dim * sizeof(double)),
			   .p = malloc(keys * sizeof(double)),
			   .stage = malloc(dim * sizeof(double))};
	if (!r->k || !r->v || !r->q || !r->p || !r->stage) {
		reference_close(&r->base);
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory to verify with: %s for the keys of a head",
				 TSR_SIZE(2 * keys * dim * sizeof(double)));
	}
	*expected_out = &r->base;
	return TSR_OK;
}
