/*
 * tsr_all_reduce_view of what is small enough for one step, and of what just is
 * not, in turn; by numbers of blocks that differ between ranks and launches. And
 * that it is a barrier then too: it orders memory that is not its own.
 */
#include "tests/contract/contract_test.h"

enum { CALLS = 7, LAUNCHES = 2, MOST_BLOCKS = 3, OFFSET = 3 };
enum { ONE_STEP_BYTES = 256 << 10 }; /* of all ranks (dev/reduction.h) */

typedef struct sums_args {
	TSR_HEAP int32_t *src, *dst; /* call behind call */
	TSR_HEAP tsr_collective_state_t *state;
	TSR_HEAP uint64_t *bad;
	int64_t first[CALLS], count[CALLS]; /* elements */
} sums_args_t;

TSR_KERNEL(sum_in_turn, sums_args_t, a)
{
	uint64_t bad = 0;
	for (int call = 0; call < CALLS && bad == 0; call++) {
		const int64_t n = a->count[call];
		TSR_HEAP int32_t *src = a->src + a->first[call], *dst = a->dst + a->first[call];
		/* every other one in place */
		bad += tsr_all_reduce_view(block, tsr_view(call % 2 ? src : dst, TSR_I32, 1, n, n),
					   tsr_view(src, TSR_I32, 1, n, n), TSR_REDUCE_SUM,
					   a->state) != TSR_WAIT_OK;
	}
	tsr_atomic_add(block, a->bad, bad, tsr_rank(block), TSR_RELAXED, TSR_SCOPE_DEVICE);
}

static int32_t given(int rank, int launch, int64_t at)
{
	return (int32_t)((at * 7 + rank * 131 + launch * 17) % 4093);
}

/** Whether memory holds the sums where they belong, and elsewhere `was`. */
static int check_sums(tsr_world_t *world, const sums_args_t *a, const int32_t *dst,
		      const int32_t *src, int launch, int64_t elements)
{
	const int ranks = tsr_world_size(world);
	int call = 0;
	for (int64_t at = 0; at < elements; at++) {
		int32_t sum = 0;
		while (call < CALLS && at >= a->first[call] + a->count[call])
			call++;
		for (int r = 0; r < ranks; r++)
			sum += given(r, launch, at);
		const bool within = call < CALLS && at >= a->first[call],
			   in_place = within && call % 2;
		const int32_t own = given(tsr_world_rank(world), launch, at);
		CHECK(src[at] == (in_place ? sum : own), "call %d, src %d: %d", call, (int)at,
		      (int)src[at]);
		CHECK(dst[at] == (within && !in_place ? sum : -1), "call %d, dst %d: %d", call,
		      (int)at, (int)dst[at]);
	}
	return 0;
}

static int sums_body(tsr_world_t *world, int argc, char **argv)
{
	const int ranks = tsr_world_size(world), me = tsr_world_rank(world);
	/* tools that watch each word take long for the most that one step takes */
	const int64_t most = UNDER_TSAN || under_valgrind() ? 2048
							    : ONE_STEP_BYTES / ranks / 128 * 128 /
								      (int64_t)sizeof(int32_t),
		      counts[CALLS] = {most, 1, most + 1, 65, 16 * 64 + 1, 3, most - 2};
	sums_args_t a;
	int64_t elements = OFFSET;
	uint64_t bad;
	memset(&a, 0, sizeof a);
	(void)argc, (void)argv;
	for (int call = 0; call < CALLS; call++) {
		a.first[call] = elements;
		a.count[call] = counts[call];
		elements += counts[call] + OFFSET;
	}
	const size_t bytes = (size_t)elements * sizeof(int32_t);
	int32_t *src = (int32_t *)malloc(bytes), *dst = (int32_t *)malloc(bytes);
	a.src = (TSR_HEAP int32_t *)poisoned(world, bytes, "src");
	a.dst = (TSR_HEAP int32_t *)poisoned(world, bytes, "dst");
	a.state = zeroed(world, tsr_collective_state_bytes(ranks), "state");
	a.bad = zeroed(world, sizeof(uint64_t), "bad");
	CHECK(src && dst && a.src && a.dst && a.state && a.bad);
	for (int launch = 0; launch < LAUNCHES; launch++) {
		for (int64_t at = 0; at < elements; at++)
			src[at] = given(me, launch, at);
		CHECK(tsr_memcpy_to_heap(world, a.src, src, bytes) == TSR_OK);
		CHECK(tsr_memset_heap(world, a.dst, 0xff, bytes) == TSR_OK);
		CHECK(tsr_barrier(world) == TSR_OK);
		CHECK(run_kernel(world, &sum_in_turn, 1 + (me + launch) % MOST_BLOCKS, &a) ==
		      TSR_OK);
		CHECK(tsr_memcpy_from_heap(world, src, a.src, bytes) == TSR_OK);
		CHECK(tsr_memcpy_from_heap(world, dst, a.dst, bytes) == TSR_OK);
		if (check_sums(world, &a, dst, src, launch, elements))
			return 1;
		CHECK(tsr_barrier(world) == TSR_OK);
	}
	CHECK(tsr_memcpy_from_heap(world, &bad, a.bad, sizeof bad) == TSR_OK && bad == 0);
	free(src);
	free(dst);
	return 0;
}

