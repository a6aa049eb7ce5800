/*
 * Moves of every small size at every alignment of both sides, and of long runs:
 * every byte arrives, none beside it is touched.
 */
#include "tests/contract/contract_test.h"

enum { SIZES = 101, OFFSETS = 18, CASES = SIZES * OFFSETS * OFFSETS, GUARD = 16 };

/** Case i has a size, an offset of each side, and a slot of its own in the destination. */
typedef struct edge_args {
	TSR_HEAP unsigned char *dst, *src;
	int64_t slot_bytes;
	int32_t to, from; /* a put to `to`, or where that is me a get from `from` */
	int32_t rows;     /* 0: bytes; else rows of bytes, these pitches apart */
	int32_t dst_pitch, src_pitch;
} edge_args_t;

TSR_FN void edge_case(tsr_coop_t *block, const edge_args_t *a, int i)
{
	int size = i / (OFFSETS * OFFSETS), to = i / OFFSETS % OFFSETS, from = i % OFFSETS;
	TSR_HEAP unsigned char *dst = a->dst + i * a->slot_bytes + to, *src = a->src + from;
	tsr_view_t rows = {dst, a->rows, size, a->dst_pitch, TSR_U8, TSR_SPACE_HEAP};
	tsr_view_t from_rows = {src, a->rows, size, a->src_pitch, TSR_U8, TSR_SPACE_HEAP};
	bool put = a->from == tsr_rank(block);
	if (a->rows > 0 && put)
		tsr_put_2d(block, rows, from_rows, a->to);
	else if (a->rows > 0)
		tsr_get_2d(block, rows, from_rows, a->from);
	else if (put)
		tsr_put(block, dst, src, (size_t)size, a->to);
	else
		tsr_get(block, dst, src, (size_t)size, a->from);
}

TSR_KERNEL(edges, edge_args_t, a)
{
	for (int i = tsr_block_index(block); i < CASES; i += tsr_block_count(block))
		edge_case(block, a, i);
}

TSR_KERNEL_WIDE(edges_wide, edge_args_t, a)
{
	for (int i = tsr_block_index(block); i < CASES; i += tsr_block_count(block))
		edge_case(block, a, i);
}

/** What a rank that was moved to must find in its slots. */
static int edges_check(tsr_world_t *world, const edge_args_t *a, const unsigned char *found,
		       int from)
{
	for (int i = 0; i < CASES; i++) {
		int size = i / (OFFSETS * OFFSETS), to = i / OFFSETS % OFFSETS,
		    offset = i % OFFSETS;
		for (int64_t b = 0; b < a->slot_bytes; b++) {
			int64_t row = b < to ? 0 : (b - to) / a->dst_pitch,
				at = b - to - row * a->dst_pitch;
			bool moved = b >= to && row < (a->rows > 0 ? a->rows : 1) && at < size;
			unsigned char want =
				moved ? mark_of(from, (size_t)(offset + row * a->src_pitch + at))
				      : POISON;
			CHECK(found[i * a->slot_bytes + b] == want,
			      "%d bytes from offset %d to %d, %d rows %d and %d apart: byte %d is "
			      "%02x, not %02x",
			      size, offset, to, a->rows, a->dst_pitch, a->src_pitch, (int)b,
			      found[i * a->slot_bytes + b], want);
		}
	}
	return 0;
}

/** Puts to the next rank, then gets from the one before: what each finds is the same. */
static int edges_moved(tsr_world_t *world, edge_args_t a, const tsr_kernel_t *kernel)
{
	int me = tsr_world_rank(world), size = tsr_world_size(world),
	    before = (me + size - 1) % size;
	size_t bytes = (size_t)(CASES * a.slot_bytes);
	unsigned char *found = (unsigned char *)malloc(bytes);
	int failed = found == NULL;
	a.dst = poisoned(world, bytes, "dst");
	for (int get = 0; get < 2 && !failed && a.dst; get++) {
		a.to = get ? me : (me + 1) % size;
		a.from = get ? before : me;
		failed = tsr_memset_heap(world, a.dst, POISON, bytes) || tsr_barrier(world) ||
			 run_kernel(world, kernel, 3, &a) || tsr_barrier(world) ||
			 tsr_memcpy_from_heap(world, found, a.dst, bytes) ||
			 edges_check(world, &a, found, before) || tsr_barrier(world);
	}
	free(found);
	CHECK(!failed);
	CHECK(tsr_heap_free(world, a.dst) == TSR_OK);
	return 0;
}

static TSR_HEAP unsigned char *marked(tsr_world_t *world, size_t bytes)
{
	TSR_HEAP unsigned char *heap = poisoned(world, bytes, "src");
	unsigned char *host = (unsigned char *)malloc(bytes);
	for (size_t i = 0; heap && host && i < bytes; i++)
		host[i] = mark_of(tsr_world_rank(world), i);
	bool told = heap && host && tsr_memcpy_to_heap(world, heap, host, bytes) == TSR_OK;
	free(host);
	return told ? heap : NULL;
}

