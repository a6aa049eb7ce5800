/*
 * Weighted sums of chosen rows: by blocks and by workers, to every rank, between
 * all dtypes, with rows at every alignment.
 */
#include "tests/contract/contract_test.h"

#include <math.h>

#include "tessera/dtype.h"

enum { TASKS = 5, WORKERS = 2, BLOCKS = 2, ROWS = 23, CHOOSABLE = 1 + TASKS, MOST = 256 };
enum { MOST_COLS = 1000, OFFSET = 8, MOST_RANKS = 8 };
/* bytes of what a rank holds, of any case */
enum { ROOM = 4 * (3 * OFFSET + MOST_RANKS * TASKS * (MOST_COLS + 8)) };

/*
 * How the call is made: with weights; without; with rows and weights in
 * variables (two rows at most); to shared memory, and from there to the rank;
 * to a row of `src`.
 */
enum { WEIGHED, PLAIN, VARIABLES, BY_SHARED, IN_PLACE, KINDS };

typedef struct sum_pad {
	int32_t rows[WORKERS][MOST];
	float weights[WORKERS][MOST];
	float row[WORKERS][MOST_COLS]; /* of any dtype */
} sum_pad_t;

typedef struct sum_args {
	tsr_view_t dst, src;    /* dst: a row of each rank and task */
	TSR_HEAP int32_t *rows; /* MOST of each task */
	TSR_HEAP float *weights;
	int32_t count, kind;
} sum_args_t;

/** Rows and weights of a task to shared memory. */
TSR_FN void take_arrays(tsr_coop_t *coop, const sum_args_t *a, int task, int32_t *rows,
			float *weights)
{
	const int me = tsr_rank(coop);
	tsr_sync(coop); /* with the task before, which reads them */
	tsr_get_2d(coop, tsr_view_shared(rows, TSR_I32, 1, MOST, MOST),
		   tsr_view(a->rows + task * MOST, TSR_I32, 1, MOST, MOST), me);
	tsr_get_2d(coop, tsr_view_shared(weights, TSR_F32, 1, MOST, MOST),
		   tsr_view(a->weights + task * MOST, TSR_F32, 1, MOST, MOST), me);
	tsr_sync(coop);
}

/** One call for all kinds but one, so that there is less code. */
TSR_FN void sum_task(tsr_coop_t *coop, const sum_args_t *a, int task, sum_pad_t *shared, int worker)
{
	const int me = tsr_rank(coop), to = (me + task) % tsr_size(coop);
	const tsr_pos_t at = {(int64_t)me * TASKS + task, 0}, free = {1 + task, 0};
	const tsr_view_t dst = tsr_view_part(a->dst, at, 1, a->dst.cols);
	const tsr_view_t held = tsr_view_shared(shared->row[worker], (tsr_dtype_t)a->dst.dtype, 1,
						a->dst.cols, a->dst.cols);
	tsr_view_t target = dst;
	if (a->kind == BY_SHARED)
		target = held;
	if (a->kind == IN_PLACE)
		target = tsr_view_part(a->src, free, 1, a->src.cols);
	take_arrays(coop, a, task, shared->rows[worker], shared->weights[worker]);
	tsr_sum_rows(coop, target, a->src, shared->rows[worker],
		     a->kind == PLAIN ? 0 : shared->weights[worker], a->count,
		     a->kind == BY_SHARED || a->kind == IN_PLACE ? me : to);
	if (a->kind == BY_SHARED) {
		tsr_sync(coop);
		tsr_put_2d(coop, dst, held, to);
	}
}

TSR_KERNEL_SHARED(sum_by_blocks, sum_pad_t, sum_args_t, a)
{
	for (int task = tsr_block_index(block); task < TASKS; task += tsr_block_count(block))
		sum_task(block, a, task, shared, 0);
}

TSR_KERNEL_SPLIT(sum_by_workers, WORKERS, sum_pad_t, sum_args_t, a)
{
	const int me = tsr_worker_index(worker), step = tsr_block_count(block) * WORKERS;
	for (int task = tsr_block_index(block) * WORKERS + me; task < TASKS; task += step)
		sum_task(worker, a, task, shared, me);
}

/** Two rows at most, in variables. */
TSR_KERNEL(sum_by_variables, sum_args_t, a)
{
	const int me = tsr_rank(block);
	int32_t rows[2];
	float weights[2];
	for (int task = tsr_block_index(block); task < TASKS; task += tsr_block_count(block)) {
		const tsr_pos_t at = {(int64_t)me * TASKS + task, 0};
		for (int i = 0; i < 2; i++) {
			rows[i] = tsr_get_value(block, a->rows + task * MOST + i, me);
			weights[i] = tsr_get_value(block, a->weights + task * MOST + i, me);
		}
		tsr_sum_rows(block, tsr_view_part(a->dst, at, 1, a->dst.cols), a->src, rows,
			     weights, a->count < 2 ? a->count : 2, (me + task) % tsr_size(block));
	}
}

