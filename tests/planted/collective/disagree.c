/*
 * disagree KIND [EXTENT]: ranks make one collective on a stream, and those but
 * rank 0 (in a world of several nodes, those of nodes but node 0, which agree on
 * each node) pass something else: what kinds[] names, of the call before the dash.
 * After the dash: `dst` or `src`, another place in the heap; `apart`, another
 * distance between rows. Then the ranks look whether anybody has stored to the
 * tensor of which `dst` is a part. EXTENT: of the square that is moved.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/planted/planted.h"

/* moves first, those that combine behind them */
enum kind {
	GATHER_DST,
	SCATTER_SRC,
	BROADCAST_DST,
	BROADCAST_SRC,
	BROADCAST_ROOT,
	ALL_GATHER_DST,
	ALL_GATHER_APART,
	ALL_GATHER_DIM,
	ALL_TO_ALL_DST,
	ALL_REDUCE_DST,
	ALL_REDUCE_SRC,
	REDUCE_DST,
	REDUCE_SRC,
	REDUCE_SCATTER_SRC,
	ALL_REDUCE_APART,
	ALL_REDUCE_OP,
	ALL_REDUCE_DTYPE,
	ALL_REDUCE_SHAPE,
	REDUCE_SCATTER_DIM,
	ALL_REDUCE_COUNT,
	BROADCAST_CALL,
	ALL_REDUCE_TEAM,
	RIGHT,
	KINDS
};
static const char *const kinds[KINDS] = {"gather_dst",
					 "scatter_src",
					 "broadcast_dst",
					 "broadcast_src",
					 "broadcast_root",
					 "all_gather_dst",
					 "all_gather_apart",
					 "all_gather_dim",
					 "all_to_all_dst",
					 "all_reduce_dst",
					 "all_reduce_src",
					 "reduce_dst",
					 "reduce_src",
					 "reduce_scatter_src",
					 "all_reduce_apart",
					 "all_reduce_op",
					 "all_reduce_dtype",
					 "all_reduce_shape",
					 "reduce_scatter_dim",
					 "all_reduce_count",
					 "broadcast_call",
					 "all_reduce_team",
					 "right"};

/** What a rank passes. */
typedef struct call {
	enum kind kind;
	int ranks, me;
	int odd;                       /* 0: this rank passes what rank 0 passes */
	int64_t extent;                /* of the square that is moved, in one of twice as much */
	tsr_stream_t *stream, *others; /* others: of a team that rank 0 is in, and not all are */
	tsr_tensor_t dst, src;
	TSR_HEAP tsr_collective_state_t *state;
} call_t;

/** A part of a tensor for this rank, along a dimension. */
static tsr_tensor_t part_of(const call_t *c, tsr_tensor_t tensor, int dim)
{
	tensor.shape[dim] = c->extent / c->ranks;
	return tensor;
}

/** The tensor farther on, by twice as many rows as there are lower ranks, or nodes. */
static tsr_tensor_t moved(const call_t *c, tsr_tensor_t tensor)
{
	tensor.data = (TSR_HEAP float *)tensor.data + c->odd * 2 * c->extent;
	return tensor;
}

static tsr_status_t move(const call_t *c)
{
	const int odd = c->odd > 0;
	tsr_tensor_t dst = c->dst, src = c->src, mine = part_of(c, src, 0);
	switch (c->kind) {
	case GATHER_DST:
		dst = moved(c, dst);
		return tsr_stream_gather(c->stream, &dst, &mine, 0, 0, c->state);
	case SCATTER_SRC:
		src = moved(c, src);
		dst = part_of(c, dst, 0);
		return tsr_stream_scatter(c->stream, &dst, &src, 0, 0, c->state);
	case BROADCAST_DST:
		dst = moved(c, dst);
		return tsr_stream_broadcast(c->stream, &dst, &src, 0, c->state);
	case BROADCAST_SRC:
		src = moved(c, src);
		return tsr_stream_broadcast(c->stream, &dst, &src, 0, c->state);
	case BROADCAST_ROOT:
		return tsr_stream_broadcast(c->stream, &dst, &src, odd, c->state);
	case ALL_GATHER_DST:
		dst = moved(c, dst);
		return tsr_stream_all_gather(c->stream, &dst, &mine, 0, c->state);
	case ALL_GATHER_APART:
		dst.stride[0] = odd ? c->extent : dst.stride[0];
		return tsr_stream_all_gather(c->stream, &dst, &mine, 0, c->state);
	case ALL_GATHER_DIM:
		mine = part_of(c, src, odd);
		return tsr_stream_all_gather(c->stream, &dst, &mine, odd, c->state);
	default: /* ALL_TO_ALL_DST */
		dst = moved(c, part_of(c, dst, 0));
		mine = part_of(c, src, 1);
		return tsr_stream_all_to_all(c->stream, &dst, &mine, 0, 1, c->state);
	}
}

