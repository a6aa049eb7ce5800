#include "kernels/host/product.h"

#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/host/inputs.h"
#include "kernels/host/judge.h"
#include "kernels/host/matrices.h"
#include "kernels/host/share.h"

/*
 * Rows that are computed and exchanged together. Limits the memory for A in
 * double precision.
 */
enum { PANEL_ROWS = 256 };

typedef struct reference {
	workload_expected_t base;
	product_t product;
	int ranks;
	int64_t share_cols; /* columns of each rank's piece of `values`: the largest share */
	/* panels of rows, one after the other; each has a piece of rows x share_cols for each
	 * rank */
	double *values;
	double *row_norm; /* norms of A's rows */
	double *col_norm; /* norms of B's columns: share_cols for each rank */
} reference_t;

tsr_status_t product_check(const product_t *product)
{
	const int64_t m = product->m, n = product->n, k = product->k;
	if (m < 1 || n < 1 || k < 1)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "shape %" PRId64 "x%" PRId64 "x%" PRId64
				 " (MxNxK) is no product: each extent must be at least 1",
				 m, n, k);
	if (!matrix_fits(product->dtype, m, k) || !matrix_fits(product->dtype, k, n) ||
	    !matrix_fits(product->dtype, m, n))
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"shape %" PRId64 "x%" PRId64 "x%" PRId64
			" (MxNxK) overflows: a matrix would exceed 2^63 bytes; use smaller extents",
			m, n, k);
	return TSR_OK;
}

void product_words(const product_t *product, char words_out[PRODUCT_WORDS])
{
	(void)snprintf(words_out, PRODUCT_WORDS, "shape %" PRId64 "x%" PRId64 "x%" PRId64 " in %s",
		       product->m, product->n, product->k, tsr_dtype_name(product->dtype));
}

tsr_status_t product_check_inputs(const product_t *product, const workload_inputs_t *inputs)
{
	/* Sums stay below 2^24, up to which f32 holds every integer. K u stays below 1, see
	 * product_expect. */
	const int64_t largest =
		inputs->integers ? (1 << 24) / (INPUTS_LARGEST_INTEGER * INPUTS_LARGEST_INTEGER) - 1
				 : (1 << 22);
	if (product->k <= largest)
		return TSR_OK;
	return tsr_error(TSR_ERR_ARGUMENT,
			 "a product of depth K = %" PRId64
			 " cannot be judged with %s inputs; K may be at most %" PRId64,
			 product->k, inputs->integers ? "integer" : "random", largest);
}

/** Row `row` in the piece of rank `rank`. */
static double *row_of(const reference_t *reference, int rank, int64_t row)
{
	const int64_t panel = row / PANEL_ROWS * PANEL_ROWS, left = reference->product.m - panel;
	const int64_t rows = left < PANEL_ROWS ? left : PANEL_ROWS;
	return reference->values +
	       (panel * reference->ranks + rank * rows + row - panel) * reference->share_cols;
}

/* ------------------------------------------------------------ computation */

/** The operands of one rank, in host memory. */
typedef struct operands {
	void *a, *b;             /* as the kernel gets them; B: this rank's columns */
	double *a_panel, *b_all; /* in double precision: PANEL_ROWS x K; K x cols */
	double *piece;           /* PANEL_ROWS x share_cols */
	share_t share;
} operands_t;

static double norm(const double *x, int64_t count, int64_t stride)
{
	double squares = 0;
	for (int64_t i = 0; i < count; i++)
		squares += x[i * stride] * x[i * stride];
	return sqrt(squares);
}

static bool operands_allocate(operands_t *o, const product_t *product, int64_t share_cols)
{
	const size_t element = tsr_dtype_bytes(product->dtype), k = (size_t)product->k,
		     cols = (size_t)share_cols;
	o->a = malloc((size_t)product->m * k * element);
	o->b = malloc(k * cols * element);
	o->a_panel = malloc(PANEL_ROWS * k * sizeof(double));
	o->b_all = malloc(k * cols * sizeof(double));
	o->piece = calloc(PANEL_ROWS * cols, sizeof(double));
	return o->a && o->b && o->a_panel && o->b_all && o->piece;
}

static void operands_free(operands_t *o)
{
	free(o->a);
	free(o->b);
	free(o->a_panel);
	free(o->b_all);
	free(o->piece);
}

/**
 * Computes one panel of rows of this rank's columns, and gathers those of all
 * ranks.
 */
static tsr_status_t compute_panel(tsr_world_t *world, reference_t *reference, operands_t *o,
				  int64_t panel)
{
	const product_t *product = &reference->product;
	const int64_t left = product->m - panel, rows = left < PANEL_ROWS ? left : PANEL_ROWS,
		      k = product->k;
	for (int64_t i = 0; i < rows * k; i++)
		o->a_panel[i] = tsr_dtype_get(product->dtype, o->a, (size_t)(panel * k + i));
	for (int64_t row = 0; row < rows; row++)
		reference->row_norm[panel + row] = norm(o->a_panel + row * k, k, 1);
	tsr_status_t status = TSR_OK;
	if (o->share.count > 0)
		status = tsr_host_product_f64((int)rows, (int)o->share.count, (int)k, o->a_panel,
					      (int)k, o->b_all, (int)o->share.count, 0.0, o->piece,
					      (int)reference->share_cols);
	if (status != TSR_OK)
		return status;
	return tsr_team_gather_all(tsr_world_team(world), o->piece, row_of(reference, 0, panel),
				   (size_t)(rows * reference->share_cols) * sizeof(double));
}

