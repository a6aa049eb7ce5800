/*
 * Expected outputs: a loop over experts, in double. Each rank computes its own
 * part: of the first product alone its experts' rows, of a layer its tokens.
 *
 * With integers the results are those of exact sums, rounded where the kernels
 * round: after each product, and each rank's sum of a token. With random numbers
 * nothing is rounded on the way, and bounds say how far a result may be off. They
 * add up what kernels/host/product.h says of a product.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/host/inputs.h"
#include "kernels/host/judge.h"
#include "kernels/host/share.h"
#include "kernels/moe/moe.h"

enum { PANEL = 256 }; /* tokens that are multiplied together */

typedef struct reference {
	workload_expected_t base;
	workload_matrix_t part; /* this rank's part of the output, */
	double *value, *bound;  /* row by row */
} reference_t;

/** A choice of an expert: the token's row in X, and where its result goes. */
typedef struct choice {
	int64_t token, to;
	double weight;
} choice_t;

/** What is needed to compute a reference. */
typedef struct work {
	const workload_config_t *config;
	moe_config_t c;
	workload_inputs_t inputs;
	int rank, ranks;
	reference_t *reference;
	int32_t *choices;    /* of all ranks' tokens */
	float *weights;      /* of this rank's; a layer's */
	choice_t *chosen;    /* of one expert */
	void *raw;           /* part of a matrix, as a kernel gets it */
	double *x, *w1, *w2; /* a panel; an expert's two matrices */
	double *y1, *e1;     /* a panel's results, and how far they may be off */
	double *y2;
	double *norm1, *norm2;   /* of the columns of the matrices */
	double *partial, *error; /* a layer: sums of one rank's experts, of this rank's tokens */
} work_t;

static double norm(const double *x, int64_t count, int64_t stride)
{
	double squares = 0;
	for (int64_t i = 0; i < count; i++)
		squares += x[i * stride] * x[i * stride];
	return sqrt(squares);
}

static double rounded(tsr_dtype_t dtype, double x)
{
	unsigned char bits[8];
	tsr_dtype_set(dtype, bits, 0, x);
	return tsr_dtype_get(dtype, bits, 0);
}

/** A sum of k products in f32, relative to the product of norms (kernels/host/product.h). */
static double relative(int64_t k)
{
	const double ku = (double)k * FLT_EPSILON;
	return ku / (1 - ku);
}

/* ------------------------------------------------------------ inputs */

/** Rows of an input, in double. */
static void load(work_t *w, int matrix_number, int64_t first, int64_t rows, double *to)
{
	workload_matrix_t matrix;
	(void)moe_matrix(w->config, matrix_number, w->rank, w->ranks, &matrix);
	matrix.first_row = first;
	matrix.part_rows = rows;
	inputs_make(&w->inputs, &matrix, w->raw);
	for (int64_t i = 0; i < rows * matrix.cols; i++)
		to[i] = tsr_dtype_get(matrix.dtype, w->raw, (size_t)i);
}

static void load_expert(work_t *w, int64_t expert)
{
	const int64_t h = w->c.hidden, f = w->c.inner;
	load(w, MOE_W1, expert * h, h, w->w1);
	for (int64_t col = 0; col < f; col++)
		w->norm1[col] = norm(w->w1 + col, h, f);
	if (!w->c.is_layer)
		return;
	load(w, MOE_W2, expert * f, f, w->w2);
	for (int64_t col = 0; col < h; col++)
		w->norm2[col] = norm(w->w2 + col, f, h);
}

/* ------------------------------------------------------------ one panel of an expert's tokens */

/** The first product of a panel, activated, and its error. */
static tsr_status_t first_product(work_t *w, int64_t rows)
{
	const int64_t h = w->c.hidden, f = w->c.inner;
	const tsr_status_t status = tsr_host_product_f64((int)rows, (int)f, (int)h, w->x, (int)h,
							 w->w1, (int)f, 0.0, w->y1, (int)f);
	for (int64_t row = 0; row < rows; row++) {
		const double length = norm(w->x + row * h, h, 1);
		for (int64_t col = 0; col < f; col++) {
			double *y = &w->y1[row * f + col];
			const double error = relative(h) * length * w->norm1[col];
			if (w->c.activation == MOE_RELU && *y < 0)
				*y = 0;
			w->e1[row * f + col] = error + judge_half_ulp(w->c.dtype, fabs(*y) + error);
		}
	}
	return status;
}