/* ------------------------------------------------------------------ what must come out */

typedef struct sum_case {
	tsr_dtype_t src, dst;
	int cols, src_ld, dst_ld, skip; /* skip: elements before the first row of both */
} sum_case_t;

static uint32_t mixed_of(int a, int b, int c)
{
	return ((uint32_t)a * 7919u + (uint32_t)b * 104729u + (uint32_t)c + 1) * 2654435761u;
}

/**
 * Products are exact in f32, sums are not: so the result tells the order, and
 * not whether a device fuses the two.
 */
static double element_of(int rank, int row, int col)
{
	const uint32_t mixed = mixed_of(rank, row, col);
	return (double)((int)(mixed >> 20 & 0xff) - 128) / (double)(1 << (mixed >> 8 & 15) % 14);
}

static double weight_of(int rank, int task, int i)
{
	return (double)((int)(mixed_of(rank, task, i) >> 16 & 0x7f) - 64) / 64;
}

/** About a sixth is left out, with weights that are no numbers; of the last task all. */
static int row_of(int rank, int task, int i)
{
	if (task == TASKS - 1 || (mixed_of(rank, i, task) >> 8) % 6 == 0)
		return -1 - i;
	return CHOOSABLE + (int)(mixed_of(task, i, rank) >> 12) % (ROWS - CHOOSABLE);
}

static void result_of(const sum_case_t *c, const sum_args_t *a, int from, int task, int col,
		      unsigned char bits[4])
{
	const int count = a->kind == VARIABLES && a->count > 2 ? 2 : a->count;
	double sum = 0;
	for (int i = 0; i < count; i++) {
		const double weight = a->kind == PLAIN ? 1 : weight_of(from, task, i);
		if (row_of(from, task, i) < 0)
			continue;
		sum = (double)(float)(sum + weight * element_of(from, row_of(from, task, i), col));
	}
	tsr_dtype_set(c->dst, bits, 0, sum);
}

/** Rows `ld` apart from OFFSET + skip elements on; poison around them. */
static size_t bytes_of(tsr_dtype_t dtype, int rows, int ld)
{
	return (size_t)(3 * OFFSET + rows * ld) * tsr_dtype_bytes(dtype);
}

static tsr_view_t view_of(TSR_HEAP void *data, tsr_dtype_t dtype, int rows, int ld,
			  const sum_case_t *c)
{
	const size_t before = (size_t)(OFFSET + c->skip) * tsr_dtype_bytes(dtype);
	return tsr_view((TSR_HEAP unsigned char *)data + before, dtype, rows, c->cols, ld);
}

/** Whether the sum of a task of `from` is for this rank's `dst`. */
static bool has_sum(const sum_args_t *a, int me, int size, int from, int task)
{
	return a->kind != IN_PLACE && (from + task) % size == me;
}

static int dst_check(tsr_world_t *world, const sum_case_t *c, const sum_args_t *a,
		     const unsigned char *seen)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world),
		  elements = 3 * OFFSET + size * TASKS * c->dst_ld;
	const size_t element = tsr_dtype_bytes(c->dst);
	for (int i = 0; i < elements; i++) {
		const int at = i - OFFSET - c->skip, row = at / c->dst_ld, col = at % c->dst_ld;
		unsigned char want[4];
		memset(want, POISON, sizeof want);
		if (at >= 0 && row < size * TASKS && col < c->cols &&
		    has_sum(a, me, size, row / TASKS, row % TASKS))
			result_of(c, a, row / TASKS, row % TASKS, col, want);
		CHECK(memcmp(seen + (size_t)i * element, want, element) == 0,
		      "%s to %s, %d rows, kind %d: row %d, column %d of %d", tsr_dtype_name(c->src),
		      tsr_dtype_name(c->dst), a->count, a->kind, row, col, c->cols);
	}
	return 0;
}

/** The rows of `src` that no sum reads are what they were; in place the sums of this rank. */
static int src_check(tsr_world_t *world, const sum_case_t *c, const sum_args_t *a,
		     const unsigned char *seen, const unsigned char *before)
{
	const int me = tsr_world_rank(world), elements = 3 * OFFSET + ROWS * c->src_ld;
	const size_t element = tsr_dtype_bytes(c->src);
	for (int i = 0; i < elements; i++) {
		const int at = i - OFFSET - c->skip, row = at / c->src_ld, col = at % c->src_ld;
		unsigned char want[4];
		memcpy(want, before + (size_t)i * element, element);
		if (a->kind == IN_PLACE && at >= 0 && row >= 1 && row <= TASKS && col < c->cols)
			result_of(c, a, me, row - 1, col, want);
		CHECK(memcmp(seen + (size_t)i * element, want, element) == 0,
		      "%s in place, %d rows: row %d, column %d of %d", tsr_dtype_name(c->src),
		      a->count, row, col, c->cols);
	}
	return 0;
}

