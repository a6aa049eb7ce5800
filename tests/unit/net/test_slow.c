/*
 * A network that is made late and slow (src/net/slow.h): how late and how slow
 * it is, that it needs no processor for that, and that nothing is lost where a
 * rank leaves.
 */
#include <criterion/criterion.h>
#include <sys/resource.h>

#include "net_test.h"

enum { WORD = 0, LEFT = 64, DATA = 4096, LARGE = 2 << 20 };
#define MS 1000000ull

/** The carrier that is in order by itself, so that all that is not comes from here. */
static const char in_order[] = "seed 1 delay 0";

static int run(int size, tsr_slow_t slow, net_body_t body)
{
	net_test_t test = {.size = size, .carrier = in_order, .slow = slow};
	net_test_begin(&test);
	const int failed = net_run(&test, body);
	net_test_end(&test);
	return failed;
}

static uint64_t processor_ns(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * NET_SECOND +
	       ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000;
}

/* ------------------------------------------------------------------ late */

enum { TRIPS = 25, DELAY_MS = 10 };

/** Round trips take twice the delay, and the processor sleeps meanwhile. */
static int trips(net_rank_t *me)
{
	const uint64_t begin_ns = tsr_now_ns(), used_ns = processor_ns();
	for (uint64_t i = 0; i < TRIPS && me->rank == 0; i++)
		NEED(tsr_net_fetch(me->net, 1, net_word(WORD, NET_ADD, 1), false) == i);
	const uint64_t took_ns = tsr_now_ns() - begin_ns;
	if (me->rank == 0) {
		NEED(took_ns >= TRIPS * 2 * DELAY_MS * MS);
		NEED(processor_ns() - used_ns < took_ns / 4);
	}
	net_meet(me);
	NEED(me->rank != 1 || net_read(me, WORD) == TRIPS);
	/* and where nothing is under way, nobody wakes: 100 ms with a few wakes need no 20 ms */
	const uint64_t idle_ns = processor_ns();
	usleep(100 * 1000);
	NEED(processor_ns() - idle_ns < 20 * MS);
	return 0;
}

Test(net_slow, round_trips_take_twice_the_delay_and_no_processor, .timeout = 300)
{
	cr_expect_eq(run(2, (tsr_slow_t){.delay_ns = DELAY_MS * MS}, trips), 0);
	cr_expect_eq(run(3, (tsr_slow_t){.delay_ns = DELAY_MS * MS + MS, .jitter_ns = MS / 2},
			 trips),
		     0);
}

/** A message that nobody waits for wakes the proxy thread when it is due (net_rank_main looks). */
static int asleep(net_rank_t *me)
{
	enum { MESSAGES = 6 };
	for (uint64_t i = 1; i <= MESSAGES; i++) {
		net_meet(me);
		usleep(50 * 1000); /* both proxy threads sleep */
		if (me->rank == 0)
			tsr_net_update(me->net, 1, net_word(WORD, NET_SET, i), false);
		while (me->rank == 1 && net_read(me, WORD) < i) {
			NEED(!tsr_net_is_over(me->net));
			usleep(1000);
		}
	}
	return 0;
}

Test(net_slow, what_is_due_wakes_who_sleeps, .timeout = 300)
{
	cr_expect_eq(run(2, (tsr_slow_t){.delay_ns = DELAY_MS * MS}, asleep), 0);
}

/** Messages overtake each other: some wait at the target for those before them. */
static int overtaken(net_rank_t *me)
{
	enum { MESSAGES = 200 };
	for (uint64_t i = 1; i <= MESSAGES && me->rank == 0; i++)
		tsr_net_update(me->net, 1, net_word(WORD, NET_SET, i), false);
	bool early = false;
	while (me->rank == 1 && net_read(me, WORD) < MESSAGES) {
		NEED(!tsr_net_is_over(me->net));
		if (tsr_net_try(me->net)) {
			early |= me->net->peers[0].held != NULL;
			tsr_net_leave(me->net);
		}
	}
	NEED(me->rank != 1 || early);
	return 0;
}