/** Puts the panel's rows where the first product's results are. */
static void keep_rows(const work_t *w, const choice_t *chosen, int64_t rows)
{
	const int64_t f = w->c.inner;
	for (int64_t row = 0; row < rows; row++)
		for (int64_t col = 0; col < f; col++) {
			const int64_t at = chosen[row].to * f + col;
			w->reference->value[at] = w->y1[row * f + col];
			w->reference->bound[at] = w->e1[row * f + col];
		}
}

/** The second product of a panel, times the weights, added to the tokens' sums. */
static tsr_status_t second_product(work_t *w, const choice_t *chosen, int64_t rows)
{
	const int64_t h = w->c.hidden, f = w->c.inner;
	for (int64_t i = 0; w->inputs.integers && i < rows * f; i++)
		w->y1[i] = rounded(w->c.dtype, w->y1[i]);
	const tsr_status_t status = tsr_host_product_f64((int)rows, (int)h, (int)f, w->y1, (int)f,
							 w->w2, (int)h, 0.0, w->y2, (int)h);
	for (int64_t row = 0; row < rows; row++) {
		const double length = norm(w->y1 + row * f, f, 1),
			     off = norm(w->e1 + row * f, f, 1);
		for (int64_t col = 0; col < h; col++) {
			const int64_t at = chosen[row].to * h + col;
			const double sum = w->y2[row * h + col],
				     y = w->inputs.integers ? rounded(w->c.dtype, sum) : sum,
				     error = (relative(f) * (length + off) + off) * w->norm2[col],
				     all = error + judge_half_ulp(w->c.dtype, fabs(y) + error);
			w->partial[at] += chosen[row].weight * y;
			/* the sum over choices is in f32 */
			w->error[at] += fabs(chosen[row].weight) *
					(all + (double)w->c.top_k * FLT_EPSILON * (fabs(y) + all));
		}
	}
	return status;
}

/** All tokens that have chosen an expert. */
static tsr_status_t add_expert(work_t *w, int64_t expert, int64_t count)
{
	const int64_t h = w->c.hidden;
	tsr_status_t status = TSR_OK;
	load_expert(w, expert);
	for (int64_t first = 0; status == TSR_OK && first < count; first += PANEL) {
		const int64_t left = count - first, rows = left < PANEL ? left : PANEL;
		const choice_t *chosen = w->chosen + first;
		for (int64_t row = 0; row < rows; row++)
			load(w, MOE_X, chosen[row].token, 1, w->x + row * h);
		status = first_product(w, rows);
		if (status == TSR_OK && w->c.is_layer)
			status = second_product(w, chosen, rows);
		else if (status == TSR_OK)
			keep_rows(w, chosen, rows);
	}
	return status;
}

/* ------------------------------------------------------------ the first product alone */

/** The tokens of rank `source` that have chosen an expert, with places from `to` on. */
static int64_t choose_from(work_t *w, int64_t expert, int source, int64_t count, int64_t to)
{
	const int64_t first = moe_tokens_before(&w->c, source, w->ranks),
		      end = moe_tokens_before(&w->c, source + 1, w->ranks);
	for (int64_t token = first; token < end; token++)
		for (int64_t j = 0; j < w->c.top_k; j++)
			if (w->choices[token * w->c.top_k + j] == expert) {
				w->chosen[count] = (choice_t){.token = token, .to = to + count};
				count++;
			}
	return count;
}

