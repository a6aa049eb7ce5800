/* Operands of the main loop: row- and column-major, at any alignment, of any rank. */
#include "matrix.h"

typedef struct operands_args {
	tsr_view_t a, b, c;
	TSR_HEAP uint64_t *flags; /* one a rank: raised to 1 by its owner */
	int64_t depth;
	int32_t gated, split; /* split: by two main loops that meet at half of K */
} operands_args_t;

typedef struct operands_run {
	const operands_args_t *args;
	int64_t tiles_n, tile_m, tile_n, tile_k;
} operands_run_t;

TSR_FN tsr_part_t operands_order(int64_t task, const void *ctx)
{
	const operands_run_t *run = (const operands_run_t *)ctx;
	tsr_pos_t at = {task / run->tiles_n * run->tile_m, task % run->tiles_n * run->tile_n};
	return tsr_whole(at);
}

/* Chunks of A are read from rank after rank, those of B from rank before rank. */
TSR_FN int rank_of_a(int64_t chunk, int size)
{
	return (int)(chunk % size);
}

TSR_FN int rank_of_b(int64_t chunk, int size)
{
	return (int)(size - 1 - chunk / 2 % size);
}

/* Each once the rank has said here that its operands are there. */
TSR_FN tsr_from_t operands_gate(tsr_coop_t *loader, tsr_part_t chunk, const void *ctx)
{
	const operands_run_t *run = (const operands_run_t *)ctx;
	const int64_t number = chunk.k0 / run->tile_k;
	const tsr_from_t from =
		tsr_from(rank_of_a(number, tsr_size(loader)), rank_of_b(number, tsr_size(loader)));
	tsr_wait(loader, run->args->flags + from.a, 1, from.a);
	tsr_wait(loader, run->args->flags + from.b, 1, from.b);
	return from;
}

