/*
 * Short collectives on a stream: what a stream did before one happens before
 * what another rank's does behind it, though their kernels meet nowhere; nothing
 * is stored before all ranks have begun, for one may still read there; with
 * the same state calls within a kernel take turns with them; and messages that
 * several blocks share.
 */
#include "tests/contract/contract_test.h"

enum { ROUNDS = 6, MOST_RANKS = 16, EACH = 1100, WITHIN = 3 };

typedef enum kind { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, ALL_TO_ALL } kind_t;

typedef struct short_args {
	TSR_HEAP uint64_t *told; /* a word a round, which the rank before puts here */
	TSR_HEAP int32_t *src, *dst;
	TSR_HEAP tsr_collective_state_t *state;
	TSR_HEAP uint64_t *bad;
	int32_t kind, round;
	int64_t each; /* elements of a part */
} short_args_t;

/** Where a round's elements go: in turn to two places. */
TSR_FN TSR_HEAP int32_t *place_of(const short_args_t *a)
{
	return a->dst + a->round % 2 * (EACH * MOST_RANKS);
}

/** The element that a rank gives, of EACH for each rank. */
TSR_FN int32_t given(int round, int rank, int64_t at)
{
	return (int32_t)(round * 10007 + rank * 131 + at * 7);
}

/** The element that a rank gets. */
TSR_FN int32_t got(int kind, int round, int me, int ranks, int64_t each, int64_t at)
{
	int32_t sum = 0;
	if (kind == ALL_GATHER)
		return given(round, (int)(at / each), at % each);
	if (kind == ALL_TO_ALL)
		return given(round, (int)(at / each), me * each + at % each);
	for (int rank = 0; rank < ranks; rank++)
		sum += given(round, rank, kind == REDUCE_SCATTER ? me * each + at : at);
	return sum;
}

/** How many parts a rank gives, or gets. */
TSR_FN int parts_of(int kind, int gives, int ranks)
{
	const int one = gives ? kind == ALL_GATHER : kind == REDUCE_SCATTER;
	return one || kind == ALL_REDUCE ? 1 : ranks;
}

/**
 * Before the collective: this round's input, and a word for the next rank, which
 * still has what the round before the last one brought to the same place.
 */
TSR_KERNEL(tell, short_args_t, a)
{
	const int me = tsr_rank(block), ranks = tsr_size(block), next = (me + 1) % ranks;
	const int64_t count = a->each * parts_of(a->kind, 1, ranks);
	uint64_t bad = 0;
	for (int64_t at = 0; at < count; at++)
		tsr_put_value(block, a->src + at, given(a->round, me, at), me);
	tsr_put_value(block, a->told + a->round, (uint64_t)a->round + 1, next);
	if (a->round > 1)
		bad = tsr_get_value(block, place_of(a), next) !=
		      got(a->kind, a->round - 2, next, ranks, a->each, 0);
	tsr_atomic_add(block, a->bad, bad, me, TSR_RELAXED, TSR_SCOPE_DEVICE);
}

/** Behind it: what it brought, and the word of the rank before. */
TSR_KERNEL(look, short_args_t, a)
{
	const int me = tsr_rank(block), ranks = tsr_size(block);
	const int64_t count = a->each * parts_of(a->kind, 0, ranks);
	uint64_t bad = tsr_get_value(block, a->told + a->round, me) != (uint64_t)a->round + 1;
	for (int64_t at = 0; at < count; at++)
		bad += tsr_get_value(block, place_of(a) + at, me) !=
		       got(a->kind, a->round, me, ranks, a->each, at);
	tsr_atomic_add(block, a->bad, bad, me, TSR_RELAXED, TSR_SCOPE_DEVICE);
}

/** The same call within a kernel, of several blocks. */
TSR_KERNEL(call_within, short_args_t, a)
{
	const int ranks = tsr_size(block);
	const int64_t gives = a->each * parts_of(a->kind, 1, ranks),
		      gets = a->each * parts_of(a->kind, 0, ranks);
	const tsr_view_t src = tsr_view(a->src, TSR_I32, 1, gives, gives),
			 dst = tsr_view(place_of(a), TSR_I32, 1, gets, gets);
	if (a->kind == ALL_REDUCE)
		tsr_all_reduce_view(block, dst, src, TSR_REDUCE_SUM, a->state);
	else if (a->kind == REDUCE_SCATTER)
		tsr_reduce_scatter(block, dst, src, TSR_DIM_COLS, TSR_REDUCE_SUM, a->state);
	else if (a->kind == ALL_GATHER)
		tsr_all_gather_view(block, dst, src, TSR_DIM_COLS, a->state);
	else
		tsr_all_to_all(block, dst, src, TSR_DIM_COLS, TSR_DIM_COLS, a->state);
}

