/*
 * Fragments of large tiles that a block holds outside a main loop. A backend
 * may deal them to its threads in another way than its main loop does, and both
 * ways in another way than small tiles.
 */
#include "tests/contract/contract_test.h"

#include "tessera/dtype.h"

enum { MORE_ROWS = 5, MORE_COLS = 3, EVERYWHERE = -1 };

typedef struct large_args {
	/* the next rank's from view, or the sum of all, goes to the to view of `to_rank` */
	tsr_view_t to, from;
	int32_t to_rank, reserved;
} large_args_t;

TSR_FN int not_every_third(int64_t row, int64_t col, const void *ctx)
{
	(void)ctx;
	return (row + col) % 3 != 0;
}

TSR_FN float twice(float x, int64_t row, int64_t col, const void *ctx)
{
	(void)row, (void)col, (void)ctx;
	return 2 * x;
}

#define NEXT(coop_) tsr_peer(coop_, 1 % tsr_size(coop_))

/* A kernel that does `body_` with a fragment at each of the view's tiles. */
#define EACH_TILE(name_, tile_, m_, n_, body_)                                                     \
	TSR_KERNEL(name_, large_args_t, a)                                                         \
	{                                                                                          \
		const int64_t tiles_n = tsr_tiles(a->to.cols, n_);                                 \
		const int64_t tiles = tsr_tiles(a->to.rows, m_) * tiles_n;                         \
		for (int64_t i = tsr_block_index(block); i < tiles; i += tsr_block_count(block)) { \
			const tsr_pos_t at = {i / tiles_n * m_, i % tiles_n * n_};                 \
			TSR_FRAG(tile_, frag, block);                                              \
			body_                                                                      \
		}                                                                                  \
	}

#define LARGE(tile_, dtype_, m_, n_, k_)                                                        \
	TSR_TILE(tile_, dtype_, m_, n_, k_);                                                    \
	EACH_TILE(stored_##tile_, tile_, m_, n_, {                                              \
		tsr_load(block, frag, a->from, at, NEXT(block));                                \
		if (a->to_rank == EVERYWHERE)                                                   \
			tsr_store_all(block, a->to, at, frag);                                  \
		else                                                                            \
			tsr_store(block, a->to, at, frag, a->to_rank);                          \
	})                                                                                      \
	EACH_TILE(masked_##tile_, tile_, m_, n_, {                                              \
		tsr_load_masked(block, frag, a->from, at, not_every_third, (const void *)0, 77, \
				NEXT(block));                                                   \
		tsr_store_masked(block, a->to, at, frag, not_every_third, (const void *)0,      \
				 a->to_rank);                                                   \
	})                                                                                      \
	EACH_TILE(reduced_##tile_, tile_, m_, n_, {                                             \
		tsr_reduce(block, frag, a->from, at, TSR_REDUCE_SUM);                           \
		tsr_store(block, a->to, at, frag, a->to_rank);                                  \
	})                                                                                      \
	EACH_TILE(doubled_##tile_, tile_, m_, n_, {                                             \
		tsr_load(block, frag, a->from, at, NEXT(block));                                \
		tsr_frag_map(block, frag, at, twice, (const void *)0);                          \
		tsr_store(block, a->to, at, frag, a->to_rank);                                  \
	})
LARGE(square_bf16, bf16, 128, 128, 64)
LARGE(square_f32, f32, 128, 128, 32)
LARGE(half_f16, f16, 64, 128, 64)
LARGE(flat_bf16, bf16, 16, 256, 64)

typedef struct large_case {
	const tsr_kernel_t *kernel;
	int m, n;              /* the tile's */
	int first, times, all; /* what an element becomes: from which rank on, times, all ranks' */
} large_case_t;

/** Small whole numbers: sums over the ranks, and twice one, are exact in every type. */
static int value_of(int rank, int64_t row, int64_t col)
{
	return (int)((row * 7 + col * 3 + rank * 5) % 31) - 15;
}

/** How the views stand in memory. */
typedef struct placed {
	tsr_dtype_t to;
	int ld_more, offset; /* of the view that is stored to: beside its columns, before it */
} placed_t;

static double expected(tsr_world_t *world, const large_case_t *c, int64_t row, int64_t col)
{
	const int size = tsr_world_size(world);
	double sum = 0;
	for (int r = 0; r < size; r++)
		if (c->all || r == c->first % size)
			sum += c->times * value_of(r, row, col);
	return sum;
}

/**
 * Whether the storing rank's elements are in the view and POISON is everywhere else.
 */
