/*
 * Words that carry their own flag: messages of all ranks to all, round after
 * round through two buffers and with nothing else between; what an expired take
 * leaves, and what ends the world.
 */
#include "tests/contract/ended_world.h"

enum {
	ROUNDS = 5,
	MOST_RANKS = 8,
	MOST_BYTES = 20001,
	STRIDE = MOST_BYTES + 64, /* between messages; odd, so that they lie at every alignment */
	WORKERS = 3,
	LINE_BYTES = 61
};

/* ------------------------------------------------------------------ all to all, by parity */

typedef struct exchange_args {
	TSR_HEAP unsigned char *outbox; /* mine: a message for each round */
	TSR_HEAP unsigned char *kept;   /* mine: what was taken, by round and sender */
	TSR_HEAP uint64_t *inbox;       /* two for each sender */
	TSR_HEAP uint64_t *ended;       /* mine: rounds that went well */
	uint64_t size_bytes;
	uint32_t epoch;   /* of the first round; it may wrap */
	int32_t together; /* by tsr_put_all_marked */
} exchange_args_t;

TSR_FN TSR_HEAP uint64_t *inbox_of(tsr_coop_t *block, const exchange_args_t *a, uint32_t epoch,
				   int from)
{
	return a->inbox + ((epoch & 1u) * (uint32_t)tsr_size(block) + (uint32_t)from) *
				  TSR_MARKED_WORDS(MOST_BYTES);
}

/** Partner of each put: the take of the same round on the peer. Litmus: LB.marked.diffGPU-ss. */
TSR_FN void put_round(tsr_coop_t *block, const exchange_args_t *a, uint32_t epoch, int round)
{
	int me = tsr_rank(block);
	const TSR_HEAP unsigned char *message = a->outbox + round * STRIDE;
	TSR_HEAP uint64_t *inbox = inbox_of(block, a, epoch, me);
	if (a->together)
		tsr_put_all_marked(block, inbox, message, a->size_bytes, epoch);
	for (int i = 0; !a->together && i < tsr_size(block); i++)
		tsr_put_marked(block, inbox, message, a->size_bytes, epoch, tsr_peer(block, i));
}

TSR_FN int take_round(tsr_coop_t *block, const exchange_args_t *a, uint32_t epoch, int round)
{
	int sound = 1;
	for (int i = 0; i < tsr_size(block); i++) {
		int from = tsr_peer(block, i);
		sound &= tsr_take_marked(block, a->kept + (round * MOST_RANKS + from) * STRIDE,
					 inbox_of(block, a, epoch, from), a->size_bytes, epoch,
					 from) == TSR_WAIT_OK;
	}
	return sound;
}

TSR_KERNEL(exchange, exchange_args_t, a)
{
	uint64_t ended = 0;
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t epoch = a->epoch + (uint32_t)round;
		put_round(block, a, epoch, round);
		ended += (uint64_t)take_round(block, a, epoch, round);
	}
	tsr_atomic_store(block, a->ended, ended, tsr_rank(block), TSR_RELAXED, TSR_SCOPE_BLOCK);
}

typedef struct nothing_shared {
	uint64_t unused;
} nothing_shared_t;

/** The same by a block of several workers: all of them put, and all are told. */
TSR_KERNEL_SPLIT(exchange_split, WORKERS, nothing_shared_t, exchange_args_t, a)
{
	uint64_t ended = 0;
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t epoch = a->epoch + (uint32_t)round;
		put_round(block, a, epoch, round);
		ended += (uint64_t)take_round(block, a, epoch, round);
	}
	if (tsr_worker_index(worker) == WORKERS - 1)
		tsr_atomic_store(worker, a->ended, ended, tsr_rank(worker), TSR_RELAXED,
				 TSR_SCOPE_BLOCK);
}

static unsigned char byte_of(int rank, int round, size_t index)
{
	return mark_of(rank, index + (size_t)round * 13);
}

static size_t wrong_bytes(const unsigned char *kept, size_t size_bytes, int ranks)
{
	size_t wrong = 0;
	for (int round = 0; round < ROUNDS; round++)
		for (int from = 0; from < MOST_RANKS; from++) {
			const unsigned char *message =
				kept + (size_t)(round * MOST_RANKS + from) * STRIDE;
			const size_t size = from < ranks ? size_bytes : 0;
			for (size_t i = 0; i < size; i++)
				wrong += message[i] != byte_of(from, round, i);
			for (size_t i = size; i < size + 32; i++)
				wrong += message[i] != POISON;
		}
	return wrong;
}

