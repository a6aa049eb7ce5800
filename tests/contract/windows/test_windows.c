/*
 * Windows: kernels of all ranks work on memory of the program's own, which the
 * host reads and writes at its own address.
 */
#include "tests/contract/windows/window_piece.h"

/* ------------------------------------------------------------------ puts, gets, signals */

enum { PART = 333, AT = 4096 - 100, FLAG_AT = 64 }; /* a part lies across two pages */

typedef struct ring_args {
	TSR_HEAP unsigned char *window;
	uint64_t round;
} ring_args_t;

/**
 * Puts my part to the next rank's window and raises the flag that is in it,
 * waits for mine, and gets what the rank behind me has put to its next: my own.
 * Flag and wait are partners. Litmus: MP.rel.acq.diffGPU-ss.
 */
TSR_KERNEL(window_ring, ring_args_t, a)
{
	const int me = tsr_rank(block), size = tsr_size(block), next = (me + 1) % size,
		  previous = (me + size - 1) % size;
	TSR_HEAP uint64_t *arrived = (TSR_HEAP uint64_t *)(a->window + FLAG_AT);
	tsr_put_signal(block, a->window + AT + PART, a->window + AT, PART, arrived, a->round,
		       TSR_SIGNAL_SET, next);
	tsr_wait(block, arrived, a->round, previous);
	tsr_signal(block, arrived + 1, a->round, TSR_SIGNAL_SET, previous);
	tsr_wait(block, arrived + 1, a->round, next);
	tsr_get(block, a->window + AT + 2 * PART, a->window + AT + PART, PART, next);
}

static void make_part(unsigned char part[PART], int rank, int round)
{
	for (size_t i = 0; i < PART; i++)
		part[i] = (unsigned char)(mark_of(rank, i) + 3 * round);
}

static int check_part(tsr_world_t *world, const piece_t *piece, size_t at, int rank, int round)
{
	unsigned char found[PART], wanted[PART];
	make_part(wanted, rank, round);
	CHECK(read_piece(world, piece, at, found, PART) == 0);
	CHECK(memcmp(found, wanted, PART) == 0, "bytes from %zu on are not rank %d's of round %d",
	      at, rank, round);
	return 0;
}

static int go_around(tsr_world_t *world, const piece_t *piece, int rank, int size, int rounds)
{
	unsigned char part[PART];
	tsr_stream_t *stream;
	CHECK(tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	for (int round = 1; round <= rounds; round++) {
		const ring_args_t args = {piece->heap, (uint64_t)round};
		make_part(part, rank, round);
		CHECK(write_piece(world, piece, AT, part, PART) == 0);
		CHECK(tsr_launch(stream, &window_ring, 1, &args) == TSR_OK);
		CHECK(tsr_stream_sync(stream) == TSR_OK);
		CHECK(check_part(world, piece, AT + PART, (rank + size - 1) % size, round) == 0);
		CHECK(check_part(world, piece, AT + 2 * PART, rank, round) == 0);
		CHECK(tsr_barrier(world) == TSR_OK);
	}
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : 1;
}

/** Everything but the flags and the three parts is as it was. */
static int check_beside(tsr_world_t *world, const piece_t *piece)
{
	unsigned char *found = (unsigned char *)malloc(piece->bytes);
	CHECK(found != NULL);
	CHECK(read_memory(world, piece, 0, found, piece->bytes) == 0);
	for (size_t i = 0; i < piece->bytes; i++)
		CHECK((i >= FLAG_AT && i < FLAG_AT + 16) || (i >= AT && i < AT + 3 * PART) ||
			      found[i] == POISON,
		      "byte %zu is %d", i, found[i]);
	free(found);
	return 0;
}

static int ring_body(tsr_world_t *world, int argc, char **argv)
{
	static const unsigned char zeros[16];
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	piece_t piece;
	(void)argc, (void)argv;
	if (has_none(world))
		return check_none(world);
	CHECK(own_units(world, 2, &piece) == 0);
	CHECK(write_memory(world, &piece, FLAG_AT, zeros, sizeof zeros) == 0);
	CHECK(register_piece(world, "ring", &piece) == 0);
	CHECK(go_around(world, &piece, me, size, getenv("TESSERA_CHECK") ? 1 : 5) == 0);
	CHECK(tsr_window_release(world, piece.heap) == TSR_OK);
	CHECK(check_beside(world, &piece) == 0); /* the program's again: no call is needed */
	return free_piece(world, &piece);
}

Test(windows, puts_gets_and_signals_reach_the_programs_memory)
{
	each_world(ring_body);
}

/* ------------------------------------------------------------------ tiles and main loops */

enum { M = 37, N = 29, K = 53, TILE = 16 };

TSR_TILE(window_f32, f32, TILE, TILE, TILE);

typedef struct product_args {
	tsr_view_t a, b, c, copy;
} product_args_t;

/** A is mine, B the next rank's: both in windows. */
TSR_FN tsr_from_t window_gate(tsr_coop_t *loader, tsr_part_t chunk, const void *ctx)
{
	(void)chunk, (void)ctx;
	return tsr_from(tsr_rank(loader), (tsr_rank(loader) + 1) % tsr_size(loader));
}

TSR_FN tsr_part_t window_order(int64_t task, const void *ctx)
{
	(void)ctx;
	const int64_t across = tsr_tiles(N, TILE);
	const tsr_pos_t at = {task / across * TILE, task % across * TILE};
	return tsr_whole(at);
}

/** The product goes to my window, and a copy of it to the next rank's. */
TSR_FN void window_keep(tsr_coop_t *me, window_f32_frag_t *acc, tsr_pos_t at, void *ctx)
{
	const product_args_t *args = *(const product_args_t **)ctx;
	tsr_tile_store(me, args->c, at, acc);
	tsr_store(me, args->copy, at, acc, (tsr_rank(me) + 1) % tsr_size(me));
}

TSR_KERNEL(window_multiply, product_args_t, a)
{
	const product_args_t *args = a;
	const tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block),
				   tsr_tiles(M, TILE) * tsr_tiles(N, TILE)};
	tsr_gemm(window_f32, block, a->a, a->b, tasks, window_order, window_gate, window_keep,
		 &args);
}

