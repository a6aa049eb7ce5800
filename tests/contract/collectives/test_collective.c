/*
 * The all-gather: every byte of every rank, call after call into the same
 * memory, by any number of blocks.
 */
#include "tests/contract/contract_test.h"

enum { CALLS = 6, LARGEST = 4099, GUARD = 64, MOST_BLOCKS = 3 };

typedef struct gather_args {
	TSR_HEAP unsigned char *dst; /* a piece a rank */
	/* CALLS pieces, or the piece that is renewed before each call */
	TSR_HEAP unsigned char *src;
	TSR_HEAP unsigned char *kept; /* `dst` after each call, or null */
	TSR_HEAP tsr_all_gather_state_t *state;
	TSR_HEAP uint64_t *bad;
	uint64_t size_bytes;
} gather_args_t;

/**
 * Every block keeps all of `dst`, whoever put it there, in a place of its own:
 * so each call must be complete for each block, and the next must wait for the
 * slowest of them.
 */
TSR_KERNEL(gather_often, gather_args_t, a)
{
	uint64_t all = a->size_bytes * (uint64_t)tsr_size(block), bad = 0;
	TSR_HEAP unsigned char *kept = a->kept + (uint64_t)tsr_block_index(block) * CALLS * all;
	for (uint64_t call = 0; call < CALLS && bad == 0; call++) {
		bad += tsr_all_gather(block, a->dst, a->src + call * a->size_bytes, a->size_bytes,
				      a->state) != TSR_WAIT_OK;
		tsr_put(block, kept + call * all, a->dst, all, tsr_rank(block));
	}
	tsr_atomic_add(block, a->bad, bad, tsr_rank(block), TSR_RELAXED, TSR_SCOPE_DEVICE);
}

/** In place; the piece is renewed once the call before has let go of it. */
TSR_KERNEL(gather_in_place, gather_args_t, a)
{
	int me = tsr_rank(block);
	uint64_t bad = 0;
	TSR_HEAP unsigned char *mine = a->dst + (uint64_t)me * a->size_bytes;
	for (uint64_t call = 0; call < CALLS && bad == 0; call++) {
		/* Whose block renews it hangs on the call; a call of no bytes is a barrier that
		 * lets all others see it. */
		if (call % (uint64_t)tsr_block_count(block) == (uint64_t)tsr_block_index(block))
			tsr_put(block, mine, a->src + call * a->size_bytes, a->size_bytes, me);
		bad += tsr_all_gather(block, a->dst, mine, 0, a->state) != TSR_WAIT_OK;
		bad += tsr_all_gather(block, a->dst, mine, a->size_bytes, a->state) != TSR_WAIT_OK;
	}
	tsr_atomic_add(block, a->bad, bad, me, TSR_RELAXED, TSR_SCOPE_DEVICE);
}

/** What rank r's piece of the call holds at `at`. */
static unsigned char gathered(int rank, size_t call, size_t at)
{
	return mark_of(rank, call * 131 + at);
}

/** Bytes of `found` that are not what call `call` is to leave there. */
static size_t wrong_bytes(const unsigned char *found, int ranks, size_t call, size_t size)
{
	size_t wrong = 0;
	for (int r = 0; r < ranks; r++)
		for (size_t at = 0; at < size; at++)
			wrong += found[(size_t)r * size + at] != gathered(r, call, at);
	return wrong;
}

/** What calls of one size after another use, from the first to the last. */
static bool make_state(tsr_world_t *world, gather_args_t *a)
{
	a->state = zeroed(world, tsr_all_gather_state_bytes(tsr_world_size(world)), "gather state");
	a->bad = zeroed(world, sizeof *a->bad, "gather bad");
	return a->state && a->bad;
}

/** Room for calls of `size` bytes and no more, where that of the size before has been. */
static bool make_room(tsr_world_t *world, gather_args_t *a, size_t size)
{
	const size_t all = size * (size_t)tsr_world_size(world);
	a->dst = poisoned(world, all + GUARD, "gather dst");
	a->src = poisoned(world, CALLS * size, "gather src");
	a->kept = poisoned(world, MOST_BLOCKS * CALLS * all, "gather kept");
	return a->dst && a->src && a->kept;
}

static bool give_room_back(tsr_world_t *world, const gather_args_t *a)
{
	return tsr_heap_free(world, a->dst) == TSR_OK && tsr_heap_free(world, a->src) == TSR_OK &&
	       tsr_heap_free(world, a->kept) == TSR_OK;
}

