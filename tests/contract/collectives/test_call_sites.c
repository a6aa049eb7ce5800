/*
 * Collectives on streams in reports: a wait in a kernel of the library's own is
 * reported at the place where the program made the call, for short messages,
 * which have kernels of their own, and for others.
 */
#include "tests/contract/ended_world.h"

enum { COUNT = 64 };

typedef struct call {
	tsr_stream_t *stream;
	tsr_tensor_t whole, part; /* the elements of all ranks, and of one */
	TSR_HEAP tsr_collective_state_t *state;
} call_t;

/**
 * A call for which rank 1 waits for rank 0. Notes its line: each call is in one, for
 * compilers differ in which line of a longer one they mean.
 */
static tsr_status_t make_call(const call_t *c, const char *which, int *line_out)
{
	const tsr_tensor_t *part = &c->part;
	if (strcmp(which, "all-reduce") == 0) {
		*line_out = __LINE__ + 1;
		return tsr_stream_all_reduce(c->stream, part, part, TSR_REDUCE_SUM, c->state);
	}
	if (strcmp(which, "all-gather") == 0) {
		*line_out = __LINE__ + 1;
		return tsr_stream_all_gather(c->stream, &c->whole, part, 0, c->state);
	}
	if (strcmp(which, "reduce") == 0) {
		*line_out = __LINE__ + 1;
		return tsr_stream_reduce(c->stream, part, part, TSR_REDUCE_SUM, 1, c->state);
	}
	*line_out = __LINE__ + 1;
	return tsr_stream_broadcast(c->stream, part, part, 0, c->state);
}

/** Rank 0 makes no call, and rank 1 waits for it in vain. */
static int alone_body(tsr_world_t *world, int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "";
	const int ranks = tsr_world_size(world);
	TSR_HEAP void *data = zeroed(world, (size_t)(COUNT * ranks) * sizeof(int32_t), "data");
	call_t c = {.whole = {data, TSR_I32, 1, {COUNT * ranks}, {1}},
		    .part = {data, TSR_I32, 1, {COUNT}, {1}},
		    .state = zeroed(world, tsr_collective_state_bytes(ranks), "state")};
	tsr_wait_record_t record = {.size = sizeof record};
	char site[96];
	int line = 0;
	if (tsr_world_rank(world) > 0) /* its part of the whole */
		c.part.data = (TSR_HEAP int32_t *)data + COUNT * tsr_world_rank(world);
	CHECK(data && c.state);
	CHECK(tsr_stream_create(tsr_world_team(world), &c.stream) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	if (tsr_world_rank(world) == 0) {
		for (int i = 0; i < 20000 && tsr_wait_record(world, 0, &record) != TSR_OK; i++)
			usleep(5000);
		return witness();
	}
	CHECK(make_call(&c, which, &line) == TSR_OK, "%s", tsr_last_error());
	CHECK(tsr_stream_sync(c.stream) != TSR_OK, "rank 0 does not come");
	snprintf(site, sizeof site, "%s:%d", __FILE__, line);
	CHECK(strstr(tsr_last_error(), site), "%s for %s", tsr_last_error(), site);
	CHECK(tsr_wait_record(world, 0, &record) == TSR_OK);
	CHECK(strcmp(record.site, site) == 0, "%s for %s in %s", record.site, site, record.kernel);
	return witness();
}

Test(call_sites, short_messages)
{
	short_deadline();
	ended_both(2, alone_body, "all-reduce", "a short all-reduce");
	ended_both(2, alone_body, "all-gather", "a short all-gather");
}

Test(call_sites, messages_of_any_length)
{
	short_deadline();
	ended_both(2, alone_body, "reduce", "a reduce");
	ended_both(2, alone_body, "broadcast", "a broadcast");
}
