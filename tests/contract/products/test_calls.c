/*
 * Products as calls of a library (tessera/products.h): every kind, with matrices
 * of the product's own and of the caller's, on one stream and on several; and
 * what is refused.
 */
#include "tessera/products.h"
#include "world_test.h"

/** Elements by position: whole numbers, so that all sums are exact in every dtype. */
static int element(int matrix, int64_t row, int64_t col, int run)
{
	return (int)((row * 7 + col * 3 + run + matrix) % 5) - 2;
}

typedef struct shape {
	int64_t m, n, k;
} shape_t;

/** A matrix of a test: this rank's part, and where it is. */
typedef struct operand {
	tsr_product_part_t part;
	tsr_view_t view;
	TSR_HEAP void *memory; /* null: the product's own */
} operand_t;

typedef struct test_product {
	tsr_product_desc_t desc;
	tsr_product_t *product;
	operand_t operand[3];
} test_product_t;

/** Memory for a matrix of the caller's: rows three elements longer than they need be. */
static int bring(tsr_world_t *world, test_product_t *test, int matrix)
{
	operand_t *o = &test->operand[matrix];
	const int64_t rows = o->part.in_place ? o->part.rows : o->part.part_rows,
		      cols = o->part.in_place ? o->part.cols : o->part.part_cols,
		      ld = o->part.cols + 3;
	const size_t bytes = (size_t)(o->part.rows * ld) * tsr_dtype_bytes(test->desc.dtype);
	CHECK(tsr_heap_alloc(world, bytes, 0, "operand", &o->memory) == TSR_OK);
	o->view = (tsr_view_t){.data = o->memory,
			       .rows = rows,
			       .cols = cols,
			       .ld = ld,
			       .dtype = test->desc.dtype,
			       .space = TSR_SPACE_HEAP};
	return 0;
}

static int make(tsr_world_t *world, test_product_t *test)
{
	CHECK(tsr_product_create(world, &test->desc, &test->product) == TSR_OK);
	CHECK(tsr_product_pattern(test->product) != NULL);
	if (test->desc.pattern)
		CHECK(strcmp(tsr_product_pattern(test->product), test->desc.pattern) == 0);
	for (int i = 0; i < 3; i++) {
		const tsr_product_matrix_t matrix = (tsr_product_matrix_t)(1 << i);
		operand_t *o = &test->operand[i];
		o->part = (tsr_product_part_t){.size = sizeof o->part};
		o->memory = NULL;
		CHECK(tsr_product_part(test->product, matrix, &o->part) == TSR_OK);
		if ((test->desc.given >> i & 1) != 0) {
			CHECK(tsr_product_view(test->product, matrix, &o->view) ==
			      TSR_ERR_ARGUMENT);
			CHECK(bring(world, test, i) == 0);
		} else {
			CHECK(tsr_product_view(test->product, matrix, &o->view) == TSR_OK);
		}
		CHECK(o->view.rows == (o->part.in_place ? o->part.rows : o->part.part_rows));
		CHECK(o->view.cols == (o->part.in_place ? o->part.cols : o->part.part_cols));
	}
	return 0;
}

/** The place in the heap of an element of this rank's part. */
static TSR_HEAP char *place(const operand_t *o, int64_t row, int64_t col)
{
	const int64_t r = row + (o->part.in_place ? o->part.first_row : 0),
		      c = col + (o->part.in_place ? o->part.first_col : 0);
	return (TSR_HEAP char *)o->view.data +
	       (r * o->view.ld + c) * (int64_t)tsr_dtype_bytes((tsr_dtype_t)o->view.dtype);
}

static int fill(tsr_world_t *world, const test_product_t *test, int matrix, int run)
{
	const operand_t *o = &test->operand[matrix];
	const tsr_dtype_t dtype = test->desc.dtype;
	char row[8 * 256];
	for (int64_t i = 0; o->part.part_cols > 0 && i < o->part.part_rows; i++) {
		for (int64_t j = 0; j < o->part.part_cols; j++)
			tsr_dtype_set(dtype, row, (size_t)j,
				      element(matrix, o->part.first_row + i, o->part.first_col + j,
					      run));
		CHECK(tsr_memcpy_to_heap(world, place(o, i, 0), row,
					 (size_t)o->part.part_cols * tsr_dtype_bytes(dtype)) ==
		      TSR_OK);
	}
	return 0;
}