/** Calls of `size` bytes come: my pieces, and poison where the others' are to be. */
static int prepare(tsr_world_t *world, gather_args_t *a, size_t size)
{
	const size_t all = size * (size_t)tsr_world_size(world);
	unsigned char pieces[CALLS * LARGEST];
	a->size_bytes = size;
	for (size_t i = 0; i < CALLS * size; i++)
		pieces[i] = gathered(tsr_world_rank(world), i / size, i % size);
	CHECK(tsr_memcpy_to_heap(world, a->src, pieces, CALLS * size) == TSR_OK);
	CHECK(tsr_memset_heap(world, a->dst, POISON, all + GUARD) == TSR_OK);
	CHECK(tsr_memset_heap(world, a->kept, POISON, MOST_BLOCKS * CALLS * all) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	return 0;
}

/** The end of `dst`: the last call's pieces, and nothing behind them. */
static int check_dst(tsr_world_t *world, const gather_args_t *a)
{
	const int ranks = tsr_world_size(world);
	const size_t all = a->size_bytes * (size_t)ranks;
	unsigned char *found = (unsigned char *)malloc(all + GUARD);
	uint64_t bad;
	CHECK(tsr_memcpy_from_heap(world, &bad, a->bad, sizeof bad) == TSR_OK);
	CHECK(bad == 0);
	CHECK(found && tsr_memcpy_from_heap(world, found, a->dst, all + GUARD) == TSR_OK);
	size_t wrong = wrong_bytes(found, ranks, CALLS - 1, a->size_bytes), touched = 0;
	for (size_t at = all; at < all + GUARD; at++)
		touched += found[at] != POISON;
	free(found);
	CHECK(wrong == 0, "%zu bytes of %zu are wrong", wrong, all);
	CHECK(touched == 0, "%zu bytes behind the pieces were touched", touched);
	return 0;
}

/** What the blocks of gather_often have kept of every call. */
static int check_kept(tsr_world_t *world, const gather_args_t *a, int blocks)
{
	const int ranks = tsr_world_size(world);
	const size_t all = a->size_bytes * (size_t)ranks;
	unsigned char *found = (unsigned char *)malloc(CALLS * all);
	for (int b = 0; b < blocks; b++) {
		CHECK(found && tsr_memcpy_from_heap(world, found, a->kept + (size_t)b * CALLS * all,
						    CALLS * all) == TSR_OK);
		for (size_t call = 0; call < CALLS; call++) {
			size_t wrong = wrong_bytes(found + call * all, ranks, call, a->size_bytes);
			CHECK(wrong == 0, "block %d, call %zu of %zu bytes: %zu are wrong", b, call,
			      a->size_bytes, wrong);
		}
	}
	free(found);
	return 0;
}

/** Size after size, with the state that those before have left. */
static int gather_body(tsr_world_t *world, int argc, char **argv)
{
	static const size_t sizes[] = {1, 7, 16, 128, 777, LARGEST};
	gather_args_t a = {NULL, NULL, NULL, NULL, NULL, 0};
	(void)argc, (void)argv;
	CHECK(make_state(world, &a));
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		/* Launch for launch other numbers of blocks, and not the same on all ranks. */
		int blocks = 1 + (int)((i + (size_t)tsr_world_rank(world)) % MOST_BLOCKS);
		CHECK(make_room(world, &a, sizes[i]));
		if (prepare(world, &a, sizes[i]))
			return 1;
		CHECK(run_kernel(world, &gather_often, blocks, &a) == TSR_OK);
		if (check_kept(world, &a, blocks) || check_dst(world, &a) ||
		    prepare(world, &a, sizes[i]))
			return 1;
		CHECK(run_kernel(world, &gather_in_place, MOST_BLOCKS + 1 - blocks, &a) == TSR_OK);
		if (check_dst(world, &a))
			return 1;
		CHECK(give_room_back(world, &a));
	}
	return 0;
}

Test(collective, all_gather_brings_every_piece)
{
	world_each(gather_body, NULL);
}

/* ------------------------------------------------------------------ a barrier of all blocks */

typedef struct turn_args {
	TSR_HEAP uint64_t *turns; /* one a block, and the number that were wrong */
	TSR_HEAP tsr_all_gather_state_t *state;
	int64_t blocks;
} turn_args_t;

/**
 * Each block tells its turn; after the call all blocks of all ranks have come
 * to it, and none to the next but one.
 */
TSR_KERNEL(turn_after_turn, turn_args_t, a)
{
	const int me = tsr_rank(block);
	uint64_t bad = 0;
	for (uint64_t turn = 1; turn <= 20 && bad == 0; turn++) {
		tsr_atomic_store(block, a->turns + tsr_block_index(block), turn, me, TSR_RELAXED,
				 TSR_SCOPE_SYSTEM);
		bad += tsr_all_gather(block, a->turns, a->turns, 0, a->state) != TSR_WAIT_OK;
		for (int r = 0; r < tsr_size(block); r++)
			for (int64_t b = 0; b < a->blocks; b++)
				bad += tsr_atomic_load(block, a->turns + b, r, TSR_RELAXED,
						       TSR_SCOPE_SYSTEM) -
					       turn >
				       1;
	}
	tsr_atomic_add(block, a->turns + a->blocks, bad, me, TSR_RELAXED, TSR_SCOPE_DEVICE);
}

static int turn_body(tsr_world_t *world, int argc, char **argv)
{
	uint64_t words[MOST_BLOCKS + 1];
	turn_args_t a = {NULL, NULL, MOST_BLOCKS};
	(void)argc, (void)argv;
	a.turns = zeroed(world, sizeof words, "turns");
	a.state = zeroed(world, tsr_all_gather_state_bytes(tsr_world_size(world)), "turn state");
	CHECK(a.turns && a.state);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &turn_after_turn, MOST_BLOCKS, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, words, a.turns, sizeof words) == TSR_OK);
	CHECK(words[MOST_BLOCKS] == 0, "%llu turns were wrong",
	      (unsigned long long)words[MOST_BLOCKS]);
	return 0;
}

Test(collective, all_gather_is_a_barrier_of_all_blocks)
{
	world_each(turn_body, NULL);
}