static float factor(int matrix, int row, int col, int rank)
{
	return (float)((row * 7 + col * 3 + 11 * rank + matrix) % 5 - 2);
}

enum { A_AT = 0, B_AT = A_AT + M * K, C_AT = B_AT + K * N, COPY_AT = C_AT + M * N };
enum { PRODUCT_ELEMENTS = COPY_AT + M * N };

static int fill_factors(tsr_world_t *world, const piece_t *piece, int me)
{
	float elements[C_AT];
	for (int i = 0; i < M * K; i++)
		elements[A_AT + i] = factor(0, i / K, i % K, me);
	for (int i = 0; i < K * N; i++)
		elements[B_AT + i] = factor(1, i / N, i % N, me);
	return write_memory(world, piece, 0, elements, sizeof elements);
}

static int check_product(tsr_world_t *world, const float *found, int mine, int next)
{
	for (int i = 0; i < M * N; i++) {
		float sum = 0;
		for (int k = 0; k < K; k++)
			sum += factor(0, i / N, k, mine) * factor(1, k, i % N, next);
		CHECK(found[i] == sum, "element (%d, %d) of ranks %d and %d: %g, not %g", i / N,
		      i % N, mine, next, (double)found[i], (double)sum);
	}
	return 0;
}

static tsr_view_t view_at(const piece_t *piece, int64_t at, int64_t rows, int64_t cols)
{
	tsr_view_t view = {(TSR_HEAP float *)(TSR_HEAP void *)piece->heap + at,
			   rows,
			   cols,
			   cols,
			   TSR_F32,
			   TSR_SPACE_HEAP};
	return view;
}

static int product_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	float found[2][M * N];
	piece_t piece;
	(void)argc, (void)argv;
	if (has_none(world))
		return check_none(world);
	CHECK(own_bytes(world, PRODUCT_ELEMENTS * sizeof(float), &piece) == 0);
	CHECK(fill_factors(world, &piece, me) == 0);
	CHECK(register_piece(world, "product", &piece) == 0);
	const product_args_t args = {view_at(&piece, A_AT, M, K), view_at(&piece, B_AT, K, N),
				     view_at(&piece, C_AT, M, N), view_at(&piece, COPY_AT, M, N)};
	tsr_view_t whole;
	CHECK(tsr_heap_view(world, args.c.data, TSR_F32, M, N, N, &whole) == TSR_OK);
	CHECK(run_kernel(world, &window_multiply, 2, &args) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(read_piece(world, &piece, C_AT * sizeof(float), found, sizeof found) == 0);
	CHECK(check_product(world, found[0], me, (me + 1) % size) == 0);
	CHECK(check_product(world, found[1], (me + size - 1) % size, me) == 0);
	return release_piece(world, &piece);
}

Test(windows, main_loops_and_tiles_work_on_the_programs_memory)
{
	each_world(product_body);
}

/* ------------------------------------------------------------------ streams and teams */

