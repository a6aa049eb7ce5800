/* Two fragments at a time, and fragments of one value a row: arithmetic, edges, infinities. */
#include "tests/contract/tiles/moved.h"

enum { ROWS = 37, LD = 5, TILE_M = 16 };

/* --------------------------------------------------------------- rows between columns of memory */

typedef struct rows_args {
	tsr_view_t from, to;
	int32_t from_rank, to_rank;
} rows_args_t;

TSR_FN float doubled_and_counted(float x, int64_t row, const void *ctx)
{
	(void)ctx;
	return 2 * x + (float)row;
}

TSR_FN float apart(float x, float y, const void *ctx)
{
	(void)ctx;
	return x - y;
}

TSR_FN float second(float x, float y, const void *ctx)
{
	(void)x, (void)ctx;
	return y;
}

TSR_FN float seven(float x, int64_t row, const void *ctx)
{
	(void)x, (void)row, (void)ctx;
	return 7;
}

/*
 * Columns of `to`: 0: 2 x + row of the tile; 1: the same less y; 2: a fill; 3:
 * y, given to rows without values; 4: left alone. Column 0 and 1 of `from` hold
 * x and y. Tiles begin before the view and end behind it.
 */
#define THROUGH(dtype_)                                                                       \
	TSR_TILE(tile_##dtype_, dtype_, TILE_M, 32, 16);                                      \
	TSR_FN void through_##dtype_(tsr_coop_t *block, const rows_args_t *a)                 \
	{                                                                                     \
		for (int64_t i = tsr_block_index(block); i * TILE_M - 3 < ROWS;               \
		     i += tsr_block_count(block)) {                                           \
			const int64_t row = i * TILE_M - 3;                                   \
			const tsr_pos_t first = {row, 0}, next = {row, 1}, filled = {row, 2}, \
					copied = {row, 3};                                    \
			TSR_FRAG_ROWS(tile_##dtype_, x, block);                               \
			TSR_FRAG_ROWS(tile_##dtype_, y, block);                               \
			TSR_FRAG_ROWS(tile_##dtype_, z, block);                               \
			tsr_rows_load(block, x, a->from, first, a->from_rank);                \
			tsr_rows_load(block, y, a->from, next, a->from_rank);                 \
			tsr_rows_map(block, x, doubled_and_counted, a);                       \
			tsr_rows_store(block, a->to, first, x, a->to_rank);                   \
			tsr_rows_zip(block, x, y, apart, a);                                  \
			tsr_rows_store(block, a->to, next, x, a->to_rank);                    \
			tsr_rows_zip(block, z, y, second, a);                                 \
			tsr_rows_store(block, a->to, copied, z, a->to_rank);                  \
			tsr_rows_fill(block, x, -5);                                          \
			tsr_rows_store(block, a->to, filled, x, a->to_rank);                  \
			tsr_rows_map(block, y, seven, a);                                     \
		}                                                                             \
	}                                                                                     \
	TSR_KERNEL(rows_through_##dtype_, rows_args_t, a)                                     \
	{                                                                                     \
		through_##dtype_(block, a);                                                   \
	}
THROUGH(f64)
THROUGH(f32)
THROUGH(f16)
THROUGH(bf16)
THROUGH(i32)
THROUGH(i8)
THROUGH(u8)

typedef struct nothing {
	int32_t nothing;
} nothing_t;

/* Rows that all workers hold together. */
TSR_KERNEL_SPLIT(rows_through_workers, 3, nothing_t, rows_args_t, a)
{
	through_f32(block, a);
}

/** Whole numbers that every type holds, by whose they are. */
static double value_of(int rank, int row, int col)
{
	return (double)((rank * 13 + row * 7 + col * 5) % 40);
}

/** What comes into a column, before it is stored. */
static double result_of(int rank, int row, int col)
{
	const double x = 2 * value_of(rank, row, 0) + (row + 3) % TILE_M,
		     y = value_of(rank, row, 1);
	return col == 0 ? x : col == 1 ? x - y : col == 2 ? -5 : y;
}

static int rows_check(tsr_world_t *world, const moved_case_t *c, const rows_args_t *a,
		      const unsigned char *seen)
{
	const size_t element = tsr_dtype_bytes(c->to);
	for (int i = 0; i < ROWS * LD; i++) {
		const int row = i / LD, col = i % LD;
		unsigned char want[8];
		memset(want, POISON, sizeof want);
		if (tsr_world_rank(world) == a->to_rank && col < 4)
			tsr_dtype_set(c->to, want, 0, result_of(a->from_rank, row, col));
		CHECK(memcmp(seen + (size_t)i * element, want, element) == 0,
		      "%s: %s to %s, row %d, column %d", c->kernel->name, tsr_dtype_name(c->from),
		      tsr_dtype_name(c->to), row, col);
	}
	return 0;
}

static double input_of(int rank, int i)
{
	return value_of(rank, i / 2, i % 2);
}

static int rows_one(tsr_world_t *world, const moved_case_t *c)
{
	const int size = tsr_world_size(world);
	unsigned char host[ROWS * LD * 8];
	moved_t m;
	if (moved_open(world, c, ROWS * LD, ROWS * 2, input_of, host, &m))
		return 1;
	const rows_args_t a = {.from = {m.from, ROWS, 2, 2, c->from, TSR_SPACE_HEAP},
			       .to = {m.to, ROWS, LD, LD, c->to, TSR_SPACE_HEAP},
			       .from_rank = size - 1,
			       .to_rank = size / 2};
	return moved_run(world, c, 2, &a, &m, host) || rows_check(world, c, &a, host);
}

static int rows_body(tsr_world_t *world, int argc, char **argv)
{
	const moved_case_t cases[] = {
		{&rows_through_f32, TSR_F32, TSR_F32, TSR_F32},
		{&rows_through_workers, TSR_F32, TSR_F16, TSR_F32},
		{&rows_through_f64, TSR_F64, TSR_F64, TSR_F64},
		{&rows_through_f16, TSR_F32, TSR_F16, TSR_F32},
		{&rows_through_bf16, TSR_F32, TSR_BF16, TSR_BF16},
		{&rows_through_i32, TSR_I32, TSR_I32, TSR_I32},
		{&rows_through_i8, TSR_I32, TSR_I8, TSR_U8},
		{&rows_through_u8, TSR_I32, TSR_U8, TSR_I64},
		{&rows_through_f32, TSR_F32, TSR_BF16, TSR_F16},
		{&rows_through_bf16, TSR_F32, TSR_F64, TSR_I8},
		{&rows_through_f64, TSR_F64, TSR_I64, TSR_F32},
	};
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (rows_one(world, &cases[i]))
			return 1;
	return 0;
}

Test(rows, arithmetic_conversion_and_edges)
{
	world_each(rows_body, NULL);
}

/* ------------------------------------------------- infinities: how partial softmaxes are merged */

enum { WIDE = 24, LAST = 3 };

typedef struct merge_args {
	tsr_view_t scores; /* ROWS x WIDE; -inf where a key is hidden, in some rows everywhere */
	tsr_view_t maxima; /* one column: of all ranks before, then of me too */
	/* ROWS x LAST: what became of the maxima; how many keys the row has; the old maximum less
	 * the new */
	tsr_view_t seen;
} merge_args_t;

TSR_TILE(scores, f32, TILE_M, 32, 16);

TSR_FN float larger(float x, float y, const void *ctx)
{
	(void)ctx;
	return x > y ? x : y;
}

/** 0 where both are -inf, as in a softmax that has seen no key: the difference were NaN. */
TSR_FN float less(float x, float y, const void *ctx)
{
	(void)ctx;
	return y == -__builtin_inff() ? 0 : x - y;
}

TSR_FN float is_key(float x, float maximum, const void *ctx)
{
	(void)maximum, (void)ctx;
	return x != -__builtin_inff() ? 1.0f : 0.0f;
}

/** A column that takes part, and so many from the first on. */
TSR_FN int is_within(int64_t row, int64_t col, const void *ctx)
{
	(void)row, (void)ctx;
	return col < WIDE;
}

TSR_KERNEL(merge_maxima, merge_args_t, a)
{
	const int rank = tsr_rank(block);
	for (int64_t i = tsr_block_index(block); i * TILE_M < ROWS; i += tsr_block_count(block)) {
		const tsr_pos_t at = {i * TILE_M, 0}, keys = {i * TILE_M, 1},
				change = {i * TILE_M, 2};
		TSR_FRAG(scores, x, block);
		TSR_FRAG_ROWS(scores, maximum, block);
		TSR_FRAG_ROWS(scores, before, block);
		TSR_FRAG_ROWS(scores, count, block);
		tsr_rows_fill(block, maximum, -__builtin_inff());
		for (int r = 0; r < tsr_size(block); r++) { /* of every rank, in rank order */
			tsr_load_masked(block, x, a->scores, at, is_within, a, -__builtin_inf(), r);
			tsr_frag_reduce_rows(block, before, x, WIDE, TSR_REDUCE_MAX);
			tsr_rows_zip(block, maximum, before, larger, a);
		}
		tsr_rows_store(block, a->maxima, at, maximum, rank);
		tsr_load_masked(block, x, a->scores, at, is_within, a, -__builtin_inf(), rank);
		tsr_frag_reduce_rows(block, before, x, WIDE, TSR_REDUCE_MAX);
		tsr_frag_map_rows(block, x, maximum, is_key, a);
		tsr_frag_reduce_rows(block, count, x, WIDE, TSR_REDUCE_SUM);
		tsr_rows_store(block, a->seen, keys, count, rank);
		/* -inf where only others have keys */
		tsr_rows_zip(block, before, maximum, less, a);
		tsr_rows_store(block, a->seen, change, before, rank);
		tsr_rows_zip(block, maximum, maximum, larger, a);
		tsr_rows_store(block, a->seen, at, maximum, rank);
	}
}

static float score_of(int rank, int row, int col)
{
	if (row % 5 == 0 || (row + rank) % 3 == 0 || (row * 3 + col + rank) % 4 == 0)
		return -__builtin_inff();
	return (float)((row * 11 + col * 17 + rank * 5) % 101 - 50);
}

static float maximum_of(int rank, int row)
{
	float maximum = -__builtin_inff();
	for (int col = 0; col < WIDE; col++)
		maximum = score_of(rank, row, col) > maximum ? score_of(rank, row, col) : maximum;
	return maximum;
}

static int merge_check(tsr_world_t *world, tsr_dtype_t dtype, const void *maxima, const void *seen)
{
	const int me = tsr_world_rank(world);
	for (int row = 0; row < ROWS; row++) {
		double maximum = -__builtin_inf(), keys = 0, own = maximum_of(me, row);
		for (int r = 0; r < tsr_world_size(world); r++)
			maximum = maximum_of(r, row) > maximum ? maximum_of(r, row) : maximum;
		for (int col = 0; col < WIDE; col++)
			keys += score_of(me, row, col) != -__builtin_inff();
		const double change = maximum == -__builtin_inf() ? 0 : own - maximum;
		CHECK(tsr_dtype_get(dtype, maxima, (size_t)row) == maximum, "row %d", row);
		CHECK(tsr_dtype_get(dtype, seen, (size_t)(row * LAST)) == maximum, "row %d", row);
		CHECK(tsr_dtype_get(dtype, seen, (size_t)(row * LAST + 1)) == keys, "row %d", row);
		CHECK(tsr_dtype_get(dtype, seen, (size_t)(row * LAST + 2)) == change, "row %d",
		      row);
	}
	return 0;
}

static int merge_one(tsr_world_t *world, tsr_dtype_t dtype)
{
	const int me = tsr_world_rank(world);
	unsigned char maxima[ROWS * 8], seen[ROWS * LAST * 8];
	float scores[ROWS * WIDE];
	const size_t element = tsr_dtype_bytes(dtype);
	TSR_HEAP void *score_heap = poisoned(world, sizeof scores, "scores");
	TSR_HEAP void *maxima_heap = poisoned(world, ROWS * element, "maxima");
	TSR_HEAP void *seen_heap = poisoned(world, ROWS * LAST * element, "seen");
	CHECK(score_heap && maxima_heap && seen_heap);
	for (int i = 0; i < ROWS * WIDE; i++)
		scores[i] = score_of(me, i / WIDE, i % WIDE);
	CHECK(tsr_memcpy_to_heap(world, score_heap, scores, sizeof scores) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	const merge_args_t a = {.scores = {score_heap, ROWS, WIDE, WIDE, TSR_F32, TSR_SPACE_HEAP},
				.maxima = {maxima_heap, ROWS, 1, 1, dtype, TSR_SPACE_HEAP},
				.seen = {seen_heap, ROWS, LAST, LAST, dtype, TSR_SPACE_HEAP}};
	CHECK(run_kernel(world, &merge_maxima, 2, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, maxima, maxima_heap, ROWS * element) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, seen, seen_heap, ROWS * LAST * element) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	return merge_check(world, dtype, maxima, seen);
}

static int merge_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	return merge_one(world, TSR_F32) || merge_one(world, TSR_F16) ||
	       merge_one(world, TSR_BF16) || merge_one(world, TSR_F64);
}

Test(rows, infinities_survive)
{
	world_each(merge_body, NULL);
}

/* --------------------------------------------- two fragments: a product and what it is added to */

typedef struct sum_args {
	/* d = 3 a b - c, where c is the next rank's; and the operands' own zips */
	tsr_view_t a, b, c, d;
	tsr_view_t doubled; /* 2 a + a, by operands of the product */
} sum_args_t;

typedef struct sum_run {
	const sum_args_t *args;
	int64_t tiles_n, m, n;
} sum_run_t;

TSR_FN tsr_part_t sum_order(int64_t task, const void *ctx)
{
	const sum_run_t *run = (const sum_run_t *)ctx;
	const tsr_pos_t at = {task / run->tiles_n * run->m, task % run->tiles_n * run->n};
	return tsr_whole(at);
}

TSR_FN float three_less(float x, float y, const void *ctx)
{
	(void)ctx;
	return 3 * x - y;
}

TSR_FN float twice_and(float x, float y, const void *ctx)
{
	(void)ctx;
	return 2 * x + y;
}

#define SUM(name_, dtype_, m_, n_, k_)                                                         \
	TSR_TILE(sum_##name_, dtype_, m_, n_, k_);                                             \
	TSR_FN void add_##name_(tsr_coop_t *me, sum_##name_##_frag_t *acc, tsr_pos_t at,       \
				void *ctx)                                                     \
	{                                                                                      \
		const sum_run_t *run = (const sum_run_t *)ctx;                                 \
		TSR_FRAG(sum_##name_, other, me);                                              \
		tsr_load(me, other, run->args->c, at, (tsr_rank(me) + 1) % tsr_size(me));      \
		tsr_frag_zip(me, acc, other, three_less, ctx);                                 \
		tsr_store(me, run->args->d, at, acc, tsr_rank(me));                            \
	}                                                                                      \
	TSR_KERNEL(sum_two_##name_, sum_args_t, args)                                          \
	{                                                                                      \
		sum_run_t run = {args, tsr_tiles(args->c.cols, n_), m_, n_};                   \
		tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block),           \
				     tsr_tiles(args->c.rows, m_) * run.tiles_n};               \
		tsr_gemm(sum_##name_, block, args->a, args->b, tasks, sum_order, TSR_NO_GATE,  \
			 add_##name_, &run);                                                   \
		for (int64_t i = tsr_block_index(block); i * (m_) < args->a.rows;              \
		     i += tsr_block_count(block))                                              \
			for (int64_t k = 0; k < args->a.cols; k += (k_)) {                     \
				const tsr_pos_t at = {i * (m_), k};                            \
				TSR_FRAG_A(sum_##name_, operand, block);                       \
				tsr_load(block, operand, args->a, at, tsr_rank(block));        \
				tsr_frag_zip(block, operand, operand, twice_and, args);        \
				tsr_store(block, args->doubled, at, operand, tsr_rank(block)); \
			}                                                                      \
	}
SUM(f32, f32, 16, 32, 16)
SUM(f64, f64, 32, 16, 16)
SUM(i32, i32, 16, 16, 16)
SUM(bf16, bf16, 32, 32, 16)
SUM(wide, bf16, 128, 128, 64) /* what tensor cores take */

enum { M = 133, N = 37, K = 29 };

typedef struct sum_case {
	const tsr_kernel_t *kernel;
	tsr_dtype_t operand, result;
} sum_case_t;

static int element_of(int rank, int which, int row, int col)
{
	return (row * 3 + col * 5 + rank * 2 + which) % 5 - 2;
}

static int sum_check(tsr_world_t *world, const sum_case_t *c, const void *d, const void *doubled)
{
	const int me = tsr_world_rank(world), next = (me + 1) % tsr_world_size(world);
	for (int row = 0; row < M; row++) {
		for (int col = 0; col < N; col++) {
			int sum = -element_of(next, 2, row, col);
			for (int k = 0; k < K; k++)
				sum += 3 * element_of(me, 0, row, k) * element_of(me, 1, k, col);
			CHECK(tsr_dtype_get(c->result, d, (size_t)(row * N + col)) == sum,
			      "%s: row %d, column %d", c->kernel->name, row, col);
		}
		for (int k = 0; k < K; k++)
			CHECK(tsr_dtype_get(c->operand, doubled, (size_t)(row * K + k)) ==
				      3 * element_of(me, 0, row, k),
			      "%s: row %d, column %d of an operand", c->kernel->name, row, k);
	}
	return 0;
}

/** A matrix of the heap with this rank's elements; `which` < 0: poisoned. */
static tsr_view_t sum_matrix(tsr_world_t *world, tsr_dtype_t dtype, int rows, int cols, int which,
			     void *host)
{
	const size_t bytes = (size_t)(rows * cols) * tsr_dtype_bytes(dtype);
	TSR_HEAP void *heap = poisoned(world, bytes, "matrix");
	tsr_view_t view = {heap, rows, cols, cols, dtype, TSR_SPACE_HEAP};
	for (int i = 0; i < rows * cols && which >= 0; i++)
		tsr_dtype_set(dtype, host, (size_t)i,
			      element_of(tsr_world_rank(world), which, i / cols, i % cols));
	if (heap && which >= 0 && tsr_memcpy_to_heap(world, heap, host, bytes) != TSR_OK)
		view.data = NULL;
	return view;
}

static int sum_one(tsr_world_t *world, const sum_case_t *c, void *d, void *doubled)
{
	sum_args_t a = {.a = sum_matrix(world, c->operand, M, K, 0, d),
			.b = sum_matrix(world, c->operand, K, N, 1, d),
			.c = sum_matrix(world, c->result, M, N, 2, d),
			.d = sum_matrix(world, c->result, M, N, -1, d),
			.doubled = sum_matrix(world, c->operand, M, K, -1, d)};
	CHECK(a.a.data && a.b.data && a.c.data && a.d.data && a.doubled.data);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, c->kernel, 3, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, d, a.d.data, M * N * tsr_dtype_bytes(c->result)) ==
	      TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, doubled, a.doubled.data,
				   M * K * tsr_dtype_bytes(c->operand)) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_heap_free(world, a.a.data) == TSR_OK && tsr_heap_free(world, a.b.data) == TSR_OK);
	CHECK(tsr_heap_free(world, a.c.data) == TSR_OK && tsr_heap_free(world, a.d.data) == TSR_OK);
	CHECK(tsr_heap_free(world, a.doubled.data) == TSR_OK);
	return sum_check(world, c, d, doubled);
}

static int sum_body(tsr_world_t *world, int argc, char **argv)
{
	const sum_case_t cases[] = {{&sum_two_f32, TSR_F32, TSR_F32},
				    {&sum_two_f64, TSR_F64, TSR_F64},
				    {&sum_two_i32, TSR_I32, TSR_I32},
				    {&sum_two_bf16, TSR_BF16, TSR_F32},
				    {&sum_two_wide, TSR_BF16, TSR_F32}};
	unsigned char *d = (unsigned char *)malloc(M * N * 8),
		      *doubled = (unsigned char *)malloc(M * K * 8);
	int failed = !d || !doubled;
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof cases / sizeof *cases && !failed; i++)
		failed = sum_one(world, &cases[i], d, doubled);
	free(d);
	free(doubled);
	return failed;
}

Test(rows, two_fragments_become_one)
{
	world_each(sum_body, NULL);
}