/** One size; the buffers are used again, so that they hold the words of the last one. */
static int exchange_size(tsr_world_t *world, const tsr_kernel_t *kernel, exchange_args_t *a,
			 unsigned char *host)
{
	const size_t kept_bytes = (size_t)ROUNDS * MOST_RANKS * STRIDE;
	uint64_t ended;
	CHECK(tsr_memset_heap(world, a->kept, POISON, kept_bytes) == TSR_OK);
	CHECK(tsr_memset_heap(world, a->ended, POISON, sizeof ended) == TSR_OK);
	CHECK(run_kernel(world, kernel, 1, a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, &ended, a->ended, sizeof ended) == TSR_OK);
	CHECK(ended == ROUNDS, "%llu rounds of %llu bytes", (unsigned long long)ended,
	      (unsigned long long)a->size_bytes);
	CHECK(tsr_memcpy_from_heap(world, host, a->kept, kept_bytes) == TSR_OK);
	const size_t wrong = wrong_bytes(host, a->size_bytes, tsr_world_size(world));
	CHECK(wrong == 0, "%zu bytes of messages of %llu are wrong", wrong,
	      (unsigned long long)a->size_bytes);
	a->epoch += ROUNDS;
	/* messages of nothing tell nobody that the words may be put again */
	return a->size_bytes == 0 && tsr_barrier(world) != TSR_OK;
}

static int exchange_all_sizes(tsr_world_t *world, exchange_args_t *a, unsigned char *host)
{
	static const size_t sizes[] = {16, 0, 1, 3, 4, 5, 8, 255, 1024, 4097, MOST_BYTES};
	/* each word is a step of its own where schedules are explored */
	const size_t all = sizeof sizes / sizeof *sizes, count = getenv("TESSERA_CHECK") ? 4
								 : under_valgrind()      ? all - 2
											 : all;
	for (size_t i = 0; i < count; i++) {
		a->size_bytes = sizes[i];
		a->together = i % 2 == 0;
		if (exchange_size(world, &exchange, a, host) != 0 ||
		    exchange_size(world, &exchange_split, a, host) != 0)
			return 1;
		a->together = !a->together;
		if (exchange_size(world, &exchange, a, host) != 0)
			return 1;
	}
	return 0;
}

static int exchange_body(tsr_world_t *world, int argc, char **argv)
{
	const size_t outbox_bytes = (size_t)ROUNDS * STRIDE,
		     kept_bytes = (size_t)ROUNDS * MOST_RANKS * STRIDE;
	const size_t inbox_bytes = sizeof(uint64_t) * TSR_MARKED_WORDS(MOST_BYTES) * 2 * MOST_RANKS;
	unsigned char *host = (unsigned char *)calloc(kept_bytes, 1);
	exchange_args_t a;
	(void)argc, (void)argv;
	CHECK(host);
	a.outbox = poisoned(world, outbox_bytes, "outbox");
	a.kept = poisoned(world, kept_bytes, "kept");
	a.inbox = zeroed(world, inbox_bytes, "inbox");
	a.ended = zeroed(world, sizeof *a.ended, "ended");
	a.epoch = UINT32_MAX - 20; /* wraps in the second size */
	CHECK(a.outbox && a.kept && a.inbox && a.ended);
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < MOST_BYTES; i++)
			host[(size_t)round * STRIDE + i] = byte_of(tsr_world_rank(world), round, i);
	CHECK(tsr_memcpy_to_heap(world, a.outbox, host, outbox_bytes) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	const int code = exchange_all_sizes(world, &a, host);
	free(host);
	return code;
}

Test(marked, messages_of_all_ranks_to_all)
{
	world_each(exchange_body, NULL);
}

/* ------------------------------------------------------------------ shared memory */

typedef struct lines {
	unsigned char line[WORKERS][64];
} lines_t;

