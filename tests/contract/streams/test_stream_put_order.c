/*
 * When copies on streams are made: in the order of streams and events, however
 * busy the device is, and not at all once the world has ended.
 */
#include "tests/contract/ended_world.h"
#include "tests/contract/streams/marked_memory.h"

/* -------------------------------------------------- order: kernel, copy, kernel, and the peer's */

enum { ROUNDS = 12, ROWS = 61, COLS = 130, SENT_LD = 150, INBOX_LD = 137, DELAY_NS = 300000 };

typedef struct round_args {
	tsr_view_t fresh, sent, inbox, got; /* fresh, got: of this round */
	TSR_HEAP uint64_t *ready, *retired, *never;
	uint64_t round;
	int32_t to, from;
} round_args_t;

/*
 * Late, so that a copy that does not wait for it copies the round before.
 * Partner of the wait: the signal of `take`.
 */
TSR_KERNEL(prepare, round_args_t, a)
{
	tsr_wait_until(block, a->never, 1, TSR_ANY_RANK, DELAY_NS);
	if (tsr_wait(block, a->retired, a->round - 1, a->to) == TSR_WAIT_OK)
		tsr_put_2d(block, a->sent, a->fresh, tsr_rank(block));
}

/*
 * Partner: the wait of `take`. Litmus: MP.rel.acq.diffGPU-ss, with the copy
 * before this kernel as the first write.
 */
TSR_KERNEL(announce, round_args_t, a)
{
	tsr_signal(block, a->ready, a->round, TSR_SIGNAL_SET, a->to);
}

TSR_KERNEL(take, round_args_t, a)
{
	if (tsr_wait(block, a->ready, a->round, a->from) != TSR_WAIT_OK)
		return;
	tsr_put_2d(block, a->got, a->inbox, tsr_rank(block));
	tsr_signal(block, a->retired, a->round, TSR_SIGNAL_SET, a->from);
}

typedef struct lanes {
	tsr_stream_t *stream[3];
	tsr_event_t *prepared, *copied;
} lanes_t;

/** All on one stream: whoever runs a rank's launches one after the other gets on, too. */
static int round_in_line(tsr_world_t *world, const lanes_t *l, const round_args_t *a)
{
	CHECK(tsr_launch(l->stream[0], &prepare, 1, a) == TSR_OK);
	CHECK(tsr_stream_put_2d(l->stream[0], a->inbox, a->sent, a->to) == TSR_OK);
	CHECK(tsr_launch(l->stream[0], &announce, 1, a) == TSR_OK);
	CHECK(tsr_launch(l->stream[2], &take, 1, a) == TSR_OK);
	return 0;
}

/** The copy on a stream of its own, between events. */
static int round_by_events(tsr_world_t *world, const lanes_t *l, const round_args_t *a)
{
	CHECK(tsr_launch(l->stream[0], &prepare, 1, a) == TSR_OK);
	CHECK(tsr_event_record(l->prepared, l->stream[0]) == TSR_OK);
	CHECK(tsr_stream_wait_event(l->stream[1], l->prepared) == TSR_OK);
	CHECK(tsr_stream_put_2d(l->stream[1], a->inbox, a->sent, a->to) == TSR_OK);
	CHECK(tsr_event_record(l->copied, l->stream[1]) == TSR_OK);
	CHECK(tsr_stream_wait_event(l->stream[0], l->copied) == TSR_OK);
	CHECK(tsr_launch(l->stream[0], &announce, 1, a) == TSR_OK);
	CHECK(tsr_launch(l->stream[2], &take, 1, a) == TSR_OK);
	return 0;
}

enum { TABLE = ROUNDS * ROWS * COLS * 2 };

static int run_rounds(tsr_world_t *world, const lanes_t *l, bool events,
		      TSR_HEAP unsigned char *fresh, TSR_HEAP unsigned char *got, round_args_t *a)
{
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		const size_t at = (size_t)(round - 1) * ROWS * COLS * 2;
		a->fresh = view_of(fresh + at, ROWS, COLS, COLS, TSR_BF16);
		a->got = view_of(got + at, ROWS, COLS, COLS, TSR_BF16);
		a->round = round;
		if (events ? round_by_events(world, l, a) : round_in_line(world, l, a))
			return 1;
	}
	for (int i = 0; i < 3; i++)
		CHECK(tsr_stream_sync(l->stream[i]) == TSR_OK);
	return 0;
}