/** C is what A and B of this run give, in this rank's part. */
static int verify(tsr_world_t *world, const test_product_t *test, int run)
{
	const operand_t *c = &test->operand[2];
	const tsr_dtype_t dtype = test->desc.dtype;
	char row[8 * 256];
	for (int64_t i = 0; c->part.part_cols > 0 && i < c->part.part_rows; i++) {
		CHECK(tsr_memcpy_from_heap(world, row, place(c, i, 0),
					   (size_t)c->part.part_cols * tsr_dtype_bytes(dtype)) ==
		      TSR_OK);
		for (int64_t j = 0; j < c->part.part_cols; j++) {
			int sum = 0;
			for (int64_t k = 0; k < test->desc.k; k++)
				sum += element(0, c->part.first_row + i, k, run) *
				       element(1, k, c->part.first_col + j, run);
			CHECK(tsr_dtype_get(dtype, row, (size_t)j) == sum,
			      "run %d, row %lld, column %lld: %g, not %d", run, (long long)i,
			      (long long)j, tsr_dtype_get(dtype, row, (size_t)j), sum);
		}
	}
	return 0;
}

static const tsr_view_t *given(const test_product_t *test, int matrix)
{
	return (test->desc.given >> matrix & 1) != 0 ? &test->operand[matrix].view : NULL;
}

static int run(tsr_world_t *world, test_product_t *test, tsr_stream_t *stream)
{
	CHECK(tsr_product_run(test->product, stream, given(test, 0), given(test, 1),
			      given(test, 2)) == TSR_OK);
	return 0;
}

/** Two runs with other values, on two streams. */
static int run_twice(tsr_world_t *world, test_product_t *test)
{
	tsr_stream_t *streams[2];
	for (int i = 0; i < 2; i++)
		CHECK(tsr_stream_create(tsr_world_team(world), &streams[i]) == TSR_OK);
	for (int i = 0; i < 2; i++) {
		for (int matrix = 0; matrix < 2; matrix++)
			CHECK(fill(world, test, matrix, i) == 0);
		CHECK(run(world, test, streams[i]) == 0);
		CHECK(tsr_stream_sync(streams[i]) == TSR_OK);
		CHECK(verify(world, test, i) == 0);
	}
	for (int i = 0; i < 2; i++)
		CHECK(tsr_stream_destroy(streams[i]) == TSR_OK);
	return 0;
}

static int end(tsr_world_t *world, test_product_t *test)
{
	CHECK(tsr_product_destroy(test->product) == TSR_OK);
	for (int i = 0; i < 3; i++)
		if (test->operand[i].memory)
			CHECK(tsr_heap_free(world, test->operand[i].memory) == TSR_OK);
	return 0;
}

static int try_one(tsr_world_t *world, tsr_product_desc_t desc)
{
	test_product_t test = {.desc = desc};
	CHECK(make(world, &test) == 0);
	CHECK(run_twice(world, &test) == 0, "kind %d, given %u, gather %d, %s", desc.kind,
	      desc.given, desc.gather, tsr_product_pattern(test.product));
	return end(world, &test);
}

static int every_kind(tsr_world_t *world, int argc, char **argv)
{
	static const shape_t shapes[] = {{33, 40, 19}, {3, 5, 7}};
	static const tsr_dtype_t dtypes[] = {TSR_F32, TSR_BF16};
	static const unsigned givens[] = {0, TSR_PRODUCT_A | TSR_PRODUCT_B | TSR_PRODUCT_C};
	(void)argc, (void)argv;
	for (int kind = TSR_PRODUCT_GEMM_ALL_SCATTER; kind <= TSR_PRODUCT_GEMM_ALL_REDUCE; kind++)
		for (int i = 0; i < 2; i++) {
			const tsr_product_desc_t desc = {.size = sizeof desc,
							 .kind = (tsr_product_kind_t)kind,
							 .m = shapes[i].m,
							 .n = shapes[i].n,
							 .k = shapes[i].k,
							 .dtype = dtypes[i],
							 .given = givens[1 - i]};
			CHECK(try_one(world, desc) == 0);
		}
	return 0;
}

