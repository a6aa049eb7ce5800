/* The reference product and the comparison with it. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm_all_scatter/config.h"
#include "kernels/gemm_all_scatter/verify.h"

/* Rows that are computed and exchanged together: bounds the memory for A in double precision. */
enum { PANEL_ROWS = 256 };

struct gas_reference {
	gas_config_t config;
	bool integers;
	int ranks;
	int64_t share_cols; /* of every rank's piece of `product`: the largest share */
	double *product;    /* a panel of rows after the other; in each, a piece of rows x share_cols a rank */
	void *rounded;      /* the product as C has it, in C's type; null: some element of it is not finite in that type */
	double *row_norm;   /* of A's rows */
	double *col_norm;   /* of B's columns: share_cols a rank */
};

/** The rank's piece of the panel that holds row `row`, at that row. */
static double *reference_row(const gas_reference_t *reference, int rank, int64_t row)
{
	int64_t panel = row / PANEL_ROWS * PANEL_ROWS, left = reference->config.m - panel;
	int64_t rows = left < PANEL_ROWS ? left : PANEL_ROWS;
	return reference->product + (panel * reference->ranks + rank * rows + row - panel) * reference->share_cols;
}

/* ---------------------------------------------------------------- computing */

/** What one rank computes with, in double precision. */
typedef struct gas_operands {
	void *a, *b;             /* as the kernel gets them */
	double *a_panel, *b_all; /* PANEL_ROWS x K; K x cols */
	double *piece;           /* PANEL_ROWS x share_cols */
	gas_share_t share;
} gas_operands_t;

static double norm(const double *x, int64_t count, int64_t stride)
{
	double squares = 0;
	for (int64_t i = 0; i < count; i++)
		squares += x[i * stride] * x[i * stride];
	return sqrt(squares);
}

static bool operands_allocate(gas_operands_t *o, const gas_config_t *config, int64_t share_cols)
{
	size_t element = tsr_dtype_bytes(config->dtype), k = (size_t)config->k, cols = (size_t)share_cols;
	o->a = malloc((size_t)config->m * k * element);
	o->b = malloc(k * cols * element);
	o->a_panel = malloc(PANEL_ROWS * k * sizeof(double));
	o->b_all = malloc(k * cols * sizeof(double));
	o->piece = calloc(PANEL_ROWS * cols, sizeof(double));
	return o->a && o->b && o->a_panel && o->b_all && o->piece;
}

static void operands_free(gas_operands_t *o)
{
	free(o->a);
	free(o->b);
	free(o->a_panel);
	free(o->b_all);
	free(o->piece);
}

/** One panel of rows of my columns, then everybody's. */
static tsr_status_t compute_panel(tsr_world_t *world, gas_reference_t *reference, gas_operands_t *o, int64_t panel)
{
	const gas_config_t *config = &reference->config;
	int64_t left = config->m - panel, rows = left < PANEL_ROWS ? left : PANEL_ROWS, k = config->k;
	for (int64_t i = 0; i < rows * k; i++)
		o->a_panel[i] = tsr_dtype_get(config->dtype, o->a, (size_t)(panel * k + i));
	for (int64_t row = 0; row < rows; row++)
		reference->row_norm[panel + row] = norm(o->a_panel + row * k, k, 1);
	tsr_status_t status = TSR_OK;
	if (o->share.cols > 0)
		status = tsr_host_product_f64((int)rows, (int)o->share.cols, (int)k, o->a_panel, (int)k, o->b_all,
					      (int)o->share.cols, 0.0, o->piece, (int)reference->share_cols);
	if (status != TSR_OK)
		return status;
	return tsr_team_gather_all(tsr_world_team(world), o->piece, reference_row(reference, 0, panel),
				   (size_t)(rows * reference->share_cols) * sizeof(double));
}

static tsr_status_t compute(tsr_world_t *world, gas_reference_t *reference, gas_operands_t *o, const gas_inputs_t *inputs)
{
	const gas_config_t *config = &reference->config;
	gas_inputs_a(config, inputs, o->a);
	gas_inputs_b(config, inputs, o->share, o->b);
	for (int64_t i = 0; i < config->k * o->share.cols; i++)
		o->b_all[i] = tsr_dtype_get(config->dtype, o->b, (size_t)i);
	for (int64_t col = 0; col < o->share.cols; col++)
		o->piece[col] = norm(o->b_all + col, config->k, o->share.cols);
	tsr_status_t status = tsr_team_gather_all(tsr_world_team(world), o->piece, reference->col_norm,
						  (size_t)reference->share_cols * sizeof(double));
	for (int64_t panel = 0; status == TSR_OK && panel < config->m; panel += PANEL_ROWS)
		status = compute_panel(world, reference, o, panel);
	return status;
}

