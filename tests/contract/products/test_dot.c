/*
 * Products of fragments, with the right operand as it is and transposed: every
 * dtype, tiles that matrix units take as they are, with edges and not at all,
 * by blocks of every kind, workers and epilogues. Whole numbers, whose sums are
 * exact in any order.
 */
#include "tests/contract/contract_test.h"

#include "tessera/dtype.h"
#include "tessera/random.h"

/** c = a * b of any extents, tile by tile: a block's tiles, and of each tile K, in turn. */
typedef struct dot_args {
	tsr_view_t a, b, bt, c; /* of rank `from`; c of rank `to` */
	TSR_HEAP void *sums;    /* TSR_FRAG_BYTES of every tile */
	int32_t from, to, transposed, extras;
} dot_args_t;

enum {
	EXTRA_TWICE = 1, /* the sum is saved, and added to itself */
	EXTRA_LEAST = 2, /* each row's least element is taken from it */
	/* A is doubled, stored where it stands, and loaded again; B is masked where it is not
	 * transposed */
	EXTRA_MAPPED = 4,
	EXTRAS = 8
};

TSR_FN float dot_doubled(float x, int64_t row, int64_t col, const void *ctx)
{
	(void)row, (void)col, (void)ctx;
	return 2 * x;
}

TSR_FN int dot_chequered(int64_t row, int64_t col, const void *ctx)
{
	(void)ctx;
	return (row + col) % 2 == 0;
}

TSR_FN float dot_above(float x, float least, const void *ctx)
{
	(void)ctx;
	return x - least;
}

/* A function for any coop: one tile at `at`. */
#define DOT_TILE(name_, dtype_, M_, N_, K_)                                                        \
	TSR_TILE(name_, dtype_, M_, N_, K_);                                                       \
	TSR_FN void sum_##name_(tsr_coop_t *coop, name_##_frag_t *acc, const dot_args_t *a,        \
				tsr_pos_t at)                                                      \
	{                                                                                          \
		for (int64_t k = 0; k < a->a.cols; k += K_) {                                      \
			const tsr_pos_t at_a = {at.row, k}, at_b = {k, at.col},                    \
					at_bt = {at.col, k};                                       \
			TSR_FRAG_A(name_, left, coop);                                             \
			TSR_FRAG_B(name_, right, coop);                                            \
			TSR_FRAG_BT(name_, across, coop);                                          \
			tsr_load(coop, left, a->a, at_a, a->from);                                 \
			if (a->extras & EXTRA_MAPPED) {                                            \
				tsr_frag_map(coop, left, at_a, dot_doubled, a);                    \
				if (at.col == 0 && a->from == tsr_rank(coop)) {                    \
					tsr_store(coop, a->a, at_a, left, a->from);                \
					tsr_sync(coop);                                            \
					tsr_load(coop, left, a->a, at_a, a->from);                 \
				}                                                                  \
			}                                                                          \
			if (a->transposed)                                                         \
				tsr_load(coop, across, a->bt, at_bt, a->from);                     \
			else if (a->extras & EXTRA_MAPPED)                                         \
				tsr_load_masked(coop, right, a->b, at_b, dot_chequered, a, 0,      \
						a->from);                                          \
			else                                                                       \
				tsr_load(coop, right, a->b, at_b, a->from);                        \
			if (a->transposed)                                                         \
				tsr_tile_dot_bt(coop, acc, left, across);                          \
			else                                                                       \
				tsr_tile_dot(coop, acc, left, right);                              \
		}                                                                                  \
	}                                                                                          \
	TSR_FN void tile_##name_(tsr_coop_t *coop, const dot_args_t *a, tsr_pos_t at,              \
				 int64_t tile)                                                     \
	{                                                                                          \
		TSR_HEAP char *saved = (TSR_HEAP char *)a->sums +                                  \
				       tile * (((int64_t)TSR_FRAG_BYTES(name_) + 15) / 16 * 16);   \
		TSR_FRAG(name_, acc, coop);                                                        \
		tsr_frag_zero(coop, acc);                                                          \
		sum_##name_(coop, acc, a, at);                                                     \
		if (a->extras & EXTRA_TWICE) {                                                     \
			tsr_frag_save(coop, saved, acc);                                           \
			tsr_sync(coop);                                                            \
			tsr_frag_add(coop, acc, saved);                                            \
		}                                                                                  \
		if (a->extras & EXTRA_LEAST) {                                                     \
			TSR_FRAG_ROWS(name_, rows, coop);                                          \
			tsr_frag_reduce_rows(coop, rows, acc, a->c.cols - at.col, TSR_REDUCE_MIN); \
			tsr_frag_map_rows(coop, acc, rows, dot_above, a);                          \
		}                                                                                  \
		tsr_store(coop, a->c, at, acc, a->to);                                             \
	}                                                                                          \
	TSR_FN void tiles_##name_(tsr_coop_t *coop, const dot_args_t *a, int64_t first,            \
				  int64_t step)                                                    \
	{                                                                                          \
		const int64_t tiles_n = tsr_tiles(a->c.cols, N_),                                  \
			      tiles = tsr_tiles(a->c.rows, M_) * tiles_n;                          \
		for (int64_t tile = first; tile < tiles; tile += step) {                           \
			const tsr_pos_t at = {tile / tiles_n * M_, tile % tiles_n * N_};           \
			tile_##name_(coop, a, at, tile);                                           \
		}                                                                                  \
	}

