/*
 * Windows as matrix units and atomics have them: operands of a main loop that
 * loads by the copy engine where there is one, and words that all ranks count.
 */
#include "tests/contract/windows/window_piece.h"

/* ------------------------------------------------------------------ a product on tensor cores */

/* Rows of both operands begin at multiples of 16 bytes; tiles stand over every edge. */
enum { M = 130, N = 72, K = 136, TILE_M = 128, TILE_N = 128, TILE_K = 64 };

TSR_TILE(window_wide, bf16, TILE_M, TILE_N, TILE_K);

typedef struct wide_args {
	tsr_view_t a, b, c;
} wide_args_t;

/** A is the next rank's, B the one's before. */
TSR_FN tsr_from_t wide_gate(tsr_coop_t *loader, tsr_part_t chunk, const void *ctx)
{
	const int me = tsr_rank(loader), size = tsr_size(loader);
	(void)chunk, (void)ctx;
	return tsr_from((me + 1) % size, (me + size - 1) % size);
}

TSR_FN tsr_part_t wide_order(int64_t task, const void *ctx)
{
	(void)ctx;
	const tsr_pos_t at = {task * TILE_M, 0};
	return tsr_whole(at);
}

/** The product goes to the window of the rank after me. */
TSR_FN void wide_keep(tsr_coop_t *me, window_wide_frag_t *acc, tsr_pos_t at, void *ctx)
{
	const wide_args_t *args = *(const wide_args_t **)ctx;
	tsr_store(me, args->c, at, acc, (tsr_rank(me) + 1) % tsr_size(me));
}

TSR_KERNEL(window_wide_multiply, wide_args_t, a)
{
	const wide_args_t *args = a;
	const tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block),
				   tsr_tiles(M, TILE_M)};
	tsr_gemm(window_wide, block, a->a, a->b, tasks, wide_order, wide_gate, wide_keep, &args);
}

static int factor(int matrix, int row, int col, int rank)
{
	return (row * 5 + col * 3 + 7 * rank + matrix) % 7 - 3;
}

/** A small integer is the upper half of the same float. */
static uint16_t bf16_of(int value)
{
	const float exact = (float)value;
	uint32_t bits;
	memcpy(&bits, &exact, sizeof bits);
	return (uint16_t)(bits >> 16);
}

/* In bytes, each at a multiple of 16. */
enum { A_AT = 16, B_AT = A_AT + M * K * 2, C_AT = B_AT + K * N * 2, END = C_AT + M * N * 4 };

static int fill_operands(tsr_world_t *world, const piece_t *piece)
{
	uint16_t operands[M * K + K * N];
	const int me = tsr_world_rank(world);
	for (int i = 0; i < M * K; i++)
		operands[i] = bf16_of(factor(0, i / K, i % K, me));
	for (int i = 0; i < K * N; i++)
		operands[M * K + i] = bf16_of(factor(1, i / N, i % N, me));
	return write_memory(world, piece, A_AT, operands, sizeof operands);
}

/** What the rank before me has multiplied: A of mine, B of the one before that. */
static int check_wide(tsr_world_t *world, const float *found)
{
	const int size = tsr_world_size(world), me = tsr_world_rank(world),
		  b = (me + 2 * size - 2) % size;
	for (int i = 0; i < M * N; i++) {
		int sum = 0;
		for (int k = 0; k < K; k++)
			sum += factor(0, i / N, k, me) * factor(1, k, i % N, b);
		CHECK(found[i] == (float)sum, "element (%d, %d): %g, not %d", i / N, i % N,
		      (double)found[i], sum);
	}
	return 0;
}

static tsr_view_t view_at(const piece_t *piece, size_t at, int64_t rows, int64_t cols, int dtype)
{
	tsr_view_t view = {
		(TSR_HEAP void *)(piece->heap + at), rows, cols, cols, dtype, TSR_SPACE_HEAP};
	return view;
}