Test(one_shot, sums_what_is_small_and_what_is_not)
{
	world_each(sums_body, NULL);
}

/* ------------------------------------------------------------------ a barrier */

enum { ROUNDS = 5 };

typedef struct barrier_args {
	TSR_HEAP uint64_t *put; /* a word for each round and block, from the rank before */
	TSR_HEAP int32_t *word; /* what is reduced */
	TSR_HEAP tsr_collective_state_t *state;
	TSR_HEAP uint64_t *bad;
} barrier_args_t;

/** Each block puts a word to the next rank, where another block reads it behind the call. */
TSR_KERNEL(tell_and_sum, barrier_args_t, a)
{
	const int me = tsr_rank(block), next = (me + 1) % tsr_size(block),
		  index = tsr_block_index(block), blocks = tsr_block_count(block);
	const tsr_view_t word = tsr_view(a->word, TSR_I32, 1, 1, 1);
	uint64_t bad = 0;
	for (int round = 0; round < ROUNDS; round++) {
		TSR_HEAP uint64_t *row = a->put + (int64_t)round * blocks;
		tsr_put_value(block, row + index, (uint64_t)round + 1, next);
		bad += tsr_all_reduce_view(block, word, word, TSR_REDUCE_MAX, a->state) !=
		       TSR_WAIT_OK;
		bad += tsr_get_value(block, row + (index + 1) % blocks, me) != (uint64_t)round + 1;
	}
	tsr_atomic_add(block, a->bad, bad, me, TSR_RELAXED, TSR_SCOPE_DEVICE);
}

static int barrier_body(tsr_world_t *world, int argc, char **argv)
{
	const int ranks = tsr_world_size(world);
	const int32_t mine = 40 - tsr_world_rank(world);
	int32_t most;
	uint64_t bad;
	barrier_args_t a = {
		zeroed(world, ROUNDS * MOST_BLOCKS * sizeof(uint64_t), "put"),
		(TSR_HEAP int32_t *)poisoned(world, sizeof(int32_t), "word"),
		zeroed(world, tsr_collective_state_bytes(ranks), "state"),
		zeroed(world, sizeof(uint64_t), "bad"),
	};
	(void)argc, (void)argv;
	CHECK(a.put && a.word && a.state && a.bad);
	CHECK(tsr_memcpy_to_heap(world, a.word, &mine, sizeof mine) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &tell_and_sum, MOST_BLOCKS, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, &most, a.word, sizeof most) == TSR_OK && most == 40);
	CHECK(tsr_memcpy_from_heap(world, &bad, a.bad, sizeof bad) == TSR_OK && bad == 0);
	return 0;
}

Test(one_shot, is_a_barrier_of_all_blocks)
{
	world_each(barrier_body, NULL);
}
