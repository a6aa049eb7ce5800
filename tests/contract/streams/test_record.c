/*
 * The record of a run: what each worker did, to the byte. And streams: order,
 * events, failures of a launch.
 */
#include "tests/contract/contract_test.h"

TSR_TILE(tile, bf16, 16, 16, 16);

typedef struct busy_args {
	tsr_view_t a, b, c, d;
	TSR_HEAP uint64_t *flag;
	TSR_HEAP char *scratch; /* 100 bytes a block */
} busy_args_t;

typedef struct busy_shared {
	TSR_SHARED_TILES(tile, stage, 1);
} busy_shared_t;

TSR_FN tsr_part_t busy_order(int64_t task, const void *ctx)
{
	tsr_pos_t at = {task * 16, 0};
	(void)ctx;
	return tsr_whole(at);
}

/* The tile goes to my C and to the next rank's D. */
TSR_FN void busy_epilogue(tsr_coop_t *me, tile_frag_t *acc, tsr_pos_t at, void *ctx)
{
	const busy_args_t *a = *(const busy_args_t **)ctx;
	tsr_tile_store(me, a->c, at, acc);
	tsr_store(me, a->d, at, acc, (tsr_rank(me) + 1) % tsr_size(me));
}

TSR_KERNEL_SPLIT(busy, 2, busy_shared_t, busy_args_t, a)
{
	tsr_tasks_t tasks = {tsr_block_index(block), tsr_block_count(block),
			     tsr_tiles(a->c.rows, 16)};
	if (tsr_worker_index(worker) == 0) {
		tsr_role(worker, "compute");
		tsr_gemm(tile, worker, a->a, a->b, tasks, busy_order, TSR_NO_GATE, busy_epilogue,
			 (void *)&a);
	} else {
		tsr_role(worker, "move");
		tsr_get(worker, a->scratch + 100 * tsr_block_index(block), a->a.data, 100,
			(tsr_rank(worker) + 1) % tsr_size(worker));
		tsr_put_2d(worker, tsr_view_shared(shared->stage[0], TSR_BF16, 4, 4, 16),
			   tsr_view_part(a->a, busy_order(0, a).at, 4, 4), tsr_rank(worker));
		tsr_signal(worker, a->flag, 1, TSR_SIGNAL_ADD, tsr_rank(worker));
	}
}

TSR_KERNEL(idle, busy_args_t, a)
{
	tsr_wait_until(block, a->flag, UINT64_MAX, TSR_ANY_RANK, 1000000);
}

enum { M = 40, N = 10, K = 24 };

static int busy_check(tsr_world_t *world, const tsr_record_entry_t *e, int block, int worker)
{
	/* tiles at rows 0 and 32 (8 left), and 16 */
	int tiles = block == 0 ? 2 : 1, rows = block == 0 ? 16 + 8 : 16;
	bool alone = tsr_world_size(world) == 1;
	uint64_t c_bytes = (uint64_t)rows * N * 2;
	CHECK(e->launch == 0 && e->stream == 0 && e->block == block && e->worker == worker);
	CHECK(strcmp(e->kernel, "busy") == 0 && strcmp(e->variant, "") == 0);
	CHECK(e->begin_ns > 0 && e->end_ns >= e->begin_ns);
	if (worker == 0) {
		CHECK(strcmp(e->role, "compute") == 0);
		CHECK(e->products == (uint64_t)tiles);
		CHECK(e->operand_bytes == (uint64_t)(rows * K + tiles * K * N) * 2);
		CHECK(e->local_written_bytes == (alone ? 2 * c_bytes : c_bytes));
		CHECK(e->remote_written_bytes == (alone ? 0 : c_bytes));
		CHECK(e->local_read_bytes == 0 && e->remote_read_bytes == 0);
		CHECK((e->first_remote_ns != 0) == !alone);
		CHECK(e->last_product_ns >= e->begin_ns && e->last_product_ns <= e->end_ns);
		CHECK(e->first_product_ns >= e->begin_ns &&
		      e->first_product_ns < e->last_product_ns);
		CHECK((e->last_remote_ns != 0) == !alone && e->wait_ns == 0);
		CHECK(e->events >= (uint64_t)tiles && e->events_lost == 0);
		CHECK(alone || (tiles == 1) == (e->first_remote_ns >= e->last_product_ns));
	} else {
		CHECK(strcmp(e->role, "move") == 0 && e->products == 0 && e->operand_bytes == 0 &&
		      e->last_product_ns == 0);
		CHECK(e->local_written_bytes == 100 && e->remote_written_bytes == 0 &&
		      e->first_remote_ns == 0);
		CHECK(e->local_read_bytes == (alone ? 132 : 32) &&
		      e->remote_read_bytes == (alone ? 0 : 100));
	}
	return 0;
}