static int wide_body(tsr_world_t *world, int argc, char **argv)
{
	float found[M * N];
	piece_t piece;
	(void)argc, (void)argv;
	if (has_none(world))
		return check_none(world);
	CHECK(own_bytes(world, END, &piece) == 0);
	CHECK(fill_operands(world, &piece) == 0);
	CHECK(register_piece(world, "wide", &piece) == 0);
	const wide_args_t args = {view_at(&piece, A_AT, M, K, TSR_BF16),
				  view_at(&piece, B_AT, K, N, TSR_BF16),
				  view_at(&piece, C_AT, M, N, TSR_F32)};
	/* the second time with what the first has left in the device's workspace */
	for (int time = 0; time < 2; time++) {
		CHECK(tsr_memset_heap(world, piece.heap + C_AT, POISON, M * N * 4) == TSR_OK);
		CHECK(tsr_barrier(world) == TSR_OK);
		CHECK(run_kernel(world, &window_wide_multiply, 2, &args) == TSR_OK);
		CHECK(tsr_barrier(world) == TSR_OK);
		CHECK(read_piece(world, &piece, C_AT, found, sizeof found) == 0);
		CHECK(check_wide(world, found) == 0);
	}
	return release_piece(world, &piece);
}

Test(window_operands, tensor_cores_take_operands_of_peers_windows)
{
	each_world(wide_body);
}

/**
 * Other memory at the same address of the heap: nothing that the device has kept
 * of the first window is of use.
 */
static int after_body(tsr_world_t *world, int argc, char **argv)
{
	float found[M * N];
	piece_t pieces[2];
	(void)argc, (void)argv;
	if (has_none(world))
		return check_none(world);
	for (int i = 0; i < 2; i++) {
		CHECK(own_bytes(world, END, &pieces[i]) == 0);
		if (i > 0)
			CHECK(fill_operands(world, &pieces[i]) == 0);
		CHECK(register_piece(world, i ? "second" : "first", &pieces[i]) == 0);
		const wide_args_t args = {view_at(&pieces[i], A_AT, M, K, TSR_BF16),
					  view_at(&pieces[i], B_AT, K, N, TSR_BF16),
					  view_at(&pieces[i], C_AT, M, N, TSR_F32)};
		CHECK(tsr_barrier(world) == TSR_OK);
		CHECK(run_kernel(world, &window_wide_multiply, 2, &args) == TSR_OK);
		CHECK(tsr_barrier(world) == TSR_OK);
		CHECK(i == 0 || read_piece(world, &pieces[i], C_AT, found, sizeof found) == 0);
		CHECK(tsr_window_release(world, pieces[i].heap) == TSR_OK);
	}
	CHECK(pieces[0].heap == pieces[1].heap);
	CHECK(check_wide(world, found) == 0);
	return free_piece(world, &pieces[0]) == 0 ? free_piece(world, &pieces[1]) : 1;
}

Test(window_operands, another_window_at_the_same_place_is_read_anew)
{
	each_world(after_body);
}

/* ------------------------------------------------------------------ atomics */

enum { WORDS = 7, ROUNDS = 5, STRIDE = 1000 }; /* bytes from one word to the next */

typedef struct count_args {
	TSR_HEAP unsigned char *window;
} count_args_t;

/** Every block of every rank adds to the words of every rank; nobody reads them meanwhile. */
TSR_KERNEL(window_count, count_args_t, a)
{
	for (int round = 0; round < ROUNDS; round++)
		for (int peer = 0; peer < tsr_size(block); peer++)
			for (int w = 0; w < WORDS; w++)
				(void)tsr_atomic_add(block,
						     (TSR_HEAP uint64_t *)(a->window + w * STRIDE),
						     (uint64_t)(w + 1 + tsr_rank(block)), peer,
						     TSR_RELAXED, TSR_SCOPE_SYSTEM);
}

static int count_body(tsr_world_t *world, int argc, char **argv)
{
	enum { BLOCKS = 2 };
	const int size = tsr_world_size(world);
	piece_t piece;
	(void)argc, (void)argv;
	if (has_none(world))
		return check_none(world);
	CHECK(own_units(world, 2, &piece) == 0);
	CHECK(set_memory(world, &piece, 0) == 0);
	CHECK(register_piece(world, "counted", &piece) == 0);
	const count_args_t args = {piece.heap};
	CHECK(run_kernel(world, &window_count, BLOCKS, &args) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	for (int w = 0; w < WORDS; w++) {
		uint64_t found;
		const uint64_t ranks = (uint64_t)size,
			       wanted = BLOCKS * ROUNDS *
					(ranks * (uint64_t)(w + 1) + ranks * (ranks - 1) / 2);
		CHECK(read_piece(world, &piece, (size_t)w * STRIDE, &found, sizeof found) == 0);
		CHECK(found == wanted, "word %d is %llu, not %llu", w, (unsigned long long)found,
		      (unsigned long long)wanted);
	}
	return release_piece(world, &piece);
}

Test(window_operands, atomics_of_all_ranks_add_up_in_a_window)
{
	each_world(count_body);
}