#define DOT_BLOCK(name_)                                                                 \
	TSR_KERNEL(dot_##name_, dot_args_t, a)                                           \
	{                                                                                \
		tiles_##name_(block, a, tsr_block_index(block), tsr_block_count(block)); \
	}
#define DOT_WIDE(name_)                                                                  \
	TSR_KERNEL_WIDE(dot_wide_##name_, dot_args_t, a)                                 \
	{                                                                                \
		tiles_##name_(block, a, tsr_block_index(block), tsr_block_count(block)); \
	}
/* Two workers, each with tiles of its own. */
#define DOT_WORKERS(name_)                                                                      \
	TSR_KERNEL_SPLIT(dot_workers_##name_, 2, uint64_t, dot_args_t, a)                       \
	{                                                                                       \
		tiles_##name_(worker, a, tsr_block_index(block) * 2 + tsr_worker_index(worker), \
			      tsr_block_count(block) * 2);                                      \
	}

#define DOT(name_, dtype_, M_, N_, K_)      \
	DOT_TILE(name_, dtype_, M_, N_, K_) \
	DOT_BLOCK(name_)

DOT(bf16_64x64x64, bf16, 64, 64, 64)
DOT_WORKERS(bf16_64x64x64)
DOT_TILE(bf16_16x16x16, bf16, 16, 16, 16)
DOT_WIDE(bf16_16x16x16)
DOT(f16_80x24x32, f16, 80, 24, 32)
DOT(bf16_33x17x5, bf16, 33, 17, 5)
DOT(f32_64x32x16, f32, 64, 32, 16)
DOT(f64_24x20x12, f64, 24, 20, 12)
DOT(i8_16x32x24, i8, 16, 32, 24)
DOT_TILE(bf16_128x128x64, bf16, 128, 128, 64)

typedef struct dot_case {
	const tsr_kernel_t *kernel;
	tsr_dtype_t dtype, sum;
	int m, n, k;
} dot_case_t;

static const dot_case_t *dot_cases(size_t *count)
{
	static const dot_case_t cases[] = {
		{&dot_bf16_64x64x64, TSR_BF16, TSR_BF16, 64, 64, 64},
		{&dot_f16_80x24x32, TSR_F16, TSR_F32, 80, 24, 32},
		{&dot_workers_bf16_64x64x64, TSR_BF16, TSR_F32, 64, 64, 64},
		{&dot_bf16_33x17x5, TSR_BF16, TSR_F32, 33, 17, 5},
		{&dot_wide_bf16_16x16x16, TSR_BF16, TSR_F64, 16, 16, 16},
		{&dot_f32_64x32x16, TSR_F32, TSR_F32, 64, 32, 16},
		{&dot_f64_24x20x12, TSR_F64, TSR_F64, 24, 20, 12},
		{&dot_i8_16x32x24, TSR_I8, TSR_I32, 16, 32, 24},
	};
	*count = sizeof cases / sizeof *cases;
	return cases;
}

/** What a run multiplies, and how far rows lie apart in elements beyond what they have. */
typedef struct dot_shape {
	int m, n, k, pad, extras, transposed;
	uint64_t seed;
} dot_shape_t;

enum { OF_A, OF_B };
enum { MOST_ELEMENTS = 64 * 1024, MOST_TILES = 16, MOST_COLS = 512 };

/** Small: all sums are exact in 16 bits too. */
static double dot_element(const dot_shape_t *s, int operand, int rank, int row, int col)
{
	const uint64_t at = (uint64_t)row * 4096 + (uint64_t)col;
	return (double)tsr_random_int(s->seed + (uint64_t)(operand * 64 + rank), at, 0, 2) *
	       (operand == OF_A || s->k > 100 ? 1 : 2);
}

/** Element (row, col) of the product, before what is done to rows. */
static double dot_product(const dot_shape_t *s, int rank, int row, int col)
{
	const bool mapped = (s->extras & EXTRA_MAPPED) != 0;
	double sum = 0;
	for (int k = 0; k < s->k; k++)
		if (!mapped || s->transposed || (k + col) % 2 == 0)
			sum += dot_element(s, OF_A, rank, row, k) *
			       dot_element(s, OF_B, rank, k, col);
	return sum * (mapped ? 2 : 1) * (s->extras & EXTRA_TWICE ? 2 : 1);
}

/**
 * Fills a matrix of `dtype`, and a host copy where none is read: between its
 * rows are the numbers that `dtype` has there.
 */
static int dot_fill(tsr_world_t *world, const dot_shape_t *s, tsr_view_t view, int operand,
		    bool transposed, unsigned char *host)
{
	const size_t bytes =
		(size_t)view.rows * (size_t)view.ld * tsr_dtype_bytes((tsr_dtype_t)view.dtype);
	memset(host, POISON, bytes);
	for (int row = 0; row < view.rows; row++)
		for (int col = 0; col < view.cols; col++) {
			const double x =
				dot_element(s, operand, tsr_world_rank(world),
					    transposed ? col : row, transposed ? row : col);
			tsr_dtype_set((tsr_dtype_t)view.dtype, host, (size_t)(row * view.ld + col),
				      x);
		}
	CHECK(tsr_memcpy_to_heap(world, view.data, host, bytes) == TSR_OK);
	return 0;
}

/** Row `row` as it must be: cut into tiles of `tile_n`, of which each has its own least element. */
static void dot_row(const dot_shape_t *s, int rank, int row, int tile_n, double *want)
{
	double least = 0;
	for (int col = 0; col < s->n; col++)
		want[col] = dot_product(s, rank, row, col);
	for (int first = 0; first < s->n && s->extras & EXTRA_LEAST; first += tile_n) {
		const int end = first + tile_n < s->n ? first + tile_n : s->n;
		least = want[first];
		for (int col = first; col < end; col++)
			least = want[col] < least ? want[col] : least;
		for (int col = first; col < end; col++)
			want[col] -= least;
	}
}

static int dot_check(tsr_world_t *world, const dot_case_t *c, const dot_shape_t *s, int rank,
		     bool here, const unsigned char *seen)
{
	const int ld = s->n + s->pad;
	const size_t element = tsr_dtype_bytes(c->sum);
	double row_wants[MOST_COLS];
	for (int row = 0; row < s->m; row++) {
		if (here)
			dot_row(s, rank, row, c->n, row_wants);
		for (int col = 0; col < ld; col++) {
			unsigned char want[8];
			memset(want, POISON, sizeof want);
			if (here && col < s->n)
				tsr_dtype_set(c->sum, want, 0, row_wants[col]);
			CHECK(memcmp(seen + (size_t)(row * ld + col) * element, want, element) == 0,
			      "%s, %dx%dx%d, pad %d, extras %d, transposed %d: row %d, col %d: %g "
			      "for %g",
			      c->kernel->name, s->m, s->n, s->k, s->pad, s->extras, s->transposed,
			      row, col, tsr_dtype_get(c->sum, seen, (size_t)(row * ld + col)),
			      tsr_dtype_get(c->sum, want, 0));
		}
	}
	return 0;
}

static int dot_run(tsr_world_t *world, const dot_case_t *c, const dot_shape_t *s,
		   unsigned char *host)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	const int lda = s->k + s->pad, ldb = s->n + s->pad;
	const size_t each = tsr_dtype_bytes(c->dtype),
		     c_bytes = (size_t)(s->m * ldb) * tsr_dtype_bytes(c->sum);
	TSR_HEAP void *a = poisoned(world, (size_t)(s->m * lda) * each, "a"),
		      *b = poisoned(world, (size_t)(s->k * ldb) * each, "b");
	TSR_HEAP void *bt = poisoned(world, (size_t)(s->n * lda) * each, "bt"),
		      *out = poisoned(world, c_bytes, "c");
	TSR_HEAP void *sums =
		poisoned(world, (size_t)MOST_TILES * (size_t)(c->m * c->n) * 8, "sums");
	CHECK(a && b && bt && out && sums && s->m * lda <= MOST_ELEMENTS &&
	      s->k * ldb <= MOST_ELEMENTS);
	dot_args_t args = {.a = {a, s->m, s->k, lda, c->dtype, TSR_SPACE_HEAP},
			   .b = {b, s->k, s->n, ldb, c->dtype, TSR_SPACE_HEAP},
			   .bt = {bt, s->n, s->k, lda, c->dtype, TSR_SPACE_HEAP},
			   .c = {out, s->m, s->n, ldb, c->sum, TSR_SPACE_HEAP},
			   .sums = sums,
			   .from = s->extras & EXTRA_MAPPED ? 0 : size - 1,
			   .to = size / 2,
			   .transposed = s->transposed,
			   .extras = s->extras};
	if (dot_fill(world, s, args.a, OF_A, false, host) ||
	    dot_fill(world, s, args.b, OF_B, false, host) ||
	    dot_fill(world, s, args.bt, OF_B, true, host))
		return 1;
	CHECK(tsr_barrier(world) == TSR_OK);
	if (me == 0)
		CHECK(run_kernel(world, c->kernel, s->extras & EXTRA_MAPPED ? 1 : 3, &args) ==
		      TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, host, out, c_bytes) == TSR_OK);
	const int failed = dot_check(world, c, s, args.from, me == args.to, host);
	CHECK(tsr_heap_free(world, a) == TSR_OK && tsr_heap_free(world, b) == TSR_OK &&
	      tsr_heap_free(world, bt) == TSR_OK);
	CHECK(tsr_heap_free(world, out) == TSR_OK && tsr_heap_free(world, sums) == TSR_OK);
	return failed;
}