/** Of the C of this rank to the next one's D, by no kernel. */
static int copy_check(tsr_world_t *world, const tsr_record_entry_t *e)
{
	const bool alone = tsr_world_size(world) == 1;
	CHECK(e->launch == 2 && e->stream == 0 && e->block == 0 && e->worker == 0);
	CHECK(strcmp(e->kernel, "tsr_stream_put_2d") == 0 && strcmp(e->role, "copy engine") == 0);
	CHECK(e->local_read_bytes == M * N * 2 && e->remote_read_bytes == 0 && e->products == 0 &&
	      e->operand_bytes == 0);
	CHECK(e->local_written_bytes == (alone ? M * N * 2 : 0) &&
	      e->remote_written_bytes == (alone ? 0 : M * N * 2));
	CHECK((e->first_remote_ns != 0) == !alone && e->end_ns >= e->begin_ns);
	return 0;
}

static int record_body(tsr_world_t *world, int argc, char **argv)
{
	tsr_record_entry_t e = {.size = sizeof e};
	(void)argc, (void)argv;
	busy_args_t a = {.a = {zeroed(world, M * K * 2, "A"), M, K, K, TSR_BF16, TSR_SPACE_HEAP},
			 .b = {zeroed(world, K * N * 2, "B"), K, N, N, TSR_BF16, TSR_SPACE_HEAP},
			 .c = {zeroed(world, M * N * 2, "C"), M, N, N, TSR_BF16, TSR_SPACE_HEAP},
			 .d = {zeroed(world, M * N * 2, "D"), M, N, N, TSR_BF16, TSR_SPACE_HEAP},
			 .flag = zeroed(world, 8, "flag"),
			 .scratch = (TSR_HEAP char *)poisoned(world, 2 * 100, "scratch")};
	tsr_stream_t *stream;
	CHECK(a.a.data && a.b.data && a.c.data && a.d.data && a.flag && a.scratch);
	CHECK(tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	CHECK(tsr_launch(stream, &idle, 1, &a) == TSR_OK && tsr_stream_sync(stream) == TSR_OK,
	      "not recorded");
	CHECK(tsr_record_start(world) == TSR_OK);
	CHECK(tsr_launch(stream, &busy, 2, &a) == TSR_OK);
	CHECK(tsr_launch(stream, &idle, 1, &a) == TSR_OK);
	CHECK(tsr_stream_put_2d(stream, a.d, a.c,
				(tsr_world_rank(world) + 1) % tsr_world_size(world)) == TSR_OK);
	CHECK(tsr_stream_sync(stream) == TSR_OK);
	CHECK(tsr_record_stop(world) == TSR_OK);
	for (int i = 0; i < 4; i++) {
		CHECK(tsr_record_entry(world, i, &e) == TSR_OK);
		if (busy_check(world, &e, i / 2, i % 2) != 0)
			return 1;
	}
	uint64_t busy_end = e.end_ns;
	CHECK(tsr_record_entry(world, 4, &e) == TSR_OK && e.launch == 1 &&
	      strcmp(e.kernel, "idle") == 0);
	CHECK(e.begin_ns >= busy_end, "a stream keeps its order");
	CHECK(tsr_record_entry(world, 5, &e) == TSR_OK && copy_check(world, &e) == 0);
	CHECK(tsr_record_entry(world, 6, &e) == TSR_ERR_NOT_FOUND);
	CHECK(tsr_stream_destroy(stream) == TSR_OK);
	return tsr_barrier(world) != TSR_OK;
}

Test(record, counts_to_the_byte)
{
	world_each(record_body, NULL);
}

/* ------------------------------------------------------------------ events of a run */

typedef struct told_args {
	TSR_HEAP uint64_t *flags; /* two */
	TSR_HEAP uint64_t *box;
	int64_t rounds;
} told_args_t;

/* To the next rank a word and a signal; from the one before the same. */
TSR_KERNEL(told, told_args_t, a)
{
	const int size = tsr_size(block), next = (tsr_rank(block) + 1) % size;
	tsr_mark(block, "begins", 7 + tsr_rank(block));
	tsr_put(block, a->box, a->box + 1, sizeof *a->box, next);
	tsr_signal(block, a->flags + 1, 5, TSR_SIGNAL_SET, next);
	(void)tsr_wait(block, a->flags + 1, 5, (next + size - 2) % size);
	tsr_mark(block, "a name that is longer than what is kept of it", -1);
	for (int64_t i = 0; i < a->rounds; i++)
		tsr_mark(block, "again", i);
}

/** The events of one run, from the first: mark, send (to another rank), signal, wait, mark. */
static int told_check(tsr_world_t *world, int at)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world), next = (me + 1) % size;
	tsr_record_event_t e[5];
	for (int i = 0; i < 5; i++) {
		e[i] = (tsr_record_event_t){.size = sizeof e[i]};
		if (i == 1 && size == 1)
			continue; /* nothing is sent */
		CHECK(tsr_record_event(world, at++, &e[i]) == TSR_OK);
		CHECK(e[i].launch == 0 && e[i].block == 0 && e[i].worker == 0 &&
		      e[i].begin_ns > 0 && e[i].end_ns >= e[i].begin_ns);
		CHECK(i < 2 || e[i].begin_ns >= e[i == 2 && size == 1 ? 0 : i - 1].end_ns);
	}
	CHECK(e[0].kind == TSR_RECORD_MARK && strcmp(e[0].name, "begins") == 0 &&
	      e[0].value == 7 + me && e[0].peer == me && e[0].begin_ns == e[0].end_ns);
	CHECK(size == 1 || (e[1].kind == TSR_RECORD_SEND && e[1].peer == next &&
			    e[1].bytes == sizeof(uint64_t)));
	CHECK(e[2].kind == TSR_RECORD_SIGNAL && e[2].peer == next && e[2].owner == next &&
	      strcmp(e[2].name, "flags") == 0 && e[2].offset_bytes == 8 && e[2].value == 5);
	CHECK(e[3].kind == TSR_RECORD_WAIT && e[3].peer == (me + size - 1) % size &&
	      e[3].owner == me && strcmp(e[3].name, "flags") == 0 && e[3].offset_bytes == 8 &&
	      e[3].value == 5);
	CHECK(e[4].kind == TSR_RECORD_MARK && e[4].value == -1 &&
	      strcmp(e[4].name, "a name that is longer than what") == 0);
	return 0;
}