static int check_rounds(tsr_world_t *world, TSR_HEAP unsigned char *got, int from)
{
	unsigned char *host = (unsigned char *)malloc(TABLE);
	size_t wrong = TABLE;
	CHECK(host);
	const tsr_status_t status = tsr_memcpy_from_heap(world, host, got, TABLE);
	for (size_t i = 0; wrong == TABLE && i < TABLE; i++)
		wrong = host[i] == mark_of(from, i) ? wrong : i;
	free(host);
	CHECK(status == TSR_OK && wrong == TABLE, "round %zu, byte %zu",
	      wrong / (ROWS * COLS * 2) + 1, wrong % (ROWS * COLS * 2));
	return 0;
}

static int order_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	lanes_t l;
	round_args_t a;
	(void)argc;
	memset(&a, 0, sizeof a);
	a.to = (me + 1) % size;
	a.from = (me + size - 1) % size;
	TSR_HEAP unsigned char *fresh = marked(world, TABLE, "fresh"),
			       *got = poisoned(world, TABLE, "got");
	TSR_HEAP unsigned char *sent = poisoned(world, ROWS * SENT_LD * 2, "sent");
	TSR_HEAP unsigned char *inbox = poisoned(world, ROWS * INBOX_LD * 2, "inbox");
	a.ready = zeroed(world, 3 * sizeof *a.ready, "flags");
	CHECK(fresh && got && sent && inbox && a.ready);
	a.retired = a.ready + 1;
	a.never = a.ready + 2;
	a.sent = view_of(sent, ROWS, COLS, SENT_LD, TSR_BF16);
	a.inbox = view_of(inbox, ROWS, COLS, INBOX_LD, TSR_BF16);
	for (int i = 0; i < 3; i++)
		CHECK(tsr_stream_create(tsr_world_team(world), &l.stream[i]) == TSR_OK);
	CHECK(tsr_event_create(world, &l.prepared) == TSR_OK &&
	      tsr_event_create(world, &l.copied) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	if (run_rounds(world, &l, strcmp(argv[1], "events") == 0, fresh, got, &a) ||
	    check_rounds(world, got, a.from))
		return 1;
	for (int i = 0; i < 3; i++)
		CHECK(tsr_stream_destroy(l.stream[i]) == TSR_OK);
	CHECK(tsr_event_destroy(l.prepared) == TSR_OK && tsr_event_destroy(l.copied) == TSR_OK);
	CHECK(tsr_heap_free(world, fresh) == TSR_OK && tsr_heap_free(world, got) == TSR_OK);
	CHECK(tsr_heap_free(world, sent) == TSR_OK && tsr_heap_free(world, inbox) == TSR_OK);
	CHECK(tsr_heap_free(world, a.ready) == TSR_OK);
	return 0;
}

Test(stream_put, between_kernels_of_its_stream)
{
	world_each(order_body, "line");
}

Test(stream_put, between_events_of_other_streams)
{
	world_each(order_body, "events");
}

/* ------------------------------------------------------------------ many, on several streams */

/* CHUNK: bytes, of which a copy brings 3 rows of 50, 64 apart */
enum { EPOCHS = 4, STREAMS = 4, COPIES = 32, CHUNK = 200 };

/** Each copy has a place of its own; copy k of a rank goes to the k-th rank behind it. */
static int epoch_of_many(tsr_world_t *world, tsr_stream_t *const *streams,
			 TSR_HEAP unsigned char *dst, TSR_HEAP unsigned char *src)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	for (int k = 0; k < COPIES; k++)
		CHECK(tsr_stream_put_2d(streams[k % STREAMS],
					view_of(dst + (me * COPIES + k) * CHUNK, 3, 50, 64, TSR_U8),
					view_of(src + k * CHUNK, 3, 50, 64, TSR_U8),
					(me + k) % size) == TSR_OK);
	for (int i = 0; i < STREAMS; i++)
		CHECK(tsr_stream_sync(streams[i]) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	return 0;
}

