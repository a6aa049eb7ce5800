/*
 * GEMM + reduce-scatter and GEMM + all-reduce in worlds of several nodes: the
 * pattern that is chosen, its results, the order in which the ranks' sums are
 * added, and the bytes that cross between nodes, which are those of a formula.
 */
#include "src/net/net.h"
#include "src/world/world.h"
#include "tessera/products.h"

#include "tests/contract/contract_test.h"
#include "tests/contract/node_order.h"

enum { MOST_COLS = 300 };

typedef struct shape {
	int64_t m, n, k;
} shape_t;

/* One product on one rank. */
typedef struct sums {
	tsr_world_t *world;
	tsr_product_desc_t desc;
	tsr_product_t *product;
	tsr_stream_t *stream;
	tsr_view_t view[3];
	tsr_product_part_t part[3];
	/* what each rank's product has of an element, in place of whole numbers */
	bool in_order;
	node_order_t order;
} sums_t;

/* ------------------------------------------------------------------ values */

/** Whole numbers, so that all sums are exact in every dtype. */
static double whole_number(int matrix, int64_t row, int64_t col)
{
	return (double)((row * 7 + col * 3 + matrix) % 5 - 2);
}

/** Floats of 16 bits with many exponents: their sum tells in which order they were added. */
static double uneven(int64_t row, int64_t rank)
{
	const uint32_t mixed =
		((uint32_t)row * 2654435761u ^ (uint32_t)rank * 40503u) * 2246822519u;
	return ((double)(mixed >> 12 & 0xffff) - 32768) / (1 << mixed % 12);
}

/** In order, K is one column of A a rank, and B is 1: a rank's product has the elements of A. */
static double given(const sums_t *s, int matrix, int64_t row, int64_t col)
{
	if (s->in_order)
		return matrix == 0 ? uneven(row, col) : 1;
	return whole_number(matrix, row, col);
}

static double of_rank(const void *row, int rank)
{
	return uneven(*(const int64_t *)row, rank);
}

static double wanted(const sums_t *s, int64_t row, int64_t col)
{
	double sum = 0;
	if (s->in_order)
		return node_order_result(&s->order, TSR_REDUCE_SUM, TSR_F32, of_rank, &row);
	for (int64_t k = 0; k < s->desc.k; k++)
		sum += whole_number(0, row, k) * whole_number(1, k, col);
	return sum;
}

/** A row of this rank's part of a matrix. */
static TSR_HEAP void *row_of(const sums_t *s, int matrix, int64_t row)
{
	const tsr_view_t *view = &s->view[matrix];
	return (TSR_HEAP char *)view->data +
	       row * view->ld * (int64_t)tsr_dtype_bytes(s->desc.dtype);
}

static int fill(const sums_t *s)
{
	tsr_world_t *world = s->world;
	char row[8 * MOST_COLS];
	for (int matrix = 0; matrix < 3; matrix++) {
		const tsr_product_part_t *part = &s->part[matrix];
		const size_t bytes = (size_t)part->part_cols * tsr_dtype_bytes(s->desc.dtype);
		for (int64_t i = 0; bytes > 0 && i < part->part_rows; i++) {
			memset(row, POISON, bytes);
			for (int64_t j = 0; matrix < 2 && j < part->part_cols; j++)
				tsr_dtype_set(s->desc.dtype, row, (size_t)j,
					      given(s, matrix, part->first_row + i,
						    part->first_col + j));
			CHECK(tsr_memcpy_to_heap(world, row_of(s, matrix, i), row, bytes) ==
			      TSR_OK);
		}
	}
	return 0;
}

static int verify(const sums_t *s)
{
	tsr_world_t *world = s->world;
	const tsr_product_part_t *part = &s->part[2];
	char row[8 * MOST_COLS];
	for (int64_t i = 0; i < part->part_rows; i++) {
		CHECK(tsr_memcpy_from_heap(world, row, row_of(s, 2, i),
					   (size_t)part->part_cols *
						   tsr_dtype_bytes(s->desc.dtype)) == TSR_OK);
		for (int64_t j = 0; j < part->part_cols; j++) {
			const double seen = tsr_dtype_get(s->desc.dtype, row, (size_t)j),
				     right = wanted(s, part->first_row + i, part->first_col + j);
			CHECK(seen == right, "row %d, column %d: %.9g, not %.9g",
			      (int)(part->first_row + i), (int)j, seen, right);
		}
	}
	return 0;
}

/* ------------------------------------------------------------------ runs */

static int make(sums_t *s)
{
	tsr_world_t *world = s->world;
	CHECK(tsr_product_create(world, &s->desc, &s->product) == TSR_OK, "%s", tsr_last_error());
	CHECK(tsr_stream_create(tsr_world_team(world), &s->stream) == TSR_OK);
	for (int i = 0; i < 3; i++) {
		const tsr_product_matrix_t matrix = (tsr_product_matrix_t)(1 << i);
		s->part[i] = (tsr_product_part_t){.size = sizeof s->part[i]};
		CHECK(tsr_product_part(s->product, matrix, &s->part[i]) == TSR_OK);
		CHECK(tsr_product_view(s->product, matrix, &s->view[i]) == TSR_OK);
	}
	return 0;
}

