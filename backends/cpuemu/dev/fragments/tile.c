/* Tiles: arithmetic on fragments, in registers. */
#include "cpuemu/dev/arithmetic/blas.h"
#include "cpuemu/dev/arithmetic/extremes.h"
#include "cpuemu/dev/fragments/value.h"

void tsr_frag_zero(tsr_coop_t *coop, tsr_frag_t *frag)
{
	if (!tsr_frag_is_mine(coop, __func__, frag))
		return;
	frag->set = true;
	if (frag->first < frag->last)
		memset(tsr_frag_at(frag, frag->first, 0), 0,
		       (size_t)(frag->last - frag->first) * (size_t)frag->cols *
			       tsr_cpu_bytes(frag->held));
}

/* Element functions take and give floats. */
static float get(const tsr_frag_t *frag, int64_t row, int64_t col)
{
	float x;
	tsr_row_widen(TSR_F32, &x, frag->held, tsr_frag_at(frag, row, col), 1);
	return x;
}

static void set(tsr_frag_t *frag, int64_t row, int64_t col, float x)
{
	tsr_row_narrow(frag->held, tsr_frag_at(frag, row, col), TSR_F32, &x, 1);
}

/**
 * Whether two results differ, where NaN equals NaN: then the function depends on
 * the old value.
 */
static bool differs(float a, float b)
{
	return a < b || a > b || (a != a) != (b != b);
}

/**
 * A map may give a fragment its first values if its function ignores the old
 * ones.
 */
static bool map_is_defined(tsr_coop_t *coop, const char *call, const tsr_frag_t *frag, tsr_pos_t at,
			   tsr_map_fn fn, const void *ctx)
{
	bool looks = false;
	if (!tsr_frag_is_mine(coop, call, frag))
		return false;
	for (int64_t row = frag->first; !frag->set && !looks && row < frag->last; row++)
		for (int64_t col = 0; !looks && col < frag->cols; col++)
			looks = differs(fn(1, at.row + row, at.col + col, ctx),
					fn(2, at.row + row, at.col + col, ctx));
	return !looks || tsr_frag_has_values(coop, call, frag);
}

void tsr_frag_map(tsr_coop_t *coop, tsr_frag_t *frag, tsr_pos_t at, tsr_map_fn fn, const void *ctx)
{
	if (!map_is_defined(coop, __func__, frag, at, fn, ctx))
		return;
	for (int64_t row = frag->first; row < frag->last; row++) {
		for (int64_t col = 0; col < frag->cols; col++)
			set(frag, row, col,
			    fn(get(frag, row, col), at.row + row, at.col + col, ctx));
		tsr_frag_settle(frag, row);
	}
	frag->set = true;
}

/* ------------------------------------------------------------------ two fragments */

/**
 * Whether two fragments hold the same places. False: the misuse is noted, or a
 * lack of room has been.
 */
static bool match(tsr_coop_t *coop, const char *call, const tsr_frag_t *x, const tsr_frag_t *y)
{
	if (!x->elements || !y->elements)
		return false;
	if (x->tile.m != y->tile.m || x->tile.n != y->tile.n || x->tile.k != y->tile.k ||
	    x->tile.dtype != y->tile.dtype || x->rows != y->rows || x->cols != y->cols ||
	    x->first != y->first || x->last != y->last)
		return tsr_cpu_misuse(coop, call,
				      "declare both with one configuration, one kind and one coop",
				      "of different fragments, %d x %d and %d x %d", (int)x->rows,
				      (int)x->cols, (int)y->rows, (int)y->cols);
	return tsr_frag_has_values(coop, call, y);
}

/** As map_is_defined: a function that looks at y alone gives x its values. */
static bool zip_is_defined(tsr_coop_t *coop, const char *call, const tsr_frag_t *x,
			   const tsr_frag_t *y, tsr_zip_fn fn, const void *ctx)
{
	bool looks = false;
	for (int64_t row = x->first; !x->set && !looks && row < x->last; row++)
		for (int64_t col = 0; !looks && col < x->cols; col++)
			looks = differs(fn(1, get(y, row, col), ctx), fn(2, get(y, row, col), ctx));
	return !looks || tsr_frag_has_values(coop, call, x);
}