static tsr_status_t combine(const call_t *c)
{
	const int odd = c->odd > 0;
	tsr_tensor_t dst = c->dst, src = c->src;
	tsr_reduce_t op = odd && c->kind == ALL_REDUCE_OP ? TSR_REDUCE_MAX : TSR_REDUCE_SUM;
	if (c->kind == ALL_REDUCE_DST || c->kind == REDUCE_DST)
		dst = moved(c, dst);
	if (c->kind == ALL_REDUCE_SRC || c->kind == REDUCE_SRC || c->kind == REDUCE_SCATTER_SRC)
		src = moved(c, src);
	if (odd && c->kind == ALL_REDUCE_APART)
		dst.stride[0] = src.stride[0] = c->extent;
	if (odd && c->kind == ALL_REDUCE_DTYPE)
		dst.dtype = src.dtype = TSR_I32;
	if (odd && c->kind == ALL_REDUCE_SHAPE) {
		dst.shape[0] = src.shape[0] = 2 * c->extent;
		dst.shape[1] = src.shape[1] = c->extent / 2;
	}
	if (odd && c->kind == ALL_REDUCE_COUNT)
		dst.shape[0] = src.shape[0] = c->extent / 2;
	if (c->kind == REDUCE_DST || c->kind == REDUCE_SRC)
		return tsr_stream_reduce(c->stream, &dst, &src, op, 0, c->state);
	if (c->kind == REDUCE_SCATTER_SRC || c->kind == REDUCE_SCATTER_DIM) {
		const int dim = odd && c->kind == REDUCE_SCATTER_DIM;
		dst = part_of(c, dst, dim);
		return tsr_stream_reduce_scatter(c->stream, &dst, &src, dim, op, c->state);
	}
	if (c->kind == BROADCAST_CALL && !odd)
		return tsr_stream_broadcast(c->stream, &dst, &src, 0, c->state);
	return tsr_stream_all_reduce(c->kind == ALL_REDUCE_TEAM && !odd ? c->others : c->stream,
				     &dst, &src, op, c->state);
}

static tsr_status_t queue(const call_t *c)
{
	const tsr_status_t status = c->kind <= ALL_TO_ALL_DST ? move(c) : combine(c);
	return status == TSR_OK ? tsr_stream_sync(c->stream) : status;
}

/** Goes on where `status` is TSR_OK. */
#define NEXT(call_) status = status == TSR_OK ? (call_) : status

/** Streams that an event orders, and that the host orders, may use one state. */
static tsr_status_t agree_in_order(const call_t *c, tsr_world_t *world)
{
	tsr_stream_t *second;
	tsr_event_t *event;
	tsr_status_t status = tsr_stream_create(tsr_world_team(world), &second);
	if (status == TSR_OK)
		status = tsr_event_create(world, &event);
	for (int i = 0; i < 3 && status == TSR_OK; i++) {
		status = tsr_stream_all_reduce(c->stream, &c->dst, &c->src, TSR_REDUCE_SUM,
					       c->state);
		if (status == TSR_OK)
			status = tsr_event_record(event, c->stream);
		if (status == TSR_OK)
			status = tsr_stream_wait_event(second, event);
		if (status == TSR_OK)
			status = tsr_stream_broadcast(second, &c->dst, &c->src, 0, c->state);
		if (status == TSR_OK)
			status = tsr_stream_sync(second);
	}
	return status;
}

