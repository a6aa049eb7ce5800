/*
 * Grouped products: as many rows of A as a group has, times the group's own B,
 * of which several stand below each other.
 */
#include "matrix.h"

enum { GROUPS = 4, GAP = 1 }; /* GAP: rows between one B and the next, which nobody may multiply */

typedef struct grouped_args {
	tsr_view_t a, b, c;
	TSR_HEAP uint64_t *flags;  /* of each group and rank: raised to 1 by its owner */
	int64_t first[GROUPS + 1]; /* the first row of each group */
	int64_t stride;            /* rows of the view of B from one group's to the next */
	int32_t gated;
} grouped_args_t;

typedef struct grouped_run {
	const grouped_args_t *args;
	int64_t tiles_n, tile_m, tile_n, tile_k;
	int64_t task, step; /* that the epilogue comes to */
} grouped_run_t;

typedef struct grouped_tile {
	int64_t group;
	tsr_pos_t at;
} grouped_tile_t;

TSR_FN grouped_tile_t grouped_tile(int64_t task, const grouped_run_t *run)
{
	const int64_t *first = run->args->first;
	int64_t group = 0, row = task / run->tiles_n;
	while (row >= tsr_tiles(first[group + 1] - first[group], run->tile_m)) {
		row -= tsr_tiles(first[group + 1] - first[group], run->tile_m);
		group++;
	}
	grouped_tile_t tile = {
		group, {first[group] + row * run->tile_m, task % run->tiles_n * run->tile_n}};
	return tile;
}

TSR_FN tsr_part_t grouped_order(int64_t task, const void *ctx)
{
	const grouped_run_t *run = (const grouped_run_t *)ctx;
	const grouped_tile_t tile = grouped_tile(task, run);
	tsr_part_t part = tsr_whole(tile.at);
	part.b0 = tile.group * run->args->stride;
	return part;
}

/* A from a rank for each chunk, B from one for each group and chunk. */
TSR_FN int grouped_a_rank(int64_t chunk, int size)
{
	return (int)(chunk % size);
}

TSR_FN int grouped_b_rank(int64_t group, int64_t chunk, int size)
{
	return (int)((group * 3 + chunk + 1) % size);
}

TSR_FN tsr_from_t grouped_gate(tsr_coop_t *loader, tsr_part_t chunk, const void *ctx)
{
	const grouped_run_t *run = (const grouped_run_t *)ctx;
	const int size = tsr_size(loader);
	const int64_t group = chunk.b0 / run->args->stride, number = chunk.k0 / run->tile_k;
	const tsr_from_t from =
		tsr_from(grouped_a_rank(number, size), grouped_b_rank(group, number, size));
	tsr_wait(loader, run->args->flags + from.a, 1, from.a);
	tsr_wait(loader, run->args->flags + group * size + from.b, 1, from.b);
	return from;
}