static void zip(tsr_coop_t *coop, const char *call, tsr_frag_t *x, const tsr_frag_t *y,
		tsr_zip_fn fn, const void *ctx)
{
	if (!match(coop, call, x, y) || !zip_is_defined(coop, call, x, y, fn, ctx))
		return;
	for (int64_t row = x->first; row < x->last; row++) {
		for (int64_t col = 0; col < x->cols; col++)
			set(x, row, col, fn(get(x, row, col), get(y, row, col), ctx));
		tsr_frag_settle(x, row);
	}
	x->set = true;
}

void tsr_frag_zip(tsr_coop_t *coop, tsr_frag_t *x, const tsr_frag_t *y, tsr_zip_fn fn,
		  const void *ctx)
{
	zip(coop, __func__, x, y, fn, ctx);
}

/* ------------------------------------------------------------------ rows */

void tsr_rows_fill(tsr_coop_t *coop, tsr_rows_t *rows, float v)
{
	if (!tsr_frag_is_rows(coop, __func__, rows))
		return;
	for (int64_t row = rows->first; row < rows->last; row++)
		set(rows, row, 0, v);
	rows->set = true;
}

void tsr_rows_map(tsr_coop_t *coop, tsr_rows_t *rows, tsr_rows_fn fn, const void *ctx)
{
	bool looks = false;
	if (!tsr_frag_is_rows(coop, __func__, rows))
		return;
	for (int64_t row = rows->first; !rows->set && !looks && row < rows->last; row++)
		looks = differs(fn(1, row, ctx), fn(2, row, ctx));
	if (looks && !tsr_frag_has_values(coop, __func__, rows))
		return;
	for (int64_t row = rows->first; row < rows->last; row++)
		set(rows, row, 0, fn(get(rows, row, 0), row, ctx));
	rows->set = true;
}

void tsr_rows_zip(tsr_coop_t *coop, tsr_rows_t *x, const tsr_rows_t *y, tsr_zip_fn fn,
		  const void *ctx)
{
	if (tsr_frag_is_rows(coop, __func__, x) && tsr_frag_is_rows(coop, __func__, y))
		zip(coop, __func__, x, y, fn, ctx);
}

static bool map_rows_is_defined(tsr_coop_t *coop, const char *call, const tsr_frag_t *frag,
				const tsr_rows_t *rows, tsr_map_rows_fn fn, const void *ctx)
{
	bool looks = false;
	if (!tsr_frag_is_mine(coop, call, frag) || !tsr_frag_has_values(coop, call, rows))
		return false;
	for (int64_t row = frag->first;
	     !frag->set && !looks && row < frag->last && row < rows->last; row++)
		looks = row >= rows->first &&
			differs(fn(1, get(rows, row, 0), ctx), fn(2, get(rows, row, 0), ctx));
	return !looks || tsr_frag_has_values(coop, call, frag);
}

void tsr_frag_map_rows(tsr_coop_t *coop, tsr_frag_t *frag, const tsr_rows_t *rows,
		       tsr_map_rows_fn fn, const void *ctx)
{
	if (!map_rows_is_defined(coop, __func__, frag, rows, fn, ctx))
		return;
	int64_t last = frag->last < rows->last ? frag->last : rows->last;
	for (int64_t row = frag->first > rows->first ? frag->first : rows->first; row < last;
	     row++) {
		float row_value = get(rows, row, 0);
		for (int64_t col = 0; col < frag->cols; col++)
			set(frag, row, col, fn(get(frag, row, col), row_value, ctx));
		tsr_frag_settle(frag, row);
	}
	frag->set = true;
}

/*
 * One value a row of each held type; the first `cols` columns, from left to
 * right. No columns: the operation's neutral value.
 */
#define DEFINE_REDUCE(type_name_, type_, sum_t_, low_, high_)                                     \
	static type_ reduce_##type_name_(const type_ *row, int64_t cols, tsr_reduce_t op)         \
	{                                                                                         \
		type_ value = op == TSR_REDUCE_SUM ? 0 : op == TSR_REDUCE_MAX ? (low_) : (high_); \
		for (int64_t col = 0; col < cols; col++)                                          \
			value = op == TSR_REDUCE_SUM ? (type_)((sum_t_)value + (sum_t_)row[col])  \
				: op == TSR_REDUCE_MAX                                            \
					? tsr_larger_##type_name_(value, row[col])                \
					: tsr_smaller_##type_name_(value, row[col]);              \
		return value;                                                                     \
	}