/**
 * Whole tiles whose rows begin at multiples of 16 bytes, then odd extents.
 * Extras that store operands are for one column of tiles: in others the tile's
 * A would be doubled again.
 */
static int dot_case_run(tsr_world_t *world, const dot_case_t *c, uint64_t seed, unsigned char *host)
{
	for (int extras = 0; extras < EXTRAS; extras++)
		for (int transposed = 0; transposed < 2; transposed++) {
			const bool mapped = (extras & EXTRA_MAPPED) != 0,
				   odd = (extras & EXTRA_TWICE) != 0;
			const int tiles_n = mapped ? 1 : 2, tiles_k = c->k > 32 ? 1 : 2;
			const dot_shape_t even = {
				c->m, c->n * tiles_n, c->k * tiles_k, 0, extras, transposed, seed};
			const dot_shape_t shape = {c->m + (odd ? 3 : 0),
						   c->n * (tiles_n - 1) +
							   (mapped || !odd ? c->n - 1 : 1),
						   c->k + (odd ? 1 : 2),
						   odd ? 5 : 8,
						   extras,
						   transposed,
						   seed + 1};
			if (dot_run(world, c, &even, host) || dot_run(world, c, &shape, host))
				return 1;
			seed += 2;
		}
	return 0;
}

static int dot_body(tsr_world_t *world, int argc, char **argv)
{
	size_t count;
	const dot_case_t *cases = dot_cases(&count);
	unsigned char *host = (unsigned char *)malloc(MOST_ELEMENTS * 8);
	int failed = !host;
	(void)argc, (void)argv;
	/* The larger the world, the fewer of the cases, and others in each. */
	for (size_t i = (size_t)tsr_world_size(world) - 1; i < count && !failed;
	     i += (size_t)tsr_world_size(world))
		failed = dot_case_run(world, &cases[i], 1000 * i, host);
	free(host);
	return failed;
}