/* A tile's last rows may be the next group's: only the group's own are stored. */
#define GROUPED(name_, dtype_, m_, n_, k_, a_major_, b_major_)                                  \
	TSR_TILE_MAJOR(tile_##name_, dtype_, m_, n_, k_, a_major_, b_major_);                   \
	TSR_FN void keep_##name_(tsr_coop_t *me, tile_##name_##_frag_t *acc, tsr_pos_t at,      \
				 void *ctx)                                                     \
	{                                                                                       \
		grouped_run_t *run = (grouped_run_t *)ctx;                                      \
		const grouped_args_t *args = run->args;                                         \
		const tsr_pos_t origin = {0, 0};                                                \
		const int64_t end = args->first[grouped_tile(run->task, run).group + 1];        \
		tsr_tile_store(me, tsr_view_part(args->c, origin, end, args->c.cols), at, acc); \
		run->task += run->step;                                                         \
	}                                                                                       \
	TSR_KERNEL(grouped_##name_, grouped_args_t, a)                                          \
	{                                                                                       \
		grouped_run_t run = {a,                                                         \
				     tsr_tiles(a->c.cols, n_),                                  \
				     m_,                                                        \
				     n_,                                                        \
				     k_,                                                        \
				     tsr_block_index(block),                                    \
				     tsr_block_count(block)};                                   \
		tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block), 0};        \
		for (int group = 0; group < GROUPS; group++) {                                  \
			tasks.end += tsr_tiles(a->first[group + 1] - a->first[group], m_) *     \
				     run.tiles_n;                                               \
			if (a->gated)                                                           \
				tsr_signal_all(block,                                           \
					       a->flags + group * tsr_size(block) +             \
						       tsr_rank(block),                         \
					       1, TSR_SIGNAL_SET);                              \
		}                                                                               \
		if (a->gated)                                                                   \
			tsr_gemm(tile_##name_, block, a->a, a->b, tasks, grouped_order,         \
				 grouped_gate, keep_##name_, &run);                             \
		else                                                                            \
			tsr_gemm(tile_##name_, block, a->a, a->b, tasks, grouped_order,         \
				 TSR_NO_GATE, keep_##name_, &run);                              \
	}
GROUPED(f32_rr, f32, 32, 32, 16, TSR_ROW_MAJOR, TSR_ROW_MAJOR)
GROUPED(bf16_rc, bf16, 16, 16, 16, TSR_ROW_MAJOR, TSR_COL_MAJOR)
GROUPED(i8_cc, i8, 16, 64, 16, TSR_COL_MAJOR, TSR_COL_MAJOR)
/* What tensor cores take. */
GROUPED(wide_rr, bf16, 128, 128, 64, TSR_ROW_MAJOR, TSR_ROW_MAJOR)
GROUPED(wide_rc, bf16, 128, 128, 64, TSR_ROW_MAJOR, TSR_COL_MAJOR)
GROUPED(high_cr, f16, 256, 64, 64, TSR_COL_MAJOR, TSR_ROW_MAJOR)

typedef struct grouped_case {
	const tsr_kernel_t *kernel;
	tsr_dtype_t dtype, result;
	int depth; /* of a chunk */
	int a_turned, b_turned;
} grouped_case_t;

/** A product's extents, of each group's B, and the rows of A and C up to each group. */
typedef struct grouped_shape {
	int64_t n, k, first[GROUPS + 1];
} grouped_shape_t;

static double grouped_a(const void *ctx, int64_t row, int64_t k, int rank)
{
	(void)ctx;
	return (double)((row * 3 + k * 5 + rank) % 7);
}

static double group_b(int64_t group, int64_t k, int64_t col, int rank)
{
	return (double)((group * 7 + k * 2 + col * 3 + rank) % 5);
}

/**
 * Every group's B, below each other or, of the transposed, beside each other:
 * and no number in the gaps.
 */
static double grouped_b(const void *ctx, int64_t row, int64_t col, int rank)
{
	const grouped_shape_t *s = (const grouped_shape_t *)ctx;
	const int64_t group = row / (s->k + GAP), k = row % (s->k + GAP);
	return k < s->k ? group_b(group, k, col, rank) : __builtin_nan("");
}

static double grouped_b_turned(const void *ctx, int64_t row, int64_t col, int rank)
{
	const grouped_shape_t *s = (const grouped_shape_t *)ctx;
	const int64_t group = col / (s->n + GAP), n = col % (s->n + GAP);
	return n < s->n ? group_b(group, row, n, rank) : __builtin_nan("");
}

/** Element (row, col) of the product. */
static double grouped_c(tsr_world_t *world, const grouped_case_t *c, const grouped_shape_t *s,
			int gated, int64_t row, int64_t col)
{
	const int size = tsr_world_size(world), me = tsr_world_rank(world);
	int64_t group = 0;
	double sum = 0;
	while (row >= s->first[group + 1])
		group++;
	for (int64_t k0 = 0, chunk = 0; k0 < s->k; k0 += c->depth, chunk++) {
		const int64_t k1 = k0 + c->depth < s->k ? k0 + c->depth : s->k;
		const int a = gated ? grouped_a_rank(chunk, size) : me,
			  b = gated ? grouped_b_rank(group, chunk, size) : me;
		for (int64_t k = k0; k < k1; k++)
			sum += grouped_a(NULL, row, k, a) * group_b(group, k, col, b);
	}
	return sum;
}

/** Every element, and zeros in the columns past those of B: they are of the tiles. */
static int grouped_check(tsr_world_t *world, const grouped_case_t *c, const grouped_shape_t *s,
			 int gated, const unsigned char *host)
{
	for (int64_t row = 0; row < s->first[GROUPS]; row++)
		for (int64_t col = 0; col < s->n + MARGIN; col++) {
			const double want =
				col < s->n ? grouped_c(world, c, s, gated, row, col) : 0;
			const double seen = tsr_dtype_get(c->result, host,
							  (size_t)(row * (s->n + MARGIN) + col));
			CHECK(seen == want, "%s %dx%d (%d) at %d, %d: %g for %g", c->kernel->name,
			      (int)s->n, (int)s->k, gated, (int)row, (int)col, seen, want);
		}
	return 0;
}

static int grouped_one(tsr_world_t *world, const grouped_case_t *c, const grouped_shape_t *s,
		       int aligned, int gated, int blocks)
{
	const int64_t m = s->first[GROUPS], stride = (c->b_turned ? s->n : s->k) + GAP;
	const size_t bytes = (size_t)(m * (s->n + MARGIN)) * tsr_dtype_bytes(c->result);
	matrix_t a, b;
	if (matrix_make(world, &a, m, s->k, c->dtype, c->a_turned, aligned) ||
	    matrix_make(world, &b, c->b_turned ? s->k : GROUPS * stride,
			c->b_turned ? GROUPS * stride : s->n, c->dtype, c->b_turned, aligned) ||
	    matrix_fill(world, &a, grouped_a, NULL) ||
	    matrix_fill(world, &b, c->b_turned ? grouped_b_turned : grouped_b, s))
		return 1;
	TSR_HEAP void *y = poisoned(world, bytes, "C");
	TSR_HEAP uint64_t *flags =
		zeroed(world, (size_t)(GROUPS * tsr_world_size(world)) * 8, "flags");
	unsigned char *host = (unsigned char *)malloc(bytes);
	CHECK(y && flags && host && tsr_barrier(world) == TSR_OK);
	grouped_args_t args = {.a = a.view,
			       .b = b.view,
			       .c = {y, m, s->n + MARGIN, s->n + MARGIN, c->result, TSR_SPACE_HEAP},
			       .flags = flags,
			       .stride = stride,
			       .gated = gated};
	args.b.rows = stride - GAP; /* of the first B */
	memcpy(args.first, s->first, sizeof args.first);
	CHECK(run_kernel(world, c->kernel, blocks, &args) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, host, y, bytes) == TSR_OK);
	const int failed = grouped_check(world, c, s, gated, host);
	free(host);
	CHECK(tsr_heap_free(world, a.heap) == TSR_OK && tsr_heap_free(world, b.heap) == TSR_OK);
	CHECK(tsr_heap_free(world, y) == TSR_OK && tsr_heap_free(world, flags) == TSR_OK);
	return failed;
}

