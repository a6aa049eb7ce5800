/*
 * Collectives on streams: tensors of one to four dimensions, dense and with
 * gaps, along each dimension, in the world and in teams; one after the other on
 * a stream. And what they refuse.
 */
#include "tests/contract/contract_test.h"

enum { MOST_DIMS = 4, MOST_ELEMENTS = 4096, GAP = 2 };

typedef enum kind {
	ALL_REDUCE,
	REDUCE,
	REDUCE_SCATTER,
	ALL_GATHER,
	ALL_TO_ALL,
	BROADCAST,
	GATHER,
	SCATTER
} kind_t;

/** A call: of a tensor with these extents, which is the whole one. */
typedef struct stream_case {
	kind_t kind;
	int dims;
	/* negative: so many for each rank */
	int64_t shape[MOST_DIMS];
	int dim, place; /* dim: along which, or how an all-to-all is split */
	int gap_dim;    /* elements of this dimension lie further apart than they need; 0: none */
} stream_case_t;

static const stream_case_t cases[] = {
	{ALL_REDUCE, 1, {70}, 0, 0, 0},
	{ALL_REDUCE, 3, {5, 7, 3}, 0, 0, 0},
	{ALL_REDUCE, 3, {5, 7, 3}, 0, 0, 1},
	{REDUCE, 2, {3, 11}, 0, 0, 1},
	{BROADCAST, 3, {2, 3, 9}, 0, 0, 1},
	{REDUCE_SCATTER, 2, {11, 5}, 0, 0, 0},
	{REDUCE_SCATTER, 3, {4, -2, 3}, 1, 0, 1},
	{ALL_GATHER, 2, {7, 6}, 0, 0, 1},
	{ALL_GATHER, 2, {3, 17}, 1, 0, 1},
	{ALL_GATHER, 3, {2, -1, 5}, 1, 0, 0},
	{GATHER, 1, {19}, 0, 0, 0},
	{SCATTER, 2, {4, 13}, 1, 0, 1},
	{ALL_TO_ALL, 2, {9, 4}, 0, 0, 0},
	{ALL_TO_ALL, 2, {9, 14}, 1, 0, 1},
	{ALL_TO_ALL, 4, {2, 9, -2, 3}, 2, 1, 1}, /* batch, sequence, heads, depth */
	{ALL_TO_ALL, 4, {2, 9, -2, 3}, 1, 2, 1}, /* and back */
	{ALL_TO_ALL, 4, {2, 9, -2, 3}, 1, 2, 2}, /* rows with gaps, one on some ranks */
	/* of several blocks, and with gaps */
	{ALL_REDUCE, 1, {4000}, 0, 0, 0},
	{REDUCE_SCATTER, 1, {-450}, 0, 0, 0},
	{ALL_GATHER, 2, {-30, 13}, 0, 0, 0},
	{ALL_GATHER, 2, {6, -70}, 1, 0, 1},
	{ALL_TO_ALL, 1, {-450}, 0, 0, 0},
	{ALL_TO_ALL, 2, {-30, 9}, 0, 0, 1},
};
enum { CASES = sizeof cases / sizeof *cases };

/** A case on a rank. */
typedef struct run {
	const stream_case_t *c;
	tsr_team_t *team;
	int ranks, me, root;
	bool in_place;
} run_t;

static int64_t first_of(int64_t extent, int rank, int ranks)
{
	return extent * rank / ranks;
}

static int64_t part_of(const run_t *r, int64_t extent, int rank)
{
	return first_of(extent, rank + 1, r->ranks) - first_of(extent, rank, r->ranks);
}

static int64_t extent_of(const run_t *r, int dim)
{
	return r->c->shape[dim] < 0 ? -r->c->shape[dim] * r->ranks : r->c->shape[dim];
}

/** The extent of what a rank gives, or of what it gets. */
static int64_t extent_on(const run_t *r, int dim, int rank, bool gives)
{
	const kind_t kind = r->c->kind;
	const int64_t whole = extent_of(r, dim);
	const bool parts_given = kind == ALL_GATHER || kind == GATHER,
		   parts_got = kind == REDUCE_SCATTER || kind == SCATTER;
	if (kind == ALL_TO_ALL && r->c->dim == r->c->place)
		return dim == r->c->dim && !gives ? part_of(r, whole, rank) * r->ranks : whole;
	if (kind == ALL_TO_ALL)
		return dim == (gives ? r->c->place : r->c->dim) ? part_of(r, whole, rank) : whole;
	return dim == r->c->dim && (gives ? parts_given : parts_got) ? part_of(r, whole, rank)
								     : whole;
}