static int check_many(tsr_world_t *world, TSR_HEAP unsigned char *dst, unsigned char *host,
		      int epoch)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	const size_t all = (size_t)size * COPIES * CHUNK;
	CHECK(tsr_memcpy_from_heap(world, host, dst, all) == TSR_OK);
	for (size_t i = 0; i < all; i++) {
		const int from = (int)(i / (COPIES * CHUNK)), k = (int)(i / CHUNK % COPIES),
			  at = (int)(i % CHUNK);
		const bool brought = (from + k) % size == me && at < 178 && at % 64 < 50;
		CHECK(host[i] ==
			      (brought ? mark_of(from, (size_t)(epoch + k * CHUNK + at)) : POISON),
		      "epoch %d, copy %d of rank %d, byte %d", epoch, k, from, at);
	}
	return 0;
}

static int many_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world);
	const size_t all = (size_t)tsr_world_size(world) * COPIES * CHUNK;
	tsr_stream_t *streams[STREAMS];
	(void)argc, (void)argv;
	TSR_HEAP unsigned char *dst = poisoned(world, all, "dst"),
			       *src = poisoned(world, COPIES * CHUNK, "src");
	unsigned char *host = (unsigned char *)malloc(all);
	CHECK(dst && src && host);
	for (int i = 0; i < STREAMS; i++)
		CHECK(tsr_stream_create(tsr_world_team(world), &streams[i]) == TSR_OK);
	int failed = 0;
	for (int epoch = 0; !failed && epoch < EPOCHS; epoch++) {
		for (int i = 0; i < COPIES * CHUNK; i++)
			host[i] = mark_of(me, (size_t)(epoch + i));
		CHECK(tsr_memcpy_to_heap(world, src, host, COPIES * CHUNK) == TSR_OK);
		/* nobody reads what the epoch before has brought */
		CHECK(tsr_barrier(world) == TSR_OK);
		failed = epoch_of_many(world, streams, dst, src) ||
			 check_many(world, dst, host, epoch);
	}
	free(host);
	for (int i = 0; i < STREAMS; i++)
		CHECK(tsr_stream_destroy(streams[i]) == TSR_OK);
	CHECK(failed ||
	      (tsr_heap_free(world, dst) == TSR_OK && tsr_heap_free(world, src) == TSR_OK));
	return failed;
}

Test(stream_put, many_on_several_streams)
{
	world_each(many_body, NULL);
}

/* ---------------------------------------------------- a device that is full of blocks that wait */

typedef struct hold_args {
	TSR_HEAP uint64_t *go;
} hold_args_t;

/*
 * Partner: the signal of `let_go`, which the host launches when it knows that
 * the copies have come.
 */
TSR_KERNEL(hold, hold_args_t, a)
{
	tsr_wait(block, a->go, 1, tsr_size(block) - 1);
}

TSR_KERNEL(let_go, hold_args_t, a)
{
	for (int rank = 0; rank < tsr_size(block) - 1; rank++)
		tsr_signal(block, a->go, 1, TSR_SIGNAL_SET, rank);
}

/**
 * All hosts but the last rank's tell that one, which waits for each. No
 * barrier: that waits for the streams too.
 */
static int tell_last(tsr_world_t *world)
{
	int nothing = 0;
	for (int rank = 0; rank < tsr_world_size(world) - 1; rank++)
		CHECK(tsr_team_broadcast(tsr_world_team(world), &nothing, sizeof nothing, rank) ==
		      TSR_OK);
	return 0;
}

/**
 * All ranks but the last: kernels hold every place of the device until the last
 * rank has the copy.
 */
static int held_copy(tsr_world_t *world, tsr_stream_t *const *streams, const hold_args_t *a,
		     tsr_view_t dst, tsr_view_t src)
{
	const int last = tsr_world_size(world) - 1;
	tsr_device_props_t props = {.size = sizeof props};
	CHECK(tsr_world_device(world, &props) == TSR_OK);
	CHECK(tsr_launch(streams[0], &hold, props.resident_blocks, a) == TSR_OK);
	CHECK(tsr_stream_put_2d(streams[1], dst, src, last) == TSR_OK);
	CHECK(tsr_stream_sync(streams[1]) == TSR_OK,
	      "the copy ends before the kernel that holds the device");
	if (tell_last(world))
		return 1;
	CHECK(tsr_stream_sync(streams[0]) == TSR_OK);
	return 0;
}

