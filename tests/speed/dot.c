/*
 * What products of fragments reach beside the main loop, one block a
 * multiprocessor: run on GPUs by ci/gpu. Usage: dot [ROUNDS]
 *
 * Tiles of 64 x 64 x 64 of bf16: multiplied over and over as they are held;
 * each loaded anew before it is multiplied; and the same with the right operand
 * transposed. Beside them a product by the main loop. Exit code 1 where what is
 * held is multiplied at less than half of the main loop's rate, or any sum is
 * wrong. On the emulator, which has no matrix units, sums alone are judged.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/dev.h"
#include "tessera/dtype.h"
#include "tessera/main.h"
#include "tessera/program.h"
#include "tessera/tessera.h"

enum { SIDE = 64, SIDE_M = 128, SIDE_N = 256, TIMES = 5 };

TSR_TILE(small, bf16, SIDE, SIDE, SIDE);
TSR_TILE(large, bf16, SIDE_M, SIDE_N, SIDE);

typedef struct rate_args {
	tsr_view_t a, b, c; /* of the small tiles: one of each, and c one a block */
	int64_t rounds;
	int32_t loads, transposed;
} rate_args_t;

/* What a round adds is the same each time. */
TSR_KERNEL(rate_dot, rate_args_t, args)
{
	const tsr_pos_t origin = {0, 0}, at = {(int64_t)tsr_block_index(block) * SIDE, 0};
	TSR_FRAG(small, acc, block);
	TSR_FRAG_A(small, a, block);
	TSR_FRAG_B(small, b, block);
	tsr_frag_zero(block, acc);
	tsr_tile_load(block, a, args->a, origin);
	tsr_tile_load(block, b, args->b, origin);
	for (int64_t round = 0; round < args->rounds; round++) {
		if (args->loads) {
			const tsr_pos_t next = {round % 8 * SIDE, 0};
			tsr_tile_load(block, a, args->a, next);
			tsr_tile_load(block, b, args->b, next);
		}
		tsr_tile_dot(block, acc, a, b);
	}
	tsr_tile_store(block, args->c, at, acc);
}

TSR_KERNEL(rate_dot_bt, rate_args_t, args)
{
	const tsr_pos_t origin = {0, 0}, at = {(int64_t)tsr_block_index(block) * SIDE, 0};
	TSR_FRAG(small, acc, block);
	TSR_FRAG_A(small, a, block);
	TSR_FRAG_BT(small, b, block);
	tsr_frag_zero(block, acc);
	tsr_tile_load(block, a, args->a, origin);
	tsr_tile_load(block, b, args->b, origin);
	for (int64_t round = 0; round < args->rounds; round++) {
		if (args->loads) {
			const tsr_pos_t next = {round % 8 * SIDE, 0};
			tsr_tile_load(block, a, args->a, next);
			tsr_tile_load(block, b, args->b, next);
		}
		tsr_tile_dot_bt(block, acc, a, b);
	}
	tsr_tile_store(block, args->c, at, acc);
}

TSR_FN tsr_part_t rate_order(int64_t task, const void *ctx)
{
	const rate_args_t *args = *(const rate_args_t *const *)ctx;
	const int64_t tiles_m = tsr_tiles(args->c.rows, SIDE_M);
	const tsr_pos_t at = {task % tiles_m * SIDE_M, task / tiles_m * SIDE_N};
	return tsr_whole(at);
}

TSR_FN void rate_keep(tsr_coop_t *me, large_frag_t *acc, tsr_pos_t at, void *ctx)
{
	const rate_args_t *args = *(const rate_args_t *const *)ctx;
	tsr_tile_store(me, args->c, at, acc);
}

TSR_KERNEL(rate_loop, rate_args_t, args)
{
	const tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block),
				   tsr_tiles(args->c.rows, SIDE_M) *
					   tsr_tiles(args->c.cols, SIDE_N)};
	struct {
		const rate_args_t *args;
	} ctx = {args};
	tsr_gemm(large, block, args->a, args->b, tasks, rate_order, TSR_NO_GATE, rate_keep, &ctx);
}