static int told_body(tsr_world_t *world, int argc, char **argv)
{
	told_args_t a = {.flags = zeroed(world, 16, "flags"),
			 .box = zeroed(world, 16, "box"),
			 .rounds = TSR_RECORD_EVENTS};
	tsr_record_entry_t entry = {.size = sizeof entry};
	tsr_record_event_t event = {.size = sizeof event};
	(void)argc, (void)argv;
	const int few = tsr_world_size(world) == 1 ? 4 : 5;
	CHECK(a.flags && a.box);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_record_start(world) == TSR_OK);
	CHECK(run_kernel(world, &told, 1, &a) == TSR_OK);
	CHECK(tsr_record_stop(world) == TSR_OK);
	CHECK(run_kernel(world, &told, 1, &a) == TSR_OK, "not recorded");
	CHECK(told_check(world, 0) == 0);
	CHECK(tsr_record_entry(world, 0, &entry) == TSR_OK);
	CHECK(entry.events == TSR_RECORD_EVENTS && entry.events_lost == (uint64_t)few,
	      "%llu events and %llu lost", (unsigned long long)entry.events,
	      (unsigned long long)entry.events_lost);
	CHECK(tsr_record_event(world, TSR_RECORD_EVENTS - 1, &event) == TSR_OK &&
	      event.value == TSR_RECORD_EVENTS - 1 - few);
	CHECK(tsr_record_event(world, TSR_RECORD_EVENTS, &event) == TSR_ERR_NOT_FOUND);
	CHECK(tsr_record_event(world, -1, &event) == TSR_ERR_NOT_FOUND);
	CHECK(tsr_record_event(world, 0, NULL) == TSR_ERR_ARGUMENT);
	event.size = 1;
	CHECK(tsr_record_event(world, 0, &event) == TSR_ERR_ARGUMENT);
	return tsr_barrier(world) != TSR_OK;
}

