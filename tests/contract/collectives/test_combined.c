/*
 * What all ranks have is combined by whoever calls: by blocks and by workers,
 * for one rank or for all, with rows apart, and of f32 also in shorter floats.
 */
#include "tests/contract/contract_test.h"
#include "tests/contract/node_order.h"

#include "tessera/dtype.h"

enum { ROWS = 13, COLS = 29, OFFSET = 5, MOST_LD = 48 };

typedef struct combined_args {
	tsr_view_t dst, src;
	int32_t op, to, alone; /* to: as in the call; alone: that rank combines all rows */
} combined_args_t;

/** Rows in turn: a coop's of all coops, of all ranks if they share the work. */
TSR_FN void combine_rows(tsr_coop_t *coop, const combined_args_t *a, int64_t index, int64_t count)
{
	const int64_t ranks = a->alone < 0 ? tsr_size(coop) : 1,
		      me = a->alone < 0 ? tsr_rank(coop) : 0;
	const int parts = (int)(count * ranks), part = (int)(index * ranks + me);
	if (a->alone < 0 || a->alone == tsr_rank(coop))
		tsr_combine(coop, tsr_view_cut(a->dst, TSR_DIM_ROWS, part, parts),
			    tsr_view_cut(a->src, TSR_DIM_ROWS, part, parts), (tsr_reduce_t)a->op,
			    a->to);
}

TSR_KERNEL(combine_by_blocks, combined_args_t, a)
{
	combine_rows(block, a, tsr_block_index(block), tsr_block_count(block));
}

typedef struct nothing {
	int32_t nothing;
} nothing_t;

TSR_KERNEL_SPLIT(combine_by_workers, 3, nothing_t, combined_args_t, a)
{
	const int workers = tsr_worker_count(worker);
	combine_rows(worker, a, tsr_block_index(block) * workers + tsr_worker_index(worker),
		     (int64_t)tsr_block_count(block) * workers);
}

/* ------------------------------------------------------------------ what must come out */

typedef struct combined_case {
	tsr_dtype_t src, dst;
	int src_ld, dst_ld, in_place;
} combined_case_t;

/** Numbers whose sums tell the order of the ranks; of integers small ones. */
static double value_of(tsr_dtype_t dtype, int rank, int at)
{
	const uint32_t mixed = ((uint32_t)at * 2654435761u ^ (uint32_t)rank * 40503u) * 2246822519u;
	const bool whole = dtype == TSR_I32 || dtype == TSR_I8;
	return whole ? (double)((int)(mixed >> 16) % 11 - 5)
		     : ((double)(mixed >> 12 & 0xffff) - 32768) / (double)(1 << mixed % 12);
}

/** An element of all ranks. */
typedef struct element {
	tsr_dtype_t dtype;
	int at;
} element_t;

static double element_of(const void *ctx, int rank)
{
	const element_t *e = (const element_t *)ctx;
	unsigned char bits[8];
	tsr_dtype_set(e->dtype, bits, 0, value_of(e->dtype, rank, e->at));
	return tsr_dtype_get(e->dtype, bits, 0);
}

/** In f32 but for f64, and rounded once to the bits of the result. */
static void result_of(tsr_world_t *world, const combined_case_t *c, int op, int at,
		      unsigned char bits[8])
{
	const node_order_t order = node_order_of(tsr_world_team(world));
	const element_t element = {c->src, at};
	tsr_dtype_set(c->dst, bits, 0,
		      node_order_result(&order, (tsr_reduce_t)op,
					c->src == TSR_F64 ? TSR_F64 : TSR_F32, element_of,
					&element));
}

/** Elements from OFFSET on, rows `ld` apart; poison around them. */
static size_t bytes_of(tsr_dtype_t dtype, int ld)
{
	return (size_t)(2 * OFFSET + ROWS * ld) * tsr_dtype_bytes(dtype);
}

static tsr_view_t view_of(TSR_HEAP void *data, tsr_dtype_t dtype, int ld)
{
	return tsr_view((TSR_HEAP unsigned char *)data + OFFSET * tsr_dtype_bytes(dtype), dtype,
			ROWS, COLS, ld);
}