static int bytes_body(tsr_world_t *world, int argc, char **argv)
{
	edge_args_t a = {NULL, NULL, OFFSETS + SIZES + GUARD, 0, 0, 0, SIZES + OFFSETS + GUARD, 0};
	(void)argc, (void)argv;
	a.src = marked(world, OFFSETS + SIZES);
	CHECK(a.src);
	return edges_moved(world, a, &edges) || edges_moved(world, a, &edges_wide);
}

static int rows_body(tsr_world_t *world, int argc, char **argv)
{
	/* Pitches of whole 16, 4, 2 and 1 bytes, and one that lets rows of 101 bytes follow one
	 * another. */
	static const int32_t pitches[][2] = {
		{128, 112}, {108, 116}, {106, 102}, {101, 103}, {100, 100}};
	(void)argc, (void)argv;
	edge_args_t a = {NULL, marked(world, OFFSETS + 4 * 128), 0, 0, 0, 3, 0, 0};
	CHECK(a.src);
	for (size_t i = 0; i < sizeof pitches / sizeof *pitches; i++) {
		a.dst_pitch = pitches[i][0];
		a.src_pitch = pitches[i][1];
		a.slot_bytes = OFFSETS + a.rows * a.dst_pitch + GUARD;
		if (edges_moved(world, a, i % 2 ? &edges_wide : &edges) != 0)
			return 1;
	}
	return 0;
}

/**
 * In a world of `few`, and in the largest: there every link of a node of eight
 * GPUs moves such edges at one time.
 */
static void edges_each(tsr_main_fn entry, int few)
{
	cr_expect_eq(world_run(few, TSR_PLACE_THREAD, entry, NULL), 0);
	if (!under_valgrind())
		cr_expect_eq(world_run(8, TSR_PLACE_THREAD, entry, NULL), 0);
}

Test(pointer_edges, every_small_size_at_every_alignment)
{
	edges_each(bytes_body, 2);
}

Test(pointer_edges, rows_of_every_small_size_at_every_alignment)
{
	edges_each(rows_body, 2);
}

/* ------------------------------------------------------------------ long runs */

typedef struct run_args {
	tsr_view_t dst, src;
	int32_t peer, reserved; /* EVERYWHERE: a put to all ranks */
} run_args_t;

enum { EVERYWHERE = -1 };

TSR_FN void run_on(tsr_coop_t *block, const run_args_t *a)
{
	if (a->peer == EVERYWHERE)
		tsr_put_all_2d(block, a->dst, a->src);
	else
		tsr_put_2d(block, a->dst, a->src, a->peer);
}

TSR_KERNEL(long_run, run_args_t, a)
{
	run_on(block, a);
}

TSR_KERNEL_WIDE(long_run_wide, run_args_t, a)
{
	run_on(block, a);
}

enum { LONGEST = 300000, ROOM = LONGEST + 2 * OFFSETS + GUARD, RUNS = 24 };

/**
 * To the next rank, or by one rank to all. One to four rows, hundreds of
 * thousands of bytes in all: several rounds of the widest block's threads, and
 * rests of every length.
 */
static int runs_body(tsr_world_t *world, int argc, char **argv)
{
	int me = tsr_world_rank(world), size = tsr_world_size(world);
	TSR_HEAP unsigned char *dst = poisoned(world, ROOM, "dst"), *src = marked(world, ROOM);
	unsigned char *found = (unsigned char *)malloc(ROOM);
	(void)argc, (void)argv;
	CHECK(dst && src && found);
	for (uint64_t i = 0; i < RUNS; i++) {
		int64_t rows = 1 + (int64_t)i % 4, pitch = tsr_random_int(1, i, 1, LONGEST / rows);
		int64_t cols = tsr_random_int(2, i, 0, pitch),
			to = tsr_random_int(3, i, 0, OFFSETS - 1);
		int64_t from = i % 3 ? to : tsr_random_int(4, i, 0, OFFSETS - 1);
		run_args_t a = {{dst + to, rows, cols, pitch, TSR_U8, TSR_SPACE_HEAP},
				{src + from, rows, cols, pitch, TSR_U8, TSR_SPACE_HEAP},
				i % 5 < 2 ? EVERYWHERE : (me + 1) % size,
				0};
		const int origin = a.peer == EVERYWHERE ? (int)i % size : (me + size - 1) % size;
		CHECK(tsr_memset_heap(world, dst, POISON, ROOM) == TSR_OK &&
		      tsr_barrier(world) == TSR_OK);
		if (a.peer != EVERYWHERE || origin == me)
			CHECK(run_kernel(world, i % 2 ? &long_run_wide : &long_run, 1, &a) ==
			      TSR_OK);
		CHECK(tsr_barrier(world) == TSR_OK);
		CHECK(tsr_memcpy_from_heap(world, found, dst, ROOM) == TSR_OK);
		for (int64_t b = 0; b < ROOM; b++) {
			bool moved = b >= to && (b - to) / pitch < rows && (b - to) % pitch < cols;
			CHECK(found[b] ==
				      (moved ? mark_of(origin, (size_t)(b - to + from)) : POISON),
			      "run %d, %d rows of %d bytes %d apart from %d to %d: byte %d", (int)i,
			      (int)rows, (int)cols, (int)pitch, (int)from, (int)to, (int)b);
		}
	}
	free(found);
	return 0;
}

Test(pointer_edges, long_runs)
{
	edges_each(runs_body, 3);
}