/** Most elements of C are the product rounded once: they are looked at by their bits. */
static void round_product(gas_reference_t *reference)
{
	const gas_config_t *config = &reference->config;
	for (int64_t row = 0; row < config->m; row++)
		for (int rank = 0; rank < reference->ranks; rank++) {
			const gas_share_t share = gas_share(config->n, rank, reference->ranks);
			const double *expected = reference_row(reference, rank, row);
			const size_t first = (size_t)(row * config->n + share.first_col);
			for (int64_t i = 0; i < share.cols; i++) {
				tsr_dtype_set(config->dtype, reference->rounded, first + (size_t)i, expected[i]);
				if (isfinite(tsr_dtype_get(config->dtype, reference->rounded, first + (size_t)i)))
					continue;
				free(reference->rounded); /* each element is judged by its distance, which may be infinite */
				reference->rounded = NULL;
				return;
			}
		}
}

static bool reference_allocate(gas_reference_t *reference)
{
	size_t m = (size_t)reference->config.m, cols = (size_t)reference->share_cols * (size_t)reference->ranks;
	reference->product = calloc(m, cols * sizeof(double)); /* checks the product for overflow */
	reference->rounded = calloc(m, (size_t)reference->config.n * tsr_dtype_bytes(reference->config.dtype));
	reference->row_norm = malloc(m * sizeof(double));
	reference->col_norm = malloc(cols * sizeof(double));
	return reference->product && reference->rounded && reference->row_norm && reference->col_norm;
}

tsr_status_t gas_reference_create(tsr_world_t *world, const gas_config_t *config, const gas_inputs_t *inputs,
				  gas_reference_t **reference_out)
{
	int ranks = tsr_world_size(world);
	tsr_status_t status = gas_inputs_check(config, inputs);
	if (status == TSR_OK && gas_largest_share(config->n, ranks) > INT_MAX)
		status = tsr_error(TSR_ERR_ARGUMENT,
				   "a rank's share of N has more columns than the reference product can count (%d)", INT_MAX);
	if (status != TSR_OK)
		return status;
	gas_reference_t *reference = calloc(1, sizeof *reference);
	gas_operands_t operands = {.share = gas_share(config->n, tsr_world_rank(world), ranks)};
	if (reference)
		*reference = (gas_reference_t){.config = *config,
					       .integers = inputs->integers,
					       .ranks = ranks,
					       .share_cols = gas_largest_share(config->n, ranks)};
	if (!reference || !reference_allocate(reference) || !operands_allocate(&operands, config, reference->share_cols))
		status = tsr_error(
			TSR_ERR_NO_MEMORY,
			"the host has no memory to verify with: 10 to 16 bytes an element of C, and A and B, on every rank");
	else
		status = compute(world, reference, &operands, inputs);
	operands_free(&operands);
	if (status == TSR_OK)
		round_product(reference);
	if (status == TSR_OK)
		*reference_out = reference;
	else
		gas_reference_destroy(reference);
	return status;
}

void gas_reference_destroy(gas_reference_t *reference)
{
	if (!reference)
		return;
	free(reference->product);
	free(reference->rounded);
	free(reference->row_norm);
	free(reference->col_norm);
	free(reference);
}

/* ---------------------------------------------------------------- comparing */

/* The exponent of a double by its bits: every element of C is asked for, and ilogb and ldexp cost more than all the rest. */
enum { EXPONENT_SHIFT = DBL_MANT_DIG - 1, EXPONENT_MASK = 2 * DBL_MAX_EXP - 1, EXPONENT_BIAS = DBL_MAX_EXP - 1 };

/** Half the distance between the numbers of `dtype` that lie around `x`, which is not negative and finite. */
static double half_ulp(tsr_dtype_t dtype, double x)
{
	const int digits = dtype == TSR_BF16 ? 8 : dtype == TSR_F16 ? 11 : FLT_MANT_DIG;
	const int least = dtype == TSR_F16 ? -14 : FLT_MIN_EXP - 1;
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	const int exponent = (int)(bits >> EXPONENT_SHIFT & EXPONENT_MASK) - EXPONENT_BIAS; /* of 0 the least of all */
	bits = (uint64_t)((exponent > least ? exponent : least) - digits + EXPONENT_BIAS) << EXPONENT_SHIFT;
	memcpy(&x, &bits, sizeof x);
	return x;
}