DEFINE_REDUCE(f32, float, float, -__builtin_inff(), __builtin_inff())
DEFINE_REDUCE(f64, double, double, -__builtin_inf(), __builtin_inf())
DEFINE_REDUCE(i32, int32_t, uint32_t, INT32_MIN, INT32_MAX)

void tsr_frag_reduce_rows(tsr_coop_t *coop, tsr_rows_t *rows, const tsr_frag_t *frag, int64_t cols,
			  tsr_reduce_t op)
{
	if (!tsr_frag_has_values(coop, __func__, frag))
		return;
	rows->set = true;
	int64_t last = frag->last < rows->last ? frag->last : rows->last;
	cols = cols < frag->cols ? cols : frag->cols;
	for (int64_t row = frag->first > rows->first ? frag->first : rows->first; row < last;
	     row++) {
		void *to = tsr_frag_at(rows, row, 0);
		const void *from = tsr_frag_at(frag, row, 0);
		if (frag->held == TSR_F32)
			*(float *)to = reduce_f32(from, cols, op);
		else if (frag->held == TSR_F64)
			*(double *)to = reduce_f64(from, cols, op);
		else
			*(int32_t *)to = reduce_i32(from, cols, op);
	}
}

/* ------------------------------------------------------------------ products */

static bool is_of(const tsr_frag_t *frag, const tsr_frag_t *acc, enum tsr_cpu_frag_use use)
{
	return frag->use == (int32_t)use && frag->tile.m == acc->tile.m &&
	       frag->tile.n == acc->tile.n && frag->tile.k == acc->tile.k &&
	       frag->tile.dtype == acc->tile.dtype;
}

/**
 * Whether the three can be multiplied, the right operand declared for `use`.
 * False: the misuse is noted, or a lack of room has been.
 */
static bool multiplies(tsr_coop_t *coop, const char *call, const tsr_frag_t *acc,
		       const tsr_frag_t *a, const tsr_frag_t *b, enum tsr_cpu_frag_use use)
{
	if (!acc->elements || !a->elements || !b->elements)
		return false;
	if (!is_of(acc, acc, TSR_CPU_FRAG_C) || !is_of(a, acc, TSR_CPU_FRAG_A) ||
	    !is_of(b, acc, use) || acc->first != a->first || acc->last != a->last)
		return tsr_cpu_misuse(
			coop, call,
			use == TSR_CPU_FRAG_B ? "declare all three with one configuration and one "
						"coop: TSR_FRAG, TSR_FRAG_A, TSR_FRAG_B"
					      : "declare all three with one configuration and one "
						"coop: TSR_FRAG, TSR_FRAG_A, TSR_FRAG_BT",
			"of fragments of different configurations, or of another kind");
	return tsr_frag_has_values(coop, call, acc) && tsr_frag_has_values(coop, call, a) &&
	       tsr_frag_has_values(coop, call, b);
}

static void multiply(tsr_coop_t *coop, tsr_frag_t *acc, const tsr_frag_t *a, const void *b, int ldb)
{
	if (acc->first < acc->last)
		tsr_blas_add_product(coop, acc->held, acc->last - acc->first, acc->cols, a->cols,
				     tsr_frag_at(a, a->first, 0), a->cols, b, ldb,
				     tsr_frag_at(acc, acc->first, 0), acc->cols);
}

void tsr_tile_dot(tsr_coop_t *coop, tsr_frag_t *acc, const tsr_frag_a_t *a, const tsr_frag_b_t *b)
{
	if (multiplies(coop, __func__, acc, a, b, TSR_CPU_FRAG_B))
		multiply(coop, acc, a, b->elements, b->cols);
}

void tsr_tile_dot_bt(tsr_coop_t *coop, tsr_frag_t *acc, const tsr_frag_a_t *a,
		     const tsr_frag_bt_t *bt)
{
	if (!multiplies(coop, __func__, acc, a, bt, TSR_CPU_FRAG_BT))
		return;
	size_t element = tsr_cpu_bytes(bt->held);
	unsigned char *b = tsr_cpu_arena_take(coop, (size_t)bt->rows * (size_t)bt->cols * element);
	if (!b)
		return;
	for (int64_t col = 0; col < bt->rows; col++)
		for (int64_t k = 0; k < bt->cols; k++)
			memcpy(b + (size_t)(k * bt->rows + col) * element, tsr_frag_at(bt, col, k),
			       element);
	multiply(coop, acc, a, b, bt->rows);
	tsr_cpu_arena_drop(coop);
}