Test(record, events_follow_each_other)
{
	world_each(told_body, NULL);
}

/** The one event of this kind in a run of `told`. */
static int find_event(tsr_world_t *world, tsr_record_kind_t kind, tsr_record_event_t *event_out)
{
	*event_out = (tsr_record_event_t){.size = sizeof *event_out};
	for (int i = 0; tsr_record_event(world, i, event_out) == TSR_OK; i++)
		if (event_out->kind == (int)kind)
			return 0;
	CHECK(false, "no event of kind %d", (int)kind);
}

/** A wait ends behind the signal that it was for, which another rank gave. */
static int waited_body(tsr_world_t *world, int argc, char **argv)
{
	const told_args_t a = {.flags = zeroed(world, 16, "flags"),
			       .box = zeroed(world, 16, "box")};
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	tsr_record_entry_t entry = {.size = sizeof entry};
	tsr_record_event_t signal, wait;
	uint64_t signalled_ns[8];
	(void)argc, (void)argv;
	CHECK(a.flags && a.box);
	CHECK(tsr_record_start(world) == TSR_OK && tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &told, 1, &a) == TSR_OK);
	CHECK(tsr_record_entry(world, 0, &entry) == TSR_OK);
	CHECK(find_event(world, TSR_RECORD_SIGNAL, &signal) == 0 &&
	      find_event(world, TSR_RECORD_WAIT, &wait) == 0);
	CHECK(entry.wait_ns == wait.end_ns - wait.begin_ns);
	CHECK(size == 1 || entry.last_remote_ns >= entry.first_remote_ns);
	CHECK(tsr_team_gather_all(tsr_world_team(world), &signal.begin_ns, signalled_ns,
				  sizeof *signalled_ns) == TSR_OK);
	CHECK(wait.end_ns >= signalled_ns[(me + size - 1) % size]);
	return tsr_barrier(world) != TSR_OK;
}

Test(record, a_wait_ends_behind_its_signal)
{
	world_each(waited_body, NULL);
}

/* ------------------------------------------------------------------ streams and events */

typedef struct step_args {
	TSR_HEAP uint64_t *word;
	uint64_t from, to;
} step_args_t;

/* Changes `from` to `to`; where it finds another value it leaves a mark that does not go away. */
TSR_KERNEL(step, step_args_t, a)
{
	int me = tsr_rank(block);
	/* time for others to overtake, were they allowed to */
	tsr_wait_until(block, a->word + 1, 1, me, 500000);
	if (tsr_atomic_cas(block, a->word, a->from, a->to, me, TSR_RELAXED, TSR_RELAXED,
			   TSR_SCOPE_DEVICE) != a->from)
		tsr_atomic_store(block, a->word, (uint64_t)1000000, me, TSR_RELAXED,
				 TSR_SCOPE_DEVICE);
}