/* Each worker has words of its own, and passes on from its line what it has taken. */
TSR_KERNEL_SPLIT(pass_round, WORKERS, lines_t, exchange_args_t, a)
{
	int me = tsr_rank(worker), n = tsr_size(worker), index = tsr_worker_index(worker);
	TSR_HEAP uint64_t *words = a->inbox + index * TSR_MARKED_WORDS(LINE_BYTES);
	unsigned char *line = shared->line[index] + index; /* at every alignment */
	int sound = 1;
	if (me == 0)
		tsr_put_marked(worker, words, a->outbox + index, LINE_BYTES, a->epoch, 1 % n);
	sound = tsr_take_marked(worker, line, words, LINE_BYTES, a->epoch, (me + n - 1) % n) ==
		TSR_WAIT_OK;
	if (me != 0) /* the take has met the worker's threads */
		tsr_put_marked(worker, words, line, LINE_BYTES, a->epoch, (me + 1) % n);
	if (me == 0) { /* the message has gone round: once more, to myself */
		tsr_put_marked(worker, words, line, LINE_BYTES, a->epoch + 1, me);
		sound &= tsr_take_marked(worker, a->kept + index * 64, words, LINE_BYTES,
					 a->epoch + 1, me) == TSR_WAIT_OK;
	}
	tsr_atomic_store(worker, a->ended + index, (uint64_t)sound, me, TSR_RELAXED,
			 TSR_SCOPE_BLOCK);
}

static int shared_body(tsr_world_t *world, int argc, char **argv)
{
	unsigned char sent[WORKERS + LINE_BYTES], kept[WORKERS * 64];
	uint64_t ended[WORKERS];
	exchange_args_t a;
	(void)argc, (void)argv;
	a.outbox = poisoned(world, sizeof sent, "outbox");
	a.kept = poisoned(world, sizeof kept, "kept");
	a.inbox = zeroed(world, sizeof(uint64_t) * WORKERS * TSR_MARKED_WORDS(LINE_BYTES), "inbox");
	a.ended = zeroed(world, sizeof ended, "ended");
	a.epoch = 7;
	CHECK(a.outbox && a.kept && a.inbox && a.ended);
	for (size_t i = 0; i < sizeof sent; i++)
		sent[i] = mark_of(0, i);
	CHECK(tsr_memcpy_to_heap(world, a.outbox, sent, sizeof sent) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &pass_round, 1, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, ended, a.ended, sizeof ended) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, kept, a.kept, sizeof kept) == TSR_OK);
	for (int w = 0; w < WORKERS; w++) {
		CHECK(ended[w] == 1, "worker %d", w);
		for (int i = 0; i < 64; i++)
			CHECK(tsr_world_rank(world) != 0 ||
				      kept[w * 64 + i] == (i < LINE_BYTES ? sent[w + i]
									  : (unsigned char)POISON),
			      "worker %d, byte %d", w, i);
	}
	return 0;
}

Test(marked, messages_in_shared_memory)
{
	world_each(shared_body, NULL);
}

/* ------------------------------------------------------------------ words that do not come */

enum { LATE_WORDS = 300, LATE_BYTES = 4 * LATE_WORDS, LATE_NS = 2000000, MISSING = 17 };
/* the call is in one line, of which both compilers say the same */
enum { LINE_OF_TAKE = __LINE__ + 7 };

TSR_KERNEL(take_until, exchange_args_t, a)
{
	int me = tsr_rank(block);
	uint32_t epoch = a->epoch;
	/* All words but two have come: MISSING, and the last. */
	int how = tsr_take_marked_until(block, a->kept, a->inbox, LATE_BYTES, epoch, me, LATE_NS);
	tsr_atomic_store(block, a->ended, (uint64_t)how, me, TSR_RELAXED, TSR_SCOPE_BLOCK);
}

/** Two words have an epoch beside the right one: one older and one newer. */
static int late_words(tsr_world_t *world, exchange_args_t *a)
{
	uint64_t words[LATE_WORDS];
	a->kept = poisoned(world, LATE_BYTES, "kept");
	a->inbox = poisoned(world, sizeof words, "late words");
	a->ended = poisoned(world, 2 * sizeof *a->ended, "ended");
	a->epoch = 0x80000000u;
	CHECK(a->kept && a->inbox && a->ended);
	for (int i = 0; i < LATE_WORDS; i++)
		words[i] = (uint64_t)a->epoch << 32 | (uint64_t)i;
	words[MISSING] = (uint64_t)(a->epoch + 2) << 32;
	words[LATE_WORDS - 1] = (uint64_t)(a->epoch - 1) << 32;
	CHECK(tsr_memcpy_to_heap(world, a->inbox, words, sizeof words) == TSR_OK);
	return tsr_barrier(world) != TSR_OK;
}