/** What all ranks have sent to other nodes so far, in bytes. */
static int64_t sent(tsr_world_t *world)
{
	uint64_t mine = tsr_net_sent_so_far(world->host.net).bytes, all[TSR_MAX_RANKS];
	int64_t bytes = 0;
	if (tsr_team_gather_all(tsr_world_team(world), &mine, all, sizeof mine) != TSR_OK)
		return -1;
	for (int r = 0; r < tsr_world_size(world); r++)
		bytes += (int64_t)all[r];
	return bytes;
}

/** Two runs behind each other. Bytes of one of them, from all ranks together. */
static int run(sums_t *s, int64_t *crossed_out)
{
	enum { RUNS = 2 };
	tsr_world_t *world = s->world;
	if (make(s) || fill(s))
		return 1;
	CHECK(tsr_barrier(world) == TSR_OK);
	const int64_t before = sent(world);
	for (int i = 0; i < RUNS; i++)
		CHECK(tsr_product_run(s->product, s->stream, NULL, NULL, NULL) == TSR_OK);
	CHECK(tsr_stream_sync(s->stream) == TSR_OK && tsr_barrier(world) == TSR_OK);
	*crossed_out = (sent(world) - before) / RUNS;
	return verify(s);
}

static int end(sums_t *s)
{
	tsr_world_t *world = s->world;
	CHECK(tsr_stream_destroy(s->stream) == TSR_OK);
	CHECK(tsr_product_destroy(s->product) == TSR_OK);
	return 0;
}

static bool goes_to_all(const sums_t *s)
{
	return s->desc.kind == TSR_PRODUCT_GEMM_ALL_REDUCE;
}

static const char *name_of(const sums_t *s)
{
	return goes_to_all(s) ? "gemm-all-reduce" : "gemm-reduce-scatter";
}

/* ------------------------------------------------------------------ bytes */

static int members_of(const tsr_world_t *world, int node)
{
	int members = 0;
	for (int r = 0; r < tsr_world_size(world); r++)
		members += tsr_world_node(world, r) == node;
	return members;
}

/** Rows of C whose sums the ranks of a node own. */
static int64_t rows_of(const sums_t *s, int node)
{
	const int ranks = tsr_world_size(s->world);
	int64_t rows = 0;
	for (int r = 0; r < ranks; r++)
		if (tsr_world_node(s->world, r) == node)
			rows += s->desc.m * (r + 1) / ranks - s->desc.m * r / ranks;
	return rows;
}

/**
 * From each node one sum of each element that ranks of other nodes own, of 4 bytes
 * unless the node has one rank. Then each result once to each other node.
 */
static int64_t formula(const sums_t *s)
{
	const int nodes = tsr_world_nodes(s->world);
	const int64_t element = (int64_t)tsr_dtype_bytes(s->desc.dtype),
		      kept = (int64_t)tsr_dtype_bytes(s->desc.sums);
	int64_t bytes = 0;
	for (int k = 0; k < nodes; k++)
		bytes += (members_of(s->world, k) == 1 ? kept : 4) * s->desc.n *
			 (s->desc.m - rows_of(s, k));
	return bytes + (goes_to_all(s) ? element * s->desc.m * s->desc.n * (nodes - 1) : 0);
}

/** own-chunk-last sends each rank's sums: more bytes, as soon as a node has two ranks. */
static int compare(const sums_t *chosen, int64_t crossed)
{
	tsr_world_t *world = chosen->world;
	sums_t flat = *chosen;
	int64_t by_ranks;
	flat.desc.pattern = "own-chunk-last";
	if (run(&flat, &by_ranks) || end(&flat))
		return 1;
	if (flat.desc.sums == TSR_F32 && tsr_world_size(world) > tsr_world_nodes(world))
		CHECK(crossed < by_ranks, "%s: %lld bytes by nodes, %lld by ranks", name_of(chosen),
		      (long long)crossed, (long long)by_ranks);
	return 0;
}

static int try_bytes(tsr_world_t *world, tsr_product_kind_t kind, tsr_dtype_t dtype,
		     tsr_dtype_t sums)
{
	/* parts of more than 2 KiB, which do not go in one step; of unequal sizes where they can */
	sums_t s = {.world = world,
		    .desc = {.size = sizeof s.desc,
			     .kind = kind,
			     .m = 9 * tsr_world_size(world) + 1,
			     .n = 261,
			     .k = 19,
			     .dtype = dtype,
			     .sums = sums}};
	int64_t crossed;
	/* an all-reduce in one call divides elements, and not rows */
	if (kind == TSR_PRODUCT_GEMM_ALL_REDUCE && sums == dtype)
		s.desc.m--;
	if (run(&s, &crossed))
		return 1;
	CHECK(strcmp(tsr_product_pattern(s.product), "bulk-synchronous") == 0);
	CHECK(crossed == formula(&s), "%s of %s, sums in %s: %lld bytes, the formula has %lld",
	      name_of(&s), tsr_dtype_name(dtype), tsr_dtype_name(sums), (long long)crossed,
	      (long long)formula(&s));
	return end(&s) || compare(&s, crossed);
}