/* ---- the host */

/** The shortest of some launches, after one that counts for nothing. */
static tsr_status_t time_of(tsr_world_t *world, const tsr_kernel_t *kernel, int blocks,
			    const rate_args_t *args, double *ns_out)
{
	tsr_stream_t *stream;
	tsr_event_t *begin, *end;
	tsr_status_t status = tsr_stream_create(tsr_world_team(world), &stream);
	if (status == TSR_OK)
		status = tsr_event_create(world, &begin);
	if (status == TSR_OK)
		status = tsr_event_create(world, &end);
	*ns_out = 0;
	for (int i = 0; i <= TIMES && status == TSR_OK; i++) {
		uint64_t ns = 0;
		status = tsr_event_record(begin, stream);
		if (status == TSR_OK)
			status = tsr_launch(stream, kernel, blocks, args);
		if (status == TSR_OK)
			status = tsr_event_record(end, stream);
		if (status == TSR_OK)
			status = tsr_stream_sync(stream);
		if (status == TSR_OK)
			status = tsr_event_elapsed_ns(begin, end, &ns);
		if (i > 0 && (i == 1 || (double)ns < *ns_out))
			*ns_out = (double)ns;
	}
	return status;
}

/**
 * A matrix of whole numbers, 0 and 1, in bf16, of which row r, column c is (r +
 * c * step) % 3 == 0.
 */
static tsr_status_t fill(tsr_world_t *world, tsr_view_t view, int step)
{
	const size_t bytes = (size_t)view.rows * (size_t)view.ld * 2;
	uint16_t *host = (uint16_t *)malloc(bytes);
	if (!host)
		return tsr_error(TSR_ERR_SYSTEM, "no memory for a matrix");
	for (int64_t row = 0; row < view.rows; row++)
		for (int64_t col = 0; col < view.cols; col++)
			host[row * view.ld + col] = (row + col * step) % 3 == 0 ? 0x3f80 : 0;
	const tsr_status_t status = tsr_memcpy_to_heap(world, view.data, host, bytes);
	free(host);
	return status;
}

static tsr_status_t matrix(tsr_world_t *world, int64_t rows, int64_t cols, tsr_dtype_t dtype,
			   const char *name, tsr_view_t *view_out)
{
	TSR_HEAP void *data;
	const tsr_status_t status =
		tsr_heap_alloc(world, (size_t)(rows * cols) * tsr_dtype_bytes(dtype), 0, name,
			       &data);
	if (status == TSR_OK)
		*view_out = tsr_view(data, dtype, rows, cols, cols);
	return status;
}

/** How many of the sums of the last block's tile are wrong. */
static tsr_status_t count_wrong(tsr_world_t *world, const rate_args_t *args, int blocks,
				int *wrong_out)
{
	float *sums = (float *)malloc((size_t)blocks * SIDE * SIDE * sizeof *sums);
	if (!sums)
		return tsr_error(TSR_ERR_SYSTEM, "no memory for the sums");
	const tsr_status_t status =
		tsr_memcpy_from_heap(world, sums, args->c.data,
				     (size_t)blocks * SIDE * SIDE * sizeof *sums);
	for (int i = 0; i < SIDE * SIDE && status == TSR_OK; i++) {
		const int row = i / SIDE, col = i % SIDE;
		double want = 0;
		for (int64_t turn = 0; turn < 8; turn++) { /* rounds repeat themselves */
			const int64_t first = args->loads ? turn * SIDE : 0;
			const double times = (double)((args->rounds - turn + 7) / 8);
			for (int k = 0; k < SIDE; k++) {
				const int64_t b_row = first + (args->transposed ? col : k),
					      b_col = args->transposed ? k : col;
				want += (first + row + k) % 3 == 0 && (b_row + b_col * 2) % 3 == 0
						? times
						: 0;
			}
		}
		*wrong_out += (double)sums[(size_t)(blocks - 1) * SIDE * SIDE + (size_t)i] != want;
	}
	free(sums);
	return status;
}

