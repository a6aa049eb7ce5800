/*
 * states KIND: an all-reduce on a stream whose state is misused:
 *
 *     small     made for a world of one
 *     dirty     not cleared, on any rank
 *     uncleared not cleared on the last rank
 *     cleared   cleared again between two calls, on the last rank
 *     another   the last rank passes another one
 *     streams   two streams use it at a time
 *     team      of another team
 *     freed     and nothing is in its place
 *     reused    freed, and its place holds data
 *     within    too small, in a kernel
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tests/planted/planted.h"

enum { SMALL, DIRTY, UNCLEARED, CLEARED, ANOTHER, STREAMS, TEAM, FREED, REUSED, WITHIN, KINDS };
static const char *const kinds[KINDS] = {"small",   "dirty", "uncleared", "cleared", "another",
					 "streams", "team",  "freed",     "reused",  "within"};

enum { EXTENT = 40 };

typedef struct within_args {
	TSR_HEAP float *values;
	TSR_HEAP tsr_collective_state_t *state;
} within_args_t;

TSR_KERNEL(combine_within, within_args_t, a)
{
	const tsr_view_t view = tsr_view(a->values, TSR_F32, 1, EXTENT, EXTENT);
	tsr_all_reduce_view(block, view, view, TSR_REDUCE_SUM, a->state);
}

/** What the calls need. */
typedef struct room {
	int kind, last;
	size_t bytes;
	TSR_HEAP void *state, *other;
	tsr_stream_t *stream, *second, *of_team;
	tsr_tensor_t values;
} room_t;

static tsr_status_t reduce(const room_t *r, tsr_stream_t *stream, TSR_HEAP void *state)
{
	return tsr_stream_all_reduce(stream, &r->values, &r->values, TSR_REDUCE_SUM,
				     (TSR_HEAP tsr_collective_state_t *)state);
}

static tsr_status_t free_state(tsr_world_t *world, room_t *r)
{
	TSR_HEAP void *data;
	tsr_status_t status = tsr_heap_free(world, r->state);
	if (status == TSR_OK && r->kind == REUSED)
		status = tsr_heap_alloc(world, r->bytes, 128, "data", &data);
	if (status == TSR_OK && r->kind == REUSED)
		status = tsr_memset_heap(world, data, 1, r->bytes);
	return status == TSR_OK ? tsr_barrier(world) : status;
}

static tsr_status_t run_within(const room_t *r)
{
	const within_args_t args = {(TSR_HEAP float *)r->values.data,
				    (TSR_HEAP tsr_collective_state_t *)r->state};
	return tsr_launch(r->stream, &combine_within, 1, &args);
}

static tsr_status_t misuse(tsr_world_t *world, room_t *r)
{
	tsr_status_t status = TSR_OK;
	if (r->kind == WITHIN)
		return run_within(r);
	if (r->kind == FREED || r->kind == REUSED)
		status = free_state(world, r);
	if (r->kind == CLEARED || r->kind == TEAM)
		status = reduce(r, r->stream, r->state);
	if (status == TSR_OK && r->kind == CLEARED)
		status = tsr_barrier(world);
	if (status == TSR_OK && r->kind == CLEARED && r->last)
		status = tsr_memset_heap(world, r->state, 0, r->bytes);
	if (status == TSR_OK && (r->kind == CLEARED || r->kind == TEAM))
		status = tsr_barrier(world);
	if (status == TSR_OK && r->kind == TEAM)
		return reduce(r, r->of_team, r->state);
	if (status == TSR_OK && r->kind == STREAMS)
		status = reduce(r, r->second, r->state);
	return status == TSR_OK
		       ? reduce(r, r->stream, r->kind == ANOTHER && r->last ? r->other : r->state)
		       : status;
}

TSR_MAIN(world, argc, argv)
{
	const int ranks = tsr_world_size(world), me = tsr_world_rank(world);
	room_t r = {.kind = planted_kind(argc, argv, kinds, KINDS), .last = me == ranks - 1};
	const int64_t shape[] = {EXTENT};
	tsr_team_t *team;
	if (r.kind == KINDS) {
		fprintf(stderr, "states: say one of the kinds\n");
		return 2;
	}
	r.bytes = tsr_collective_state_bytes(r.kind == SMALL || r.kind == WITHIN ? 1 : ranks);
	TSR_TRY(tsr_heap_alloc(world, r.bytes, 128, "state", &r.state));
	TSR_TRY(tsr_heap_alloc(world, r.bytes, 128, "other", &r.other));
	TSR_TRY(tsr_memset_heap(world, r.other, 0, r.bytes));
	TSR_TRY(tsr_memset_heap(world, r.state,
				r.kind == DIRTY || (r.kind == UNCLEARED && r.last) ? 0x5a : 0,
				r.bytes));
	TSR_TRY(tsr_tensor_full(world, TSR_F32, 1, shape, me + 1, &r.values));
	TSR_TRY(tsr_team_split(tsr_world_team(world), me % 2, me, "half", &team));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &r.stream));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &r.second));
	TSR_TRY(tsr_stream_create(team, &r.of_team));
	TSR_TRY(tsr_barrier(world));
	TSR_TRY(misuse(world, &r));
	TSR_TRY(tsr_stream_sync(r.stream));
	TSR_TRY(tsr_barrier(world));
	return 0;
}
