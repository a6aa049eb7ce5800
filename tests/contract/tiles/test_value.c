/* Value family and tiles: conversion, edges, masks, arithmetic on fragments. */
#include "tests/contract/tiles/moved.h"

enum { ROWS = 21, COLS = 19, LD = 24, SIDE = 16, FROM_LD = 23 };

typedef struct through_args {
	/* the from view of `from_rank` goes to the to view of `to_rank`, tile by tile */
	tsr_view_t to, from;
	int32_t from_rank, to_rank, masked, reserved;
} through_args_t;

enum { EVERYWHERE = -1 }; /* as to_rank: every rank */

TSR_FN int checkered(int64_t row, int64_t col, const void *ctx)
{
	(void)ctx;
	return (row + col) % 3 != 0;
}

#define THROUGH(dtype_)                                                                        \
	TSR_TILE(through_##dtype_, dtype_, SIDE, SIDE, 16);                                    \
	TSR_KERNEL(go_through_##dtype_, through_args_t, a)                                     \
	{                                                                                      \
		int64_t tiles_n = tsr_tiles(a->to.cols, SIDE);                                 \
		for (int64_t i = tsr_block_index(block);                                       \
		     i < tsr_tiles(a->to.rows, SIDE) * tiles_n; i += tsr_block_count(block)) { \
			tsr_pos_t at = {i / tiles_n * SIDE, i % tiles_n * SIDE};               \
			TSR_FRAG(through_##dtype_, frag, block);                               \
			if (a->masked) {                                                       \
				tsr_load_masked(block, frag, a->from, at, checkered,           \
						(const void *)0, 77, a->from_rank);            \
				tsr_store_masked(block, a->to, at, frag, checkered,            \
						 (const void *)0, a->to_rank);                 \
			} else {                                                               \
				tsr_load(block, frag, a->from, at, a->from_rank);              \
				if (a->to_rank == EVERYWHERE)                                  \
					tsr_store_all(block, a->to, at, frag);                 \
				else                                                           \
					tsr_store(block, a->to, at, frag, a->to_rank);         \
			}                                                                      \
		}                                                                              \
	}
THROUGH(f64)
THROUGH(f32)
THROUGH(f16)
THROUGH(bf16)
THROUGH(i32)
THROUGH(i8)
THROUGH(u8)

/** Values that need rounding, saturation or a sign, some of them one bit from a tie. */
static double value_of(int rank, int i)
{
	static const double special[] = {0.0,     -1.5, 300.0, -200.0, 1.00390625, 1.01171875,
					 65520.0, 1e-7, 0.1,   2.5,    3.5,        -1e30};
	return i % 3 == 0 ? special[i / 3 % 12] : (double)((i * 37 + rank * 11) % 251) / 4 - 20;
}

/** What must come out: the value as `from` has it, as the fragment holds it, as `to` has it. */
static void expected_bits(const moved_case_t *c, double x, unsigned char bits[8])
{
	unsigned char step[8];
	tsr_dtype_set(c->from, step, 0, x);
	x = tsr_dtype_get(c->from, step, 0);
	tsr_dtype_set(c->held, step, 0, x);
	x = tsr_dtype_get(c->held, step, 0);
	memset(bits, POISON, 8);
	tsr_dtype_set(c->to, bits, 0, x);
}

static int through_check(tsr_world_t *world, const moved_case_t *c, const through_args_t *a,
			 const unsigned char *seen)
{
	size_t element = tsr_dtype_bytes(c->to);
	for (int i = 0; i < ROWS * LD; i++) {
		int row = i / LD, col = i % LD;
		bool here = tsr_world_rank(world) == a->to_rank || a->to_rank == EVERYWHERE;
		bool inside = here && col < COLS && (!a->masked || (row + col) % 3 != 0);
		unsigned char want[8];
		memset(want, POISON, sizeof want);
		if (inside)
			expected_bits(c, value_of(a->from_rank, row * FROM_LD + col), want);
		CHECK(memcmp(seen + (size_t)i * element, want, element) == 0,
		      "%s: %s to %s, row %d col %d, masked %d", c->kernel->name,
		      tsr_dtype_name(c->from), tsr_dtype_name(c->to), row, col, a->masked);
	}
	return 0;
}

static int through_one(tsr_world_t *world, const moved_case_t *c, int masked, int to_rank)
{
	static unsigned char hosts[8][ROWS * LD * 8]; /* ranks as threads: one each */
	unsigned char *host = hosts[tsr_world_rank(world)];
	moved_t m;
	if (moved_open(world, c, ROWS * LD, ROWS * FROM_LD, value_of, host, &m))
		return 1;
	const through_args_t a = {.to = {m.to, ROWS, COLS, LD, c->to, TSR_SPACE_HEAP},
				  .from = {m.from, ROWS, COLS, FROM_LD, c->from, TSR_SPACE_HEAP},
				  .from_rank = tsr_world_size(world) - 1,
				  .to_rank = to_rank,
				  .masked = masked};
	return moved_run(world, c, 3, &a, &m, host) || through_check(world, c, &a, host);
}

static int through_body(tsr_world_t *world, int argc, char **argv)
{
	const moved_case_t cases[] = {
		{&go_through_f32, TSR_F32, TSR_F32, TSR_F32},
		{&go_through_f32, TSR_F32, TSR_F32, TSR_BF16},
		{&go_through_f32, TSR_F32, TSR_F32, TSR_F16},
		{&go_through_bf16, TSR_F32, TSR_BF16, TSR_BF16},
		{&go_through_f16, TSR_F32, TSR_F16, TSR_F16},
		{&go_through_f16, TSR_F32, TSR_F16, TSR_I8},
		{&go_through_f64, TSR_F64, TSR_F64, TSR_F64},
		{&go_through_f64, TSR_F64, TSR_F64, TSR_BF16},
		{&go_through_f64, TSR_F64, TSR_F64, TSR_F16},
		{&go_through_f32, TSR_F32, TSR_F64, TSR_I64},
		{&go_through_i32, TSR_I32, TSR_I32, TSR_I8},
		{&go_through_i32, TSR_I32, TSR_I32, TSR_U8},
		{&go_through_i8, TSR_I32, TSR_I8, TSR_I32},
		{&go_through_u8, TSR_I32, TSR_U8, TSR_F16},
		{&go_through_i32, TSR_I32, TSR_F32, TSR_I32},
		{&go_through_f32, TSR_F32, TSR_I64, TSR_F32},
	};
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (through_one(world, &cases[i], 0, tsr_world_size(world) / 2) ||
		    through_one(world, &cases[i], 1, tsr_world_size(world) / 2) ||
		    through_one(world, &cases[i], 0, EVERYWHERE))
			return 1;
	return 0;
}

Test(value, conversion_edges_and_masks)
{
	world_each(through_body, NULL);
}

/* ------------------------------------------------------------------ hints change no result */

enum { HINTED_ROWS = 33, HINTED_COLS = 40, HINTED_LD = 48 };

typedef struct hinted_args {
	tsr_view_t from, stored, put; /* from: the next rank's */
	TSR_HEAP unsigned char *bytes, *copied;
	int64_t size_bytes;
} hinted_args_t;

TSR_TILE(hinted, f32, 16, 32, 16);

#define HINTED(name_, hint_)                                                                  \
	TSR_KERNEL(hinted_##name_, hinted_args_t, a)                                          \
	{                                                                                     \
		const int me = tsr_rank(block), next = (me + 1) % tsr_size(block);            \
		const int64_t tiles_n = tsr_tiles(HINTED_COLS, 32);                           \
		for (int64_t i = 0; i < tsr_tiles(HINTED_ROWS, 16) * tiles_n; i++) {          \
			const tsr_pos_t at = {i / tiles_n * 16, i % tiles_n * 32};            \
			TSR_FRAG(hinted, frag, block);                                        \
			tsr_load_hint(block, frag, a->from, at, next, hint_);                 \
			tsr_store_hint(block, a->stored, at, frag, next, hint_);              \
		}                                                                             \
		tsr_put_2d_hint(block, a->put, a->from, next, hint_);                         \
		tsr_put_hint(block, a->copied, a->bytes, (size_t)a->size_bytes, next, hint_); \
	}
HINTED(none, TSR_HINT_NONE)
HINTED(stream, TSR_HINT_STREAM)
HINTED(through, TSR_HINT_THROUGH)

/** Whether a matrix holds what came `from` a rank, and poison beside its columns. */
static int hinted_check(tsr_world_t *world, const TSR_HEAP void *heap, int from, const char *what)
{
	float seen[HINTED_ROWS * HINTED_LD], poison;
	memset(&poison, POISON, sizeof poison);
	CHECK(tsr_memcpy_from_heap(world, seen, heap, sizeof seen) == TSR_OK);
	for (int i = 0; i < HINTED_ROWS * HINTED_LD; i++) {
		const float want = i % HINTED_LD < HINTED_COLS ? (float)(from * 10000 + i) : poison;
		CHECK(memcmp(&seen[i], &want, sizeof want) == 0, "%s: row %d, column %d", what,
		      i / HINTED_LD, i % HINTED_LD);
	}
	return 0;
}

static int hinted_one(tsr_world_t *world, const tsr_kernel_t *kernel)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world),
		  before = (me + size - 1) % size;
	float from[HINTED_ROWS * HINTED_LD];
	const size_t bytes = sizeof from;
	TSR_HEAP void *source = poisoned(world, bytes, "source"),
		      *stored = poisoned(world, bytes, "stored");
	TSR_HEAP void *put = poisoned(world, bytes, "put"),
		      *copied = poisoned(world, bytes, "copied");
	CHECK(source && stored && put && copied);
	memset(from, POISON, sizeof from);
	for (int i = 0; i < HINTED_ROWS * HINTED_LD; i++)
		if (i % HINTED_LD < HINTED_COLS)
			from[i] = (float)(me * 10000 + i);
	CHECK(tsr_memcpy_to_heap(world, source, from, bytes) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	const hinted_args_t a = {
		{source, HINTED_ROWS, HINTED_COLS, HINTED_LD, TSR_F32, TSR_SPACE_HEAP},
		{stored, HINTED_ROWS, HINTED_COLS, HINTED_LD, TSR_F32, TSR_SPACE_HEAP},
		{put, HINTED_ROWS, HINTED_COLS, HINTED_LD, TSR_F32, TSR_SPACE_HEAP},
		(TSR_HEAP unsigned char *)source,
		(TSR_HEAP unsigned char *)copied,
		(int64_t)bytes};
	CHECK(run_kernel(world, kernel, 1, &a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	int failed = hinted_check(world, stored, me, "stored") ||
		     hinted_check(world, put, before, "put") ||
		     hinted_check(world, copied, before, "copied");
	CHECK(tsr_heap_free(world, source) == TSR_OK && tsr_heap_free(world, stored) == TSR_OK);
	CHECK(tsr_heap_free(world, put) == TSR_OK && tsr_heap_free(world, copied) == TSR_OK);
	return failed;
}

static int hinted_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	return hinted_one(world, &hinted_none) || hinted_one(world, &hinted_stream) ||
	       hinted_one(world, &hinted_through);
}

Test(value, hints_change_no_result)
{
	world_each(hinted_body, NULL);
}

/* ------------------------------------------------------------------ what a load gives outside */

TSR_TILE(tile, f32, 8, 12, 4);

typedef struct outside_args {
	tsr_view_t small, out;
} outside_args_t;

TSR_KERNEL(load_outside, outside_args_t, a)
{
	tsr_pos_t before = {-2, -3}, origin = {0, 0}, below = {8, 0};
	TSR_FRAG(tile, frag, block);
	tsr_tile_load(block, frag, a->small, before);
	tsr_tile_store(block, a->out, origin, frag);
	tsr_load_masked(block, frag, a->small, before, checkered, (const void *)0, -4.0,
			tsr_rank(block));
	tsr_tile_store(block, a->out, below, frag);
}

static int outside_body(tsr_world_t *world, int argc, char **argv)
{
	float small[5 * 4], out[16 * 12];
	(void)argc, (void)argv;
	outside_args_t a = {
		{poisoned(world, sizeof small, "small"), 5, 4, 4, TSR_F32, TSR_SPACE_HEAP},
		{poisoned(world, sizeof out, "out"), 16, 12, 12, TSR_F32, TSR_SPACE_HEAP}};
	CHECK(a.small.data && a.out.data);
	for (int i = 0; i < 20; i++)
		small[i] = (float)(i + 1);
	CHECK(tsr_memcpy_to_heap(world, a.small.data, small, sizeof small) == TSR_OK);
	CHECK(run_kernel(world, &load_outside, 1, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, out, a.out.data, sizeof out) == TSR_OK);
	for (int i = 0; i < 16 * 12; i++) {
		int row = i / 12 % 8 - 2, col = i % 12 - 3;
		bool inside = row >= 0 && row < 5 && col >= 0 && col < 4, masked = i >= 8 * 12;
		float other = masked ? -4 : 0;
		CHECK(out[i] == (inside && (!masked || (row + col) % 3 != 0) ? small[row * 4 + col]
									     : other),
		      "element %d", i);
	}
	return 0;
}

Test(value, a_load_gives_zero_or_other_outside)
{
	cr_expect(world_run(1, TSR_PLACE_THREAD, outside_body, NULL) == 0);
}

/* ------------------------------------------------------------------ arithmetic */

TSR_FN float at_place(float x, int64_t row, int64_t col, const void *ctx)
{
	return x * *(const float *)ctx + (float)(row * 100 + col);
}

TSR_FN float subtract(float x, float row_value, const void *ctx)
{
	(void)ctx;
	return x - row_value;
}

#define ARITHMETIC(dtype_)                                                       \
	TSR_TILE(sums_##dtype_, dtype_, 8, 12, 4);                               \
	TSR_KERNEL(calculate_##dtype_, outside_args_t, a)                        \
	{                                                                        \
		tsr_pos_t at = {3, 5}, origin = {0, 0}, right = {0, 12};         \
		float scale = 2;                                                 \
		TSR_FRAG(sums_##dtype_, frag, block);                            \
		TSR_FRAG_A(sums_##dtype_, x, block);                             \
		TSR_FRAG_B(sums_##dtype_, y, block);                             \
		TSR_FRAG_ROWS(sums_##dtype_, rows, block);                       \
		tsr_frag_zero(block, frag);                                      \
		tsr_tile_load(block, x, a->small, origin);                       \
		tsr_tile_load(block, y, a->small, origin);                       \
		tsr_tile_dot(block, frag, x, y);                                 \
		tsr_frag_map(block, frag, at, at_place, &scale);                 \
		tsr_tile_store(block, a->out, origin, frag);                     \
		tsr_frag_reduce_rows(block, rows, frag, 7, TSR_REDUCE_MAX);      \
		tsr_frag_map_rows(block, frag, rows, subtract, (const void *)0); \
		tsr_frag_reduce_rows(block, rows, frag, 12, TSR_REDUCE_SUM);     \
		tsr_tile_store(block, a->out, right, rows);                      \
		tsr_frag_reduce_rows(block, rows, frag, 3, TSR_REDUCE_MIN);      \
		right.col = 13;                                                  \
		tsr_tile_store(block, a->out, right, rows);                      \
	}
ARITHMETIC(f32)
ARITHMETIC(f64)
ARITHMETIC(f16)
ARITHMETIC(bf16)
ARITHMETIC(i32)
ARITHMETIC(i8)
ARITHMETIC(u8)

/**
 * Row `row` as the kernel must leave it: 12 products, the sum and the minimum
 * of what is above the maximum.
 */
static void calculate_row(const double small[5 * 4], int row, double want[14])
{
	double above, sum = 0, least;
	for (int col = 0; col < 12; col++) {
		double dot = 0;
		for (int k = 0; k < 4 && row < 5 && col < 4; k++)
			dot += small[row * 4 + k] * small[k * 4 + col];
		want[col] = 2 * dot + (row + 3) * 100 + col + 5;
	}
	above = want[0];
	for (int col = 1; col < 7; col++)
		above = want[col] > above ? want[col] : above;
	for (int col = 0; col < 12; col++)
		sum += want[col] - above;
	least = want[0];
	for (int col = 1; col < 3; col++)
		least = want[col] < least ? want[col] : least;
	want[12] = sum;
	want[13] = least - above;
}

static int calculate_body(tsr_world_t *world, int argc, char **argv)
{
	const moved_case_t cases[] = {
		{&calculate_f32, TSR_F32, TSR_F32, TSR_F32},
		{&calculate_f64, TSR_F64, TSR_F64, TSR_F64},
		{&calculate_f16, TSR_F32, TSR_F16, TSR_F32},
		{&calculate_bf16, TSR_F32, TSR_BF16, TSR_F32},
		{&calculate_i32, TSR_I32, TSR_I32, TSR_I32},
		{&calculate_i8, TSR_I32, TSR_I8, TSR_I32},
		{&calculate_u8, TSR_I32, TSR_U8, TSR_I32},
	};
	double small[5 * 4], want[14];
	unsigned char host[8 * 14 * 8];
	(void)argc, (void)argv;
	TSR_HEAP void *in = poisoned(world, sizeof small, "small"),
		      *out = poisoned(world, sizeof host, "out");
	CHECK(in && out);
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		outside_args_t a = {{in, 5, 4, 4, cases[c].from, TSR_SPACE_HEAP},
				    {out, 8, 14, 14, cases[c].to, TSR_SPACE_HEAP}};
		for (int i = 0; i < 20; i++) {
			small[i] = i % 7 + 1;
			tsr_dtype_set(cases[c].from, host, (size_t)i, small[i]);
		}
		CHECK(tsr_memcpy_to_heap(world, in, host, 20 * tsr_dtype_bytes(cases[c].from)) ==
		      TSR_OK);
		CHECK(run_kernel(world, cases[c].kernel, 1, &a) == TSR_OK);
		CHECK(tsr_memcpy_from_heap(world, host, out,
					   8 * 14 * tsr_dtype_bytes(cases[c].to)) == TSR_OK);
		for (int i = 0; i < 8 * 14; i++) {
			calculate_row(small, i / 14, want);
			double seen = tsr_dtype_get(cases[c].to, host, (size_t)i);
			CHECK(seen == want[i % 14], "%s: row %d, col %d: %g for %g",
			      cases[c].kernel->name, i / 14, i % 14, seen, want[i % 14]);
		}
	}
	return 0;
}

Test(tile, arithmetic_of_every_dtype)
{
	cr_expect(world_run(2, TSR_PLACE_THREAD, calculate_body, NULL) == 0);
}
