#include "kernels/host/judge.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/host/matrices.h"

struct judge {
	const workload_expected_t *expected;
	int matrix;
	workload_matrix_t part;
	bool integers;
	/* the expected part, rounded to its dtype; null: some expected element overflows the
	 * dtype */
	void *rounded;
	double *value, *bound; /* of one row */
};

/*
 * The exponent of a double is read from its bits, because every element may
 * need it: ilogb and ldexp would take longer than everything else.
 */
enum {
	EXPONENT_SHIFT = DBL_MANT_DIG - 1,
	EXPONENT_MASK = 2 * DBL_MAX_EXP - 1,
	EXPONENT_BIAS = DBL_MAX_EXP - 1
};

double judge_half_ulp(tsr_dtype_t dtype, double x)
{
	const int digits = dtype == TSR_BF16 ? 8 : dtype == TSR_F16 ? 11 : FLT_MANT_DIG;
	const int least = dtype == TSR_F16 ? -14 : FLT_MIN_EXP - 1;
	uint64_t bits;
	memcpy(&bits, &x, sizeof bits);
	/* for 0 the smallest exponent */
	const int exponent = (int)(bits >> EXPONENT_SHIFT & EXPONENT_MASK) - EXPONENT_BIAS;
	bits = (uint64_t)((exponent > least ? exponent : least) - digits + EXPONENT_BIAS)
	       << EXPONENT_SHIFT;
	memcpy(&x, &bits, sizeof x);
	return x;
}

static size_t part_bytes(const workload_matrix_t *part)
{
	return (size_t)(part->part_rows * part->part_cols) * tsr_dtype_bytes(part->dtype);
}

/** Computes values and bounds of the part's `row`-th row. */
static void expect_row(const judge_t *judge, int64_t row)
{
	const workload_matrix_t *part = &judge->part;
	judge->expected->row(judge->expected, judge->matrix, part->first_row + row, part->first_col,
			     part->part_cols, judge->value, judge->bound);
}

/**
 * Rounds the expected values of the whole part. Most elements of an output are
 * equal to them, so they can be compared bit by bit.
 */
static void round_part(judge_t *judge)
{
	const workload_matrix_t *part = &judge->part;
	for (int64_t row = 0; row < part->part_rows; row++) {
		expect_row(judge, row);
		for (int64_t col = 0; col < part->part_cols; col++) {
			const size_t index = (size_t)(row * part->part_cols + col);
			tsr_dtype_set(part->dtype, judge->rounded, index, judge->value[col]);
			if (isfinite(tsr_dtype_get(part->dtype, judge->rounded, index)))
				continue;
			/* then each element is compared by its distance, which may be infinite */
			free(judge->rounded);
			judge->rounded = NULL;
			return;
		}
	}
}

tsr_status_t judge_create(const workload_expected_t *expected, int matrix,
			  const workload_matrix_t *part, bool integers, judge_t **judge_out)
{
	judge_t *judge = calloc(1, sizeof *judge);
	if (judge) {
		*judge = (judge_t){.expected = expected,
				   .matrix = matrix,
				   .part = *part,
				   .integers = integers};
		judge->rounded = malloc(part_bytes(part) + 1); /* a part may be empty */
		judge->value = malloc(((size_t)part->part_cols + 1) * sizeof(double));
		judge->bound = malloc(((size_t)part->part_cols + 1) * sizeof(double));
	}
	if (!judge || !judge->rounded || !judge->value || !judge->bound) {
		judge_destroy(judge);
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory to verify with (%s on every rank); use a "
				 "smaller shape",
				 TSR_SIZE(part_bytes(part)));
	}
	round_part(judge);
	*judge_out = judge;
	return TSR_OK;
}

void judge_destroy(judge_t *judge)
{
	if (!judge)
		return;
	free(judge->rounded);
	free(judge->value);
	free(judge->bound);
	free(judge);
}

/**
 * Whether elements are equal to the expected ones, rounded to nearest. Such
 * elements differ from the expected values by at most half a unit in the last
 * place, which is less than any bound.
 */
static bool is_rounded(const judge_t *judge, const void *dense, size_t first, int64_t count)
{
	const size_t size = tsr_dtype_bytes(judge->part.dtype);
	return judge->rounded &&
	       memcmp((const char *)dense + first * size,
		      (const char *)judge->rounded + first * size, (size_t)count * size) == 0;
}

/** Whether the element is exactly `expected`, rounded once. */
static bool is_exactly(tsr_dtype_t dtype, const void *dense, size_t index, double expected)
{
	unsigned char bits[8];
	const size_t size = tsr_dtype_bytes(dtype);
	tsr_dtype_set(dtype, bits, 0, expected);
	return memcmp((const unsigned char *)dense + index * size, bits, size) == 0;
}

static void judge_row(const judge_t *judge, const void *dense, int64_t row, verdict_t *verdict)
{
	const workload_matrix_t *part = &judge->part;
	expect_row(judge, row);
	for (int64_t col = 0; col < part->part_cols; col++) {
		const size_t index = (size_t)(row * part->part_cols + col);
		if (is_rounded(judge, dense, index, 1))
			continue;
		const double expected = judge->value[col],
			     got = tsr_dtype_get(part->dtype, dense, index);
		const double bound = judge->integers ? 0.0 : judge->bound[col];
		/* The comparison fails for a NaN too; the first one is for infinities. */
		const bool right = judge->integers
					   ? is_exactly(part->dtype, dense, index, expected)
					   : got == expected || fabs(got - expected) <= bound;
		if (!right && verdict->wrong++ == 0) {
			verdict->row = part->first_row + row;
			verdict->col = part->first_col + col;
			verdict->got = got;
			verdict->expected = expected;
			verdict->bound = bound;
		}
	}
}

void judge_array(const judge_t *judge, const void *dense, verdict_t *verdict_out)
{
	const workload_matrix_t *part = &judge->part;
	*verdict_out = (verdict_t){0};
	for (int64_t row = 0; row < part->part_rows; row++)
		if (!is_rounded(judge, dense, (size_t)(row * part->part_cols), part->part_cols))
			judge_row(judge, dense, row, verdict_out);
}

tsr_status_t judge_view(const judge_t *judge, tsr_world_t *world, tsr_view_t view,
			verdict_t *verdict_out)
{
	void *host = malloc(part_bytes(&judge->part) + 1);
	if (!host)
		return tsr_error(
			TSR_ERR_NO_MEMORY,
			"the host has no memory for a copy of %s (%s): use a smaller shape",
			judge->part.name, TSR_SIZE(part_bytes(&judge->part)));
	*verdict_out = (verdict_t){0};
	tsr_status_t status =
		part_bytes(&judge->part) > 0 ? matrix_read(world, view, host) : TSR_OK;
	if (status == TSR_OK)
		judge_array(judge, host, verdict_out);
	free(host);
	return status;
}