/** Own tokens first, then those of the rank before, and so on. */
static tsr_status_t expect_rows(work_t *w)
{
	const share_t share = share_of(w->c.experts, w->rank, w->ranks);
	const int64_t padding = moe_padding(&w->c, w->ranks);
	int64_t to = 0;
	tsr_status_t status = TSR_OK;
	for (int64_t e = share.first; status == TSR_OK && e < share.first + share.count; e++) {
		int64_t count = 0;
		for (int i = 0; i < w->ranks; i++)
			count = choose_from(w, e, (w->rank + w->ranks - i) % w->ranks, count, to);
		status = add_expert(w, e, count);
		to += (count + padding - 1) / padding * padding;
	}
	return status;
}

/* ------------------------------------------------------------ a layer */

/** This rank's tokens that have chosen an expert. */
static int64_t choose_own(work_t *w, int64_t expert)
{
	const int64_t first = moe_tokens_before(&w->c, w->rank, w->ranks),
		      tokens = moe_tokens_of(&w->c, w->rank, w->ranks), k = w->c.top_k;
	int64_t count = 0;
	for (int64_t i = 0; i < tokens * k; i++)
		if (w->choices[first * k + i] == expert)
			w->chosen[count++] = (choice_t){.token = first + i / k,
							.to = i / k,
							.weight = (double)w->weights[i]};
	return count;
}

/** Adds the sums of a rank's experts, which are rounded where they travel. */
static void add_partial(const work_t *w, int64_t count)
{
	const tsr_dtype_t dtype = w->c.dtype;
	for (int64_t i = 0; i < count; i++) {
		const double sum = w->partial[i], error = w->error[i];
		const bool rounds = w->ranks > 1;
		w->reference->value[i] += rounds && w->inputs.integers ? rounded(dtype, sum) : sum;
		w->reference->bound[i] += error +
					  (rounds ? judge_half_ulp(dtype, fabs(sum) + error) : 0) +
					  (double)w->ranks * FLT_EPSILON * (fabs(sum) + error);
	}
}

static tsr_status_t expect_tokens(work_t *w)
{
	const int64_t count = moe_tokens_of(&w->c, w->rank, w->ranks) * w->c.hidden;
	tsr_status_t status = TSR_OK;
	for (int owner = 0; owner < w->ranks; owner++) {
		const share_t share = share_of(w->c.experts, owner, w->ranks);
		memset(w->partial, 0, (size_t)count * sizeof(double));
		memset(w->error, 0, (size_t)count * sizeof(double));
		for (int64_t e = share.first; status == TSR_OK && e < share.first + share.count;
		     e++)
			status = add_expert(w, e, choose_own(w, e));
		add_partial(w, count);
	}
	for (int64_t i = 0; i < count; i++)
		w->reference->bound[i] +=
			judge_half_ulp(w->c.dtype,
				       fabs(w->reference->value[i]) + w->reference->bound[i]);
	return status;
}

/* ------------------------------------------------------------ memory */

static void expect_row(const workload_expected_t *expected, int matrix, int64_t row,
		       int64_t first_col, int64_t cols, double *value, double *bound)
{
	const reference_t *reference = (const reference_t *)expected;
	const int64_t at = (row - reference->part.first_row) * reference->part.cols + first_col;
	(void)matrix; /* there is only one output */
	memcpy(value, reference->value + at, (size_t)cols * sizeof *value);
	memcpy(bound, reference->bound + at, (size_t)cols * sizeof *bound);
}

static void reference_close(workload_expected_t *expected)
{
	reference_t *reference = (reference_t *)expected;
	if (!reference)
		return;
	free(reference->value);
	free(reference->bound);
	free(reference);
}

static double *doubles(int64_t count)
{
	return calloc((size_t)count + 1, sizeof(double));
}