/** The even ranks and the odd ones, each around their own ring. */
static int team_body(tsr_world_t *world, int argc, char **argv)
{
	static const unsigned char zeros[16];
	const int rank = tsr_world_rank(world);
	unsigned char part[PART];
	tsr_team_t *team;
	tsr_stream_t *stream;
	piece_t piece;
	(void)argc, (void)argv;
	if (has_none(world))
		return check_none(world);
	CHECK(tsr_team_split(tsr_world_team(world), rank % 2, -rank, "half", &team) == TSR_OK);
	const int me = tsr_team_rank(team), size = tsr_team_size(team);
	CHECK(own_units(world, 3, &piece) == 0);
	CHECK(write_memory(world, &piece, FLAG_AT, zeros, sizeof zeros) == 0);
	make_part(part, rank, 1);
	CHECK(write_memory(world, &piece, AT, part, PART) == 0);
	CHECK(register_piece(world, "halves", &piece) == 0);
	CHECK(tsr_stream_create(team, &stream) == TSR_OK);
	const ring_args_t args = {piece.heap, 1};
	CHECK(tsr_launch(stream, &window_ring, 1, &args) == TSR_OK);
	CHECK(tsr_stream_sync(stream) == TSR_OK);
	const int previous = tsr_team_world_rank(team, (me + size - 1) % size);
	CHECK(check_part(world, &piece, AT + PART, previous, 1) == 0);
	CHECK(check_part(world, &piece, AT + 2 * PART, rank, 1) == 0);
	CHECK(tsr_stream_destroy(stream) == TSR_OK);
	CHECK(tsr_team_destroy(team) == TSR_OK);
	return release_piece(world, &piece);
}

Test(windows, teams_find_their_members_memory)
{
	each_world(team_body);
}

enum { SUMMED = 71 };

/** An all-reduce on a stream, whose tensors are the program's arrays; and a copy. */
static int stream_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	float found[2 * SUMMED];
	tsr_stream_t *stream;
	piece_t piece;
	(void)argc, (void)argv;
	if (has_none(world))
		return check_none(world);
	CHECK(own_units(world, 1, &piece) == 0);
	for (int i = 0; i < SUMMED; i++)
		found[i] = (float)(i + me);
	CHECK(write_memory(world, &piece, 0, found, SUMMED * sizeof(float)) == 0);
	CHECK(register_piece(world, "sums", &piece) == 0);
	any_heap_t state = zeroed(world, tsr_collective_state_bytes(size), "state");
	CHECK((TSR_HEAP void *)state != NULL && tsr_barrier(world) == TSR_OK);
	tsr_tensor_t src = {.data = piece.heap, .dtype = TSR_F32, .dims = 1};
	src.shape[0] = SUMMED;
	src.stride[0] = 1;
	tsr_tensor_t dst = src;
	dst.data = piece.heap + SUMMED * sizeof(float);
	CHECK(tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	CHECK(tsr_stream_all_reduce(stream, &dst, &src, TSR_REDUCE_SUM,
				    (TSR_HEAP tsr_collective_state_t *)state) == TSR_OK);
	CHECK(tsr_stream_put_2d(stream, view_at(&piece, 2 * SUMMED, 1, SUMMED),
				view_at(&piece, SUMMED, 1, SUMMED), (me + 1) % size) == TSR_OK);
	CHECK(tsr_stream_sync(stream) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(read_piece(world, &piece, SUMMED * sizeof(float), found, sizeof found) == 0);
	for (int i = 0; i < 2 * SUMMED; i++)
		CHECK(found[i] == (float)(size * (i % SUMMED) + size * (size - 1) / 2),
		      "element %d is %g", i, (double)found[i]);
	CHECK(tsr_stream_destroy(stream) == TSR_OK);
	CHECK(tsr_heap_free(world, (TSR_HEAP void *)state) == TSR_OK);
	return release_piece(world, &piece);
}

Test(windows, collectives_and_copies_on_streams_work_on_the_programs_memory)
{
	each_world(stream_body);
}

/* ------------------------------------------------------------------ the life of a window */

/** Writes its mark to all ranks' windows after it has waited for the flag. */
typedef struct late_args {
	TSR_HEAP unsigned char *window;
	TSR_HEAP uint64_t *go;
} late_args_t;

/* The host sets the flag by a kernel on another stream. Litmus: MP.rel.acq.sameGPU-aa. */
TSR_KERNEL(window_late, late_args_t, a)
{
	const int me = tsr_rank(block);
	tsr_wait(block, a->go, 1, me);
	for (int peer = 0; peer < tsr_size(block); peer++)
		tsr_put(block, a->window + 256 * me, a->window + 128, 100, peer);
}

TSR_KERNEL(window_go, late_args_t, a)
{
	tsr_signal(block, a->go, 1, TSR_SIGNAL_SET, tsr_rank(block));
}

static int late_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	unsigned char found[100];
	tsr_stream_t *streams[2];
	piece_t piece;
	(void)argc, (void)argv;
	if (has_none(world))
		return check_none(world);
	CHECK(own_units(world, 2, &piece) == 0);
	memset(found, 64 + me, sizeof found);
	CHECK(write_memory(world, &piece, 128, found, sizeof found) == 0);
	CHECK(register_piece(world, "late", &piece) == 0);
	late_args_t args = {piece.heap, zeroed(world, sizeof(uint64_t), "go")};
	CHECK(args.go != NULL && tsr_barrier(world) == TSR_OK);
	for (int i = 0; i < 2; i++)
		CHECK(tsr_stream_create(tsr_world_team(world), &streams[i]) == TSR_OK);
	CHECK(tsr_launch(streams[0], &window_late, 1, &args) == TSR_OK);
	CHECK(tsr_launch(streams[1], &window_go, 1, &args) == TSR_OK);
	/* the kernels run: release waits for all of them, on all ranks */
	CHECK(tsr_window_release(world, piece.heap) == TSR_OK);
	for (int peer = 0; peer < size; peer++) {
		CHECK(read_memory(world, &piece, 256 * (size_t)peer, found, sizeof found) == 0);
		for (int i = 0; i < 100; i++)
			CHECK(found[i] == 64 + peer, "rank %d, byte %d: %d", peer, i, found[i]);
	}
	for (int i = 0; i < 2; i++)
		CHECK(tsr_stream_destroy(streams[i]) == TSR_OK);
	CHECK(free_piece(world, &piece) == 0);
	return tsr_heap_free(world, args.go) == TSR_OK ? 0 : 1;
}