static void make_operands(const product_t *p, const workload_inputs_t *inputs, operands_t *o)
{
	const workload_matrix_t a = {.dtype = p->dtype,
				     .stream = 0,
				     .rows = p->m,
				     .cols = p->k,
				     .part_rows = p->m,
				     .part_cols = p->k};
	const workload_matrix_t b = {.dtype = p->dtype,
				     .stream = 1,
				     .rows = p->k,
				     .cols = p->n,
				     .part_rows = p->k,
				     .first_col = o->share.first,
				     .part_cols = o->share.count};
	inputs_make(inputs, &a, o->a);
	inputs_make(inputs, &b, o->b);
}

static tsr_status_t compute(tsr_world_t *world, reference_t *reference, operands_t *o,
			    const workload_inputs_t *inputs)
{
	const product_t *product = &reference->product;
	make_operands(product, inputs, o);
	for (int64_t i = 0; i < product->k * o->share.count; i++)
		o->b_all[i] = tsr_dtype_get(product->dtype, o->b, (size_t)i);
	for (int64_t col = 0; col < o->share.count; col++)
		o->piece[col] = norm(o->b_all + col, product->k, o->share.count);
	tsr_status_t status =
		tsr_team_gather_all(tsr_world_team(world), o->piece, reference->col_norm,
				    (size_t)reference->share_cols * sizeof(double));
	for (int64_t panel = 0; status == TSR_OK && panel < product->m; panel += PANEL_ROWS)
		status = compute_panel(world, reference, o, panel);
	return status;
}

/* ------------------------------------------------------------ queries */

/**
 * The part of a row that rank `rank` has computed: columns `from` to `to` of
 * the whole matrix.
 */
static void expect_piece(const reference_t *reference, int rank, int64_t row, int64_t from,
			 int64_t to, double *value, double *bound)
{
	const product_t *p = &reference->product;
	const share_t share = share_of(p->n, rank, reference->ranks);
	const double *values = row_of(reference, rank, row),
		     *col_norm = reference->col_norm + rank * reference->share_cols;
	const double ku = (double)p->k * FLT_EPSILON; /* FLT_EPSILON is 2^-23 */
	const double unit = ku / (1.0 - ku) + p->roundings * judge_half_ulp(p->dtype, 1.0);
	for (int64_t col = from; col < to; col++) {
		const int64_t at = col - share.first;
		const double sum = unit * reference->row_norm[row] * col_norm[at];
		value[col - from] = values[at];
		bound[col - from] = sum + judge_half_ulp(p->dtype, fabs(values[at]) + sum);
	}
}

static void expect_row(const workload_expected_t *expected, int matrix, int64_t row,
		       int64_t first_col, int64_t cols, double *value, double *bound)
{
	const reference_t *reference = (const reference_t *)expected;
	(void)matrix; /* there is only one output */
	for (int rank = 0; rank < reference->ranks; rank++) {
		const share_t share = share_of(reference->product.n, rank, reference->ranks);
		const int64_t from = share.first > first_col ? share.first : first_col;
		const int64_t share_end = share.first + share.count, end = first_col + cols,
			      to = share_end < end ? share_end : end;
		if (from < to)
			expect_piece(reference, rank, row, from, to, value + (from - first_col),
				     bound + (from - first_col));
	}
}

static void reference_close(workload_expected_t *expected)
{
	reference_t *reference = (reference_t *)expected;
	if (!reference)
		return;
	free(reference->values);
	free(reference->row_norm);
	free(reference->col_norm);
	free(reference);
}

static bool reference_allocate(reference_t *reference)
{
	const size_t m = (size_t)reference->product.m,
		     cols = (size_t)reference->share_cols * (size_t)reference->ranks;
	/* calloc checks the size for overflow */
	reference->values = calloc(m, cols * sizeof(double));
	reference->row_norm = malloc(m * sizeof(double));
	reference->col_norm = malloc(cols * sizeof(double));
	return reference->values && reference->row_norm && reference->col_norm;
}

tsr_status_t product_expect(tsr_world_t *world, const product_t *product,
			    const workload_inputs_t *inputs, workload_expected_t **expected_out)
{
	const int ranks = tsr_world_size(world);
	tsr_status_t status = product_check_inputs(product, inputs);
	if (status == TSR_OK && share_largest(product->n, ranks) > INT_MAX)
		status = tsr_error(TSR_ERR_ARGUMENT,
				   "a rank's share of N has more columns than the reference "
				   "product can count (%d)",
				   INT_MAX);
	if (status != TSR_OK)
		return status;
	reference_t *reference = calloc(1, sizeof *reference);
	operands_t operands = {.share = share_of(product->n, tsr_world_rank(world), ranks)};
	if (reference)
		*reference = (reference_t){.base = {expect_row, reference_close},
					   .product = *product,
					   .ranks = ranks,
					   .share_cols = share_largest(product->n, ranks)};
	if (!reference || !reference_allocate(reference) ||
	    !operands_allocate(&operands, product, reference->share_cols))
		status = tsr_error(TSR_ERR_NO_MEMORY,
				   "the host has no memory to verify with: 10 to 16 bytes an "
				   "element of C, and A and B, on every rank");
	else
		status = compute(world, reference, &operands, inputs);
	operands_free(&operands);
	if (status == TSR_OK)
		*expected_out = &reference->base;
	else
		reference_close(&reference->base);
	return status;
}