Test(dot, products_are_exact_of_every_dtype_and_tile)
{
	world_each(dot_body, NULL);
}

/* ----------------------------------------------------- in an epilogue: a correction of low rank */

TSR_FN tsr_part_t dot_order(int64_t task, const void *ctx)
{
	const dot_args_t *a = *(const dot_args_t *const *)ctx;
	const int64_t tiles_n = tsr_tiles(a->c.cols, 128);
	const tsr_pos_t at = {task / tiles_n * 128, task % tiles_n * 128};
	return tsr_whole(at);
}

TSR_FN void dot_corrected(tsr_coop_t *me, bf16_128x128x64_frag_t *acc, tsr_pos_t at, void *ctx)
{
	const dot_args_t *a = *(const dot_args_t *const *)ctx;
	sum_bf16_128x128x64(me, acc, a, at);
	tsr_store(me, a->c, at, acc, a->to);
}

TSR_KERNEL(dot_in_epilogue, dot_args_t, a)
{
	const tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block),
				   tsr_tiles(a->c.rows, 128) * tsr_tiles(a->c.cols, 128)};
	struct {
		const dot_args_t *args;
	} ctx = {a};
	tsr_gemm(bf16_128x128x64, block, a->a, a->b, tasks, dot_order, TSR_NO_GATE, dot_corrected,
		 &ctx);
}

/* The main loop's sums are the first half of what EXTRA_TWICE would give. */
static int epilogue_body(tsr_world_t *world, int argc, char **argv)
{
	const dot_case_t c = {&dot_in_epilogue, TSR_BF16, TSR_F32, 128, 128, 64};
	unsigned char *host = (unsigned char *)malloc(MOST_ELEMENTS * 8);
	int failed = !host;
	(void)argc, (void)argv;
	for (int transposed = 0; transposed < 2 && !failed; transposed++) {
		const dot_shape_t even = {128, 256, 64, 0, EXTRA_TWICE, transposed, 77},
				  odd = {131, 129, 65, 5, EXTRA_TWICE, transposed, 78};
		failed = dot_run(world, &c, &even, host) || dot_run(world, &c, &odd, host);
	}
	free(host);
	return failed;
}

Test(dot, adds_to_sums_of_a_main_loop)
{
	cr_expect(world_run(1, TSR_PLACE_THREAD, epilogue_body, NULL) == 0);
}