static bool work_allocate(work_t *w)
{
	const moe_config_t *c = &w->c;
	const int64_t h = c->hidden, f = c->inner, all = moe_tokens_before(c, w->ranks, w->ranks),
		      tokens = moe_tokens_of(c, w->rank, w->ranks),
		      kept = c->is_layer ? tokens * h : 0;
	w->choices = malloc((size_t)(all * c->top_k + 1) * sizeof *w->choices);
	w->weights = malloc((size_t)(tokens * c->top_k + 1) * sizeof *w->weights);
	w->chosen = malloc((size_t)(all + 1) * sizeof *w->chosen);
	w->raw = malloc((size_t)(h * f) * sizeof(double));
	w->x = doubles(PANEL * h);
	w->w1 = doubles(h * f);
	w->w2 = doubles(h * f);
	w->y1 = doubles(PANEL * f);
	w->e1 = doubles(PANEL * f);
	w->y2 = doubles(PANEL * h);
	w->norm1 = doubles(f);
	w->norm2 = doubles(h);
	w->partial = doubles(kept);
	w->error = doubles(kept);
	return w->choices && w->weights && w->chosen && w->raw && w->x && w->w1 && w->w2 && w->y1 &&
	       w->e1 && w->y2 && w->norm1 && w->norm2 && w->partial && w->error;
}

static void work_free(work_t *w)
{
	free(w->choices);
	free(w->weights);
	free(w->chosen);
	free(w->raw);
	free(w->x);
	free(w->w1);
	free(w->w2);
	free(w->y1);
	free(w->e1);
	free(w->y2);
	free(w->norm1);
	free(w->norm2);
	free(w->partial);
	free(w->error);
}

/* ------------------------------------------------------------ the workload's calls */

/*
 * Integers: every sum stays below 2^24, up to which f32 holds every integer. A
 * layer's second sum has F products of a first sum, and its third K of a second.
 */
tsr_status_t moe_check_inputs(const workload_config_t *config, const workload_inputs_t *inputs)
{
	const moe_config_t c = moe_config_of(config);
	const double most = INPUTS_LARGEST_INTEGER, first = most * most * (double)c.hidden,
		     layer = first * most * (double)c.inner * most * (double)c.top_k;
	if (!inputs->integers || (c.is_layer ? layer : first) < 0x1p24)
		return TSR_OK;
	return tsr_error(TSR_ERR_ARGUMENT,
			 "sums of integers over H = %" PRId64 "%s are not exact in f32, so they "
			 "cannot be judged: take random inputs, or a smaller layer",
			 c.hidden, c.is_layer ? ", F and K" : "");
}

static tsr_status_t expect(work_t *w)
{
	const int64_t all = moe_tokens_before(&w->c, w->ranks, w->ranks);
	workload_matrix_t weights;
	moe_choices(&w->c, w->ranks, 0, all, w->choices);
	if (!w->c.is_layer)
		return expect_rows(w);
	(void)moe_matrix(w->config, MOE_WEIGHTS, w->rank, w->ranks, &weights);
	inputs_make(&w->inputs, &weights, w->weights);
	return expect_tokens(w);
}

tsr_status_t moe_expect(tsr_world_t *world, const workload_config_t *config,
			const workload_inputs_t *inputs, workload_expected_t **expected_out)
{
	work_t w = {.config = config,
		    .c = moe_config_of(config),
		    .inputs = *inputs,
		    .rank = tsr_world_rank(world),
		    .ranks = tsr_world_size(world),
		    .reference = calloc(1, sizeof(reference_t))};
	tsr_status_t status = moe_check_inputs(config, inputs);
	reference_t *reference = w.reference;
	if (reference) {
		reference->base = (workload_expected_t){expect_row, reference_close};
		(void)moe_matrix(config, MOE_OUT, w.rank, w.ranks, &reference->part);
		reference->value = doubles(reference->part.part_rows * reference->part.cols);
		reference->bound = doubles(reference->part.part_rows * reference->part.cols);
	}
	if (status == TSR_OK &&
	    (!reference || !reference->value || !reference->bound || !work_allocate(&w)))
		status = tsr_error(TSR_ERR_NO_MEMORY,
				   "the host has no memory to verify with: 16 bytes an element of "
				   "a rank's output, and 16 an element of an expert's matrices");
	if (status == TSR_OK)
		status = expect(&w);
	work_free(&w);
	if (status == TSR_OK)
		*expected_out = &reference->base;
	else if (reference)
		reference_close(&reference->base);
	return status;
}