Test(windows, release_waits_for_the_kernels_of_all_ranks)
{
	each_world(late_body);
}

/** What byte of this rank's memory is where. */
static int check_byte(tsr_world_t *world, const piece_t *piece, size_t at, int wanted)
{
	unsigned char found;
	CHECK(read_memory(world, piece, at, &found, 1) == 0);
	CHECK(found == wanted, "byte %zu is %d, not %d", at, found, wanted);
	return 0;
}

/** Both are windows for a while, and released in another order each time. */
static int register_twice(tsr_world_t *world, piece_t pieces[2], int time)
{
	const int me = tsr_world_rank(world);
	const char *name;
	size_t offset;
	for (int i = 0; i < 2; i++) {
		CHECK(set_memory(world, &pieces[i], 16 * (i + 1) + me + time) == 0);
		CHECK(register_piece(world, i ? "large" : "small", &pieces[i]) == 0);
	}
	CHECK(tsr_heap_find(world, pieces[1].heap + 77, &name, &offset) == TSR_OK);
	CHECK(strcmp(name, "large") == 0 && offset == 77);
	CHECK(tsr_memset_heap(world, pieces[1].heap + 4000, 99, 200) == TSR_OK);
	for (int i = 0; i < 2; i++)
		CHECK(tsr_window_release(world, pieces[(i + time) % 2].heap) == TSR_OK);
	for (size_t at = 3999; at <= 4200; at++)
		if (at < 4001 || at > 4198)
			CHECK(check_byte(world, &pieces[1], at,
					 at < 4000 || at > 4199 ? 32 + me + time : 99) == 0);
	return check_byte(world, &pieces[0], 0, 16 + me + time);
}

/** After its release the memory is the program's alone, and its room is free again. */
static int again_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world);
	tsr_heap_usage_t before = {.size = sizeof before}, after = {.size = sizeof after};
	piece_t pieces[2];
	(void)argc, (void)argv;
	if (has_none(world))
		return check_none(world);
	CHECK(own_units(world, 1, &pieces[0]) == 0 && own_units(world, 5, &pieces[1]) == 0);
	CHECK(tsr_heap_usage(world, &before) == TSR_OK);
	for (int time = 0; time < 3; time++)
		CHECK(register_twice(world, pieces, time) == 0);
	CHECK(tsr_heap_usage(world, &after) == TSR_OK);
	CHECK(after.free_bytes == before.free_bytes && after.allocations == before.allocations);
	/* what has its place in the heap now is not the program's memory */
	any_heap_t later = poisoned(world, pieces[0].bytes + pieces[1].bytes, "later");
	CHECK((TSR_HEAP void *)later != NULL);
	CHECK(check_byte(world, &pieces[0], 0, 16 + me + 2) == 0);
	CHECK(check_byte(world, &pieces[1], 0, 32 + me + 2) == 0);
	CHECK(free_piece(world, &pieces[0]) == 0 && free_piece(world, &pieces[1]) == 0);
	return tsr_heap_free(world, (TSR_HEAP void *)later) == TSR_OK ? 0 : 1;
}

Test(windows, memory_is_the_programs_alone_after_its_release)
{
	each_world(again_body);
}
