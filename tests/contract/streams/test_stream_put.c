/*
 * Copies to peers on streams: every shape and nothing beside it, in the order
 * of streams and events, however busy the device is.
 */
#include "tests/contract/ended_world.h"

static tsr_view_t view_of(TSR_HEAP unsigned char *data, int64_t rows, int64_t cols, int64_t ld,
			  tsr_dtype_t dtype)
{
	const tsr_view_t view = {data, rows, cols, ld, (int32_t)dtype, TSR_SPACE_HEAP};
	return view;
}

/** Heap memory that holds mark_of(my rank, i). */
static any_heap_t marked(tsr_world_t *world, size_t bytes, const char *name)
{
	TSR_HEAP unsigned char *heap = poisoned(world, bytes, name);
	unsigned char *host = (unsigned char *)malloc(bytes);
	bool good = host && heap;
	for (size_t i = 0; good && i < bytes; i++)
		host[i] = mark_of(tsr_world_rank(world), i);
	good = good && tsr_memcpy_to_heap(world, heap, host, bytes) == TSR_OK;
	free(host);
	return good ? heap : NULL;
}

/* ------------------------------------------------------------------ shapes */

/** `at`: the slot's elements before the view. */
typedef struct shape {
	const char *name;
	int64_t rows, cols, dst_ld, src_ld, dst_at, src_at;
} shape_t;

static const shape_t shapes[] = {
	{"odd extents, both pitched", 23, 17, 19, 29, 5, 3},
	{"rows without gaps", 16, 33, 33, 33, 0, 0},
	{"to rows without gaps", 9, 31, 31, 40, 1, 2},
	{"from rows without gaps", 9, 31, 40, 31, 2, 1},
	{"columns inside larger matrices", 20, 7, 24, 36, 8, 11},
	{"one column", 41, 1, 13, 3, 12, 2},
	{"one row", 1, 301, 301, 301, 3, 5},
	{"one row, which has no next", 1, 301, 7, 0, 3, 5},
	{"one element", 1, 1, 1, 1, 7, 2},
	{"no rows", 0, 17, 19, 29, 5, 3},
	{"no columns", 23, 0, 19, 29, 5, 3},
};

/* elements of the largest view with what is around it, bytes of an element */
enum { SLOT = 1000, WIDEST = 8 };

typedef struct places {
	tsr_world_t *world;
	tsr_stream_t *stream[2];
	TSR_HEAP unsigned char *dst, *src; /* dst: a slot for each rank that sends */
	unsigned char *host;
} places_t;

/** What byte `index` of a sender's slot should hold. */
static unsigned char wanted(const shape_t *shape, size_t element, int sender, size_t index)
{
	const int64_t at = (int64_t)(index / element) - shape->dst_at,
		      ld = shape->rows > 1 ? shape->dst_ld : SLOT;
	if (at < 0 || at / ld >= shape->rows || at % ld >= shape->cols)
		return POISON;
	const int64_t from = shape->src_at + at / ld * shape->src_ld + at % ld;
	return mark_of(sender, (size_t)from * element + index % element);
}

static int check_slots(const places_t *p, const shape_t *shape, size_t element)
{
	tsr_world_t *world = p->world;
	const size_t slot = SLOT * element, all = slot * (size_t)tsr_world_size(world);
	CHECK(tsr_memcpy_from_heap(world, p->host, p->dst, all) == TSR_OK);
	for (size_t i = 0; i < all; i++)
		CHECK(p->host[i] == wanted(shape, element, (int)(i / slot), i % slot),
		      "%s, elements of %zu bytes, from %zu: byte %zu", shape->name, element,
		      i / slot, i % slot);
	return 0;
}

