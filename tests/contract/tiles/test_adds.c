/*
 * Tiles that are added to memory: edges, alignments, conversions; many adders
 * at once; who reads the sum.
 */
#include "tests/contract/contract_test.h"

#include "tessera/dtype.h"

enum { ROWS = 21, COLS = 19, LD_EVEN = 24, LD_ODD = 27, SIDE = 16, TIMES = 2 };

typedef struct add_args {
	/* every rank adds its from view to the to view of every rank, TIMES times, tile by tile */
	tsr_view_t to, from;
} add_args_t;

/* Tiles begin before the view and end behind it. */
#define ADDS(dtype_)                                                                        \
	TSR_TILE(add_##dtype_, dtype_, SIDE, 32, 16);                                       \
	TSR_FN void add_all_##dtype_(tsr_coop_t *coop, const add_args_t *a, int64_t first,  \
				     int64_t step)                                          \
	{                                                                                   \
		for (int64_t i = first; i * SIDE - 3 < a->to.rows; i += step) {             \
			const tsr_pos_t at = {i * SIDE - 3, -8};                            \
			TSR_FRAG(add_##dtype_, frag, coop);                                 \
			tsr_load(coop, frag, a->from, at, tsr_rank(coop));                  \
			for (int r = 0; r < TIMES * tsr_size(coop); r++)                    \
				tsr_store_add(coop, a->to, at, frag,                        \
					      tsr_peer(coop, r % tsr_size(coop)));          \
		}                                                                           \
	}                                                                                   \
	TSR_KERNEL(add_all_by_blocks_##dtype_, add_args_t, a)                               \
	{                                                                                   \
		add_all_##dtype_(block, a, tsr_block_index(block), tsr_block_count(block)); \
	}
ADDS(f64)
ADDS(f32)
ADDS(f16)
ADDS(bf16)
ADDS(i32)

typedef struct nothing {
	int32_t nothing;
} nothing_t;

/* Fragments of single workers, and then of all together. */
TSR_KERNEL_SPLIT(add_all_by_workers, 3, nothing_t, add_args_t, a)
{
	const int workers = tsr_worker_count(worker), blocks = tsr_block_count(block);
	add_all_bf16(worker, a, tsr_block_index(block) * workers + tsr_worker_index(worker),
		     (int64_t)blocks * workers);
}

TSR_KERNEL_SPLIT(add_all_together, 2, nothing_t, add_args_t, a)
{
	add_all_f32(block, a, tsr_block_index(block), tsr_block_count(block));
}

typedef struct add_case {
	const tsr_kernel_t *kernel;
	tsr_dtype_t from, to;
	/* of the view that is added to: its first element, from a multiple of 16 bytes on */
	int ld, offset;
} add_case_t;

/**
 * Small whole numbers, positive and negative: sums of all are exact in every
 * type that is added to.
 */
static int value_of(int rank, int row, int col)
{
	return (row * 3 + col * 5 + rank * 7) % 9 - 4;
}

static double sum_of(int ranks, int row, int col)
{
	double sum = (row + col) % 5; /* what stood there */
	for (int r = 0; r < ranks; r++)
		sum += TIMES * value_of(r, row, col);
	return sum;
}

static int add_check(tsr_world_t *world, const add_case_t *c, const unsigned char *seen,
		     size_t elements)
{
	const size_t element = tsr_dtype_bytes(c->to);
	for (size_t i = 0; i < elements; i++) {
		const int in_view = (int)i - c->offset, row = in_view / c->ld,
			  col = in_view % c->ld;
		unsigned char want[8];
		memset(want, POISON, sizeof want);
		if (in_view >= 0 && row < ROWS && col < COLS)
			tsr_dtype_set(c->to, want, 0, sum_of(tsr_world_size(world), row, col));
		CHECK(memcmp(seen + i * element, want, element) == 0,
		      "%s to %s: row %d, column %d, rows %d apart", c->kernel->name,
		      tsr_dtype_name(c->to), row, col, c->ld);
	}
	return 0;
}

static int add_one(tsr_world_t *world, const add_case_t *c)
{
	enum { MOST = (ROWS + 1) * LD_ODD };
	const int me = tsr_world_rank(world);
	const size_t element = tsr_dtype_bytes(c->to), to_bytes = MOST * element;
	const size_t from_bytes = ROWS * COLS * tsr_dtype_bytes(c->from);
	unsigned char host[MOST * 8];
	TSR_HEAP unsigned char *to = poisoned(world, to_bytes, "to"),
			       *from = poisoned(world, from_bytes, "from");
	CHECK(to && from);
	memset(host, POISON, sizeof host);
	for (int i = 0; i < ROWS * COLS; i++)
		tsr_dtype_set(c->to, host, (size_t)(c->offset + i / COLS * c->ld + i % COLS),
			      (i / COLS + i % COLS) % 5);
	CHECK(tsr_memcpy_to_heap(world, to, host, to_bytes) == TSR_OK);
	for (int i = 0; i < ROWS * COLS; i++)
		tsr_dtype_set(c->from, host, (size_t)i, value_of(me, i / COLS, i % COLS));
	CHECK(tsr_memcpy_to_heap(world, from, host, from_bytes) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK); /* everybody's memory holds what is added to */
	add_args_t a = {
		.to = {to + (size_t)c->offset * element, ROWS, COLS, c->ld, c->to, TSR_SPACE_HEAP},
		.from = {from, ROWS, COLS, COLS, c->from, TSR_SPACE_HEAP}};
	CHECK(run_kernel(world, c->kernel, 2, &a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK); /* all have added */
	CHECK(tsr_memcpy_from_heap(world, host, to, to_bytes) == TSR_OK);
	const int failed = add_check(world, c, host, MOST);
	CHECK(tsr_heap_free(world, to) == TSR_OK && tsr_heap_free(world, from) == TSR_OK);
	return failed;
}

static int add_body(tsr_world_t *world, int argc, char **argv)
{
	const add_case_t cases[] = {
		{&add_all_by_blocks_f32, TSR_F32, TSR_F32, LD_EVEN, 0},
		{&add_all_by_blocks_f32, TSR_F32, TSR_F32, LD_ODD, 1},
		{&add_all_by_blocks_f32, TSR_I8, TSR_F16, LD_EVEN, 0},
		{&add_all_by_blocks_f16, TSR_F16, TSR_F16, LD_ODD, 3},
		{&add_all_by_blocks_bf16, TSR_BF16, TSR_BF16, LD_EVEN, 0},
		{&add_all_by_blocks_bf16, TSR_F32, TSR_BF16, LD_ODD, 1},
		{&add_all_by_blocks_bf16, TSR_F32, TSR_BF16, LD_EVEN, 2},
		{&add_all_by_blocks_f64, TSR_F64, TSR_F32, COLS, 2},
		{&add_all_by_blocks_f64, TSR_F64, TSR_BF16, LD_EVEN, 0},
		{&add_all_by_blocks_i32, TSR_I32, TSR_F16, LD_EVEN, 8},
		{&add_all_by_workers, TSR_F32, TSR_BF16, LD_EVEN, 0},
		{&add_all_together, TSR_F32, TSR_F32, LD_EVEN, 4},
	};
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (add_one(world, &cases[i]))
			return 1;
	return 0;
}

Test(adds, every_rank_adds_to_every_rank)
{
	world_each(add_body, NULL);
}

/* ------------------------------------------------------ roundings, of one adder: addend and sum */

enum { NUMBERS = 24 };

typedef struct round_args {
	tsr_view_t to, from;
	int32_t peer, reserved;
} round_args_t;

TSR_TILE(line, f32, 1, 32, 16);

TSR_KERNEL(add_once, round_args_t, a)
{
	const tsr_pos_t at = {0, 0};
	TSR_FRAG(line, frag, block);
	tsr_load(block, frag, a->from, at, tsr_rank(block));
	tsr_store_add(block, a->to, at, frag, a->peer);
}

/** Ties and their neighbours, what cancels, and what no 16 bits hold. */
static float number_of(int rank, int i)
{
	static const float numbers[] = {0,      -0.0f, 1.00390625f, 1.01171875f, -1.00390626f,
					300.5f, 2049,  3.1415927f,  -65504,      70000,
					1e-3f};
	return numbers[(i + rank) % 11] * (float)(1 + i / 11);
}

static int round_one(tsr_world_t *world, tsr_dtype_t dtype)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world), adder = size - 1,
		  peer = size / 2;
	const size_t element = tsr_dtype_bytes(dtype);
	unsigned char host[NUMBERS * 4], want[NUMBERS * 4];
	float from[NUMBERS];
	TSR_HEAP void *to_heap = poisoned(world, NUMBERS * element, "to"),
		      *from_heap = poisoned(world, sizeof from, "from");
	CHECK(to_heap && from_heap);
	for (int i = 0; i < NUMBERS; i++) {
		from[i] = number_of(me + 3, i);
		tsr_dtype_set(dtype, host, (size_t)i, number_of(me, i));
		memcpy(want, host, sizeof host);
	}
	for (int i = 0; i < NUMBERS && me == peer; i++) {
		unsigned char addend[4];
		tsr_dtype_set(dtype, addend, 0, number_of(adder + 3, i));
		const float sum = (float)tsr_dtype_get(dtype, host, (size_t)i) +
				  (float)tsr_dtype_get(dtype, addend, 0);
		tsr_dtype_set(dtype, want, (size_t)i, sum);
	}
	CHECK(tsr_memcpy_to_heap(world, to_heap, host, NUMBERS * element) == TSR_OK);
	CHECK(tsr_memcpy_to_heap(world, from_heap, from, sizeof from) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	const round_args_t a = {.to = {to_heap, 1, NUMBERS, NUMBERS, dtype, TSR_SPACE_HEAP},
				.from = {from_heap, 1, NUMBERS, NUMBERS, TSR_F32, TSR_SPACE_HEAP},
				.peer = peer,
				.reserved = 0};
	if (me == adder)
		CHECK(run_kernel(world, &add_once, 1, &a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, host, to_heap, NUMBERS * element) == TSR_OK);
	for (int i = 0; i < NUMBERS; i++)
		CHECK(tsr_dtype_get(dtype, host, (size_t)i) ==
			      tsr_dtype_get(dtype, want, (size_t)i),
		      "%s, number %d: %.9g, not %.9g", tsr_dtype_name(dtype), i,
		      tsr_dtype_get(dtype, host, (size_t)i), tsr_dtype_get(dtype, want, (size_t)i));
	CHECK(tsr_heap_free(world, to_heap) == TSR_OK && tsr_heap_free(world, from_heap) == TSR_OK);
	return 0;
}

static int round_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	return round_one(world, TSR_F32) || round_one(world, TSR_F16) || round_one(world, TSR_BF16);
}

Test(adds, addend_and_sum_are_rounded_to_the_view)
{
	world_each(round_body, NULL);
}

/* ------------------------------------------------------ the sum, read behind everybody's signal */

enum { ROUNDS = 3, PART_ROWS = 5, PART_COLS = 11 };

typedef struct sum_args {
	/* ROUNDS x PART_ROWS x PART_COLS, cleared: a part for each round */
	TSR_HEAP float *parts;
	TSR_HEAP float *sums; /* the same, stored by the kernel that has read them */
	/* a count for each round: a rank may be a round ahead of another */
	TSR_HEAP uint64_t *added;
} sum_args_t;

TSR_TILE(part, f32, 8, 12, 4);

TSR_FN float by_rank(float x, int64_t row, int64_t col, const void *ctx)
{
	(void)x;
	return (float)(*(const int32_t *)ctx * 100 + (int)row * 10 + (int)col);
}

/*
 * Partner of the wait: every rank's signal, which releases its adds. Litmus:
 * MP.count.diffGPU-sss, CoINC.rlx.diffGPU-ss.
 */
TSR_KERNEL(sum_up, sum_args_t, a)
{
	const tsr_pos_t at = {0, 0};
	const int32_t me = tsr_rank(block);
	TSR_FRAG(part, x, block);
	for (int round = 0; round < ROUNDS; round++) {
		const int64_t first = round * PART_ROWS * PART_COLS;
		const tsr_view_t part =
			tsr_view(a->parts + first, TSR_F32, PART_ROWS, PART_COLS, PART_COLS);
		tsr_frag_map(block, x, at, by_rank, &me);
		for (int i = 0; i < tsr_size(block); i++) {
			tsr_store_add(block, part, at, x, tsr_peer(block, i));
			tsr_signal(block, a->added + round, 1, TSR_SIGNAL_ADD, tsr_peer(block, i));
		}
		if (tsr_wait(block, a->added + round, (uint64_t)tsr_size(block), TSR_ANY_RANK) !=
		    TSR_WAIT_OK)
			return;
		tsr_load(block, x, part, at, me);
		tsr_store(block,
			  tsr_view(a->sums + first, TSR_F32, PART_ROWS, PART_COLS, PART_COLS), at,
			  x, me);
	}
}

static int sum_body(tsr_world_t *world, int argc, char **argv)
{
	enum { ELEMENTS = ROUNDS * PART_ROWS * PART_COLS };
	const int size = tsr_world_size(world);
	float sums[ELEMENTS];
	const sum_args_t a = {zeroed(world, sizeof sums, "parts"),
			      poisoned(world, sizeof sums, "sums"),
			      zeroed(world, ROUNDS * sizeof(uint64_t), "added")};
	(void)argc, (void)argv;
	CHECK(a.parts && a.sums && a.added);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &sum_up, 1, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, sums, a.sums, sizeof sums) == TSR_OK);
	for (int i = 0; i < ELEMENTS; i++) {
		const int row = i / PART_COLS % PART_ROWS, col = i % PART_COLS;
		const float want = (float)(size * (size - 1) / 2 * 100 + size * (row * 10 + col));
		CHECK(sums[i] == want, "round %d, row %d, column %d: %g, not %g",
		      i / (PART_ROWS * PART_COLS), row, col, (double)sums[i], (double)want);
	}
	CHECK(tsr_barrier(world) == TSR_OK);
	return 0;
}

Test(adds, sums_are_read_behind_signals)
{
	world_each(sum_body, NULL);
}