/**
 * Dimensions from gap_dim on are dense. Those before it have the same strides on
 * all ranks, with room for what any rank has.
 */
static tsr_tensor_t tensor_of(const run_t *r, TSR_HEAP void *data, bool gives)
{
	const int gap_dim = r->c->gap_dim;
	tsr_tensor_t t = {data, TSR_I32, r->c->dims, {0}, {0}};
	int64_t stride = 1, room = 1;
	for (int i = t.dims - 1; i >= 0; i--) {
		t.shape[i] = extent_on(r, i, r->me, gives);
		t.stride[i] = stride;
		room *= extent_of(r, i) + (i == r->c->dim || i == r->c->place ? r->ranks : 0);
		stride *= i >= gap_dim ? t.shape[i] : extent_of(r, i);
		if (i > 0 && i == gap_dim)
			stride = room + GAP;
	}
	return t;
}

static int32_t value_of(int rank, int64_t index)
{
	return (int32_t)(rank * 5000 + index);
}

/** The element that a rank gives at these coordinates. */
static int32_t given(const run_t *r, int rank, const int64_t *at)
{
	int64_t index = 0;
	for (int i = 0; i < r->c->dims; i++)
		index = index * extent_on(r, i, rank, true) + at[i];
	return value_of(rank, index);
}

/** The rank that has an element of dimension `dim`, and the coordinate there. */
static int owner_of(const run_t *r, int dim, int64_t *at)
{
	int rank = 0;
	while (first_of(extent_of(r, dim), rank + 1, r->ranks) <= *at)
		rank++;
	*at -= first_of(extent_of(r, dim), rank, r->ranks);
	return rank;
}

/** What the call brings to these coordinates. Writes to `at`. */
static int32_t brought(const run_t *r, int64_t *at)
{
	const int dim = r->c->dim, place = r->c->place;
	int32_t sum = 0;
	switch (r->c->kind) {
	case ALL_GATHER:
	case GATHER: {
		const int from = owner_of(r, dim, &at[dim]);
		return given(r, from, at);
	}
	case ALL_TO_ALL:
		if (dim == place) {
			const int64_t mine = part_of(r, extent_of(r, dim), r->me);
			const int from = (int)(at[dim] / mine);
			at[dim] = at[dim] % mine + first_of(extent_of(r, dim), r->me, r->ranks);
			return given(r, from, at);
		}
		at[dim] += first_of(extent_of(r, dim), r->me, r->ranks);
		const int from = owner_of(r, place, &at[place]);
		return given(r, from, at);
	case BROADCAST:
		return given(r, r->root, at);
	case SCATTER:
		at[dim] += first_of(extent_of(r, dim), r->me, r->ranks);
		return given(r, r->root, at);
	case REDUCE_SCATTER:
		at[dim] += first_of(extent_of(r, dim), r->me, r->ranks);
		break;
	default:
		break;
	}
	for (int rank = 0; rank < r->ranks; rank++)
		sum += given(r, rank, at);
	return sum;
}

static tsr_status_t call(const run_t *r, tsr_stream_t *stream, const tsr_tensor_t *dst,
			 const tsr_tensor_t *src, TSR_HEAP tsr_collective_state_t *state)
{
	const int dim = r->c->dim;
	switch (r->c->kind) {
	case ALL_REDUCE:
		return tsr_stream_all_reduce(stream, dst, src, TSR_REDUCE_SUM, state);
	case REDUCE:
		return tsr_stream_reduce(stream, dst, src, TSR_REDUCE_SUM, r->root, state);
	case REDUCE_SCATTER:
		return tsr_stream_reduce_scatter(stream, dst, src, dim, TSR_REDUCE_SUM, state);
	case ALL_GATHER:
		return tsr_stream_all_gather(stream, dst, src, dim, state);
	case ALL_TO_ALL:
		return tsr_stream_all_to_all(stream, dst, src, dim, r->c->place, state);
	case BROADCAST:
		return tsr_stream_broadcast(stream, dst, src, r->root, state);
	case GATHER:
		return tsr_stream_gather(stream, dst, src, dim, r->root, state);
	default:
		return tsr_stream_scatter(stream, dst, src, dim, r->root, state);
	}
}

static int64_t count_of(const tsr_tensor_t *t)
{
	int64_t count = 1;
	for (int i = 0; i < t->dims; i++)
		count *= t->shape[i];
	return count;
}