Test(net_slow, jitter_lets_messages_overtake_each_other, .timeout = 300)
{
	cr_expect_eq(run(2, (tsr_slow_t){.delay_ns = 20 * MS, .jitter_ns = 20 * MS}, overtaken), 0);
}

/* ------------------------------------------------------------------ slow */

enum { RATE = 16 << 20 };

/** A large put arrives no sooner than the rate lets it, and its source may be reused. */
static int large(net_rank_t *me)
{
	unsigned char *from = malloc(LARGE);
	NEED(from != NULL);
	memset(me->heap, 0xee, DATA + LARGE + 64);
	net_meet(me);
	const uint64_t begin_ns = tsr_now_ns();
	if (me->rank == 0) {
		for (size_t i = 0; i < LARGE; i++)
			from[i] = (unsigned char)(i * 7 + i / 251);
		tsr_net_put(me->net, 1, net_bytes(DATA, LARGE), from, LARGE);
		memset(from, 0x55, LARGE);
		tsr_net_flush(me->net);
		const uint64_t took_ns = tsr_now_ns() - begin_ns;
		NEED(took_ns >= (uint64_t)LARGE * NET_SECOND / RATE);
		/* ten times as long: the machine may be busy, but the put is not sent twice */
		NEED(took_ns < 10 * (uint64_t)LARGE * NET_SECOND / RATE);
	}
	net_meet(me);
	for (size_t i = 0; i < LARGE && me->rank == 1; i++)
		NEED(me->heap[DATA + i] == (unsigned char)(i * 7 + i / 251));
	NEED(me->heap[DATA - 1] == 0xee && me->heap[DATA + LARGE] == 0xee);
	free(from);
	return 0;
}

Test(net_slow, a_put_takes_the_time_of_its_bytes, .timeout = 300)
{
	cr_expect_eq(run(2, (tsr_slow_t){.bytes_per_s = RATE}, large), 0);
	cr_expect_eq(run(2, (tsr_slow_t){.bytes_per_s = RATE, .delay_ns = MS, .jitter_ns = MS},
			 large),
		     0);
}

/** Rank 0 sends to all others: they share its rate. */
static int shared(net_rank_t *me)
{
	enum { EACH = 256 << 10 };
	static unsigned char from[EACH];
	const uint64_t begin_ns = tsr_now_ns();
	for (int r = 1; r < me->size && me->rank == 0; r++)
		tsr_net_put(me->net, r, net_bytes(DATA, EACH), from, EACH);
	if (me->rank == 0)
		tsr_net_flush(me->net);
	NEED(me->rank != 0 ||
	     tsr_now_ns() - begin_ns >= (uint64_t)(me->size - 1) * EACH * NET_SECOND / RATE);
	return 0;
}

Test(net_slow, all_peers_share_the_rate_of_a_rank, .timeout = 300)
{
	cr_expect_eq(run(5, (tsr_slow_t){.bytes_per_s = RATE}, shared), 0);
}

/* ------------------------------------------------------------------ leaving */

/** What a rank sends last arrives, though it closes its end at once: soon after, not seconds. */
static int leaves(net_rank_t *me)
{
	const int next = (me->rank + 1) % me->size;
	tsr_net_update(me->net, next, net_word(LEFT, NET_SET, 7), true);
	net_meet(me);
	const uint64_t begin_ns = tsr_now_ns();
	tsr_net_close(me->net);
	me->net = NULL;
	/* half of what closing waits for those that do not answer */
	NEED(tsr_now_ns() - begin_ns < 5 * NET_SECOND / 2);
	NEED(net_read(me, LEFT) == 7);
	return 0;
}

/** As net_rank_main, whose end is that of the body. */
static int leaving(net_rank_t *me)
{
	const int line = leaves(me);
	net_meet(me);
	exit(line == 0 ? 0 : 2);
}

Test(net_slow, what_was_sent_last_arrives, .timeout = 300)
{
	cr_expect_eq(run(3, (tsr_slow_t){.delay_ns = 50 * MS, .jitter_ns = 40 * MS}, leaving), 0);
}
