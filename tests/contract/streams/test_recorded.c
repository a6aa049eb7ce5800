/*
 * The record of a run as every backend keeps it: whose events, in which order,
 * at which times on clocks that ranks can compare, and bytes to peers. (To the
 * byte of everything else, and on the emulator: test_record.c.)
 */
#include "tests/contract/contract_test.h"

TSR_TILE(tile, bf16, 16, 16, 16);

/** The sums of a rank's entries. */
typedef struct sums {
	int entries;
	uint64_t products, remote_written_bytes, remote_read_bytes, wait_ns, events, lost, error_ns;
	uint64_t first_ns, last_ns; /* of all workers */
} sums_t;

/** Of all entries of launches of a kernel, which are right in themselves. */
static int sum_up(tsr_world_t *world, const char *kernel, sums_t *sums)
{
	tsr_record_entry_t e;
	memset(sums, 0, sizeof *sums);
	sums->first_ns = UINT64_MAX;
	e.size = sizeof e;
	for (int i = 0; tsr_record_entry(world, i, &e) == TSR_OK; i++) {
		if (strcmp(e.kernel, kernel) != 0)
			continue;
		CHECK(e.begin_ns > 0 && e.begin_ns <= e.end_ns, "%s", e.role);
		CHECK(e.first_product_ns <= e.last_product_ns &&
		      e.first_remote_ns <= e.last_remote_ns);
		CHECK((e.products > 0) == (e.last_product_ns > 0));
		CHECK((e.remote_written_bytes > 0) == (e.last_remote_ns > 0));
		sums->entries++;
		sums->products += e.products;
		sums->remote_written_bytes += e.remote_written_bytes;
		sums->remote_read_bytes += e.remote_read_bytes;
		sums->wait_ns += e.wait_ns;
		sums->events += e.events;
		sums->lost += e.events_lost;
		sums->error_ns = e.clock_error_ns;
		sums->first_ns = e.begin_ns < sums->first_ns ? e.begin_ns : sums->first_ns;
		sums->last_ns = e.end_ns > sums->last_ns ? e.end_ns : sums->last_ns;
	}
	return 0;
}

/** The one event of a kind; or the mark of a name. */
static int find_event(tsr_world_t *world, tsr_record_kind_t kind, const char *name,
		      tsr_record_event_t *event_out)
{
	event_out->size = sizeof *event_out;
	for (int i = 0; tsr_record_event(world, i, event_out) == TSR_OK; i++)
		if (event_out->kind == (int)kind && (!name || strcmp(event_out->name, name) == 0))
			return 0;
	CHECK(false, "no event of kind %d %s", (int)kind, name ? name : "");
}

/* ------------------------------------------------------------------ what is said */

typedef struct talk_args {
	TSR_HEAP uint64_t *flags; /* two */
	TSR_HEAP unsigned char *box;
} talk_args_t;

enum { BOX = 4096 };

/* To the next rank a message and a signal; from the one before the same. */
TSR_KERNEL(recorded_talk, talk_args_t, a)
{
	const int size = tsr_size(block), next = (tsr_rank(block) + 1) % size;
	tsr_role(block, "talker");
	tsr_mark(block, "begins", 7 + tsr_rank(block));
	tsr_put(block, a->box, a->box + BOX, BOX, next);
	tsr_signal(block, a->flags + 1, 5, TSR_SIGNAL_SET, next);
	(void)tsr_wait(block, a->flags + 1, 5, (next + size - 2) % size);
	tsr_mark(block, "a name that is longer than what is kept of it", -1);
}

static int talk_flags(tsr_world_t *world)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world), next = (me + 1) % size;
	tsr_record_event_t e;
	CHECK(find_event(world, TSR_RECORD_SIGNAL, NULL, &e) == 0);
	CHECK(e.peer == next && e.owner == next && strcmp(e.name, "flags") == 0 &&
		      e.offset_bytes == 8 && e.value == 5,
	      "peer %d, owner %d, %s+%llu", e.peer, e.owner, e.name,
	      (unsigned long long)e.offset_bytes);
	CHECK(find_event(world, TSR_RECORD_WAIT, NULL, &e) == 0);
	CHECK(e.peer == (me + size - 1) % size && e.owner == me && strcmp(e.name, "flags") == 0 &&
		      e.offset_bytes == 8 && e.value == 5,
	      "peer %d, owner %d, %s+%llu", e.peer, e.owner, e.name,
	      (unsigned long long)e.offset_bytes);
	CHECK(size == 1 || (find_event(world, TSR_RECORD_SEND, NULL, &e) == 0 && e.peer == next &&
			    e.bytes == BOX));
	return 0;
}