/** Where the element with this index of the dense tensor lies in memory. */
static int64_t place_of(const tsr_tensor_t *t, int64_t index, int64_t *at)
{
	int64_t place = 0;
	for (int i = t->dims - 1; i >= 0; i--) {
		at[i] = index % t->shape[i];
		index /= t->shape[i];
		place += at[i] * t->stride[i];
	}
	return place;
}

typedef struct room {
	TSR_HEAP int32_t *dst, *src;
	TSR_HEAP tsr_collective_state_t *state;
} room_t;

static int run_case(const run_t *r, tsr_stream_t *stream, const room_t *room)
{
	static const int32_t poison = -1;
	tsr_world_t *world = tsr_team_world(r->team);
	int32_t *host = (int32_t *)malloc(2 * MOST_ELEMENTS * sizeof *host),
		*want = host + MOST_ELEMENTS;
	tsr_tensor_t src = tensor_of(r, room->src, true), dst = tensor_of(r, room->dst, false);
	const bool gets = (r->c->kind != REDUCE && r->c->kind != GATHER) || r->me == r->root;
	const size_t bytes = MOST_ELEMENTS * sizeof *host;
	int64_t at[MOST_DIMS] = {0};
	CHECK(host);
	if (r->in_place)
		dst = src;
	for (int i = 0; i < MOST_ELEMENTS; i++)
		host[i] = poison;
	CHECK(tsr_memcpy_to_heap(world, room->dst, host, bytes) == TSR_OK);
	for (int64_t i = 0; i < count_of(&src); i++) {
		const int64_t place = place_of(&src, i, at);
		CHECK(place < MOST_ELEMENTS);
		host[place] = given(r, r->me, at);
	}
	memcpy(want, host, bytes);
	CHECK(tsr_memcpy_to_heap(world, room->src, host, bytes) == TSR_OK);
	for (int i = 0; i < MOST_ELEMENTS && !r->in_place; i++)
		want[i] = poison;
	for (int64_t i = 0; gets && i < count_of(&dst); i++) {
		const int64_t place = place_of(&dst, i, at);
		CHECK(place < MOST_ELEMENTS);
		want[place] = brought(r, at);
	}
	CHECK(tsr_team_barrier(r->team) == TSR_OK);
	for (int times = 0; times < (r->in_place ? 1 : 2); times++)
		CHECK(call(r, stream, &dst, &src, room->state) == TSR_OK, "%s", tsr_last_error());
	CHECK(tsr_stream_sync(stream) == TSR_OK, "%s", tsr_last_error());
	CHECK(tsr_memcpy_from_heap(world, host, dst.data, bytes) == TSR_OK);
	for (int i = 0; i < MOST_ELEMENTS; i++)
		CHECK(host[i] == want[i], "case %d, rank %d of %d, root %d, place %d: %d, not %d",
		      (int)(r->c - cases), r->me, r->ranks, r->root, i, (int)host[i], (int)want[i]);
	free(host);
	return 0;
}

static int run_all(tsr_team_t *team, const room_t *room)
{
	const tsr_world_t *world = tsr_team_world(team);
	tsr_stream_t *stream;
	CHECK(tsr_stream_create(team, &stream) == TSR_OK);
	for (int i = 0; i < CASES; i++) {
		run_t r = {&cases[i], team, tsr_team_size(team), tsr_team_rank(team), 0, false};
		r.root = i % r.ranks;
		if (run_case(&r, stream, room))
			return 1;
		r.in_place = cases[i].kind == ALL_REDUCE || cases[i].kind == REDUCE ||
			     cases[i].kind == BROADCAST;
		if (r.in_place && run_case(&r, stream, room))
			return 1;
	}
	CHECK(tsr_stream_destroy(stream) == TSR_OK);
	return 0;
}

static int stream_body(tsr_world_t *world, int argc, char **argv)
{
	const int ranks = tsr_world_size(world), me = tsr_world_rank(world);
	const size_t bytes = MOST_ELEMENTS * sizeof(int32_t);
	room_t room = {(TSR_HEAP int32_t *)poisoned(world, bytes, "dst"),
		       (TSR_HEAP int32_t *)poisoned(world, bytes, "src"),
		       zeroed(world, tsr_collective_state_bytes(ranks), "state")};
	tsr_team_t *team;
	(void)argc, (void)argv;
	CHECK(room.dst && room.src && room.state);
	if (run_all(tsr_world_team(world), &room))
		return 1;
	room.state = zeroed(world, tsr_collective_state_bytes(ranks), "team state");
	CHECK(room.state);
	CHECK(tsr_team_split(tsr_world_team(world), me % 2, -me, "half", &team) == TSR_OK);
	if (run_all(team, &room))
		return 1;
	return tsr_team_destroy(team) == TSR_OK ? 0 : 1;
}

