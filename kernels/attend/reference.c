#include "kernels/attend/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/host/inputs.h"
#include "kernels/host/judge.h"

/** The keys and values of a key head. */
typedef struct kept_head {
	int64_t key_head; /* -1: none */
	double *k, *v;    /* keys x dim each */
	double v_most;    /* the largest |v| */
} kept_head_t;

typedef struct reference {
	workload_expected_t base;
	workload_config_t config;
	workload_inputs_t inputs;
	attend_problem_t problem;
	int ranks;
	kept_head_t *kept;    /* those of key head h are in place h % problem.kept */
	int64_t row, head;    /* whose factors are there; row -1: none */
	attend_query_t query; /* the same */
	double *q, *p;        /* dim, keys */
	unsigned char *stage; /* a row as a kernel gets it */
	double lse, p_sum;    /* of the query */
} reference_t;

/** The columns of a head from `at` on, in the whole matrix of input `index`. */
static void take_row(const reference_t *r, int index, tsr_pos_t at, double *to)
{
	const attend_problem_t *problem = &r->problem;
	workload_matrix_t matrix;
	(void)problem->matrix(&r->config, index, 0, r->ranks, &matrix);
	matrix.first_row = at.row;
	matrix.part_rows = 1;
	matrix.first_col = at.col;
	matrix.part_cols = problem->dim;
	inputs_make(&r->inputs, &matrix, r->stage);
	for (int64_t col = 0; col < problem->dim; col++)
		to[col] = tsr_dtype_get(problem->dtype, r->stage, (size_t)col);
}

static const kept_head_t *take_key_head(reference_t *r, int64_t key_head)
{
	const attend_problem_t *problem = &r->problem;
	const int64_t dim = problem->dim;
	kept_head_t *kept = &r->kept[key_head % problem->kept];
	if (kept->key_head == key_head)
		return kept;
	kept->key_head = key_head;
	kept->v_most = 0;
	for (int64_t key = 0; key < problem->keys; key++) {
		const tsr_pos_t at = problem->key(&r->config, r->ranks, key_head, key);
		take_row(r, problem->k, at, kept->k + key * dim);
		take_row(r, problem->v, at, kept->v + key * dim);
	}
	for (int64_t i = 0; i < problem->keys * dim; i++)
		kept->v_most = fmax(kept->v_most, fabs(kept->v[i]));
	return kept;
}

/** The factors of a query, and the logarithm of their sum. Returns its key head. */
static const kept_head_t *take_query(reference_t *r, int64_t row, int64_t head)
{
	const attend_problem_t *problem = &r->problem;
	if (row == r->row && head == r->head)
		return take_key_head(r, r->query.key_head);
	r->row = row;
	r->head = head;
	r->query = problem->query(&r->config, r->ranks, row, head);
	const kept_head_t *keys = take_key_head(r, r->query.key_head);
	const int64_t seen = r->query.seen;
	double top = -INFINITY;
	take_row(r, problem->q, r->query.at, r->q);
	r->p_sum = 0;
	for (int64_t key = 0; key < seen; key++) {
		r->p[key] = 0;
		for (int64_t col = 0; col < problem->dim; col++)
			r->p[key] += r->q[col] * keys->k[key * problem->dim + col];
		r->p[key] *= problem->scale;
		top = fmax(top, r->p[key]);
	}
	for (int64_t key = 0; key < seen; key++)
		r->p_sum += r->p[key] = exp(r->p[key] - top);
	r->lse = seen > 0 ? top + log(r->p_sum) : -INFINITY;
	return keys;
}

/** What include/tessera/dev/attend.h promises of the dtype; the output's rounding is in it. */
static double promised(tsr_dtype_t dtype)
{
	return dtype == TSR_BF16 ? 0x1p-7 : dtype == TSR_F16 ? 0x1p-10 : 0x1p-18;
}

/** Element (row, col) of O. */
static void expect_element(reference_t *r, int64_t row, int64_t col, double *value, double *bound)
{
	const attend_problem_t *problem = &r->problem;
	const kept_head_t *keys = take_query(r, row, col / problem->dim);
	const int64_t seen = r->query.seen;
	const double small = problem->dtype == TSR_F16 ? (double)seen * 0x1p-24 * keys->v_most : 0;
	double sum = 0, weight = 0;
	for (int64_t key = 0; key < seen; key++) {
		const double x = r->p[key] * keys->v[key * problem->dim + col % problem->dim];
		sum += x;
		weight += fabs(x);
	}
	*value = seen > 0 ? sum / r->p_sum : 0;
	*bound = seen > 0
			 ? (promised(problem->dtype) + (double)seen * 0x1p-24) * weight / r->p_sum +
				   small
			 : 0;
}

static void expect_row(const workload_expected_t *expected, int matrix, int64_t row,
		       int64_t first_col, int64_t cols, double *value, double *bound)
{
	/* the rows of a judge come in order: what is kept is not const behind the interface */
	reference_t *r = (reference_t *)(uintptr_t)expected;
	for (int64_t i = 0; i < cols; i++) {
		if (matrix != r->problem.lse) {
			expect_element(r, row, first_col + i, &value[i], &bound[i]);
			continue;
		}
		(void)take_query(r, row, first_col + i);
		value[i] = r->lse;
		bound[i] = isinf(r->lse) ? 0 : 1e-5 * (8 + fabs(r->lse));
	}
}

static void reference_close(workload_expected_t *expected)
{
	reference_t *r = (reference_t *)expected;
	if (!r)
		return;
	for (int64_t i = 0; r->kept && i < r->problem.kept; i++) {
		free(r->kept[i].k);
		free(r->kept[i].v);
	}
	free(r->kept);
	free(r->q);
	free(r->p);
	free(r->stage);
	free(r);
}

/** Allocates what is kept; false: there is no memory. */
static bool take_memory(reference_t *r)
{
	const size_t keys = (size_t)r->problem.keys, dim = (size_t)r->problem.dim;
	r->kept = calloc((size_t)r->problem.kept, sizeof *r->kept);
	r->q = malloc(dim * sizeof *r->q);
	r->p = malloc(keys * sizeof *r->p);
	r->stage = malloc(dim * sizeof(double));
	bool has_all = r->kept && r->q && r->p && r->stage;
	for (int64_t i = 0; has_all && i < r->problem.kept; i++) {
		r->kept[i] = (kept_head_t){.key_head = -1,
					   .k = malloc(keys * dim * sizeof(double)),
					   .v = malloc(keys * dim * sizeof(double))};
		has_all = r->kept[i].k && r->kept[i].v;
	}
	return has_all;
}

tsr_status_t attend_expect(tsr_world_t *world, const workload_config_t *config,
			   const workload_inputs_t *inputs, const attend_problem_t *problem,
			   workload_expected_t **expected_out)
{
	reference_t *r = calloc(1, sizeof *r);
	if (r)
		*r = (reference_t){.base = {expect_row, reference_close},
				   .config = *config,
				   .inputs = *inputs,
				   .problem = *problem,
				   .ranks = tsr_world_size(world),
				   .row = -1};
	if (!r || !take_memory(r)) {
		reference_close(r ? &r->base : NULL);
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory to verify with: %s for the keys",
				 TSR_SIZE(2 *
					  (size_t)(problem->kept * problem->keys * problem->dim) *
					  sizeof(double)));
	}
	*expected_out = &r->base;
	return TSR_OK;
}
