/*
 * Memory outside the heap, in windows: each rank allocates some, as a framework
 * might have done, and makes it a part of the heap without a copy. A kernel
 * sends this rank's activations into the memory of the next rank, and multiplies
 * what has come from the rank before by its own weights. Operands, result and
 * the flag are all in that memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"

enum { M = 160, N = 136, K = 192, BLOCKS = 2, TILE = 128, DEPTH = 64 };

TSR_TILE(window_tile, bf16, TILE, TILE, DEPTH);

/* Bytes from the begin of the window. */
enum {
	ARRIVED = 0, /* a flag: blocks of the rank before that have sent their rows */
	SENT = 256,  /* activations of this rank, M x K */
	INBOX = SENT + M * K * 2,
	WEIGHTS = INBOX + M * K * 2, /* K x N */
	RESULT = WEIGHTS + K * N * 2,
	END = RESULT + M * N * 4
};

typedef struct window_args {
	TSR_HEAP unsigned char *window;
	tsr_view_t inbox, weights, result;
} window_args_t;

/** Nothing is multiplied before all of it is there. Partner: the signals of window_product. */
TSR_FN tsr_from_t all_have_come(tsr_coop_t *loader, tsr_part_t chunk, const void *ctx)
{
	const window_args_t *args = *(const window_args_t *const *)ctx;
	const int me = tsr_rank(loader), size = tsr_size(loader);
	(void)chunk;
	tsr_wait(loader, (TSR_HEAP uint64_t *)(args->window + ARRIVED), BLOCKS,
		 (me + size - 1) % size); /* litmus: MP.rel.acq.diffGPU-ss */
	return tsr_from(me, me);
}

TSR_FN tsr_part_t by_rows(int64_t task, const void *ctx)
{
	(void)ctx;
	const int64_t across = tsr_tiles(N, TILE);
	const tsr_pos_t at = {task / across * TILE, task % across * TILE};
	return tsr_whole(at);
}

TSR_FN void keep(tsr_coop_t *me, window_tile_frag_t *acc, tsr_pos_t at, void *ctx)
{
	const window_args_t *args = *(const window_args_t **)ctx;
	tsr_tile_store(me, args->result, at, acc);
}

/** Each block sends its rows to the next rank; then all multiply. */
TSR_KERNEL(window_product, window_args_t, a)
{
	const window_args_t *args = a;
	const int64_t block_index = tsr_block_index(block);
	const size_t first = (size_t)(M * block_index / BLOCKS * K * 2),
		     end = (size_t)(M * (block_index + 1) / BLOCKS * K * 2);
	const tsr_tasks_t tasks = {block_index, BLOCKS, tsr_tiles(M, TILE) * tsr_tiles(N, TILE)};
	/* partner: the wait of all_have_come; litmus: MP.rel.acq.diffGPU-ss */
	tsr_put_signal(block, a->window + INBOX + first, a->window + SENT + first, end - first,
		       (TSR_HEAP uint64_t *)(a->window + ARRIVED), 1, TSR_SIGNAL_ADD,
		       (tsr_rank(block) + 1) % tsr_size(block));
	tsr_gemm(window_tile, block, a->inbox, a->weights, tasks, by_rows, all_have_come, keep,
		 &args);
}

/** Small integers, whose products and sums are exact. */
static int activation(int rank, int row, int col)
{
	return (row + 2 * col + 3 * rank) % 7 - 3;
}

static int weight(int rank, int row, int col)
{
	return (3 * row + col + rank) % 5 - 2;
}

/** In bf16, which is the upper half of a float. */
static uint16_t bf16_of(int value)
{
	const float exact = (float)value;
	uint32_t bits;
	memcpy(&bits, &exact, sizeof bits);
	return (uint16_t)(bits >> 16);
}

static tsr_status_t fill(tsr_world_t *world, TSR_HEAP unsigned char *window)
{
	static const uint64_t none = 0;
	const int me = tsr_world_rank(world);
	uint16_t *matrix = (uint16_t *)malloc(M * K * sizeof *matrix);
	if (matrix == NULL)
		return TSR_ERR_NO_MEMORY;
	for (int i = 0; i < M * K; i++)
		matrix[i] = bf16_of(activation(me, i / K, i % K));
	tsr_status_t status = tsr_memcpy_to_heap(world, window + SENT, matrix, M * K * 2);
	for (int i = 0; i < K * N; i++)
		matrix[i] = bf16_of(weight(me, i / N, i % N));
	if (status == TSR_OK)
		status = tsr_memcpy_to_heap(world, window + WEIGHTS, matrix, K * N * 2);
	free(matrix);
	return status == TSR_OK ? tsr_memcpy_to_heap(world, window + ARRIVED, &none, sizeof none)
				: status;
}

/** The number of wrong elements of the result; -1 if it cannot be read. */
static int count_wrong(tsr_world_t *world, TSR_HEAP unsigned char *window)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world),
		  previous = (me + size - 1) % size;
	float row[N];
	int wrong = 0;
	for (int i = 0; i < M; i++) {
		if (tsr_memcpy_from_heap(world, row, window + RESULT + (size_t)i * sizeof row,
					 sizeof row) != TSR_OK)
			return -1;
		for (int j = 0; j < N; j++) {
			int sum = 0;
			for (int k = 0; k < K; k++)
				sum += activation(previous, i, k) * weight(me, k, j);
			wrong += row[j] != (float)sum;
		}
	}
	return wrong;
}

static tsr_view_t view_at(TSR_HEAP unsigned char *at, int rows, int cols, int dtype)
{
	tsr_view_t view = {(TSR_HEAP void *)at, rows, cols, cols, dtype, TSR_SPACE_HEAP};
	return view;
}

TSR_MAIN(world, argc, argv)
{
	const size_t unit = tsr_window_unit_bytes(world);
	const size_t bytes = unit > 0 ? (END + unit - 1) / unit * unit : END;
	tsr_stream_t *stream;
	TSR_HEAP void *heap;
	void *memory;
	(void)argc, (void)argv;
	TSR_TRY(tsr_window_alloc(world, bytes, &memory));
	TSR_TRY(tsr_window_register(world, memory, bytes, "layer", &heap));
	TSR_HEAP unsigned char *window = (TSR_HEAP unsigned char *)heap;
	TSR_TRY(fill(world, window));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world)); /* all flags are 0 */
	const window_args_t args = {window, view_at(window + INBOX, M, K, TSR_BF16),
				    view_at(window + WEIGHTS, K, N, TSR_BF16),
				    view_at(window + RESULT, M, N, TSR_F32)};
	TSR_TRY(tsr_launch(stream, &window_product, BLOCKS, &args));
	TSR_TRY(tsr_stream_sync(stream));
	const int wrong = count_wrong(world, window);
	printf("rank %d of %d: a product in a window of %s, %d wrong: %s\n", tsr_world_rank(world),
	       tsr_world_size(world), tsr_world_backend(world), wrong, wrong == 0 ? "ok" : "WRONG");
	TSR_TRY(tsr_stream_destroy(stream));
	TSR_TRY(tsr_window_release(world, heap));
	TSR_TRY(tsr_window_free(world, memory));
	return wrong != 0;
}