static int held_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world), last = tsr_world_size(world) - 1;
	unsigned char host[8 * CHUNK];
	tsr_stream_t *streams[2];
	hold_args_t a;
	(void)argc, (void)argv;
	a.go = zeroed(world, sizeof *a.go, "go");
	TSR_HEAP unsigned char *dst = poisoned(world, sizeof host, "dst"),
			       *src = marked(world, CHUNK, "src");
	CHECK(a.go && dst && src);
	CHECK(tsr_stream_create(tsr_world_team(world), &streams[0]) == TSR_OK &&
	      tsr_stream_create(tsr_world_team(world), &streams[1]) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	if (me < last) {
		const tsr_view_t mine = view_of(dst + me * CHUNK, 1, CHUNK, CHUNK, TSR_U8);
		if (held_copy(world, streams, &a, mine, view_of(src, 1, CHUNK, CHUNK, TSR_U8)))
			return 1;
	} else {
		if (tell_last(world))
			return 1;
		CHECK(tsr_memcpy_from_heap(world, host, dst, sizeof host) == TSR_OK);
		for (int i = 0; i < 8 * CHUNK; i++)
			CHECK(host[i] == (i / CHUNK < last ? mark_of(i / CHUNK, (size_t)(i % CHUNK))
							   : POISON),
			      "byte %d", i);
		CHECK(run_kernel(world, &let_go, 1, &a) == TSR_OK);
	}
	CHECK(tsr_stream_destroy(streams[0]) == TSR_OK && tsr_stream_destroy(streams[1]) == TSR_OK);
	CHECK(tsr_heap_free(world, a.go) == TSR_OK && tsr_heap_free(world, dst) == TSR_OK &&
	      tsr_heap_free(world, src) == TSR_OK);
	return 0;
}

Test(stream_put, while_waiting_blocks_fill_the_device)
{
	if (world_has_threads())
		setenv("TESSERA_CPUEMU_RESIDENT_BLOCKS", "1", 1);
	world_each(held_body, NULL);
}

/* ------------------------------------------------------------------ a world that has ended */

TSR_KERNEL(wait_in_vain, hold_args_t, a)
{
	tsr_wait(block, a->go, 1, tsr_rank(block));
}

/** A copy behind a kernel that fails, and one that comes after: neither is made. */
static int ended_body(tsr_world_t *world, int argc, char **argv)
{
	const int peer = (tsr_world_rank(world) + 1) % tsr_world_size(world);
	unsigned char host[CHUNK];
	tsr_stream_t *stream;
	hold_args_t a;
	(void)argc, (void)argv;
	a.go = zeroed(world, sizeof *a.go, "go");
	TSR_HEAP unsigned char *dst = poisoned(world, CHUNK, "dst"),
			       *src = marked(world, CHUNK, "src");
	CHECK(a.go && dst && src && tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK &&
	      tsr_barrier(world) == TSR_OK);
	const tsr_view_t to = view_of(dst, 1, CHUNK, CHUNK, TSR_U8),
			 from = view_of(src, 1, CHUNK, CHUNK, TSR_U8);
	CHECK(tsr_launch(stream, &wait_in_vain, 1, &a) == TSR_OK);
	/* a GPU's engine does not know that the kernel before it has failed */
	if (world_has_threads())
		CHECK(tsr_stream_put_2d(stream, to, from, peer) == TSR_OK);
	CHECK(tsr_stream_sync(stream) != TSR_OK);
	const tsr_status_t status = tsr_stream_put_2d(stream, to, from, peer);
	CHECK(status == TSR_ERR_ABORTED && strstr(tsr_last_error(), "waited"), "%s",
	      tsr_status_name(status));
	CHECK(tsr_stream_destroy(stream) != TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, host, dst, sizeof host) == TSR_OK);
	for (int i = 0; i < CHUNK; i++)
		CHECK(host[i] == POISON, "byte %d", i);
	return witness();
}

Test(stream_put, a_world_that_has_ended)
{
	short_deadline();
	static const int sizes[] = {2, 1, 3};
	/* on a GPU each would take the deadline that a world needs to start */
	const int count = world_has_threads() ? 3 : 1;
	for (int i = 0; i < count; i++)
		ended_both(sizes[i], ended_body, NULL, "a copy");
}