static int large_check(tsr_world_t *world, const large_case_t *c, const placed_t *p,
		       const large_args_t *a, int masked)
{
	const size_t element = tsr_dtype_bytes(p->to);
	const size_t elements = (size_t)(p->offset + a->to.rows * a->to.ld);
	const bool here = a->to_rank == EVERYWHERE || a->to_rank == tsr_world_rank(world);
	unsigned char *seen = (unsigned char *)malloc(elements * element);
	const TSR_HEAP void *heap =
		(const TSR_HEAP unsigned char *)a->to.data - (size_t)p->offset * element;
	CHECK(seen && tsr_memcpy_from_heap(world, seen, heap, elements * element) == TSR_OK);
	for (size_t i = 0; i < elements; i++) {
		const int64_t at = (int64_t)i - p->offset, row = at / a->to.ld, col = at % a->to.ld;
		unsigned char want[8];
		memset(want, POISON, sizeof want);
		if (here && at >= 0 && col < a->to.cols && !(masked && (row + col) % 3 == 0))
			tsr_dtype_set(p->to, want, 0, expected(world, c, row, col));
		CHECK(memcmp(seen + i * element, want, element) == 0,
		      "%s to %s: row %d, column %d, rows %d apart, %d before", c->kernel->name,
		      tsr_dtype_name(p->to), (int)row, (int)col, (int)a->to.ld, p->offset);
	}
	free(seen);
	return 0;
}

/** The matrix that is read: values of this rank's, whole rows. */
static int fill(tsr_world_t *world, const tsr_view_t *from)
{
	const size_t elements = (size_t)(from->rows * from->ld);
	float *values = (float *)malloc(elements * sizeof *values);
	CHECK(values);
	for (size_t i = 0; i < elements; i++)
		values[i] = (float)value_of(tsr_world_rank(world), (int64_t)i / from->ld,
					    (int64_t)i % from->ld);
	CHECK(tsr_memcpy_to_heap(world, from->data, values, elements * sizeof *values) == TSR_OK);
	free(values);
	return 0;
}

/** Rank 0 runs the kernel alone: whatever is found has one origin. */
static int large_one(tsr_world_t *world, const large_case_t *c, const placed_t *p, int to_rank,
		     int masked)
{
	const int64_t rows = c->m + MORE_ROWS, cols = c->n + MORE_COLS, ld = cols + p->ld_more;
	const size_t element = tsr_dtype_bytes(p->to);
	const size_t to_bytes = (size_t)(p->offset + rows * ld) * element;
	TSR_HEAP unsigned char *to = poisoned(world, to_bytes, "to");
	TSR_HEAP void *from = poisoned(world, (size_t)(rows * cols) * sizeof(float), "from");
	CHECK(to && from);
	const large_args_t a = {
		.to = {to + (size_t)p->offset * element, rows, cols, ld, p->to, TSR_SPACE_HEAP},
		.from = {from, rows, cols, cols, TSR_F32, TSR_SPACE_HEAP},
		.to_rank = to_rank};
	CHECK(fill(world, &a.from) == 0);
	CHECK(tsr_barrier(world) == TSR_OK);
	if (tsr_world_rank(world) == 0)
		CHECK(run_kernel(world, c->kernel, 2, &a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	const int failed = large_check(world, c, p, &a, masked);
	CHECK(tsr_heap_free(world, to) == TSR_OK && tsr_heap_free(world, from) == TSR_OK);
	return failed;
}

#define CASES(tile_, m_, n_)                                                                      \
	{                                                                                         \
		{&stored_##tile_, m_, n_, 1, 1, 0}, {&masked_##tile_, m_, n_, 1, 1, 0},           \
			{&reduced_##tile_, m_, n_, 0, 1, 1}, {&doubled_##tile_, m_, n_, 1, 2, 0}, \
	}

/** All kernels of a tile: to memory at multiples of 16 bytes, and beside them. */
static int all_of(tsr_world_t *world, const large_case_t c[4])
{
	const placed_t aligned = {TSR_BF16, 5, 0}, odd = {TSR_BF16, 2, 1}, wide = {TSR_F32, 1, 0},
		       half = {TSR_F16, 5, 8};
	const int last = tsr_world_size(world) - 1;
	return large_one(world, &c[0], &aligned, last, 0) ||
	       large_one(world, &c[0], &odd, EVERYWHERE, 0) ||
	       large_one(world, &c[0], &half, 0, 0) || large_one(world, &c[1], &wide, last, 1) ||
	       large_one(world, &c[1], &aligned, 0, 1) || large_one(world, &c[2], &aligned, 0, 0) ||
	       large_one(world, &c[2], &wide, 0, 0) || large_one(world, &c[2], &odd, last, 0) ||
	       large_one(world, &c[3], &aligned, last, 0) || large_one(world, &c[3], &half, 0, 0);
}

static int large_body(tsr_world_t *world, int argc, char **argv)
{
	const large_case_t cases[][4] = {CASES(square_bf16, 128, 128), CASES(square_f32, 128, 128),
					 CASES(half_f16, 64, 128), CASES(flat_bf16, 16, 256)};
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (all_of(world, cases[i]))
			return 1;
	return 0;
}

Test(large, fragments_outside_a_main_loop)
{
	world_each(large_body, NULL);
}