/** Elements of a row that one rank has computed. */
typedef struct gas_piece {
	const double *expected, *col_norm; /* from the first column of the share on */
	double sum;                        /* the bound of the sums' errors, for columns of norm 1 */
} gas_piece_t;

static gas_piece_t piece_of(const gas_reference_t *reference, int rank, int64_t row)
{
	double ku = (double)reference->config.k * FLT_EPSILON; /* FLT_EPSILON is 2^-23 */
	return (gas_piece_t){.expected = reference_row(reference, rank, row),
			     .col_norm = reference->col_norm + rank * reference->share_cols,
			     .sum = ku / (1.0 - ku) * reference->row_norm[row]};
}

/** How far from what is expected an element may lie. */
static double error_bound(tsr_dtype_t dtype, const gas_piece_t *piece, int64_t in_share)
{
	double sum = piece->sum * piece->col_norm[in_share];
	return sum + half_ulp(dtype, fabs(piece->expected[in_share]) + sum);
}

/** Whether the element is `expected` rounded once, to the bit. */
static bool is_exactly(tsr_dtype_t dtype, const void *c, size_t index, double expected)
{
	unsigned char bits[8];
	size_t size = tsr_dtype_bytes(dtype);
	tsr_dtype_set(dtype, bits, 0, expected);
	return memcmp((const unsigned char *)c + index * size, bits, size) == 0;
}

/** A product that is rounded once, to the nearest, is off by half a unit in the last place at most: less than any bound. */
static bool is_rounded(const gas_reference_t *reference, const void *c, size_t first, int64_t count)
{
	const size_t size = tsr_dtype_bytes(reference->config.dtype);
	return reference->rounded && memcmp((const unsigned char *)c + first * size,
					    (const unsigned char *)reference->rounded + first * size, (size_t)count * size) == 0;
}

static void judge_piece(const gas_reference_t *reference, const void *c, int rank, int64_t row, gas_verdict_t *verdict)
{
	const gas_share_t share = gas_share(reference->config.n, rank, reference->ranks);
	const gas_piece_t piece = piece_of(reference, rank, row);
	const tsr_dtype_t dtype = reference->config.dtype;
	const size_t first = (size_t)(row * reference->config.n + share.first_col);
	for (int64_t i = 0; i < share.cols; i++) {
		if (is_rounded(reference, c, first + (size_t)i, 1))
			continue;
		double expected = piece.expected[i], got = tsr_dtype_get(dtype, c, first + (size_t)i);
		double bound = reference->integers ? 0.0 : error_bound(dtype, &piece, i);
		/* The comparison fails for a NaN too. */
		bool right =
			reference->integers ? is_exactly(dtype, c, first + (size_t)i, expected) : fabs(got - expected) <= bound;
		if (!right && verdict->wrong++ == 0) {
			verdict->row = row;
			verdict->col = share.first_col + i;
			verdict->got = got;
			verdict->expected = expected;
			verdict->bound = bound;
		}
	}
}

void gas_reference_judge(const gas_reference_t *reference, const void *c, gas_verdict_t *verdict_out)
{
	*verdict_out = (gas_verdict_t){0};
	for (int64_t row = 0; row < reference->config.m; row++) {
		if (is_rounded(reference, c, (size_t)(row * reference->config.n), reference->config.n))
			continue;
		for (int rank = 0; rank < reference->ranks; rank++)
			judge_piece(reference, c, rank, row, verdict_out);
	}
}

tsr_status_t gas_reference_check(const gas_reference_t *reference, tsr_world_t *world, const gas_plan_t *plan,
				 gas_verdict_t *verdict_out)
{
	tsr_view_t c = gas_plan_c(plan);
	size_t size_bytes = (size_t)(c.rows * c.cols) * tsr_dtype_bytes((tsr_dtype_t)c.dtype);
	void *host = malloc(size_bytes);
	if (!host)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a copy of C (%s): use a smaller shape",
				 TSR_SIZE(size_bytes));
	tsr_status_t status = gas_matrix_read(world, c, host);
	if (status == TSR_OK)
		gas_reference_judge(reference, host, verdict_out);
	free(host);
	return status;
}
