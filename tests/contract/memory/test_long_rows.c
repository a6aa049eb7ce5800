/*
 * Puts and gets of long rows by a block that also multiplies. A backend may hand
 * them to a copy engine, through the shared memory that the main loop uses before
 * and after.
 */
#include "tests/contract/contract_test.h"

#include "tessera/dtype.h"

TSR_TILE(long_rows, bf16, 128, 128, 64);

enum { EXTENT = 70, BLOCKS = 2 }; /* of the product, in each dimension: one tile */

typedef struct long_args {
	tsr_view_t to, from; /* elements of 16 bits */
	tsr_view_t a, b, c;
	int32_t gets, reserved;
} long_args_t;

TSR_FN tsr_part_t long_order(int64_t task, const void *ctx)
{
	const tsr_pos_t at = {0, 0};
	(void)task, (void)ctx;
	return tsr_whole(at);
}

TSR_FN void long_store(tsr_coop_t *me, long_rows_frag_t *sums, tsr_pos_t at, void *ctx)
{
	tsr_tile_store(me, ((const long_args_t *)ctx)->c, at, sums);
}

TSR_FN void long_multiply(tsr_coop_t *block, const long_args_t *a)
{
	const tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block), 1};
	tsr_gemm(long_rows, block, a->a, a->b, tasks, long_order, TSR_NO_GATE, long_store,
		 (void *)a);
}

/** Each block has some of the rows. It multiplies before it moves them and again behind. */
TSR_KERNEL(long_move, long_args_t, a)
{
	const int index = tsr_block_index(block), count = tsr_block_count(block),
		  next = tsr_peer(block, 1 % tsr_size(block));
	const tsr_view_t to = tsr_view_cut(a->to, TSR_DIM_ROWS, index, count),
			 from = tsr_view_cut(a->from, TSR_DIM_ROWS, index, count);
	long_args_t copy = *a;
	long_multiply(block, &copy);
	if (a->gets)
		tsr_get_2d(block, to, from, next);
	else
		tsr_put_2d(block, to, from, next);
	long_multiply(block, &copy);
}

/** How the rows lie: both sides begin `offset` elements into 16 bytes, and are `ld` apart. */
typedef struct rows {
	int64_t rows, cols;
	int to_more, from_more, offset; /* ld beside the columns; elements before the first row */
} rows_t;

static unsigned short element_of(int rank, int64_t index)
{
	return (unsigned short)(rank * 977 + index * 13 + 5);
}

static int fill_rows(tsr_world_t *world, TSR_HEAP void *from, size_t elements)
{
	unsigned short *values = (unsigned short *)malloc(elements * sizeof *values);
	CHECK(values);
	for (size_t i = 0; i < elements; i++)
		values[i] = element_of(tsr_world_rank(world), (int64_t)i);
	CHECK(tsr_memcpy_to_heap(world, from, values, elements * sizeof *values) == TSR_OK);
	free(values);
	return 0;
}

/** Whether the rows of rank `source` are here, and POISON is beside them. */
static int check_rows(tsr_world_t *world, const rows_t *r, const TSR_HEAP void *to, size_t elements,
		      int source)
{
	const int64_t to_ld = r->cols + r->to_more, from_ld = r->cols + r->from_more;
	unsigned short *seen = (unsigned short *)malloc(elements * sizeof *seen);
	CHECK(seen && tsr_memcpy_from_heap(world, seen, to, elements * sizeof *seen) == TSR_OK);
	for (size_t i = 0; i < elements; i++) {
		const int64_t at = (int64_t)i - r->offset, row = at / to_ld, col = at % to_ld;
		const int inside = at >= 0 && row < r->rows && col < r->cols;
		const unsigned short want =
			inside ? element_of(source, r->offset + row * from_ld + col)
			       : (unsigned short)(POISON << 8 | POISON);
		CHECK(seen[i] == want, "%d x %d, %d and %d apart, %d before: row %d, column %d",
		      (int)r->rows, (int)r->cols, (int)to_ld, (int)from_ld, r->offset, (int)row,
		      (int)col);
	}
	free(seen);
	return 0;
}