/**
 * So may teams without a common member, and others where it is made anew. Ranks
 * may be some calls ahead.
 */
static tsr_status_t agree_in_teams(const call_t *c, tsr_world_t *world)
{
	const size_t bytes = tsr_collective_state_bytes(c->ranks);
	const tsr_tensor_t row = {c->dst.data, TSR_F32, 1, {c->extent}, {1}},
			   from = {c->src.data, TSR_F32, 1, {c->extent}, {1}};
	tsr_status_t status = TSR_OK;
	for (int i = 0; i < 2 && status == TSR_OK; i++) {
		tsr_team_t *half;
		tsr_stream_t *stream;
		TSR_HEAP void *state;
		NEXT(tsr_team_split(tsr_world_team(world), (c->me + i) % 2, 0, "half", &half));
		NEXT(tsr_heap_alloc(world, bytes, 128, "again", &state));
		NEXT(tsr_memset_heap(world, state, 0, bytes));
		NEXT(tsr_barrier(world));
		NEXT(tsr_stream_create(half, &stream));
		for (int j = 0; j < (i == 0 ? 1 : 40) && status == TSR_OK; j++)
			status = tsr_stream_broadcast(stream, &row, &from, 0,
						      (TSR_HEAP tsr_collective_state_t *)state);
		NEXT(tsr_stream_destroy(stream));
		NEXT(tsr_heap_free(world, state));
		NEXT(tsr_team_destroy(half));
	}
	return status;
}

/** Whether nobody has stored to the tensor of which `dst` is a part. */
static int is_untouched(tsr_world_t *world, const tsr_tensor_t *whole)
{
	const size_t elements = (size_t)(whole->shape[0] * whole->shape[1]);
	float *const values = malloc(elements * sizeof *values);
	int same = values != NULL && tsr_memcpy_from_heap(world, values, whole->data,
							  elements * sizeof *values) == TSR_OK;
	for (size_t i = 0; same && i < elements; i++)
		same = values[i] == -1;
	free(values);
	return same;
}

TSR_MAIN(world, argc, argv)
{
	call_t c = {.kind = (enum kind)planted_kind(argc > 2 ? 2 : argc, argv, kinds, KINDS),
		    .ranks = tsr_world_size(world),
		    .me = tsr_world_rank(world),
		    .extent = argc > 2 ? atoi(argv[2]) : 60};
	const size_t bytes = tsr_collective_state_bytes(c.ranks);
	const int64_t shape[] = {2 * c.extent, 2 * c.extent};
	tsr_tensor_t from, to;
	tsr_team_t *team;
	TSR_HEAP void *state;
	const int spans = tsr_world_nodes(world) > 1;
	c.odd = spans ? tsr_world_node(world, c.me) : c.me;
	if (c.kind == KINDS) {
		fprintf(stderr, "disagree: say one of the kinds\n");
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, bytes, 128, "state", &state));
	TSR_TRY(tsr_memset_heap(world, state, 0, bytes));
	TSR_TRY(tsr_tensor_full(world, TSR_F32, 2, shape, c.me + 1, &from));
	TSR_TRY(tsr_tensor_full(world, TSR_F32, 2, shape, -1, &to));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &c.stream));
	TSR_TRY(tsr_team_split(tsr_world_team(world), spans ? c.odd : c.me == 1, 0, "others",
			       &team));
	TSR_TRY(tsr_stream_create(team, &c.others));
	c.state = (TSR_HEAP tsr_collective_state_t *)state;
	c.src = from;
	c.dst = to;
	c.src.shape[0] = c.src.shape[1] = c.dst.shape[0] = c.dst.shape[1] = c.extent;
	if (c.kind == RIGHT) {
		TSR_TRY(agree_in_order(&c, world));
		TSR_TRY(agree_in_teams(&c, world));
		return 0;
	}
	const tsr_status_t status = queue(&c);
	if (status == TSR_OK)
		return 0; /* the test expects another code */
	if (!is_untouched(world, &to)) {
		fprintf(stderr, "disagree: somebody has stored to 'dst'\n");
		return 3;
	}
	return tsr_fail(world);
}
