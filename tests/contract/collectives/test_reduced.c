/*
 * One tile of all ranks becomes one: by a single rank, by ranks that deal the
 * tiles, by workers, and behind signals.
 */
#include "tests/contract/contract_test.h"
#include "tests/contract/node_order.h"

#include "tessera/dtype.h"

enum { ROWS = 37, COLS = 29, SIDE = 16, WIDE = 32, OFFSET = 3 };

typedef struct reduced_args {
	/* view: every rank's; to: where a rank stores what tsr_reduce gives. No data:
	 * tsr_all_reduce */
	tsr_view_t view, to;
	/* alone: the calling rank takes all tiles, else those that are dealt to it */
	int32_t op, alone;
} reduced_args_t;

/*
 * Tiles begin before the view and end behind it. The view's type is a constant,
 * so that each kernel has the code of one.
 */
#define REDUCED(name_, dtype_, code_)                                                              \
	TSR_TILE(reduced_##name_, dtype_, SIDE, WIDE, 16);                                         \
	TSR_FN void reduce_tiles_##name_(tsr_coop_t *coop, const reduced_args_t *a, int64_t first, \
					 int64_t step)                                             \
	{                                                                                          \
		const tsr_view_t view = tsr_view(a->view.data, code_, ROWS, COLS, a->view.ld);     \
		for (int64_t i = first; i * SIDE - OFFSET < ROWS; i += step) {                     \
			const tsr_pos_t at = {i * SIDE - OFFSET, -2};                              \
			TSR_FRAG(reduced_##name_, frag, coop);                                     \
			if (!a->alone && i % tsr_size(coop) != tsr_rank(coop))                     \
				continue;                                                          \
			if (a->to.data) {                                                          \
				tsr_reduce(coop, frag, view, at, (tsr_reduce_t)a->op);             \
				tsr_store(coop, tsr_view(a->to.data, code_, ROWS, COLS, a->to.ld), \
					  at, frag, tsr_rank(coop));                               \
			} else {                                                                   \
				tsr_all_reduce(coop, frag, view, at, (tsr_reduce_t)a->op);         \
			}                                                                          \
		}                                                                                  \
	}                                                                                          \
	TSR_KERNEL(reduce_by_blocks_##name_, reduced_args_t, a)                                    \
	{                                                                                          \
		reduce_tiles_##name_(block, a, tsr_block_index(block), tsr_block_count(block));    \
	}
REDUCED(f64, f64, TSR_F64)
REDUCED(f32, f32, TSR_F32)
REDUCED(f32_f16, f32, TSR_F16)
REDUCED(bf16, bf16, TSR_BF16)
REDUCED(i32, i32, TSR_I32)
REDUCED(i32_i8, i32, TSR_I8)

typedef struct nothing {
	int32_t nothing;
} nothing_t;

TSR_KERNEL_SPLIT(reduce_by_workers, 3, nothing_t, reduced_args_t, a)
{
	const int workers = tsr_worker_count(worker);
	reduce_tiles_f32(worker, a, tsr_block_index(block) * workers + tsr_worker_index(worker),
			 (int64_t)tsr_block_count(block) * workers);
}

TSR_KERNEL_SPLIT(reduce_together, 2, nothing_t, reduced_args_t, a)
{
	reduce_tiles_bf16(block, a, tsr_block_index(block), tsr_block_count(block));
}

typedef struct reduced_case {
	const tsr_kernel_t *kernel;
	tsr_dtype_t held, dtype;
	int ld;
} reduced_case_t;

/** Numbers whose sums tell the order of the ranks; of integers small ones. */
static double value_of(tsr_dtype_t dtype, int rank, int row, int col)
{
	const uint32_t mixed =
		((uint32_t)row * 2654435761u ^ (uint32_t)col * 40503u ^ (uint32_t)rank * 977u) *
		2246822519u;
	const bool whole = dtype == TSR_I32 || dtype == TSR_I8 || dtype == TSR_U8;
	return whole ? (double)((int)(mixed >> 16) % 11 - 5)
		     : ((double)(mixed >> 12 & 0xffff) - 32768) / (double)(1 << mixed % 12);
}

/** An element of all ranks. */
typedef struct element {
	tsr_dtype_t dtype;
	int row, col;
} element_t;

static double element_of(const void *ctx, int rank)
{
	const element_t *e = (const element_t *)ctx;
	unsigned char bits[8];
	tsr_dtype_set(e->dtype, bits, 0, value_of(e->dtype, rank, e->row, e->col));
	return tsr_dtype_get(e->dtype, bits, 0);
}

/** In the fragment's type. */
static double result_of(tsr_world_t *world, const reduced_case_t *c, tsr_reduce_t op, int row,
			int col)
{
	const node_order_t order = node_order_of(tsr_world_team(world));
	const element_t element = {c->dtype, row, col};
	return node_order_result(&order, op, c->held, element_of, &element);
}

/**
 * What must stand at an index of a matrix: `reduced` in it or, where not, this
 * rank's own; poison outside.
 */
static int matrix_check(tsr_world_t *world, const reduced_case_t *c, int op,
			const unsigned char *seen, const char *what, int reduced, int own)
{
	const size_t element = tsr_dtype_bytes(c->dtype);
	const int me = tsr_world_rank(world);
	for (int i = 0; i < ROWS * c->ld; i++) {
		const int row = i / c->ld, col = i % c->ld, tile = (row + OFFSET) / SIDE;
		const bool here = reduced < 0 ? tile % tsr_world_size(world) == me : reduced != 0;
		unsigned char want[8];
		memset(want, POISON, sizeof want);
		if (col < COLS && here)
			tsr_dtype_set(c->dtype, want, 0,
				      result_of(world, c, (tsr_reduce_t)op, row, col));
		else if (col < COLS && own)
			tsr_dtype_set(c->dtype, want, 0, value_of(c->dtype, me, row, col));
		CHECK(memcmp(seen + (size_t)i * element, want, element) == 0,
		      "%s of %s, operation %d: %s, row %d, column %d", c->kernel->name,
		      tsr_dtype_name(c->dtype), op, what, row, col);
	}
	return 0;
}

static int reduced_one(tsr_world_t *world, const reduced_case_t *c, int op, int alone,
		       int everywhere)
{
	const int me = tsr_world_rank(world), last = tsr_world_size(world) - 1;
	const size_t bytes = (size_t)(ROWS * c->ld) * tsr_dtype_bytes(c->dtype);
	unsigned char *host = (unsigned char *)malloc(bytes);
	TSR_HEAP void *view = poisoned(world, bytes, "view"), *to = poisoned(world, bytes, "to");
	CHECK(host && view && to);
	memset(host, POISON, bytes);
	for (int i = 0; i < ROWS * COLS; i++)
		tsr_dtype_set(c->dtype, host, (size_t)(i / COLS * c->ld + i % COLS),
			      value_of(c->dtype, me, i / COLS, i % COLS));
	CHECK(tsr_memcpy_to_heap(world, view, host, bytes) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	const reduced_args_t a = {
		{view, ROWS, COLS, c->ld, c->dtype, TSR_SPACE_HEAP},
		{everywhere ? NULL : to, ROWS, COLS, c->ld, c->dtype, TSR_SPACE_HEAP},
		op,
		alone};
	if (!alone || me == last) /* the others are passive */
		CHECK(run_kernel(world, c->kernel, 2, &a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, host, view, bytes) == TSR_OK);
	int failed = matrix_check(world, c, op, host, "what was reduced", everywhere, 1);
	CHECK(tsr_memcpy_from_heap(world, host, to, bytes) == TSR_OK);
	failed |= matrix_check(world, c, op, host, "the result",
			       everywhere ? 0
			       : alone    ? me == last
					  : -1,
			       0);
	free(host);
	CHECK(tsr_heap_free(world, view) == TSR_OK && tsr_heap_free(world, to) == TSR_OK);
	return failed;
}

static int reduced_body(tsr_world_t *world, int argc, char **argv)
{
	const reduced_case_t cases[] = {
		{&reduce_by_blocks_f32, TSR_F32, TSR_F32, WIDE},
		{&reduce_by_blocks_f32_f16, TSR_F32, TSR_F16, COLS},
		{&reduce_by_blocks_f64, TSR_F64, TSR_F64, WIDE},
		{&reduce_by_blocks_f32_f16, TSR_F32, TSR_F16, WIDE},
		{&reduce_by_blocks_bf16, TSR_F32, TSR_BF16, WIDE},
		{&reduce_by_blocks_bf16, TSR_F32, TSR_BF16, COLS + 2},
		{&reduce_by_blocks_i32, TSR_I32, TSR_I32, WIDE},
		{&reduce_by_blocks_i32_i8, TSR_I32, TSR_I8, WIDE},
		{&reduce_by_workers, TSR_F32, TSR_F32, COLS},
		{&reduce_together, TSR_F32, TSR_BF16, WIDE},
	};
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int way = 0; way < 4; way++)
			if (reduced_one(world, &cases[i], (int)((i + (size_t)way) % 3), way / 2,
					way % 2))
				return 1;
	return 0;
}

Test(reduced, one_tile_of_all_ranks_becomes_one)
{
	world_each(reduced_body, NULL);
}

/* ---------------------------------------------------- an all-reduce of two steps, in one kernel */

enum { PARTS = 7, PART_ROWS = 3, PART_COLS = 11 };

typedef struct steps_args {
	TSR_HEAP float *parts;  /* PARTS x PART_ROWS rows */
	TSR_HEAP float *result; /* what each rank finds there in the end */
	TSR_HEAP uint64_t *stored, *reduced;
} steps_args_t;

TSR_TILE(part, f32, 4, 12, 4);

TSR_FN float by_rank(float x, int64_t row, int64_t col, const void *ctx)
{
	(void)x;
	return (float)(*(const int32_t *)ctx * 1000 + (int)row * 20 + (int)col);
}

/*
 * Partners: of each wait the signals of all ranks. Litmus:
 * MP.count.diffGPU-sss, MP.mcast.diffGPU-sss.
 */
TSR_KERNEL(two_steps, steps_args_t, a)
{
	const tsr_view_t parts =
		tsr_view(a->parts, TSR_F32, PARTS * PART_ROWS, PART_COLS, PART_COLS);
	const int32_t me = tsr_rank(block);
	TSR_FRAG(part, x, block);
	for (int part = 0; part < PARTS; part++) {
		const tsr_pos_t at = {0, 0}, mine = {part * PART_ROWS, 0};
		tsr_frag_map(block, x, mine, by_rank, &me);
		tsr_store(block, tsr_view_part(parts, mine, PART_ROWS, PART_COLS), at, x, me);
	}
	tsr_signal_all(block, a->stored, 1, TSR_SIGNAL_ADD);
	if (tsr_wait(block, a->stored, (uint64_t)tsr_size(block), TSR_ANY_RANK) != TSR_WAIT_OK)
		return;
	for (int part = me; part < PARTS; part += tsr_size(block)) {
		const tsr_pos_t at = {0, 0}, first = {part * PART_ROWS, 0};
		tsr_all_reduce(block, x, tsr_view_part(parts, first, PART_ROWS, PART_COLS), at,
			       TSR_REDUCE_SUM);
	}
	tsr_signal_all(block, a->reduced, 1, TSR_SIGNAL_ADD);
	if (tsr_wait(block, a->reduced, (uint64_t)tsr_size(block), TSR_ANY_RANK) == TSR_WAIT_OK)
		tsr_put(block, a->result, a->parts, PARTS * PART_ROWS * PART_COLS * sizeof(float),
			me);
}

static int steps_body(tsr_world_t *world, int argc, char **argv)
{
	enum { ELEMENTS = PARTS * PART_ROWS * PART_COLS };
	const int size = tsr_world_size(world);
	float result[ELEMENTS];
	const steps_args_t a = {poisoned(world, sizeof result, "parts"),
				poisoned(world, sizeof result, "result"),
				zeroed(world, sizeof(uint64_t), "stored"),
				zeroed(world, sizeof(uint64_t), "reduced")};
	(void)argc, (void)argv;
	CHECK(a.parts && a.result && a.stored && a.reduced);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &two_steps, 1, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, result, a.result, sizeof result) == TSR_OK);
	for (int i = 0; i < ELEMENTS; i++) {
		const float want = (float)(size * (size - 1) / 2 * 1000 +
					   size * (i / PART_COLS * 20 + i % PART_COLS));
		CHECK(result[i] == want, "row %d, column %d: %g, not %g", i / PART_COLS,
		      i % PART_COLS, (double)result[i], (double)want);
	}
	CHECK(tsr_barrier(world) == TSR_OK);
	return 0;
}

Test(reduced, parts_are_reduced_by_their_ranks)
{
	world_each(steps_body, NULL);
}