static int dst_check(tsr_world_t *world, const combined_case_t *c, int op, bool written,
		     const unsigned char *seen)
{
	const int me = tsr_world_rank(world);
	const size_t element = tsr_dtype_bytes(c->dst);
	for (int i = 0; i < 2 * OFFSET + ROWS * c->dst_ld; i++) {
		const int row = (i - OFFSET) / c->dst_ld, col = (i - OFFSET) % c->dst_ld;
		const bool inside = i >= OFFSET && row < ROWS && col < COLS;
		unsigned char want[8];
		memset(want, POISON, sizeof want);
		if (inside && written)
			result_of(world, c, op, row * COLS + col, want);
		else if (inside && c->in_place)
			tsr_dtype_set(c->src, want, 0, value_of(c->src, me, row * COLS + col));
		CHECK(memcmp(seen + (size_t)i * element, want, element) == 0,
		      "%s to %s, operation %d: row %d, column %d", tsr_dtype_name(c->src),
		      tsr_dtype_name(c->dst), op, row, col);
	}
	return 0;
}

/** `to`: as in the call; `alone`: -1, or the rank that does all of it. */
static int combined_one(tsr_world_t *world, const combined_case_t *c, const tsr_kernel_t *kernel,
			int op, int to, int alone)
{
	const int me = tsr_world_rank(world);
	const size_t src_bytes = bytes_of(c->src, c->src_ld),
		     dst_bytes = bytes_of(c->dst, c->dst_ld);
	unsigned char host[(2 * OFFSET + ROWS * MOST_LD) * 8];
	TSR_HEAP void *src = poisoned(world, src_bytes, "src"),
		      *apart = poisoned(world, dst_bytes, "dst"), *dst = c->in_place ? src : apart;
	CHECK(src && apart);
	memset(host, POISON, sizeof host);
	for (int i = 0; i < ROWS * COLS; i++)
		tsr_dtype_set(c->src, host, (size_t)(OFFSET + i / COLS * c->src_ld + i % COLS),
			      value_of(c->src, me, i));
	CHECK(tsr_memcpy_to_heap(world, src, host, src_bytes) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	const combined_args_t a = {view_of(dst, c->dst, c->dst_ld), view_of(src, c->src, c->src_ld),
				   op, to, alone};
	CHECK(run_kernel(world, kernel, 2, &a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, host, dst, dst_bytes) == TSR_OK);
	const int failed = dst_check(world, c, op, to == TSR_ANY_RANK || to == me, host);
	CHECK(tsr_heap_free(world, src) == TSR_OK && tsr_heap_free(world, apart) == TSR_OK);
	return failed;
}

static int combined_body(tsr_world_t *world, int argc, char **argv)
{
	static const combined_case_t cases[] = {
		{TSR_F32, TSR_BF16, 32, 40, 0}, {TSR_F32, TSR_F16, 31, 33, 0},
		{TSR_F32, TSR_BF16, 29, 29, 0}, {TSR_F32, TSR_F32, 32, 36, 0},
		{TSR_F32, TSR_F32, 36, 36, 1},  {TSR_BF16, TSR_BF16, 40, 32, 0},
		{TSR_F16, TSR_F16, 31, 31, 1},  {TSR_F64, TSR_F64, 30, 32, 0},
		{TSR_I32, TSR_I32, 32, 32, 1},  {TSR_I8, TSR_I8, 48, 32, 0},
	};
	const int last = tsr_world_size(world) - 1;
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const int op = (int)(i % 3);
		const tsr_kernel_t *kernel = i % 2 ? &combine_by_workers : &combine_by_blocks;
		if (combined_one(world, &cases[i], kernel, TSR_REDUCE_SUM, TSR_ANY_RANK, -1) ||
		    combined_one(world, &cases[i], kernel, op, last, -1) ||
		    combined_one(world, &cases[i], kernel, op, 0, last))
			return 1;
	}
	return 0;
}

Test(combined, whoever_calls_combines_what_all_ranks_have)
{
	world_each(combined_body, NULL);
}