/** A is all ones and B all twos, so C is twice the depth. */
static int fill_factor(tsr_world_t *world, tsr_view_t view, double x)
{
	unsigned short values[EXTENT * EXTENT];
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		tsr_dtype_set(TSR_BF16, values, i, x);
	CHECK(tsr_memcpy_to_heap(world, view.data, values, sizeof values) == TSR_OK);
	return 0;
}

static int check_product(tsr_world_t *world, tsr_view_t view)
{
	unsigned short values[EXTENT * EXTENT];
	CHECK(tsr_memcpy_from_heap(world, values, view.data, sizeof values) == TSR_OK);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		CHECK(tsr_dtype_get(TSR_BF16, values, i) == 2.0 * EXTENT, "element %d of C",
		      (int)i);
	return 0;
}

static int moved(tsr_world_t *world, const rows_t *r, int gets)
{
	const int size = tsr_world_size(world), me = tsr_world_rank(world);
	const int64_t to_ld = r->cols + r->to_more, from_ld = r->cols + r->from_more;
	const size_t to_elements = (size_t)(r->offset + r->rows * to_ld),
		     from_elements = (size_t)(r->offset + r->rows * from_ld),
		     factor = EXTENT * EXTENT * sizeof(unsigned short);
	TSR_HEAP unsigned short *to = poisoned(world, to_elements * sizeof *to, "to"),
				*from = poisoned(world, from_elements * sizeof *from, "from");
	TSR_HEAP unsigned char *factors = poisoned(world, 3 * factor, "factors");
	CHECK(to && from && factors);
	const long_args_t a = {
		.to = {to + r->offset, r->rows, r->cols, to_ld, TSR_BF16, TSR_SPACE_HEAP},
		.from = {from + r->offset, r->rows, r->cols, from_ld, TSR_BF16, TSR_SPACE_HEAP},
		.a = {factors, EXTENT, EXTENT, EXTENT, TSR_BF16, TSR_SPACE_HEAP},
		.b = {factors + factor, EXTENT, EXTENT, EXTENT, TSR_BF16, TSR_SPACE_HEAP},
		.c = {factors + 2 * factor, EXTENT, EXTENT, EXTENT, TSR_BF16, TSR_SPACE_HEAP},
		.gets = gets};
	CHECK(fill_rows(world, from, from_elements) == 0);
	CHECK(fill_factor(world, a.a, 1) == 0 && fill_factor(world, a.b, 2) == 0);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &long_move, BLOCKS, &a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(check_rows(world, r, to, to_elements, (me + (gets ? 1 : size - 1)) % size) == 0);
	CHECK(check_product(world, a.c) == 0);
	CHECK(tsr_heap_free(world, factors) == TSR_OK && tsr_heap_free(world, from) == TSR_OK &&
	      tsr_heap_free(world, to) == TSR_OK);
	return 0;
}

/*
 * Without gaps and with them; whole pieces of an engine's copies and others; rows
 * that begin at no multiple of 16 bytes, or are too short.
 */
static int long_body(tsr_world_t *world, int argc, char **argv)
{
	const rows_t cases[] = {{40, 2048, 0, 0, 0},  {40, 2048, 8, 24, 8}, {5, 24592, 8, 8, 0},
				{3, 32768, 0, 64, 0}, {40, 2047, 1, 1, 0},  {40, 2048, 8, 8, 1},
				{70, 1000, 0, 0, 8},  {1, 70000, 0, 0, 0}};
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int gets = 0; gets < 2; gets++)
			CHECK(moved(world, &cases[i], gets) == 0);
	return 0;
}

Test(long_rows, rows_move_beside_products)
{
	world_each(long_body, NULL);
}