#define OPERANDS(name_, dtype_, m_, n_, k_, a_major_, b_major_)                                \
	TSR_TILE_MAJOR(tile_##name_, dtype_, m_, n_, k_, a_major_, b_major_);                  \
	TSR_FN void keep_##name_(tsr_coop_t *me, tile_##name_##_frag_t *acc, tsr_pos_t at,     \
				 void *ctx)                                                    \
	{                                                                                      \
		tsr_tile_store(me, ((const operands_run_t *)ctx)->args->c, at, acc);           \
	}                                                                                      \
	TSR_KERNEL(operands_##name_, operands_args_t, a)                                       \
	{                                                                                      \
		operands_run_t run = {a, tsr_tiles(a->c.cols, n_), m_, n_, k_};                \
		tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block),           \
				     tsr_tiles(a->c.rows, m_) * run.tiles_n};                  \
		const int64_t half = a->depth / 2;                                             \
		if (a->gated)                                                                  \
			tsr_signal_all(block, a->flags + tsr_rank(block), 1, TSR_SIGNAL_SET);  \
		if (a->gated)                                                                  \
			tsr_gemm(tile_##name_, block, a->a, a->b, tasks, operands_order,       \
				 operands_gate, keep_##name_, &run);                           \
		else if (!a->split)                                                            \
			tsr_gemm(tile_##name_, block, a->a, a->b, tasks, operands_order,       \
				 TSR_NO_GATE, keep_##name_, &run);                             \
		for (int64_t t = tasks.first; a->split && t < tasks.end; t += tasks.step) {    \
			tsr_pos_t at = operands_order(t, &run).at;                             \
			TSR_FRAG(tile_##name_, acc, block);                                    \
			tsr_frag_zero(block, acc);                                             \
			tsr_part_t first = {at, 0, half, 0}, second = {at, half, a->depth, 0}; \
			tsr_gemm_mainloop(block, acc, a->a, a->b, first, TSR_NO_GATE, &run);   \
			tsr_gemm_mainloop(block, acc, a->a, a->b, second, TSR_NO_GATE, &run);  \
			keep_##name_(block, acc, at, &run);                                    \
		}                                                                              \
	}
#define OPERANDS_MAJORS(name_, dtype_, m_, n_, k_)                             \
	OPERANDS(name_##_rc, dtype_, m_, n_, k_, TSR_ROW_MAJOR, TSR_COL_MAJOR) \
	OPERANDS(name_##_cr, dtype_, m_, n_, k_, TSR_COL_MAJOR, TSR_ROW_MAJOR) \
	OPERANDS(name_##_cc, dtype_, m_, n_, k_, TSR_COL_MAJOR, TSR_COL_MAJOR)
OPERANDS_MAJORS(f64, f64, 16, 32, 16)
OPERANDS_MAJORS(f32, f32, 32, 16, 16)
OPERANDS_MAJORS(f16, f16, 64, 64, 16)
OPERANDS_MAJORS(bf16, bf16, 16, 16, 16)
OPERANDS_MAJORS(i32, i32, 32, 32, 16)
OPERANDS_MAJORS(i8, i8, 16, 64, 16)
OPERANDS_MAJORS(u8, u8, 64, 16, 16)
/* What tensor cores take. */
OPERANDS_MAJORS(wide, bf16, 128, 128, 64)
OPERANDS_MAJORS(wide_f16, f16, 128, 64, 64)
OPERANDS_MAJORS(high, bf16, 256, 64, 64)
OPERANDS(broad_rc, bf16, 128, 224, 64, TSR_ROW_MAJOR, TSR_COL_MAJOR)

typedef struct operands_case {
	const tsr_kernel_t *kernel;
	tsr_dtype_t dtype, result;
	int depth; /* of a chunk */
	int a_turned, b_turned;
} operands_case_t;

#define CASE(name_, dtype_, result_, depth_, a_turned_, b_turned_)               \
	{                                                                        \
		&operands_##name_, dtype_, result_, depth_, a_turned_, b_turned_ \
	}
#define CASES(name_, dtype_, result_, depth_)                    \
	CASE(name_##_rc, dtype_, result_, depth_, 0, 1),         \
		CASE(name_##_cr, dtype_, result_, depth_, 1, 0), \
		CASE(name_##_cc, dtype_, result_, depth_, 1, 1)

/*
 * Small whole numbers: every partial sum is exact in every type. Every 7th row
 * and every 5th column are alike.
 */
enum { ROWS_ALIKE = 7, COLS_ALIKE = 5 };

static double element_a(const void *ctx, int64_t row, int64_t k, int rank)
{
	(void)ctx;
	return (double)((row * 3 + k * 5 + rank) % ROWS_ALIKE);
}

static double element_b(const void *ctx, int64_t k, int64_t col, int rank)
{
	(void)ctx;
	return (double)((k * 2 + col * 3 + rank) % COLS_ALIKE);
}

typedef struct shape {
	int64_t m, n, k;
} shape_t;

/** How a product is made. */
typedef struct way {
	int aligned, gated, split, blocks;
} way_t;

/**
 * Element (row, col) of the product, whose operands come from other ranks with
 * each chunk where there is a gate.
 */
static double element_c(tsr_world_t *world, const operands_case_t *c, shape_t s, int gated,
			int64_t row, int64_t col)
{
	const int size = tsr_world_size(world), me = tsr_world_rank(world);
	double sum = 0;
	for (int64_t k0 = 0, chunk = 0; k0 < s.k; k0 += c->depth, chunk++) {
		const int64_t k1 = k0 + c->depth < s.k ? k0 + c->depth : s.k;
		const int from_a = gated ? rank_of_a(chunk, size) : me,
			  from_b = gated ? rank_of_b(chunk, size) : me;
		for (int64_t k = k0; k < k1; k++)
			sum += element_a(NULL, row, k, from_a) * element_b(NULL, k, col, from_b);
	}
	return sum;
}

static int operands_check(tsr_world_t *world, const operands_case_t *c, shape_t s, way_t way,
			  const unsigned char *host)
{
	double product[ROWS_ALIKE][COLS_ALIKE];
	for (int row = 0; row < ROWS_ALIKE; row++)
		for (int col = 0; col < COLS_ALIKE; col++)
			product[row][col] = element_c(world, c, s, way.gated, row, col);
	for (int64_t row = 0; row < s.m; row++)
		for (int64_t col = 0; col < s.n + MARGIN; col++) {
			const size_t i = (size_t)(row * (s.n + MARGIN) + col);
			if (col >= s.n) {
				CHECK(host[i * tsr_dtype_bytes(c->result)] == POISON,
				      "past the edge");
				continue;
			}
			const double want = product[row % ROWS_ALIKE][col % COLS_ALIKE],
				     seen = tsr_dtype_get(c->result, host, i);
			CHECK(seen == want, "%s %dx%dx%d (%d%d%d) at %d, %d: %g for %g",
			      c->kernel->name, (int)s.m, (int)s.n, (int)s.k, way.aligned, way.gated,
			      way.split, (int)row, (int)col, seen, want);
		}
	return 0;
}

static int operands_one(tsr_world_t *world, const operands_case_t *c, shape_t s, way_t way)
{
	const size_t bytes = (size_t)(s.m * (s.n + MARGIN)) * tsr_dtype_bytes(c->result);
	matrix_t a, b;
	if (matrix_make(world, &a, s.m, s.k, c->dtype, c->a_turned, way.aligned) ||
	    matrix_make(world, &b, s.k, s.n, c->dtype, c->b_turned, way.aligned) ||
	    matrix_fill(world, &a, element_a, NULL) || matrix_fill(world, &b, element_b, NULL))
		return 1;
	TSR_HEAP void *y = poisoned(world, bytes, "C");
	TSR_HEAP uint64_t *flags = zeroed(world, (size_t)tsr_world_size(world) * 8, "flags");
	unsigned char *host = (unsigned char *)malloc(bytes);
	CHECK(y && flags && host && tsr_barrier(world) == TSR_OK);
	operands_args_t args = {.a = a.view,
				.b = b.view,
				.c = {y, s.m, s.n, s.n + MARGIN, c->result, TSR_SPACE_HEAP},
				.flags = flags,
				.depth = s.k,
				.gated = way.gated,
				.split = way.split};
	CHECK(run_kernel(world, c->kernel, way.blocks, &args) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, host, y, bytes) == TSR_OK);
	const int failed = operands_check(world, c, s, way, host);
	free(host);
	CHECK(tsr_heap_free(world, a.heap) == TSR_OK && tsr_heap_free(world, b.heap) == TSR_OK);
	CHECK(tsr_heap_free(world, y) == TSR_OK && tsr_heap_free(world, flags) == TSR_OK);
	return failed;
}

/**
 * By two ways in turn, of which one has aligned operands and one has not: with
 * and without a gate, and by the loop of one tile.
 */
static int operands_two(tsr_world_t *world, const operands_case_t *c, shape_t s, size_t turn)
{
	static const way_t ways[] = {{1, 0, 0, 3}, {0, 1, 0, 2}, {1, 0, 1, 2},
				     {0, 0, 0, 3}, {1, 1, 0, 2}, {0, 0, 1, 1}};
	const size_t count = sizeof ways / sizeof *ways;
	return operands_one(world, c, s, ways[turn % count]) ||
	       operands_one(world, c, s, ways[(turn + 1) % count]);
}

static int narrow_body(tsr_world_t *world, int argc, char **argv)
{
	static const shape_t shapes[] = {{91, 73, 37}, {1, 1, 1}, {17, 33, 91}, {64, 16, 16}};
	const operands_case_t cases[] = {
		CASES(f64, TSR_F64, TSR_F64, 16), CASES(f32, TSR_F32, TSR_F32, 16),
		CASES(f16, TSR_F16, TSR_F32, 16), CASES(bf16, TSR_BF16, TSR_F32, 16),
		CASES(i32, TSR_I32, TSR_I32, 16), CASES(i8, TSR_I8, TSR_I32, 16),
		CASES(u8, TSR_U8, TSR_I64, 16),
	};
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (operands_two(world, &cases[i], shapes[0], i) ||
		    operands_two(world, &cases[i], shapes[1 + i % 3], i + 3))
			return 1;
	return 0;
}

Test(operands, row_and_column_major_of_every_dtype)
{
	world_each(narrow_body, NULL);
}

static int wide_body(tsr_world_t *world, int argc, char **argv)
{
	static const shape_t shapes[] = {{131, 130, 75}, {128, 64, 64}};
	const operands_case_t cases[] = {
		CASES(wide, TSR_BF16, TSR_F32, 64),
		CASES(wide_f16, TSR_F16, TSR_F32, 64),
		CASES(high, TSR_BF16, TSR_F32, 64),
		CASE(broad_rc, TSR_BF16, TSR_F32, 64, 0, 1),
	};
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (operands_two(world, &cases[i], shapes[0], 0) ||
		    operands_two(world, &cases[i], shapes[0], 3) ||
		    operands_two(world, &cases[i], shapes[1], i))
			return 1;
	return 0;
}

Test(operands, row_and_column_major_of_wide_tiles)
{
	world_each(wide_body, NULL);
}