static tsr_status_t call(tsr_stream_t *stream, const short_args_t *a, int ranks)
{
	const tsr_tensor_t src = {a->src, TSR_I32, 1, {a->each * parts_of(a->kind, 1, ranks)}, {1}},
			   dst = {place_of(a),
				  TSR_I32,
				  1,
				  {a->each * parts_of(a->kind, 0, ranks)},
				  {1}};
	switch (a->kind) {
	case ALL_REDUCE:
		return tsr_stream_all_reduce(stream, &dst, &src, TSR_REDUCE_SUM, a->state);
	case REDUCE_SCATTER:
		return tsr_stream_reduce_scatter(stream, &dst, &src, 0, TSR_REDUCE_SUM, a->state);
	case ALL_GATHER:
		return tsr_stream_all_gather(stream, &dst, &src, 0, a->state);
	default:
		return tsr_stream_all_to_all(stream, &dst, &src, 0, 0, a->state);
	}
}

/** Round after round, without a wait of the host; every WITHIN-th within a kernel. */
static int rounds_on(tsr_world_t *world, tsr_stream_t *stream, short_args_t *a)
{
	const int ranks = tsr_world_size(world);
	for (a->round = 0; a->round < ROUNDS; a->round++) {
		CHECK(tsr_launch(stream, &tell, 1, a) == TSR_OK, "%s", tsr_last_error());
		if (a->round % WITHIN == WITHIN - 1)
			CHECK(tsr_launch(stream, &call_within, 2, a) == TSR_OK, "%s",
			      tsr_last_error());
		else
			CHECK(call(stream, a, ranks) == TSR_OK, "%s", tsr_last_error());
		CHECK(tsr_launch(stream, &look, 1, a) == TSR_OK, "%s", tsr_last_error());
	}
	CHECK(tsr_stream_sync(stream) == TSR_OK, "%s", tsr_last_error());
	return 0;
}

static int short_body(tsr_world_t *world, int argc, char **argv)
{
	const int ranks = tsr_world_size(world);
	const size_t bytes = EACH * MOST_RANKS * sizeof(int32_t);
	tsr_stream_t *stream;
	uint64_t bad;
	short_args_t a = {zeroed(world, ROUNDS * sizeof(uint64_t), "told"),
			  (TSR_HEAP int32_t *)poisoned(world, bytes, "src"),
			  (TSR_HEAP int32_t *)poisoned(world, 2 * bytes, "dst"),
			  zeroed(world, tsr_collective_state_bytes(ranks), "state"),
			  zeroed(world, sizeof(uint64_t), "bad"),
			  argc > 1 ? atoi(argv[1]) : ALL_REDUCE,
			  0,
			  1};
	CHECK(a.told && a.src && a.dst && a.state && a.bad && ranks <= MOST_RANKS);
	CHECK(tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	if (rounds_on(world, stream, &a))
		return 1;
	a.each = UNDER_TSAN || under_valgrind() ? 5 : EACH;
	if (rounds_on(world, stream, &a))
		return 1;
	CHECK(tsr_memcpy_from_heap(world, &bad, a.bad, sizeof bad) == TSR_OK);
	CHECK(bad == 0, "%llu values are wrong", (unsigned long long)bad);
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : 1;
}

static void rounds_of(kind_t kind)
{
	char number[12];
	snprintf(number, sizeof number, "%d", (int)kind);
	world_each(short_body, number);
}

Test(short_collectives, all_reduce_orders_streams)
{
	rounds_of(ALL_REDUCE);
}

Test(short_collectives, reduce_scatter_orders_streams)
{
	rounds_of(REDUCE_SCATTER);
}

Test(short_collectives, all_gather_orders_streams)
{
	rounds_of(ALL_GATHER);
}

Test(short_collectives, all_to_all_orders_streams)
{
	rounds_of(ALL_TO_ALL);
}
