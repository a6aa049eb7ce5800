/*
 * Collectives in one step. tsr_all_reduce_view of what is small enough for it,
 * and of what just is not, in turn; by numbers of blocks that differ between
 * ranks and launches. And that each such call is a barrier: it orders memory that
 * is not its own, and stores nothing that a rank may still read.
 */
#include <stdlib.h>

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

enum { ROUNDS = 5, MOST_RANKS = 8 };
typedef enum kind { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, ALL_TO_ALL, KINDS } kind_t;

typedef struct barrier_args {
	TSR_HEAP uint64_t *put; /* a word for each round and block, from the rank before */
	TSR_HEAP int32_t *src,
		*dst; /* an element for each rank; dst: twice, by parity of the round */
	TSR_HEAP tsr_collective_state_t *state;
	TSR_HEAP uint64_t *bad;
	int32_t kind;
} barrier_args_t;

/** What a rank gives for another in a round. */
TSR_FN int32_t element_of(int round, int rank, int peer)
{
	return round * 1000 + rank * 10 + peer;
}

/** Element `i` of the dst of a rank behind a round. */
TSR_FN int32_t result_of(int32_t kind, int round, int rank, int i, int ranks)
{
	switch ((kind_t)kind) {
	case ALL_REDUCE: /* the largest */
		return element_of(round, ranks - 1, i);
	case REDUCE_SCATTER:
		return element_of(round, ranks - 1, rank);
	case ALL_GATHER:
		return element_of(round, i, 0);
	default:
		return element_of(round, i, rank);
	}
}

TSR_FN int extent_of(int32_t kind, int ranks)
{
	return kind == REDUCE_SCATTER ? 1 : ranks;
}

TSR_FN tsr_wait_result_t call_once(tsr_coop_t *block, const barrier_args_t *a, TSR_HEAP int32_t *to)
{
	const int n = tsr_size(block);
	const tsr_view_t src = tsr_view(a->src, TSR_I32, 1, n, n),
			 dst = tsr_view(to, TSR_I32, 1, n, n),
			 first = tsr_view(a->src, TSR_I32, 1, 1, 1),
			 one = tsr_view(to, TSR_I32, 1, 1, 1);
	switch ((kind_t)a->kind) {
	case ALL_REDUCE:
		return tsr_all_reduce_view(block, dst, src, TSR_REDUCE_MAX, a->state);
	case REDUCE_SCATTER:
		return tsr_reduce_scatter(block, one, src, TSR_DIM_COLS, TSR_REDUCE_MAX, a->state);
	case ALL_GATHER:
		return tsr_all_gather_view(block, dst, first, TSR_DIM_COLS, a->state);
	default:
		return tsr_all_to_all(block, dst, src, TSR_DIM_COLS, TSR_DIM_COLS, a->state);
	}
}

/**
 * Before the call each block puts a word to the next rank, where another block
 * reads it behind the call. And it reads the next rank's dst, which that has
 * stored two rounds ago and may not store to yet.
 */
TSR_KERNEL(tell_and_call, barrier_args_t, a)
{
	const int me = tsr_rank(block), ranks = tsr_size(block), next = (me + 1) % ranks,
		  index = tsr_block_index(block), blocks = tsr_block_count(block),
		  at = index % extent_of(a->kind, ranks);
	uint64_t bad = 0;
	for (int round = 1; round <= ROUNDS; round++) {
		TSR_HEAP uint64_t *row = a->put + (int64_t)round * blocks;
		TSR_HEAP int32_t *dst = a->dst + round % 2 * MOST_RANKS;
		if (index == blocks - 1)
			for (int peer = 0; peer < ranks; peer++)
				tsr_put_value(block, a->src + peer, element_of(round, me, peer),
					      me);
		tsr_put_value(block, row + index, (uint64_t)round, next);
		if (round > 2)
			bad += tsr_get_value(block, dst + at, next) !=
			       result_of(a->kind, round - 2, next, at, ranks);
		bad += call_once(block, a, dst) != TSR_WAIT_OK;
		bad += tsr_get_value(block, row + (index + 1) % blocks, me) != (uint64_t)round;
		bad += tsr_get_value(block, dst + at, me) !=
		       result_of(a->kind, round, me, at, ranks);
	}
	tsr_atomic_add(block, a->bad, bad, me, TSR_RELAXED, TSR_SCOPE_DEVICE);
}

static int barrier_body(tsr_world_t *world, int argc, char **argv)
{
	const int ranks = tsr_world_size(world);
	uint64_t bad;
	barrier_args_t a = {
		zeroed(world, (ROUNDS + 1) * MOST_BLOCKS * sizeof(uint64_t), "put"),
		(TSR_HEAP int32_t *)poisoned(world, MOST_RANKS * sizeof(int32_t), "src"),
		(TSR_HEAP int32_t *)poisoned(world, 2 * MOST_RANKS * sizeof(int32_t), "dst"),
		zeroed(world, tsr_collective_state_bytes(ranks), "state"),
		zeroed(world, sizeof(uint64_t), "bad"),
		argc > 1 ? atoi(argv[1]) : ALL_REDUCE,
	};
	CHECK(a.put && a.src && a.dst && a.state && a.bad);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &tell_and_call, MOST_BLOCKS, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, &bad, a.bad, sizeof bad) == TSR_OK && bad == 0);
	return 0;
}

static void barrier_of(kind_t kind)
{
	char number[12];
	snprintf(number, sizeof number, "%d", (int)kind);
	world_each(barrier_body, number);
}

Test(one_shot, all_reduce_is_a_barrier)
{
	barrier_of(ALL_REDUCE);
}

Test(one_shot, reduce_scatter_is_a_barrier)
{
	barrier_of(REDUCE_SCATTER);
}

Test(one_shot, all_gather_is_a_barrier)
{
	barrier_of(ALL_GATHER);
}

Test(one_shot, all_to_all_is_a_barrier)
{
	barrier_of(ALL_TO_ALL);
}
