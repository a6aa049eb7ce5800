/*
 * Kernels with shared memory whose blocks are not split: what a block lays down
 * there, its main loop beside it, and the size.
 */
#include "tests/contract/contract_test.h"

TSR_TILE(shared_f32, f32, 16, 16, 16);

enum { COUNTS = 301, ROWS = 37, COLS = 29, DEPTH = 19, TASKS = 6, BLOCKS = 3 };

typedef struct stage {
	int32_t counts[COUNTS];
	TSR_SHARED_TILES(shared_f32, tile, 1);
} stage_t;

typedef struct shared_args {
	/* COUNTS of each block, and their prefix sums with the sum of all behind them */
	TSR_HEAP int32_t *counts, *sums;
	tsr_view_t a, b, c;
} shared_args_t;

typedef struct shared_ctx {
	const shared_args_t *a;
	stage_t *shared;
} shared_ctx_t;

TSR_FN tsr_part_t shared_order(int64_t task, const void *ctx)
{
	(void)ctx;
	const tsr_pos_t at = {task / 2 * 16, task % 2 * 16};
	return tsr_whole(at);
}

/** The tile goes to the next rank by way of shared memory. */
TSR_FN void shared_epilogue(tsr_coop_t *me, shared_f32_frag_t *acc, tsr_pos_t at, void *ctx)
{
	const shared_ctx_t *x = (const shared_ctx_t *)ctx;
	const int64_t rows = ROWS - at.row < 16 ? ROWS - at.row : 16,
		      cols = COLS - at.col < 16 ? COLS - at.col : 16;
	const tsr_pos_t begin = {0, 0};
	tsr_sync(me); /* with the put of the tile before, which reads what is written here */
	tsr_tile_store(me, tsr_view_shared(x->shared->tile[0], TSR_F32, 16, 16, 16), begin, acc);
	tsr_sync(me);
	tsr_put_2d(me, tsr_view_part(x->a->c, at, rows, cols),
		   tsr_view_shared(x->shared->tile[0], TSR_F32, rows, cols, 16),
		   (tsr_rank(me) + 1) % tsr_size(me));
}

TSR_KERNEL_SHARED(stage_in_shared, stage_t, shared_args_t, a)
{
	const int rank = tsr_rank(block), index = tsr_block_index(block);
	const tsr_view_t held = tsr_view_shared(shared->counts, TSR_I32, 1, COUNTS, COUNTS);
	const tsr_tasks_t tasks = {index, tsr_block_count(block), TASKS};
	shared_ctx_t ctx = {a, shared};
	tsr_get_2d(block, held, tsr_view(a->counts + index * COUNTS, TSR_I32, 1, COUNTS, COUNTS),
		   (rank + 1) % tsr_size(block));
	const int32_t all = tsr_coop_scan(block, shared->counts, COUNTS);
	tsr_gemm(shared_f32, block, a->a, a->b, tasks, shared_order, TSR_NO_GATE, shared_epilogue,
		 &ctx);
	/* What stood in shared memory before the main loop stands there still. */
	tsr_put_2d(block, tsr_view(a->sums + index * (COUNTS + 1), TSR_I32, 1, COUNTS, COUNTS),
		   held, rank);
	tsr_atomic_store(block, a->sums + index * (COUNTS + 1) + COUNTS, all, rank, TSR_RELAXED,
			 TSR_SCOPE_DEVICE);
}

static int32_t count_of(int rank, int i)
{
	return (rank * 1009 + i * 31) % 997 - 400;
}

static float a_of(int rank, int i)
{
	return (float)((rank * 7 + i * 5) % 17 - 8);
}

static float b_of(int rank, int i)
{
	return (float)((rank * 3 + i * 11) % 13 - 6);
}