/** Mark, send (to another rank), signal, wait, mark: in this order, and none else. */
static int talk_order(tsr_world_t *world)
{
	const int me = tsr_world_rank(world), alone = tsr_world_size(world) == 1;
	static const int kinds[] = {TSR_RECORD_MARK, TSR_RECORD_SEND, TSR_RECORD_SIGNAL,
				    TSR_RECORD_WAIT, TSR_RECORD_MARK};
	tsr_record_event_t e;
	tsr_record_entry_t entry;
	uint64_t before_ns = 0;
	int at = 0;
	e.size = sizeof e;
	entry.size = sizeof entry;
	CHECK(tsr_record_entry(world, 0, &entry) == TSR_OK);
	CHECK(strcmp(entry.role, "talker") == 0 && entry.launch == 0 && entry.block == 0 &&
	      entry.worker == 0);
	for (int i = 0; i < 5; i++) {
		if (alone && kinds[i] == TSR_RECORD_SEND)
			continue; /* nothing is sent */
		CHECK(tsr_record_event(world, at++, &e) == TSR_OK);
		CHECK(e.kind == kinds[i] && e.launch == 0 && e.block == 0 && e.worker == 0,
		      "event %d is of kind %d", i, e.kind);
		CHECK(e.begin_ns >= before_ns && e.end_ns >= e.begin_ns);
		CHECK(e.begin_ns >= entry.begin_ns && e.end_ns <= entry.end_ns);
		before_ns = e.end_ns;
	}
	CHECK(tsr_record_event(world, at, &e) == TSR_ERR_NOT_FOUND);
	CHECK(find_event(world, TSR_RECORD_MARK, "begins", &e) == 0 && e.value == 7 + me &&
	      e.peer == me && e.begin_ns == e.end_ns);
	CHECK(find_event(world, TSR_RECORD_MARK, "a name that is longer than what", &e) == 0 &&
	      e.value == -1);
	return 0;
}

/** A wait ends behind the signal that it was for, on clocks that are as well aligned as said. */
static int talk_times(tsr_world_t *world)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	tsr_record_event_t wait, signal;
	uint64_t signalled_ns[8];
	sums_t sums;
	CHECK(sum_up(world, "recorded_talk", &sums) == 0);
	CHECK(sums.error_ns < 100000, "clocks are known to %llu ns",
	      (unsigned long long)sums.error_ns);
	CHECK(find_event(world, TSR_RECORD_SIGNAL, NULL, &signal) == 0 &&
	      find_event(world, TSR_RECORD_WAIT, NULL, &wait) == 0);
	/* the event is on the host's clock, the sum on the device's: their rates differ a little */
	const uint64_t waited_ns = wait.end_ns - wait.begin_ns, differs_ns = 1 + waited_ns / 1000;
	CHECK(sums.wait_ns <= waited_ns + differs_ns && sums.wait_ns + differs_ns >= waited_ns,
	      "%llu and %llu ns", (unsigned long long)sums.wait_ns, (unsigned long long)waited_ns);
	CHECK(tsr_team_gather_all(tsr_world_team(world), &signal.begin_ns, signalled_ns,
				  sizeof *signalled_ns) == TSR_OK);
	CHECK(wait.end_ns + 4 * sums.error_ns >= signalled_ns[(me + size - 1) % size],
	      "a wait ended %llu ns before its signal; clocks are known to %llu ns",
	      (unsigned long long)(signalled_ns[(me + size - 1) % size] - wait.end_ns),
	      (unsigned long long)sums.error_ns);
	return 0;
}

static int talk_body(tsr_world_t *world, int argc, char **argv)
{
	talk_args_t a;
	sums_t sums;
	(void)argc, (void)argv;
	a.flags = zeroed(world, 16, "flags");
	a.box = poisoned(world, 2 * BOX, "box");
	CHECK(a.flags && a.box && tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &recorded_talk, 1, &a) == TSR_OK, "not recorded");
	CHECK(tsr_memset_heap(world, a.flags, 0, 16) == TSR_OK && tsr_barrier(world) == TSR_OK);
	CHECK(tsr_record_start(world) == TSR_OK && tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &recorded_talk, 1, &a) == TSR_OK);
	CHECK(tsr_record_stop(world) == TSR_OK);
	CHECK(run_kernel(world, &recorded_talk, 1, &a) == TSR_OK, "not recorded");
	if (talk_order(world) != 0 || talk_flags(world) != 0 || talk_times(world) != 0)
		return 1;
	CHECK(sum_up(world, "recorded_talk", &sums) == 0);
	CHECK(sums.entries == 1 && sums.lost == 0 &&
	      sums.remote_written_bytes == (tsr_world_size(world) == 1 ? 0 : BOX));
	CHECK(tsr_record_start(world) == TSR_OK && tsr_record_stop(world) == TSR_OK);
	CHECK(sum_up(world, "recorded_talk", &sums) == 0 && sums.entries == 0,
	      "a start drops what was");
	return tsr_barrier(world) != TSR_OK;
}