typedef struct rate_line {
	const char *what;
	const tsr_kernel_t *kernel;
	int32_t loads, transposed;
} rate_line_t;

static void print_line(const char *what, double operations, double ns, double of)
{
	printf("%-44s %9.1f TFLOP/s", what, operations / ns / 1e3);
	if (of > 0)
		printf("  %.2f of the main loop", operations / ns / of);
	printf("\n");
	fflush(stdout);
}

/** The main loop's operations a nanosecond. */
static tsr_status_t time_loop(tsr_world_t *world, int blocks, int64_t side, double *rate_out)
{
	rate_args_t args = {.rounds = 0, .loads = 0, .transposed = 0};
	double ns = 0;
	tsr_status_t status = matrix(world, side, side, TSR_BF16, "a", &args.a);
	if (status == TSR_OK)
		status = matrix(world, side, side, TSR_BF16, "b", &args.b);
	if (status == TSR_OK)
		status = matrix(world, side, side, TSR_BF16, "c", &args.c);
	if (status == TSR_OK)
		status = fill(world, args.a, 1);
	if (status == TSR_OK)
		status = fill(world, args.b, 2);
	if (status == TSR_OK)
		status = time_of(world, &rate_loop, blocks, &args, &ns);
	if (status != TSR_OK)
		return status;
	*rate_out = 2.0 * (double)side * (double)side * (double)side / ns;
	print_line("main loop, 128 x 256 x 64", *rate_out * ns, ns, 0);
	return TSR_OK;
}

TSR_MAIN(world, argc, argv)
{
	static const rate_line_t lines[] = {
		{"tsr_tile_dot, held", &rate_dot, 0, 0},
		{"tsr_tile_dot_bt, held", &rate_dot_bt, 0, 1},
		{"tsr_tile_dot, both loaded each time", &rate_dot, 1, 0},
		{"tsr_tile_dot_bt, both loaded each time", &rate_dot_bt, 1, 1}};
	tsr_device_props_t device = {.size = sizeof device};
	const bool emulated = strcmp(tsr_world_backend(world), "cpuemu") == 0;
	long rounds = emulated ? 9 : 20000;
	double rate = 0;
	int failed = 0;
	if (argc > 1)
		TSR_TRY(tsr_parse_int("ROUNDS", argv[1], 1, 1 << 20, &rounds));
	TSR_TRY(tsr_world_device(world, &device));
	const int blocks = device.resident_blocks;
	TSR_TRY(time_loop(world, blocks, emulated ? 512 : 8192, &rate));
	rate_args_t args = {.rounds = rounds, .loads = 0, .transposed = 0};
	TSR_TRY(matrix(world, 8 * SIDE, SIDE, TSR_BF16, "a of small tiles", &args.a));
	TSR_TRY(matrix(world, 8 * SIDE, SIDE, TSR_BF16, "b of small tiles", &args.b));
	TSR_TRY(matrix(world, (int64_t)blocks * SIDE, SIDE, TSR_F32, "c of small tiles", &args.c));
	TSR_TRY(fill(world, args.a, 1));
	TSR_TRY(fill(world, args.b, 2));
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		const double operations = 2.0 * SIDE * SIDE * SIDE * (double)rounds * blocks;
		double ns;
		int wrong = 0;
		args.loads = lines[i].loads;
		args.transposed = lines[i].transposed;
		TSR_TRY(time_of(world, lines[i].kernel, blocks, &args, &ns));
		TSR_TRY(count_wrong(world, &args, blocks, &wrong));
		print_line(lines[i].what, operations, ns, rate);
		if (wrong)
			printf("%d sums are wrong\n", wrong);
		failed |= wrong || (!emulated && !lines[i].loads && operations / ns < rate / 2);
	}
	return failed;
}