static int bytes_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	CHECK(tsr_world_nodes(world) > 1);
	for (int i = 0; i < 2; i++) {
		const tsr_product_kind_t kind =
			i == 0 ? TSR_PRODUCT_GEMM_REDUCE_SCATTER : TSR_PRODUCT_GEMM_ALL_REDUCE;
		if (try_bytes(world, kind, TSR_F32, TSR_F32) ||
		    try_bytes(world, kind, TSR_BF16, TSR_F32) ||
		    try_bytes(world, kind, TSR_F16, TSR_F16))
			return 1;
	}
	return 0;
}

/* ------------------------------------------------------------------ odd shapes, and the order */

static int try_one(sums_t s)
{
	int64_t crossed;
	return run(&s, &crossed) || end(&s);
}

/** Fewer rows than ranks, one column, and tiles that are not filled. */
static int shapes_body(tsr_world_t *world, int argc, char **argv)
{
	static const shape_t shapes[] = {{3, 7, 5}, {53, 1, 37}, {67, 33, 61}};
	static const tsr_dtype_t dtypes[][2] = {
		{TSR_F32, TSR_F32}, {TSR_BF16, TSR_F32}, {TSR_BF16, TSR_BF16}};
	(void)argc, (void)argv;
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < 3; j++)
			for (int d = 0; d < 3; d++) {
				sums_t s = {
					.world = world,
					.desc = {.size = sizeof s.desc,
						 .kind = i == 0 ? TSR_PRODUCT_GEMM_ALL_REDUCE
								: TSR_PRODUCT_GEMM_REDUCE_SCATTER,
						 .m = shapes[j].m,
						 .n = shapes[j].n,
						 .k = shapes[j].k,
						 .dtype = dtypes[d][0],
						 .sums = dtypes[d][1]}};
				CHECK(try_one(s) == 0, "%s of %dx%dx%d", name_of(&s), (int)s.desc.m,
				      (int)s.desc.n, (int)s.desc.k);
			}
	return 0;
}

/** Sums of floats, of which each order has another result: in one step, and in several. */
static int order_body(tsr_world_t *world, int argc, char **argv)
{
	static const int64_t cols[] = {3, 261};
	(void)argc, (void)argv;
	for (int i = 0; i < 4; i++) {
		const sums_t s = {.world = world,
				  .desc = {.size = sizeof s.desc,
					   .kind = i / 2 == 0 ? TSR_PRODUCT_GEMM_ALL_REDUCE
							      : TSR_PRODUCT_GEMM_REDUCE_SCATTER,
					   .m = 97,
					   .n = cols[i % 2],
					   .k = tsr_world_size(world),
					   .dtype = TSR_F32,
					   .sums = TSR_F32},
				  .in_order = true,
				  .order = node_order_of(tsr_world_team(world))};
		CHECK(try_one(s) == 0, "%s of %d columns", name_of(&s), (int)s.desc.n);
	}
	return 0;
}

/* ------------------------------------------------------------------ worlds */

static bool has_carrier(void)
{
	char about[TSR_NET_DESCRIPTION_BYTES];
	return tsr_net_about(getenv("TESSERA_NET_PLUGIN"), about) == TSR_OK;
}

/** Worlds of 2, 3, 5 and 8 ranks on two nodes, and of 3, 5 and 8 on three. */
static void run_on_nodes(tsr_main_fn body)
{
	static const int worlds[][2] = {{2, 2}, {3, 2}, {5, 2}, {8, 2}, {3, 3}, {5, 3}, {8, 3}};
	if (!has_carrier())
		cr_skip_test("no UCX: nothing carries messages between nodes");
	setenv("TESSERA_DEADLINE", "200s", 1);
	for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
		setenv("TESSERA_NODES", worlds[i][1] == 2 ? "2" : "3", 1);
		cr_expect(world_run(worlds[i][0], TSR_PLACE_PROCESS, body, NULL) == 0,
			  "%d ranks on %d nodes", worlds[i][0], worlds[i][1]);
	}
}

Test(node_sums, bytes_are_those_of_the_formula)
{
	run_on_nodes(bytes_body);
}

Test(node_sums, odd_shapes_are_exact)
{
	run_on_nodes(shapes_body);
}

Test(node_sums, are_added_by_nodes_and_then_by_ranks)
{
	run_on_nodes(order_body);
}