Test(recorded, a_message_and_its_signal)
{
	world_each(talk_body, NULL);
}

/* ------------------------------------------------------------------ too much */

typedef struct many_args {
	int64_t marks;
} many_args_t;

TSR_KERNEL(recorded_many, many_args_t, a)
{
	for (int64_t i = 0; i < a->marks; i++)
		tsr_mark(block, "again", i);
}

static int many_body(tsr_world_t *world, int argc, char **argv)
{
	many_args_t a;
	tsr_record_event_t e;
	sums_t sums;
	(void)argc, (void)argv;
	a.marks = TSR_RECORD_EVENTS + 100;
	e.size = sizeof e;
	CHECK(tsr_record_start(world) == TSR_OK);
	CHECK(run_kernel(world, &recorded_many, 1, &a) == TSR_OK);
	CHECK(tsr_record_stop(world) == TSR_OK);
	CHECK(sum_up(world, "recorded_many", &sums) == 0);
	CHECK(sums.events == TSR_RECORD_EVENTS && sums.lost == 100, "%llu events and %llu lost",
	      (unsigned long long)sums.events, (unsigned long long)sums.lost);
	for (int i = 0; i < TSR_RECORD_EVENTS; i += 61) {
		CHECK(tsr_record_event(world, i, &e) == TSR_OK);
		CHECK(e.value == i && strcmp(e.name, "again") == 0, "event %d is of mark %lld", i,
		      (long long)e.value);
	}
	CHECK(tsr_record_event(world, TSR_RECORD_EVENTS, &e) == TSR_ERR_NOT_FOUND);
	return tsr_barrier(world) != TSR_OK;
}

Test(recorded, what_is_left_out_is_counted)
{
	world_each(many_body, NULL);
}

/* ------------------------------------------------------------------ products and sends */

typedef struct busy_args {
	tsr_view_t a, b, c, d;
	TSR_HEAP uint64_t *flag;
} busy_args_t;

TSR_FN tsr_part_t recorded_order(int64_t task, const void *ctx)
{
	tsr_pos_t at = {task * 16, 0};
	(void)ctx;
	return tsr_whole(at);
}

/* Waits for what this rank's own block has signalled before. */
TSR_FN tsr_from_t recorded_gate(tsr_coop_t *me, tsr_part_t chunk, const void *ctx)
{
	const busy_args_t *a = *(const busy_args_t *const *)ctx;
	(void)chunk;
	(void)tsr_wait(me, a->flag, 1, tsr_rank(me));
	return tsr_from(tsr_rank(me), tsr_rank(me));
}

/* The tile goes to my C and to the next rank's D. */
TSR_FN void recorded_epilogue(tsr_coop_t *me, tile_frag_t *acc, tsr_pos_t at, void *ctx)
{
	const busy_args_t *a = *(const busy_args_t **)ctx;
	tsr_store(me, a->c, at, acc, tsr_rank(me));
	tsr_store(me, a->d, at, acc, (tsr_rank(me) + 1) % tsr_size(me));
}

TSR_KERNEL(recorded_busy, busy_args_t, a)
{
	tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block),
			     tsr_tiles(a->c.rows, 16)};
	tsr_signal(block, a->flag, 1, TSR_SIGNAL_SET, tsr_rank(block));
	tsr_gemm(tile, block, a->a, a->b, tasks, recorded_order, recorded_gate, recorded_epilogue,
		 (void *)&a);
}

enum { M = 40, N = 10, K = 24, TILES = 3, CHUNKS = 2, BLOCKS = 2 };

static tsr_view_t matrix(tsr_world_t *world, int64_t rows, int64_t cols, const char *name)
{
	TSR_HEAP void *data = zeroed(world, (size_t)(rows * cols) * 2, name);
	return tsr_view(data, TSR_BF16, rows, cols, cols);
}

/** Counts events of a kind, and adds up their bytes. */
static int count_events(tsr_world_t *world, int kind, uint64_t *bytes_out)
{
	tsr_record_event_t e;
	int count = 0;
	e.size = sizeof e;
	*bytes_out = 0;
	for (int i = 0; tsr_record_event(world, i, &e) == TSR_OK; i++)
		if (e.kind == kind) {
			count++;
			*bytes_out += e.bytes;
		}
	return count;
}