static int grouped_body(tsr_world_t *world, int argc, char **argv)
{
	static const grouped_case_t cases[] = {
		{&grouped_f32_rr, TSR_F32, TSR_F32, 16, 0, 0},
		{&grouped_bf16_rc, TSR_BF16, TSR_F32, 16, 0, 1},
		{&grouped_i8_cc, TSR_I8, TSR_I32, 16, 1, 1},
		{&grouped_wide_rr, TSR_BF16, TSR_F32, 64, 0, 0},
		{&grouped_wide_rc, TSR_BF16, TSR_F32, 64, 0, 1},
		{&grouped_high_cr, TSR_F16, TSR_F32, 64, 1, 0},
	};
	/* Column-major A of 16 bits: groups begin at multiples of 8. */
	static const grouped_shape_t shapes[2][2] = {
		{{75, 70, {0, 37, 37, 54, 55}}, {3, 5, {0, 0, 1, 18, 18}}},
		{{75, 70, {0, 40, 40, 56, 59}}, {3, 5, {0, 0, 8, 18, 18}}}};
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const grouped_shape_t *s =
			shapes[cases[i].a_turned && tsr_dtype_bytes(cases[i].dtype) == 2];
		if (grouped_one(world, &cases[i], &s[0], 1, 0, 2) ||
		    grouped_one(world, &cases[i], &s[0], 1, 1, 3) ||
		    grouped_one(world, &cases[i], &s[0], 0, (int)(i % 2), 2) ||
		    grouped_one(world, &cases[i], &s[1], 1, 1, 1))
			return 1;
	}
	return 0;
}

Test(grouped, groups_of_unequal_rows_each_times_its_own_b)
{
	world_each(grouped_body, NULL);
}
