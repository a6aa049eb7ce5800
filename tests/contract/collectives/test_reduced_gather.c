/*
 * A reduce-scatter by all blocks, then an all-gather in place: each block sends
 * what other blocks of its rank have written, so it has to wait for them too.
 * One of them is late.
 */
#include "tests/contract/contract_test.h"

enum { CALLS = 4, BLOCKS = 3, ROWS = 160, MOST_RANKS = 8 };
enum { LATE_NS = 20 * 1000 * 1000 };

TSR_TILE(tile, f32, 16, 16, 16);

typedef struct reduced_args {
	tsr_view_t given; /* what I give to the sum, a column a call: ROWS rows for each rank */
	/* of each call the sums, those of rank r in rows r * ROWS and on: a column */
	tsr_view_t sums;
	tsr_view_t slots; /* a tile for each block: a column for each rank */
	TSR_HEAP uint64_t *never, *bad;
	TSR_HEAP tsr_all_gather_state_t *state;
} reduced_args_t;

TSR_FN float value_of_row(float x, float row_value, const void *ctx)
{
	(void)x, (void)ctx;
	return row_value;
}

TSR_FN tsr_view_t part_of(tsr_view_t view, int64_t row, int64_t col, int64_t cols)
{
	tsr_pos_t at = {row, col};
	return tsr_view_part(view, at, TSR_TILE_M(tile), cols);
}

/**
 * Rows `row` and on of what is mine: gets them from all ranks, and adds them up
 * into this call's column.
 */
TSR_FN void add_up(tsr_coop_t *block, const reduced_args_t *a, int64_t call, int64_t row)
{
	const int64_t mine = tsr_rank(block) * (int64_t)ROWS + row,
		      first = tsr_block_index(block) * (int64_t)TSR_TILE_M(tile);
	const tsr_pos_t top = {0, 0};
	TSR_FRAG(tile, columns, block);
	TSR_FRAG_ROWS(tile, sums, block);
	for (int i = 0; i < tsr_size(block); i++) {
		int peer = tsr_peer(block, i);
		tsr_get_2d(block, part_of(a->slots, first, peer, 1),
			   part_of(a->given, mine, call, 1), peer);
	}
	tsr_sync(block); /* all threads' columns have come */
	tsr_tile_load(block, columns, part_of(a->slots, first, 0, tsr_size(block)), top);
	tsr_frag_reduce_rows(block, sums, columns, tsr_size(block), TSR_REDUCE_SUM);
	tsr_frag_map_rows(block, columns, sums, value_of_row, a);
	tsr_tile_store(block, part_of(a->sums, call * tsr_size(block) * ROWS + mine, 0, 1), top,
		       columns);
	tsr_sync(block); /* the columns were read by all threads, and may be got anew */
}

/**
 * Tiles are dealt to the blocks in turn, while the all-gather cuts my piece
 *  into as many runs: whose block sends a tile did not make it.
 */
TSR_KERNEL(reduce_and_gather, reduced_args_t, a)
{
	const int me = tsr_rank(block);
	uint64_t bad = 0;
	for (int64_t call = 0; call < CALLS && bad == 0; call++) {
		TSR_HEAP float *sums =
			(TSR_HEAP float *)a->sums.data + call * tsr_size(block) * ROWS;
		if (call % tsr_size(block) == me &&
		    call % tsr_block_count(block) == tsr_block_index(block))
			tsr_wait_until(block, a->never, 1, TSR_ANY_RANK, LATE_NS);
		for (int64_t t = tsr_block_index(block); t < ROWS / TSR_TILE_M(tile);
		     t += tsr_block_count(block))
			add_up(block, a, call, t * TSR_TILE_M(tile));
		bad += tsr_all_gather(block, sums, sums + me * ROWS, ROWS * sizeof(float),
				      a->state) != TSR_WAIT_OK;
	}
	tsr_atomic_add(block, a->bad, bad, me, TSR_RELAXED, TSR_SCOPE_DEVICE);
}

static float given_of(int rank, int64_t row, int64_t call)
{
	return (float)((rank * 31 + row * 7 + call * 13) % 101);
}

static int verify(tsr_world_t *world, const reduced_args_t *a, float *host)
{
	const int ranks = tsr_world_size(world);
	const size_t bytes = (size_t)(CALLS * ranks * ROWS) * sizeof(float);
	uint64_t bad;
	CHECK(tsr_memcpy_from_heap(world, &bad, a->bad, sizeof bad) == TSR_OK && bad == 0);
	CHECK(tsr_memcpy_from_heap(world, host, a->sums.data, bytes) == TSR_OK);
	for (int64_t i = 0; i < CALLS * ranks * ROWS; i++) {
		const int64_t call = i / (ranks * ROWS), row = i % (ranks * ROWS);
		float sum = 0;
		for (int r = 0; r < ranks; r++)
			sum += given_of(r, row, call);
		CHECK(host[i] == sum, "call %d, row %d: %g instead of %g", (int)call, (int)row,
		      (double)host[i], (double)sum);
	}
	return 0;
}

static int reduced_body(tsr_world_t *world, int argc, char **argv)
{
	const int ranks = tsr_world_size(world), me = tsr_world_rank(world);
	const int64_t rows = (int64_t)ranks * ROWS;
	const size_t bytes = (size_t)(CALLS * rows) * sizeof(float);
	reduced_args_t a = {
		.given = {poisoned(world, bytes, "given"), rows, CALLS, CALLS, TSR_F32,
			  TSR_SPACE_HEAP},
		.sums = {poisoned(world, bytes, "sums"), CALLS * rows, 1, 1, TSR_F32,
			 TSR_SPACE_HEAP},
		.slots = {poisoned(world, BLOCKS * 16 * MOST_RANKS * sizeof(float), "slots"),
			  BLOCKS * 16, MOST_RANKS, MOST_RANKS, TSR_F32, TSR_SPACE_HEAP},
		.never = zeroed(world, sizeof(uint64_t), "never"),
		.bad = zeroed(world, sizeof(uint64_t), "bad"),
		.state = zeroed(world, tsr_all_gather_state_bytes(tsr_world_size(world)),
				"gather state"),
	};
	float *host = (float *)malloc(bytes);
	(void)argc, (void)argv;
	CHECK(a.given.data && a.sums.data && a.slots.data && a.never && a.bad && a.state && host);
	for (int64_t i = 0; i < CALLS * rows; i++)
		host[i] = given_of(me, i / CALLS, i % CALLS);
	CHECK(tsr_memcpy_to_heap(world, a.given.data, host, bytes) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &reduce_and_gather, BLOCKS, &a) == TSR_OK);
	int failed = verify(world, &a, host);
	free(host);
	return failed;
}

Test(reduced_gather, sends_what_other_blocks_have_written)
{
	world_each(reduced_body, NULL);
}