/** Every rank to every rank, myself included. */
static int put_shape(const places_t *p, const shape_t *shape, tsr_dtype_t dtype)
{
	tsr_world_t *world = p->world;
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	const size_t element = tsr_dtype_bytes(dtype);
	TSR_HEAP unsigned char *mine =
		p->dst + ((size_t)me * SLOT + (size_t)shape->dst_at) * element;
	const tsr_view_t dst = view_of(mine, shape->rows, shape->cols, shape->dst_ld, dtype);
	const tsr_view_t src = view_of(p->src + (size_t)shape->src_at * element, shape->rows,
				       shape->cols, shape->src_ld, dtype);
	CHECK(tsr_memset_heap(world, p->dst, POISON, SLOT * element * (size_t)size) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	for (int i = 0; i < size; i++)
		CHECK(tsr_stream_put_2d(p->stream[i % 2], dst, src, (me + i) % size) == TSR_OK,
		      "%s", shape->name);
	CHECK(tsr_stream_sync(p->stream[0]) == TSR_OK && tsr_stream_sync(p->stream[1]) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	return check_slots(p, shape, element);
}

static int shapes_body(tsr_world_t *world, int argc, char **argv)
{
	static const tsr_dtype_t dtypes[] = {TSR_F32, TSR_BF16, TSR_U8, TSR_I64};
	const size_t bytes = SLOT * WIDEST;
	(void)argc, (void)argv;
	places_t p;
	p.world = world;
	p.dst = poisoned(world, bytes * (size_t)tsr_world_size(world), "dst");
	p.src = marked(world, bytes, "src");
	p.host = (unsigned char *)malloc(bytes * (size_t)tsr_world_size(world));
	CHECK(p.dst && p.src && p.host);
	CHECK(tsr_stream_create(tsr_world_team(world), &p.stream[0]) == TSR_OK &&
	      tsr_stream_create(tsr_world_team(world), &p.stream[1]) == TSR_OK);
	int failed = 0;
	for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
		for (size_t s = 0; !failed && s < sizeof shapes / sizeof *shapes; s++)
			failed = put_shape(&p, &shapes[s], dtypes[d]);
	if (!failed)
		CHECK(tsr_memcpy_from_heap(world, p.host, p.src, bytes) == TSR_OK);
	for (size_t i = 0; !failed && i < bytes; i++)
		CHECK(p.host[i] == mark_of(tsr_world_rank(world), i), "src is as it was, byte %zu",
		      i);
	free(p.host);
	CHECK(tsr_stream_destroy(p.stream[0]) == TSR_OK &&
	      tsr_stream_destroy(p.stream[1]) == TSR_OK);
	CHECK(tsr_heap_free(world, p.dst) == TSR_OK && tsr_heap_free(world, p.src) == TSR_OK);
	return failed;
}

Test(stream_put, every_shape_to_every_rank)
{
	world_each(shapes_body, NULL);
}

/* ------------------------------------------------------------------ within one matrix of mine */

enum { SIDE = 12, ACROSS = 20 };

typedef struct within {
	const char *name;
	int64_t dst_row, dst_col, dst_ld, src_row, src_col, src_ld, rows, cols;
	bool apart;
} within_t;

static const within_t withins[] = {
	{"columns beside columns", 0, 8, 20, 0, 0, 20, 12, 8, true},
	{"columns before columns", 0, 3, 20, 0, 8, 20, 12, 5, true},
	{"columns that share one", 0, 7, 20, 0, 0, 20, 12, 8, false},
	{"columns that share one, before", 0, 3, 20, 0, 8, 20, 12, 6, false},
	{"rows behind rows", 6, 0, 20, 0, 0, 20, 6, 20, true},
	{"rows that share one", 5, 0, 20, 0, 0, 20, 6, 20, false},
	{"rows that begin where rows end", 1, 0, 20, 0, 12, 20, 11, 8, true},
	{"rows that begin before rows end", 1, 0, 20, 0, 13, 20, 11, 8, false},
	{"every other row", 1, 0, 40, 0, 0, 40, 6, 20, true},
	{"rows at other distances", 1, 0, 80, 0, 0, 40, 3, 20, true},
	{"rows at other distances that meet", 1, 0, 60, 0, 0, 40, 3, 20, false},
	{"the same rows", 2, 3, 20, 2, 3, 20, 4, 4, false},
};

static int put_within(tsr_world_t *world, tsr_stream_t *stream, TSR_HEAP unsigned char *matrix,
		      const within_t *w)
{
	const int me = tsr_world_rank(world);
	uint16_t before[SIDE * ACROSS], after[SIDE * ACROSS];
	const int64_t dst = w->dst_row * ACROSS + w->dst_col,
		      src = w->src_row * ACROSS + w->src_col;
	for (int i = 0; i < SIDE * ACROSS; i++)
		before[i] = (uint16_t)(me * 1000 + i);
	CHECK(tsr_memcpy_to_heap(world, matrix, before, sizeof before) == TSR_OK);
	const tsr_status_t status =
		tsr_stream_put_2d(stream,
				  view_of(matrix + 2 * dst, w->rows, w->cols, w->dst_ld, TSR_BF16),
				  view_of(matrix + 2 * src, w->rows, w->cols, w->src_ld, TSR_BF16),
				  me);
	CHECK(status == (w->apart ? TSR_OK : TSR_ERR_ARGUMENT), "%s: %s", w->name,
	      tsr_status_name(status));
	CHECK(w->apart || strstr(tsr_last_error(), "to myself: dst and src overlap"), "%s",
	      w->name);
	CHECK(tsr_stream_sync(stream) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, after, matrix, sizeof after) == TSR_OK);
	for (int64_t row = 0; w->apart && row < w->rows; row++)
		for (int64_t col = 0; col < w->cols; col++)
			before[dst + row * w->dst_ld + col] =
				(uint16_t)(me * 1000 + (int)(src + row * w->src_ld + col));
	CHECK(memcmp(before, after, sizeof after) == 0, "%s", w->name);
	return 0;
}

static int within_body(tsr_world_t *world, int argc, char **argv)
{
	tsr_stream_t *stream;
	(void)argc, (void)argv;
	TSR_HEAP unsigned char *matrix = poisoned(world, 2 * SIDE * ACROSS, "matrix");
	CHECK(matrix && tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	for (size_t i = 0; i < sizeof withins / sizeof *withins; i++)
		if (put_within(world, stream, matrix, &withins[i]))
			return 1;
	CHECK(tsr_stream_destroy(stream) == TSR_OK && tsr_heap_free(world, matrix) == TSR_OK);
	return 0;
}

Test(stream_put, to_myself_where_views_are_apart)
{
	world_each(within_body, NULL);
}

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

/* ------------------------------------------------------------------ what is refused */

/** A copy that cannot be: its status and its sentence. */
static int refuses(tsr_world_t *world, tsr_stream_t *stream, tsr_view_t dst, tsr_view_t src,
		   int peer, const char *sentence)
{
	const tsr_status_t status = tsr_stream_put_2d(stream, dst, src, peer);
	CHECK(status == TSR_ERR_ARGUMENT, "%s: %s", sentence, tsr_status_name(status));
	CHECK(strstr(tsr_last_error(), sentence), "wanted: %s", sentence);
	return 0;
}

/** Views of which one is no copy of the other. */
static int refuse_pairs(tsr_world_t *world, tsr_stream_t *stream, tsr_view_t dst, tsr_view_t src)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	char beyond[64];
	snprintf(beyond, sizeof beyond, "to rank %d: the world has ranks 0 to %d", size, size - 1);
	int failed = refuses(world, stream, dst, src, size, beyond);
	failed += refuses(world, stream, dst, src, -1, "to rank -1: the world has ranks 0 to");
	failed += refuses(world, NULL, dst, src, me, "stream must not be null");
	tsr_view_t other = src;
	other.rows--;
	failed += refuses(
		world, stream, dst, other, me,
		"of 3 x 8 elements of u8 to 4 x 8 of u8: give it views of the same extents");
	other = src;
	other.cols--;
	failed += refuses(world, stream, dst, other, me, "of 4 x 7 elements of u8 to 4 x 8 of u8");
	other = src;
	other.dtype = TSR_I8;
	failed += refuses(world, stream, dst, other, me, "of 4 x 8 elements of i8 to 4 x 8 of u8");
	failed += refuses(world, stream, src, src, me,
			  "to myself: dst and src overlap; let them be apart");
	return failed;
}

/** Each of these views in either place. */
static int refuse_views(tsr_world_t *world, tsr_stream_t *stream, tsr_view_t dst, tsr_view_t src)
{
	static unsigned char outside[64];
	const int peer = (tsr_world_rank(world) + 1) % tsr_world_size(world);
	enum {
		OUTSIDE,
		PAST_THE_END,
		FAR_ROWS,
		SHARED,
		ROWS_IN_ROWS,
		NO_DTYPE,
		BELOW_NOTHING,
		CASES
	};
	int failed = 0;
	for (int i = 0; i < CASES; i++) {
		tsr_view_t wrong = src, right = dst;
		if (i == OUTSIDE)
			wrong.data = (TSR_HEAP void *)(uintptr_t)outside;
		if (i == PAST_THE_END)
			wrong.cols = right.cols = wrong.ld = right.ld = INT64_C(1) << 45;
		if (i == FAR_ROWS)
			wrong.ld = INT64_MAX / 2;
		if (i == SHARED)
			wrong.space = TSR_SPACE_SHARED;
		if (i == ROWS_IN_ROWS)
			wrong.ld = wrong.cols - 1;
		if (i == NO_DTYPE)
			wrong.dtype = right.dtype = 99;
		if (i == BELOW_NOTHING)
			wrong.rows = right.rows = -4;
		/* src is named first */
		const bool both = i == PAST_THE_END || i == NO_DTYPE || i == BELOW_NOTHING;
		failed += refuses(world, stream, right, wrong, peer,
				  "src does not lie in this rank's heap");
		failed += refuses(world, stream, wrong, right, peer,
				  both ? "src does not lie in this rank's heap"
				       : "dst does not lie in this rank's heap");
	}
	src.dtype = dst.dtype = TSR_F8_E5M2;
	return failed + refuses(world, stream, dst, src, peer, "f8_e5m2, which is reserved");
}

static int refused_body(tsr_world_t *world, int argc, char **argv)
{
	unsigned char host[64];
	tsr_stream_t *stream;
	(void)argc, (void)argv;
	TSR_HEAP unsigned char *dst = poisoned(world, sizeof host, "dst"),
			       *src = marked(world, sizeof host, "src");
	CHECK(dst && src && tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	const tsr_view_t to = view_of(dst, 4, 8, 10, TSR_U8), from = view_of(src, 4, 8, 12, TSR_U8);
	if (refuse_pairs(world, stream, to, from) || refuse_views(world, stream, to, from))
		return 1;
	CHECK(tsr_stream_sync(stream) == TSR_OK && tsr_barrier(world) == TSR_OK,
	      "the world goes on");
	CHECK(tsr_memcpy_from_heap(world, host, dst, sizeof host) == TSR_OK);
	for (size_t i = 0; i < sizeof host; i++)
		CHECK(host[i] == POISON, "nothing was copied, byte %zu", i);
	CHECK(tsr_stream_destroy(stream) == TSR_OK);
	CHECK(tsr_heap_free(world, dst) == TSR_OK && tsr_heap_free(world, src) == TSR_OK);
	return 0;
}

Test(stream_put, what_cannot_be_copied)
{
	world_each(refused_body, NULL);
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