static int order_body(tsr_world_t *world, int argc, char **argv)
{
	tsr_stream_t *s[2];
	tsr_event_t *e[2], *never;
	uint64_t word, ns;
	(void)argc, (void)argv;
	step_args_t a = {zeroed(world, 16, "word"), 0, 0};
	CHECK(a.word);
	CHECK(tsr_stream_create(tsr_world_team(world), &s[0]) == TSR_OK &&
	      tsr_stream_create(tsr_world_team(world), &s[1]) == TSR_OK);
	CHECK(tsr_event_create(world, &e[0]) == TSR_OK && tsr_event_create(world, &e[1]) == TSR_OK);
	CHECK(tsr_event_create(world, &never) == TSR_OK);
	CHECK(tsr_event_elapsed_ns(e[0], e[1], &ns) == TSR_ERR_ARGUMENT, "never recorded");
	CHECK(tsr_stream_wait_event(s[0], never) == TSR_OK && tsr_event_sync(never) == TSR_OK,
	      "counts as reached");
	/* from stream to stream, the arguments changed behind the launch's back */
	for (int i = 0; i < 20; i++) {
		a.to = a.from + 1;
		CHECK(tsr_stream_wait_event(s[i % 2], e[(i + 1) % 2]) == TSR_OK);
		CHECK(tsr_launch(s[i % 2], &step, 1, &a) == TSR_OK);
		CHECK(tsr_event_record(e[i % 2], s[i % 2]) == TSR_OK);
		a.from = a.to;
	}
	CHECK(tsr_event_sync(e[1]) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, &word, a.word, sizeof word) == TSR_OK);
	CHECK(word == 20, "%llu", (unsigned long long)word);
	CHECK(tsr_event_elapsed_ns(e[0], e[1], &ns) == TSR_OK && ns >= 500000 &&
	      ns < 600000000000u);
	CHECK(tsr_event_destroy(e[0]) == TSR_OK && tsr_event_destroy(e[1]) == TSR_OK &&
	      tsr_event_destroy(never) == TSR_OK);
	CHECK(tsr_stream_destroy(s[0]) == TSR_OK && tsr_stream_destroy(s[1]) == TSR_OK);
	return 0;
}

Test(stream, events_order_streams)
{
	cr_expect(world_run(1, TSR_PLACE_THREAD, order_body, NULL) == 0);
	cr_expect(world_run(2, TSR_PLACE_THREAD, order_body, NULL) == 0);
}

static int refused_body(tsr_world_t *world, int argc, char **argv)
{
	busy_args_t a = {.flag = NULL};
	tsr_kernel_t many = busy, greedy = busy, foreign = busy;
	(void)argc, (void)argv;
	many.workers = 9;
	greedy.shared_bytes = (size_t)1 << 30;
	foreign.cpu = NULL;
	CHECK(run_kernel(world, &busy, 0, &a) == TSR_ERR_ARGUMENT);
	CHECK(run_kernel(world, &busy, 1, NULL) == TSR_ERR_ARGUMENT);
	CHECK(run_kernel(world, &many, 1, &a) == TSR_ERR_UNSUPPORTED &&
	      strstr(tsr_last_error(), "TESSERA_CPUEMU_WORKERS"));
	CHECK(run_kernel(world, &greedy, 1, &a) == TSR_ERR_UNSUPPORTED &&
	      strstr(tsr_last_error(), "TESSERA_CPUEMU_SHARED_SIZE"));
	CHECK(run_kernel(world, &foreign, 1, &a) == TSR_ERR_UNSUPPORTED);
	return tsr_barrier(world) != TSR_OK; /* the world goes on */
}

Test(stream, launches_that_cannot_be)
{
	cr_expect(world_run(1, TSR_PLACE_THREAD, refused_body, NULL) == 0);
}