static int until_body(tsr_world_t *world, int argc, char **argv)
{
	int me = tsr_world_rank(world), found = 0;
	tsr_wait_record_t record = {.size = sizeof record};
	exchange_args_t a = {.epoch = 0};
	char site[96];
	uint64_t how;
	(void)argc, (void)argv;
	CHECK(late_words(world, &a) == 0);
	CHECK(run_kernel(world, &take_until, 1, &a) == TSR_OK, "the world goes on");
	CHECK(tsr_memcpy_from_heap(world, &how, a.ended, sizeof how) == TSR_OK);
	CHECK(how == TSR_WAIT_EXPIRED, "%llu", (unsigned long long)how);
	snprintf(site, sizeof site, "%s:%d", __FILE__, LINE_OF_TAKE);
	for (int i = 0; tsr_wait_record(world, i, &record) == TSR_OK; i++) {
		if (record.rank != me || strcmp(record.kernel, "take_until") != 0)
			continue;
		found++;
		CHECK(record.cmp == TSR_CMP_EQ && record.owner == me && record.from == me);
		CHECK(record.expected == a.epoch && record.seen == a.epoch + 2 &&
		      record.waited_ns >= LATE_NS);
		CHECK(strcmp(record.allocation, "late words") == 0 &&
			      record.offset_bytes == MISSING * sizeof(uint64_t),
		      "%s+%llu", record.allocation, (unsigned long long)record.offset_bytes);
		CHECK(strcmp(record.site, site) == 0, "%s for %s", record.site, site);
	}
	/* A world that has run other tests may have kept as many records as it keeps. */
	CHECK(found == 1 || (found == 0 && tsr_wait_record(world, 63, &record) == TSR_OK), "%d",
	      found);
	return tsr_barrier(world) != TSR_OK;
}

Test(marked, an_expired_take_leaves_one_record)
{
	world_each(until_body, NULL);
}

TSR_KERNEL(take_for_good, exchange_args_t, a)
{
	int me = tsr_rank(block);
	if (me != 0)
		return;
	int how = tsr_take_marked(block, a->kept, a->inbox, LATE_BYTES, a->epoch,
				  tsr_size(block) - 1);
	int later = tsr_take_marked_until(block, a->kept, a->inbox, LATE_BYTES, a->epoch,
					  TSR_ANY_RANK, 1000000000000u);
	tsr_atomic_store(block, a->ended,
			 (uint64_t)(how == TSR_WAIT_ABORTED && later == TSR_WAIT_ABORTED), me,
			 TSR_RELAXED, TSR_SCOPE_DEVICE);
}

static int ended_body(tsr_world_t *world, int argc, char **argv)
{
	int me = tsr_world_rank(world), last = tsr_world_size(world) - 1;
	tsr_wait_record_t record = {.size = sizeof record};
	exchange_args_t a = {.epoch = 0};
	char who[48];
	uint64_t aborted;
	(void)argc, (void)argv;
	CHECK(late_words(world, &a) == 0);
	tsr_status_t status = run_kernel(world, &take_for_good, 1, &a);
	if (me == 0) {
		const char *said = tsr_last_error();
		CHECK(status == TSR_ERR_TIMEOUT, "%s", tsr_status_name(status));
		snprintf(who, sizeof who, "for rank %d to put a word", last);
		CHECK(strstr(said, who) &&
			      strstr(said, "of epoch 2147483648 to 'late words'+136; its epoch was "
					   "2147483650: nobody put it, or a later one overwrote"),
		      "%s", said);
		CHECK(tsr_memcpy_from_heap(world, &aborted, a.ended, sizeof aborted) == TSR_OK);
		CHECK(aborted == 1, "the plain form is aborted, and later takes return at once");
	} else {
		for (int i = 0; i < 20000 && tsr_wait_record(world, 0, &record) != TSR_OK; i++)
			usleep(5000);
		CHECK(tsr_barrier(world) != TSR_OK, "the world has ended");
	}
	CHECK(tsr_wait_record(world, 0, &record) == TSR_OK);
	CHECK(record.rank == 0 && record.from == last && record.seen == a.epoch + 2);
	return witness();
}

Test(marked, words_that_never_come_end_the_world)
{
	short_deadline();
	ended_both(3, ended_body, NULL, "a take");
	if (world_has_threads())
		ended_both(1, ended_body, NULL, "a take of its own");
}