static int busy_body(tsr_world_t *world, int argc, char **argv)
{
	const bool alone = tsr_world_size(world) == 1;
	const uint64_t sent = alone ? 0 : M * N * 2;
	busy_args_t a;
	sums_t sums;
	uint64_t bytes;
	(void)argc, (void)argv;
	a.a = matrix(world, M, K, "A");
	a.b = matrix(world, K, N, "B");
	a.c = matrix(world, M, N, "C");
	a.d = matrix(world, M, N, "D");
	a.flag = zeroed(world, 8, "flag");
	CHECK(a.a.data && a.b.data && a.c.data && a.d.data && a.flag);
	CHECK(tsr_barrier(world) == TSR_OK && tsr_record_start(world) == TSR_OK);
	CHECK(run_kernel(world, &recorded_busy, BLOCKS, &a) == TSR_OK);
	CHECK(tsr_record_stop(world) == TSR_OK);
	CHECK(sum_up(world, "recorded_busy", &sums) == 0);
	CHECK(sums.products == TILES && sums.lost == 0 && sums.entries >= BLOCKS);
	CHECK(sums.remote_written_bytes == sent, "%llu bytes",
	      (unsigned long long)sums.remote_written_bytes);
	CHECK(count_events(world, TSR_RECORD_PRODUCT, &bytes) == TILES && bytes > 0);
	CHECK((count_events(world, TSR_RECORD_SEND, &bytes) > 0) == !alone && bytes == sent);
	CHECK(count_events(world, TSR_RECORD_WAIT, &bytes) == TILES * CHUNKS);
	CHECK(count_events(world, TSR_RECORD_SIGNAL, &bytes) == BLOCKS);
	CHECK(sums.last_ns - sums.first_ns < 60000000000u, "a run takes less than a minute");
	return tsr_barrier(world) != TSR_OK;
}

Test(recorded, products_sends_and_gates)
{
	world_each(busy_body, NULL);
}

/* ------------------------------------------------------------------ workers and copies */

typedef struct split_args {
	TSR_HEAP unsigned char *box;
} split_args_t;

/* Each worker marks; the first puts. */
TSR_KERNEL_WIDE(recorded_split, split_args_t, a)
{
	tsr_coop_t worker = tsr_split(block);
	tsr_mark(&worker, "worker", tsr_worker_index(&worker));
	if (tsr_worker_index(&worker) == 0)
		tsr_put(&worker, a->box, a->box + BOX, BOX,
			(tsr_rank(&worker) + 1) % tsr_size(&worker));
}

static int split_body(tsr_world_t *world, int argc, char **argv)
{
	const int next = (tsr_world_rank(world) + 1) % tsr_world_size(world);
	const bool alone = tsr_world_size(world) == 1;
	split_args_t a;
	tsr_record_event_t e;
	tsr_stream_t *stream;
	sums_t sums;
	(void)argc, (void)argv;
	a.box = poisoned(world, 2 * BOX, "box");
	e.size = sizeof e;
	CHECK(a.box && tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	/* the box of the next rank is poisoned */
	CHECK(tsr_barrier(world) == TSR_OK && tsr_record_start(world) == TSR_OK);
	CHECK(tsr_launch(stream, &recorded_split, 1, &a) == TSR_OK);
	CHECK(tsr_stream_put_2d(stream, tsr_view(a.box, TSR_U8, 1, BOX, BOX),
				tsr_view(a.box + BOX, TSR_U8, 1, BOX, BOX), next) == TSR_OK);
	CHECK(tsr_stream_sync(stream) == TSR_OK && tsr_record_stop(world) == TSR_OK);
	CHECK(sum_up(world, "recorded_split", &sums) == 0 && sums.entries >= 1);
	for (int i = 0, at = 0; tsr_record_event(world, i, &e) == TSR_OK; i++)
		if (e.kind == TSR_RECORD_MARK) {
			CHECK(e.value == at++ && e.worker == (int)e.value, "worker %d", e.worker);
		}
	CHECK(sums.remote_written_bytes == (alone ? 0 : BOX));
	CHECK(sum_up(world, "tsr_stream_put_2d", &sums) == 0 && sums.entries == 1);
	CHECK(sums.remote_written_bytes == (alone ? 0 : BOX));
	CHECK(tsr_stream_destroy(stream) == TSR_OK);
	return tsr_barrier(world) != TSR_OK;
}

Test(recorded, workers_and_copies)
{
	world_each(split_body, NULL);
}