Test(product_calls, every_kind_with_own_matrices_and_given_ones)
{
	world_each(every_kind, NULL);
}

static int every_gathering(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	for (int gather = TSR_GATHER_A_BY_ROWS; gather <= TSR_GATHER_B_BY_ROWS; gather++)
		for (int own = 0; own < 2; own++) {
			const tsr_product_desc_t desc = {
				.size = sizeof desc,
				.kind = TSR_PRODUCT_ALL_GATHER_GEMM,
				.m = 21,
				.n = 18,
				.k = 17,
				.dtype = TSR_F16,
				.given = own ? TSR_PRODUCT_B : TSR_PRODUCT_A | TSR_PRODUCT_C,
				.gather = (tsr_gather_t)gather,
				.pattern = own ? "pull" : "push"};
			CHECK(try_one(world, desc) == 0);
		}
	return 0;
}

Test(product_calls, every_way_to_gather)
{
	world_each(every_gathering, NULL);
}

/** Three runs follow each other without a wait, each with a C of its own, on two streams. */
static int in_flight(tsr_world_t *world, int argc, char **argv)
{
	test_product_t test = {.desc = {.size = sizeof test.desc,
					.kind = TSR_PRODUCT_GEMM_ALL_SCATTER,
					.m = 17,
					.n = 23,
					.k = 9,
					.dtype = TSR_F32,
					.given = TSR_PRODUCT_C}};
	tsr_stream_t *streams[2];
	operand_t c[3];
	(void)argc, (void)argv;
	CHECK(make(world, &test) == 0);
	c[0] = test.operand[2];
	for (int i = 1; i < 3; i++) {
		CHECK(bring(world, &test, 2) == 0);
		c[i] = test.operand[2];
	}
	for (int i = 0; i < 2; i++)
		CHECK(tsr_stream_create(tsr_world_team(world), &streams[i]) == TSR_OK);
	CHECK(fill(world, &test, 0, 0) == 0 && fill(world, &test, 1, 0) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(tsr_product_run(test.product, streams[i % 2], NULL, NULL, &c[i].view) ==
		      TSR_OK);
	for (int i = 0; i < 2; i++)
		CHECK(tsr_stream_sync(streams[i]) == TSR_OK);
	for (int i = 0; i < 3; i++) {
		test.operand[2] = c[i];
		CHECK(verify(world, &test, 0) == 0, "C of run %d", i);
	}
	for (int i = 0; i < 2; i++)
		CHECK(tsr_stream_destroy(streams[i]) == TSR_OK);
	CHECK(tsr_heap_free(world, c[0].memory) == TSR_OK);
	CHECK(tsr_heap_free(world, c[1].memory) == TSR_OK);
	return end(world, &test);
}

Test(product_calls, runs_follow_each_other_on_several_streams)
{
	world_each(in_flight, NULL);
}

/* ------------------------------------------------------------ what is refused */

static int refuse(tsr_world_t *world, tsr_product_desc_t desc, tsr_status_t status,
		  const char *words)
{
	tsr_product_t *product = NULL;
	CHECK(tsr_product_create(world, &desc, &product) == status, "%s", words);
	CHECK(strstr(tsr_last_error(), words) != NULL, "%s", words);
	CHECK(product == NULL);
	return 0;
}

static const tsr_product_desc_t good = {.size = sizeof good,
					.kind = TSR_PRODUCT_GEMM_REDUCE_SCATTER,
					.m = 16,
					.n = 16,
					.k = 16,
					.dtype = TSR_F32,
					.given = TSR_PRODUCT_A};

static int bad_descriptions(tsr_world_t *world, int argc, char **argv)
{
	tsr_product_desc_t desc = good;
	(void)argc, (void)argv;
	desc.kind = (tsr_product_kind_t)9;
	CHECK(refuse(world, desc, TSR_ERR_ARGUMENT, "9 is no kind of product") == 0);
	desc = good, desc.m = 0;
	CHECK(refuse(world, desc, TSR_ERR_ARGUMENT, "0x16x16") == 0);
	desc = good, desc.size = 0;
	CHECK(refuse(world, desc, TSR_ERR_ARGUMENT, "{.size = sizeof desc}") == 0);
	desc = good, desc.given = 8;
	CHECK(refuse(world, desc, TSR_ERR_ARGUMENT, "given is 0x8") == 0);
	desc = good, desc.gather = (tsr_gather_t)3;
	CHECK(refuse(world, desc, TSR_ERR_ARGUMENT, "no way to gather") == 0);
	desc = good, desc.pattern = "sheep";
	CHECK(refuse(world, desc, TSR_ERR_NOT_FOUND, "there are bulk-synchronous, ") == 0);
	desc = good, desc.dtype = TSR_I32;
	CHECK(refuse(world, desc, TSR_ERR_NOT_FOUND, "i32") == 0);
	return 0;
}

Test(product_calls, bad_descriptions_are_refused_on_all_ranks)
{
	world_each(bad_descriptions, NULL);
}

static int one_differs(tsr_world_t *world, int argc, char **argv)
{
	const bool odd = tsr_world_rank(world) == tsr_world_size(world) - 1;
	tsr_product_t *product = NULL;
	tsr_product_desc_t desc = good;
	(void)argc, (void)argv;
	desc.n += odd;
	CHECK(tsr_product_create(world, &desc, &product) == TSR_ERR_MISMATCH);
	CHECK(strstr(tsr_last_error(), "asked for another product") != NULL);
	desc = good;
	desc.m = odd ? -1 : 16;
	CHECK(tsr_product_create(world, &desc, &product) == TSR_ERR_ARGUMENT);
	CHECK(strstr(tsr_last_error(), odd ? "-1x16x16" : "see the error of that rank") != NULL);
	CHECK(product == NULL);
	CHECK(tsr_product_create(world, &good, &product) == TSR_OK); /* the world goes on */
	return tsr_product_destroy(product) == TSR_OK ? 0 : 1;
}

Test(product_calls, ranks_that_differ_are_told_so)
{
	cr_expect_eq(world_run(3, TSR_PLACE_THREAD, one_differs, NULL), 0);
	if (!UNDER_TSAN)
		cr_expect_eq(world_run(2, TSR_PLACE_PROCESS, one_differs, NULL), 0);
}

static int refuse_run(tsr_world_t *world, tsr_product_t *product, tsr_stream_t *stream,
		      const tsr_view_t *a, const tsr_view_t *b, const char *words)
{
	CHECK(tsr_product_run(product, stream, a, b, NULL) == TSR_ERR_ARGUMENT, "%s", words);
	CHECK(strstr(tsr_last_error(), words) != NULL, "%s", words);
	return 0;
}

static int bad_runs(tsr_world_t *world, int argc, char **argv)
{
	test_product_t test = {.desc = good};
	tsr_stream_t *stream, *of_part;
	tsr_team_t *team;
	(void)argc, (void)argv;
	CHECK(make(world, &test) == 0);
	CHECK(tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	CHECK(tsr_team_split(tsr_world_team(world), 0, tsr_world_rank(world), "part", &team) ==
	      TSR_OK);
	CHECK(tsr_stream_create(team, &of_part) == TSR_OK);
	const tsr_view_t a = test.operand[0].view, b = test.operand[1].view;
	tsr_view_t bad = a;
	CHECK(refuse_run(world, test.product, NULL, &a, NULL, "must not be null") == 0);
	CHECK(refuse_run(world, test.product, of_part, &a, NULL, "another team") == 0);
	CHECK(refuse_run(world, test.product, stream, NULL, NULL, "A is null") == 0);
	CHECK(refuse_run(world, test.product, stream, &a, &b, "memory of its own") == 0);
	bad.rows--;
	CHECK(refuse_run(world, test.product, stream, &bad, NULL, "and must be 16 x ") == 0);
	bad = a, bad.dtype = TSR_BF16;
	CHECK(refuse_run(world, test.product, stream, &bad, NULL, "in bf16, and must be") == 0);
	bad = a, bad.ld = 1 << 20;
	CHECK(refuse_run(world, test.product, stream, &bad, NULL, "operand") == 0);
	CHECK(tsr_stream_destroy(of_part) == TSR_OK && tsr_team_destroy(team) == TSR_OK);
	CHECK(tsr_stream_destroy(stream) == TSR_OK);
	return end(world, &test);
}

Test(product_calls, bad_runs_are_refused)
{
	cr_expect_eq(world_run(2, TSR_PLACE_THREAD, bad_runs, NULL), 0);
}