static int check_sums(tsr_world_t *world, const shared_args_t *a)
{
	int32_t sums[BLOCKS * (COUNTS + 1)];
	const int next = (tsr_world_rank(world) + 1) % tsr_world_size(world);
	CHECK(tsr_memcpy_from_heap(world, sums, a->sums, sizeof sums) == TSR_OK);
	for (int block = 0; block < BLOCKS; block++) {
		int32_t sum = 0;
		for (int i = 0; i <= COUNTS; i++) {
			CHECK(sums[block * (COUNTS + 1) + i] == sum, "sum %d of block %d is %d", i,
			      block, sums[block * (COUNTS + 1) + i]);
			sum += count_of(next, block * COUNTS + i);
		}
	}
	return 0;
}

static int check_product(tsr_world_t *world, const tsr_tensor_t *c)
{
	static _Thread_local float got[ROWS * COLS];
	const int size = tsr_world_size(world), from = (tsr_world_rank(world) + size - 1) % size;
	CHECK(tsr_tensor_read(world, c, got) == TSR_OK);
	for (int row = 0; row < ROWS; row++)
		for (int col = 0; col < COLS; col++) {
			float sum = 0;
			for (int k = 0; k < DEPTH; k++)
				sum += a_of(from, row * DEPTH + k) * b_of(from, k * COLS + col);
			CHECK(got[row * COLS + col] == sum, "%d, %d is %g, not %g", row, col,
			      (double)got[row * COLS + col], (double)sum);
		}
	return 0;
}

static tsr_status_t make_operands(tsr_world_t *world, tsr_tensor_t t[3], shared_args_t *a)
{
	static const int64_t shapes[3][2] = {{ROWS, DEPTH}, {DEPTH, COLS}, {ROWS, COLS}};
	float values[ROWS * DEPTH];
	const int rank = tsr_world_rank(world);
	tsr_status_t status = TSR_OK;
	for (int i = 0; i < 3 && status == TSR_OK; i++)
		status = tsr_tensor_full(world, TSR_F32, 2, shapes[i], -77, &t[i]);
	for (int i = 0; i < ROWS * DEPTH; i++)
		values[i] = a_of(rank, i);
	if (status == TSR_OK)
		status = tsr_tensor_write(world, &t[0], values);
	for (int i = 0; i < DEPTH * COLS; i++)
		values[i] = b_of(rank, i);
	if (status == TSR_OK)
		status = tsr_tensor_write(world, &t[1], values);
	if (status == TSR_OK)
		status = tsr_tensor_view(&t[0], &a->a);
	if (status == TSR_OK)
		status = tsr_tensor_view(&t[1], &a->b);
	return status == TSR_OK ? tsr_tensor_view(&t[2], &a->c) : status;
}

static int staged(tsr_world_t *world, int argc, char **argv)
{
	int32_t counts[BLOCKS * COUNTS];
	shared_args_t a;
	tsr_tensor_t t[3];
	(void)argc, (void)argv;
	CHECK(make_operands(world, t, &a) == TSR_OK);
	for (int i = 0; i < BLOCKS * COUNTS; i++)
		counts[i] = count_of(tsr_world_rank(world), i);
	a.counts = (TSR_HEAP int32_t *)poisoned(world, sizeof counts, "counts");
	a.sums = (TSR_HEAP int32_t *)poisoned(world, BLOCKS * (COUNTS + 1) * sizeof(int32_t),
					      "sums");
	CHECK(a.counts != NULL && a.sums != NULL);
	CHECK(tsr_memcpy_to_heap(world, a.counts, counts, sizeof counts) == TSR_OK &&
	      tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &stage_in_shared, BLOCKS, &a) == TSR_OK &&
	      tsr_barrier(world) == TSR_OK);
	CHECK(stage_in_shared.workers == 1 && stage_in_shared.shared_bytes == sizeof(stage_t));
	return check_sums(world, &a) != 0 || check_product(world, &t[2]) != 0;
}

Test(shared, a_block_that_is_not_split_has_shared_memory)
{
	world_each(staged, NULL);
}
