/*
 * Threads that serve the queue while they wait for a far rank's signal, and when
 * ranks are told what is applied: over UCX, and over a carrier that delivers
 * messages late and in random order.
 */
#include <criterion/criterion.h>

#include "net_test.h"

enum { FLAG = 0, DATA = 8192, DATA_BYTES = 300 };

static const char *const carriers[] = {NULL, "seed 1 delay 0", "seed 2 delay 200"};

static void run_all(int size, net_body_t body)
{
	int worlds = 0;
	for (size_t c = 0; c < sizeof carriers / sizeof *carriers; c++) {
		if (!net_has_carrier(carriers[c]))
			continue;
		net_test_t test = {
			.size = size, .carrier = carriers[c], .deadline_ns = 60 * NET_SECOND};
		net_test_begin(&test);
		cr_expect_eq(net_run(&test, body), 0, "%d ranks over %s", size,
			     carriers[c] ? carriers[c] : "UCX");
		net_test_end(&test);
		worlds++;
	}
	cr_expect(worlds > 0, "no carrier");
}

/** A wait for my flag. */
typedef struct flag {
	const net_rank_t *me;
	uint64_t value;
} flag_t;

static bool is_raised(void *ctx)
{
	const flag_t *flag = ctx;
	return net_read(flag->me, FLAG) >= flag->value;
}

/** Waits, and serves meanwhile. How often that ended the wait is counted. */
static int help_until(net_rank_t *me, uint64_t value, int *helped)
{
	const uint64_t end_ns = tsr_now_ns() + 50 * NET_SECOND;
	flag_t flag = {me, value};
	while (!is_raised(&flag)) {
		NEED(tsr_now_ns() < end_ns && !tsr_net_is_over(me->net));
		if (tsr_net_help(me->net, is_raised, &flag))
			(*helped)++;
		else
			sched_yield();
	}
	return 0;
}

/* ------------------------------------------------------------------ a ring */

/** A token goes around. What was put before it is there. */
static int ring(net_rank_t *me)
{
	enum { ROUNDS = 300 };
	const int next = (me->rank + 1) % me->size;
	int helped = 0;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		const unsigned char byte = (unsigned char)round;
		if (me->rank != 0 && help_until(me, round, &helped) != 0)
			return __LINE__;
		if (me->rank != 0)
			NEED(me->heap[DATA] == byte);
		tsr_net_fill(me->net, next, net_bytes(DATA, 1), byte);
		tsr_net_update(me->net, next, net_word(FLAG, NET_SET, round), true);
		if (me->rank == 0 && help_until(me, round, &helped) != 0)
			return __LINE__;
	}
	NEED(helped > 0);
	return 0;
}

Test(net_help, a_token_goes_around, .timeout = 300)
{
	run_all(2, ring);
	run_all(3, ring);
}

/* ------------------------------------------------------------------ ranks that are busy */

/**
 * Rank 1 serves until its flag is raised, and makes no call until rank 0 has
 * flushed: who waits for an acknowledgement asks for it.
 */
static int busy(net_rank_t *me)
{
	enum { ROUNDS = 100 };
	static unsigned char data[DATA_BYTES];
	int helped = 0;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		if (me->rank == 0) {
			memset(data, (int)round, sizeof data);
			tsr_net_put(me->net, 1, net_bytes(DATA, sizeof data), data, sizeof data);
			tsr_net_update(me->net, 1, net_word(FLAG, NET_SET, round), false);
			usleep(1000); /* so that what rank 1 has to say by itself has come */
			tsr_net_flush(me->net);
			NEED(!tsr_net_is_over(me->net));
		} else {
			if (help_until(me, round, &helped) != 0)
				return __LINE__;
			NEED(me->heap[DATA + DATA_BYTES - 1] == (unsigned char)round);
		}
		net_meet(me);
	}
	return 0;
}

Test(net_help, a_flush_does_not_wait_for_who_is_busy, .timeout = 300)
{
	run_all(2, busy);
}

/** The answer to an atomic access says, too, that the access is made: no message follows it. */
static int answers(net_rank_t *me)
{
	enum { ROUNDS = 100 };
	for (uint64_t round = 0; me->rank == 0 && round < ROUNDS; round++) {
		NEED(tsr_net_fetch(me->net, 1, net_word(FLAG, NET_ADD, 1), false) == round);
		while (!tsr_net_try(me->net))
			sched_yield();
		const tsr_net_peer_t *peer = &me->net->peers[1];
		const bool knows = peer->acknowledged == peer->sent;
		tsr_net_leave(me->net);
		NEED(knows);
	}
	net_meet(me);
	return 0;
}

Test(net_help, an_answer_tells_what_is_applied, .timeout = 300)
{
	run_all(2, answers);
}