/** Row 0 is not a number anywhere, and nobody may read it. */
static void fill_src(const sum_case_t *c, int me, unsigned char *host, size_t bytes)
{
	memset(host, POISON, bytes);
	for (int row = 0; row < ROWS; row++)
		for (int col = 0; col < c->cols; col++)
			tsr_dtype_set(c->src, host,
				      (size_t)(OFFSET + c->skip + row * c->src_ld + col),
				      row == 0 ? (double)NAN : element_of(me, row, col));
}

static int fill_arrays(tsr_world_t *world, const sum_args_t *a)
{
	int32_t rows[TASKS][MOST];
	float weights[TASKS][MOST];
	const int me = tsr_world_rank(world);
	for (int task = 0; task < TASKS; task++)
		for (int i = 0; i < MOST; i++) {
			rows[task][i] = row_of(me, task, i);
			weights[task][i] = rows[task][i] < 0 ? NAN : (float)weight_of(me, task, i);
		}
	CHECK(tsr_memcpy_to_heap(world, a->rows, rows, sizeof rows) == TSR_OK);
	CHECK(tsr_memcpy_to_heap(world, a->weights, weights, sizeof weights) == TSR_OK);
	return 0;
}

static int sum_one(tsr_world_t *world, const tsr_kernel_t *kernel, const sum_case_t *c,
		   sum_args_t *a, unsigned char *before, unsigned char *seen)
{
	const int me = tsr_world_rank(world), rows = tsr_world_size(world) * TASKS;
	const size_t src_bytes = bytes_of(c->src, ROWS, c->src_ld),
		     dst_bytes = bytes_of(c->dst, rows, c->dst_ld);
	TSR_HEAP void *src = poisoned(world, src_bytes, "src"),
		      *dst = poisoned(world, dst_bytes, "dst");
	CHECK(src && dst);
	fill_src(c, me, before, src_bytes);
	CHECK(tsr_memcpy_to_heap(world, src, before, src_bytes) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	a->src = view_of(src, c->src, ROWS, c->src_ld, c);
	a->dst = view_of(dst, c->dst, rows, c->dst_ld, c);
	CHECK(run_kernel(world, kernel, BLOCKS, a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, seen, dst, dst_bytes) == TSR_OK);
	int failed = dst_check(world, c, a, seen);
	CHECK(tsr_memcpy_from_heap(world, seen, src, src_bytes) == TSR_OK);
	failed = failed || src_check(world, c, a, seen, before);
	CHECK(tsr_heap_free(world, src) == TSR_OK && tsr_heap_free(world, dst) == TSR_OK);
	return failed;
}

static int sum_body(tsr_world_t *world, int argc, char **argv)
{
	static const sum_case_t cases[] = {
		{TSR_BF16, TSR_BF16, 1000, 1000, 1000, 0}, {TSR_BF16, TSR_F32, 64, 64, 64, 0},
		{TSR_F32, TSR_BF16, 33, 36, 40, 0},        {TSR_F16, TSR_F16, 31, 31, 33, 0},
		{TSR_F32, TSR_F32, 7, 8, 12, 4},           {TSR_F16, TSR_F32, 41, 48, 44, 0},
		{TSR_F32, TSR_F16, 17, 20, 24, 0},         {TSR_BF16, TSR_F16, 1, 8, 1, 3},
		{TSR_F16, TSR_BF16, 16, 16, 16, 1},        {TSR_BF16, TSR_BF16, 0, 8, 8, 0},
	};
	static const int counts[] = {8, 0, 1, 31, 3, 256, 5, 2, 4, 8};
	(void)argc, (void)argv;
	sum_args_t a = {
		.rows = (TSR_HEAP int32_t *)poisoned(world, TASKS * MOST * sizeof(int32_t), "rows"),
		.weights =
			(TSR_HEAP float *)poisoned(world, TASKS * MOST * sizeof(float), "weights")};
	unsigned char *before = (unsigned char *)malloc((size_t)2 * ROOM);
	CHECK(before && a.rows && a.weights && fill_arrays(world, &a) == 0);
	for (int i = 0; i < 2 * (int)(sizeof cases / sizeof *cases); i++) {
		const sum_case_t *c = &cases[i / 2];
		a.count = counts[i * 3 % 10];
		a.kind = i % KINDS;
		if (a.kind == IN_PLACE && c->src != c->dst)
			a.kind = WEIGHED;
		if (sum_one(world,
			    a.kind == VARIABLES ? &sum_by_variables
			    : i % 2             ? &sum_by_blocks
						: &sum_by_workers,
			    c, &a, before, before + ROOM) != 0)
			return 1;
	}
	free(before);
	return 0;
}

Test(sum_rows, chosen_rows_are_summed)
{
	world_each(sum_body, NULL);
}