Test(stream_collectives, bring_what_the_ranks_gave)
{
	world_each(stream_body, NULL);
}

/* ------------------------------------------------------------------ what is refused */

#define REFUSED(call_, said_)                                                     \
	do {                                                                      \
		CHECK((call_) == TSR_ERR_ARGUMENT);                               \
		CHECK(strstr(tsr_last_error(), (said_)), "%s", tsr_last_error()); \
	} while (0)

static int refused_body(tsr_world_t *world, int argc, char **argv)
{
	TSR_HEAP tsr_collective_state_t *state =
		zeroed(world, tsr_collective_state_bytes(2), "state");
	TSR_HEAP void *data = poisoned(world, 1024, "data");
	tsr_tensor_t a = {data, TSR_F32, 2, {4, 6}, {6, 1}}, half = a, other = a, bad = a;
	tsr_stream_t *s;
	(void)argc, (void)argv;
	CHECK(state && data && tsr_stream_create(tsr_world_team(world), &s) == TSR_OK);
	half.shape[0] = 2;
	half.data = (TSR_HEAP char *)data + 512;
	other.data = (TSR_HEAP char *)data + 512;
	REFUSED(tsr_stream_all_reduce(NULL, &a, &a, TSR_REDUCE_SUM, state), "stream must not be");
	REFUSED(tsr_stream_all_reduce(s, &a, &a, TSR_REDUCE_SUM, NULL), "state must not be null");
	REFUSED(tsr_stream_all_reduce(s, &a, &a, TSR_REDUCE_SUM,
				      (TSR_HEAP tsr_collective_state_t *)a.data),
		"its state is too small");
	REFUSED(tsr_stream_all_reduce(s, &a, NULL, TSR_REDUCE_SUM, state), "src must not be null");
	REFUSED(tsr_stream_all_reduce(s, &a, &half, TSR_REDUCE_SUM, state),
		"extent 0 of dst is 4, and src of rank");
	REFUSED(tsr_stream_all_reduce(s, &a, &other, (tsr_reduce_t)7, state), "by operation 7");
	bad.dtype = TSR_I64;
	bad.shape[1] = bad.stride[0] = 2;
	REFUSED(tsr_stream_all_reduce(s, &bad, &bad, TSR_REDUCE_SUM, state), "does not combine");
	bad = a;
	bad.dtype = TSR_F16;
	REFUSED(tsr_stream_broadcast(s, &a, &bad, 0, state), "tensors of one dtype");
	REFUSED(tsr_stream_broadcast(s, &a, &other, 2, state),
		"with root 2: the stream's team has");
	REFUSED(tsr_stream_gather(s, &a, &half, 0, -1, state), "with root -1");
	REFUSED(tsr_stream_all_gather(s, &a, &half, 2, state), "along dimension 2: the tensors");
	REFUSED(tsr_stream_all_gather(s, &a, &other, 0, state),
		"extent 0 of src is 4, and dst of rank");
	REFUSED(tsr_stream_all_to_all(s, &other, &a, 0, 1, state), "needs 2");
	bad = a;
	bad.stride[0] = 3;
	REFUSED(tsr_stream_broadcast(s, &bad, &other, 0, state), "make no matrix");
	bad = a;
	bad.shape[0] = 4096;
	REFUSED(tsr_stream_broadcast(s, &bad, &bad, 0, state), "tsr_stream_broadcast");
	bad = a;
	bad.data = (TSR_HEAP char *)data + 1;
	REFUSED(tsr_stream_broadcast(s, &bad, &other, 0, state), "where no f32 can lie");
	REFUSED(tsr_stream_all_reduce(s, &other, &bad, TSR_REDUCE_SUM, state),
		"where no f32 can lie");
	bad = a;
	bad.dims = 9;
	REFUSED(tsr_stream_broadcast(s, &bad, &bad, 0, state), "has 9 dimensions");
	tsr_tensor_t inner = {data, TSR_F32, 3, {2, 3, 2}, {6, 2, 1}}, third = inner;
	third.shape[1] = 1 + (tsr_world_rank(world) == 1);
	third.data = other.data;
	REFUSED(tsr_stream_reduce_scatter(s, &third, &inner, 1, TSR_REDUCE_SUM, state),
		"2 ranks do not divide extent 1 of src");
	return tsr_stream_destroy(s) == TSR_OK ? 0 : 1;
}

Test(stream_collectives, refuse_what_does_not_fit)
{
	cr_expect(world_run(2, TSR_PLACE_PROCESS, refused_body, NULL) == 0);
}
