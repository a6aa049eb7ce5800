/*
 * Collectives on streams of ranks on two nodes, on a back end that has no gates:
 * a wait of the host succeeds for what has been compared, and for nothing else.
 */
#include "src/net/net.h"
#include "src/world/world.h"
#include "tessera/collective.h"

#include "tests/contract/contract_test.h"

/* more than a rank may be ahead */
enum { CALLS = 100, EXTENT = 64, REFUSED = 42 };

/** The stream, and what its collectives take. */
typedef struct room {
	tsr_world_t *world;
	tsr_backend_t backend;
	tsr_stream_t *stream;
	tsr_event_t *event;
	tsr_tensor_t dst, src;
	TSR_HEAP tsr_collective_state_t *state;
} room_t;

static tsr_status_t open_room(tsr_world_t *world, room_t *room)
{
	const int64_t shape[] = {EXTENT};
	room->backend = *world->backend;
	room->backend.gates = false;
	world->backend = &room->backend;
	room->state = zeroed(world, tsr_collective_state_bytes(tsr_world_size(world)), "state");
	tsr_status_t status = tsr_tensor_full(world, TSR_F32, 1, shape, 1, &room->src);
	if (status == TSR_OK)
		status = tsr_tensor_full(world, TSR_F32, 1, shape, -1, &room->dst);
	if (status == TSR_OK)
		status = tsr_event_create(world, &room->event);
	if (status == TSR_OK)
		status = tsr_stream_create(tsr_world_team(world), &room->stream);
	return status;
}

static tsr_status_t reduce(const room_t *room, tsr_reduce_t op)
{
	return tsr_stream_all_reduce(room->stream, &room->dst, &room->src, op, room->state);
}

static int agree_body(tsr_world_t *world, int argc, char **argv)
{
	static room_t room;
	float got[EXTENT];
	(void)argc, (void)argv;
	CHECK(tsr_world_nodes(world) == 2 && open_room(world, &room) == TSR_OK);
	for (int i = 0; i < CALLS; i++)
		CHECK(reduce(&room, TSR_REDUCE_SUM) == TSR_OK);
	CHECK(tsr_stream_sync(room.stream) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, got, room.dst.data, sizeof got) == TSR_OK);
	for (int i = 0; i < EXTENT; i++)
		CHECK(got[i] == (float)tsr_world_size(world), "%g", (double)got[i]);
	for (int i = 0; i < CALLS; i++) {
		CHECK(reduce(&room, TSR_REDUCE_SUM) == TSR_OK);
		CHECK(tsr_event_record(room.event, room.stream) == TSR_OK);
		CHECK(i % 3 != 0 || tsr_event_sync(room.event) == TSR_OK);
	}
	return tsr_stream_destroy(room.stream) == TSR_OK ? 0 : 1;
}

/** The last call differs between the nodes, and is all that the wait `argv[1]` covers newly. */
static int refuse_body(tsr_world_t *world, int argc, char **argv)
{
	static room_t room;
	const bool odd = tsr_world_node(world, tsr_world_rank(world)) > 0;
	CHECK(argc > 1 && open_room(world, &room) == TSR_OK);
	const bool by_event = strcmp(argv[1], "event") == 0;
	CHECK(reduce(&room, TSR_REDUCE_SUM) == TSR_OK && tsr_stream_sync(room.stream) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	tsr_status_t status = reduce(&room, odd ? TSR_REDUCE_MAX : TSR_REDUCE_MIN);
	if (status == TSR_OK && by_event)
		status = tsr_event_record(room.event, room.stream);
	if (status == TSR_OK)
		status = by_event ? tsr_event_sync(room.event) : tsr_stream_sync(room.stream);
	/* TSR_ERR_ABORTED where another rank was faster than this one's call */
	CHECK((status == TSR_ERR_MISMATCH || status == TSR_ERR_ABORTED) &&
	      strstr(tsr_last_error(), "with TSR_REDUCE_MIN") &&
	      strstr(tsr_last_error(), "with TSR_REDUCE_MAX"));
	return REFUSED;
}

static bool has_carrier(void)
{
	char about[TSR_NET_DESCRIPTION_BYTES];
	setenv("TESSERA_HEAP_SIZE", "64M", 1);
	setenv("TESSERA_DEADLINE", "100s", 1);
	setenv("TESSERA_NODES", "2", 1);
	return tsr_net_about(getenv("TESSERA_NET_PLUGIN"), about) == TSR_OK;
}

Test(far_calls, are_compared_before_a_wait_succeeds)
{
	if (!has_carrier())
		cr_skip_test("no UCX: nothing carries messages between nodes");
	for (int ranks = 2; ranks <= 5; ranks += ranks == 2 ? 1 : 2) {
		cr_expect_eq(world_run(ranks, TSR_PLACE_PROCESS, agree_body, NULL), 0);
		cr_expect_eq(world_run(ranks, TSR_PLACE_PROCESS, refuse_body, "stream"), REFUSED);
		cr_expect_eq(world_run(ranks, TSR_PLACE_PROCESS, refuse_body, "event"), REFUSED);
	}
}
