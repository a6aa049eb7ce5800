/*
 * What atomics, releases and flushes promise, over UCX and over a carrier that
 * delivers messages late and in random order.
 */
#include <criterion/criterion.h>

#include "net_test.h"

/* Places in a heap: words that are waited for, and data. */
enum { FLAG = 0, COUNT = 512, WORDS = 1024, DATA = 8192 };

static const char *const carriers[] = {NULL, "seed 1 delay 0", "seed 2 delay 200",
				       "seed 3 delay 200", "seed 4 delay 1500"};
enum { CARRIERS = sizeof carriers / sizeof *carriers };

/** Runs a body in worlds of these sizes (up to 0) over all carriers. */
static void run_all(const int *sizes, net_body_t body)
{
	int worlds = 0;
	for (int c = 0; c < CARRIERS; c++) {
		for (int i = 0; sizes[i] != 0 && net_has_carrier(carriers[c]); i++) {
			net_test_t test = {
				.size = sizes[i], .carrier = carriers[c], .late = sizes[i] == 3};
			net_test_begin(&test);
			cr_expect_eq(net_run(&test, body), 0, "%d ranks over %s%s", test.size,
				     carriers[c] ? carriers[c] : "UCX",
				     test.late ? ", heaps reached by calls" : "");
			net_test_end(&test);
			worlds++;
		}
	}
	for (int i = 0; sizes[i] != 0; i++) {
		net_test_t test = {.size = sizes[i],
				   .carrier = carriers[1],
				   .slow = {.delay_ns = 60000, .jitter_ns = 50000}};
		net_test_begin(&test);
		cr_expect_eq(net_run(&test, body), 0, "%d ranks, late by 60 us", test.size);
		net_test_end(&test);
	}
	cr_expect(worlds >= CARRIERS - 1, "no carrier: %d worlds ran", worlds);
}

static const int all_sizes[] = {2, 3, 5, 0};

/* ------------------------------------------------------------------ atomics */

/** Each width and each operation, between a guard before and one behind. */
static int widths(net_rank_t *me)
{
	const int next = (me->rank + 1) % me->size;
	memset(me->heap, 0xee, DATA);
	net_meet(me);
	for (uint8_t bytes = 2; bytes <= 8; bytes = (uint8_t)(2 * bytes)) {
		const uint64_t at = WORDS + 64u * bytes;
		const uint64_t mask = bytes == 8 ? ~0ull : (1ull << 8 * bytes) - 1;
		const uint64_t poison = 0xeeeeeeeeeeeeeeeeull & mask;
		tsr_net_atomic_t access = {.offset = at, .op = NET_SET, .bytes = bytes, .bits = 5};
		NEED(tsr_net_fetch(me->net, next, access, false) == poison);
		access.op = NET_ADD;
		access.bits = mask; /* -1 */
		NEED(tsr_net_fetch(me->net, next, access, true) == 5);
		access.op = NET_CAS;
		access.expected = 5;
		access.bits = 77;
		NEED(tsr_net_fetch(me->net, next, access, true) == 4); /* fails */
		access.expected = 4;
		NEED(tsr_net_fetch(me->net, next, access, false) == 4);
		access.op = NET_ADD;
		access.bits = mask - 76; /* overflows to 0 */
		tsr_net_update(me->net, next, access, false);
		access.op = NET_LOAD;
		NEED(tsr_net_fetch(me->net, next, access, false) == 0);
	}
	net_meet(me);
	for (unsigned bytes = 2; bytes <= 8; bytes *= 2)
		for (unsigned i = 1; i <= 8; i++) {
			NEED(me->heap[WORDS + 64 * bytes - i] == 0xee);
			NEED(me->heap[WORDS + 64 * bytes + bytes + i - 1] == 0xee);
		}
	NEED(atomic_load(&me->arrivals) > 0); /* they were not made by the sender */
	return 0;
}

Test(net_order, atomics_of_all_widths, .timeout = 300)
{
	run_all(all_sizes, widths);
}

enum { ADDS = 300, THREADS = 4, PULSES = 1500 };

typedef struct adder {
	net_rank_t *me;
	int thread;
	pthread_t id;
	int line;
} adder_t;

/** Adds to all ranks, in all ways, among puts and gets of its own. */
static int add(adder_t *adder)
{
	net_rank_t *me = adder->me;
	const uint64_t mine = DATA + 4096u * (unsigned)(THREADS * me->rank + adder->thread);
	unsigned char row[100];
	for (int i = 0; i < ADDS; i++) {
		const int peer = (me->rank + 1 + i % (me->size - 1)) % me->size;
		if (i % 3 == 0)
			(void)tsr_net_fetch(me->net, peer, net_word(COUNT, NET_ADD, 1), i % 2 == 0);
		else
			tsr_net_update(me->net, peer, net_word(COUNT, NET_ADD, 1), i % 2 == 0);
		if (i % 7 == 0) {
			memset(row, i, sizeof row);
			tsr_net_put(me->net, peer, net_bytes(mine, sizeof row), row, sizeof row);
			memset(row, 0xff, sizeof row);
			tsr_net_get(me->net, peer, net_bytes(mine, sizeof row), row, sizeof row);
			NEED(row[0] == (unsigned char)i && row[99] == (unsigned char)i);
		}
		if (i % 31 == 0)
			tsr_net_flush(me->net);
	}
	return 0;
}

static void *add_main(void *data)
{
	adder_t *adder = data;
	adder->line = add(adder);
	return NULL;
}

static int counts(net_rank_t *me)
{
	adder_t adders[THREADS];
	for (int t = 0; t < THREADS; t++) {
		adders[t] = (adder_t){.me = me, .thread = t};
		NEED(pthread_create(&adders[t].id, NULL, add_main, &adders[t]) == 0);
	}
	for (int t = 0; t < THREADS; t++) {
		pthread_join(adders[t].id, NULL);
		NEED(adders[t].line == 0);
	}
	tsr_net_flush(me->net);
	net_meet(me);
	me->seen->value = net_read(me, COUNT);
	net_meet(me);
	uint64_t sum = 0;
	for (int r = 0; r < me->size; r++)
		sum += me->test->shared->seen[r].value;
	NEED(sum == (uint64_t)me->size * THREADS * ADDS);
	return 0;
}

Test(net_order, adds_of_all_threads_are_counted, .timeout = 300)
{
	run_all(all_sizes, counts);
}

enum { SETS = 400 };

/** What one thread sets and adds without waiting happens in that order. */
static int in_order(net_rank_t *me)
{
	const int next = (me->rank + 1) % me->size;
	for (uint64_t i = 1; i <= SETS; i++) {
		tsr_net_update(me->net, next, net_word(FLAG, NET_SET, 2 * i), false);
		tsr_net_update(me->net, next, net_word(FLAG, NET_ADD, 1), i % 5 == 0);
		if (i % 50 == 0)
			NEED(tsr_net_fetch(me->net, next, net_word(FLAG, NET_LOAD, 0), false) ==
			     2 * i + 1);
	}
	tsr_net_flush(me->net);
	net_meet(me);
	NEED(net_read(me, FLAG) == 2 * SETS + 1);
	return 0;
}

Test(net_order, atomics_of_a_rank_happen_in_its_order, .timeout = 300)
{
	run_all(all_sizes, in_order);
}

typedef struct pulser {
	net_rank_t *me;
	_Atomic uint64_t *round; /* that all begin together */
	pthread_t id;
} pulser_t;

/** One update a round, and no other call that would take it along. */
static void *pulse(void *data)
{
	pulser_t *pulser = data;
	for (uint64_t i = 1; i <= PULSES; i++) {
		while (atomic_load(pulser->round) < i && !tsr_net_is_over(pulser->me->net))
			sched_yield();
		tsr_net_update(pulser->me->net, 1, net_word(COUNT, NET_ADD, 1), false);
	}
	return NULL;
}

/** No command is left behind where several threads submit at one time, and then none does. */
static int pulses(net_rank_t *me)
{
	pulser_t pulsers[THREADS];
	_Atomic uint64_t round = 0;
	for (int t = 0; t < THREADS && me->rank == 0; t++) {
		pulsers[t] = (pulser_t){.me = me, .round = &round};
		NEED(pthread_create(&pulsers[t].id, NULL, pulse, &pulsers[t]) == 0);
	}
	for (uint64_t i = 1; i <= PULSES && me->rank < 2; i++) {
		if (me->rank == 0) {
			atomic_store(&round, i);
			NEED(net_await(me, FLAG, i) == 0);
		} else {
			NEED(net_await(me, COUNT, i * THREADS) == 0);
			tsr_net_update(me->net, 0, net_word(FLAG, NET_SET, i), false);
		}
	}
	for (int t = 0; t < THREADS && me->rank == 0; t++)
		pthread_join(pulsers[t].id, NULL);
	return 0;
}

Test(net_order, no_command_is_left_behind, .timeout = 300)
{
	static const int pair[] = {2, 0};
	run_all(pair, pulses);
}

/* ------------------------------------------------------------------ releases */

enum { ROUNDS = 200, ROW = 3000 };

/** Whether a row is all of one value; the first byte may not be read before the last is there. */
static bool is_row_of(const unsigned char *row, size_t bytes, int value)
{
	for (size_t i = 0; i < bytes; i++)
		if (row[i] != (unsigned char)value)
			return false;
	return true;
}

/** Message passing: who sees the flag sees the rows, which are put in several messages. */
static int passes(net_rank_t *me)
{
	const int next = (me->rank + 1) % me->size, before = (me->rank + me->size - 1) % me->size;
	static unsigned char rows[8 * ROW];
	for (int i = 1; i <= ROUNDS; i++) {
		memset(rows, i, sizeof rows);
		for (uint64_t part = 0; part < 8; part++)
			tsr_net_put(me->net, next, net_bytes(DATA + part * ROW, ROW), rows, ROW);
		tsr_net_fill(me->net, next, net_bytes(DATA + 8 * ROW, ROW), i);
		if (i % 2)
			tsr_net_update(me->net, next, net_word(FLAG, NET_SET, (uint64_t)i), true);
		else
			(void)tsr_net_fetch(me->net, next, net_word(FLAG, NET_SET, (uint64_t)i),
					    true);
		NEED(net_await(me, FLAG, (uint64_t)i) == 0);
		NEED(is_row_of(me->heap + DATA, 9 * ROW, i));
		/* the rows may be written again */
		tsr_net_update(me->net, before, net_word(FLAG + 64, NET_SET, (uint64_t)i), true);
		NEED(net_await(me, FLAG + 64, (uint64_t)i) == 0);
	}
	return 0;
}

Test(net_order, who_acquires_a_flag_sees_what_was_put_before_it, .timeout = 300)
{
	run_all(all_sizes, passes);
}

/**
 * Rank 0 puts to the last rank and signals rank 1; each rank signals the next.
 * The last sees what rank 0 has put.
 */
static int transitive(net_rank_t *me)
{
	static unsigned char row[ROW];
	const int last = me->size - 1, next = (me->rank + 1) % me->size;
	for (int i = 1; i <= ROUNDS; i++) {
		if (me->rank == 0) {
			memset(row, i, sizeof row);
			tsr_net_put(me->net, last, net_bytes(DATA, ROW), row, ROW);
		} else {
			NEED(net_await(me, FLAG, (uint64_t)i) == 0);
			NEED(me->rank != last || is_row_of(me->heap + DATA, ROW, i));
		}
		tsr_net_update(me->net, next, net_word(FLAG, NET_SET, (uint64_t)i), true);
		if (me->rank == 0) /* the round is over: the last has looked */
			NEED(net_await(me, FLAG, (uint64_t)i) == 0);
	}
	return 0;
}

static const int chains[] = {3, 5, 0};

Test(net_order, releases_are_transitive, .timeout = 300)
{
	run_all(chains, transitive);
}

/** The same where rank 0 updates a word of the last rank instead, and then asks rank 1 to go on. */
static int transitive_words(net_rank_t *me)
{
	const int last = me->size - 1, next = (me->rank + 1) % me->size;
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		if (me->rank == 0) {
			tsr_net_update(me->net, last, net_word(COUNT, NET_SET, i), false);
		} else {
			NEED(net_await(me, FLAG, i) == 0);
			NEED(me->rank != last || net_read(me, COUNT) == i);
		}
		(void)tsr_net_fetch(me->net, next, net_word(FLAG, NET_SET, i), true);
		if (me->rank == 0)
			NEED(net_await(me, FLAG, i) == 0);
	}
	return 0;
}

Test(net_order, updates_of_a_third_rank_are_released_too, .timeout = 300)
{
	run_all(chains, transitive_words);
}

typedef struct helper {
	net_rank_t *me;
	_Atomic int round; /* that it may signal */
	pthread_t id;
} helper_t;

/** Signals what another thread of the rank has put. */
static void *signal_for_other(void *data)
{
	helper_t *helper = data;
	const int next = (helper->me->rank + 1) % helper->me->size;
	for (int i = 1; i <= ROUNDS; i++) {
		while (atomic_load(&helper->round) < i && !tsr_net_is_over(helper->me->net))
			sched_yield();
		tsr_net_update(helper->me->net, next, net_word(FLAG, NET_SET, (uint64_t)i), true);
	}
	return NULL;
}

/** A release covers what other threads of the rank have put before it. */
static int other_threads(net_rank_t *me)
{
	helper_t helper = {.me = me};
	static unsigned char row[ROW];
	const int next = (me->rank + 1) % me->size, before = (me->rank + me->size - 1) % me->size;
	NEED(pthread_create(&helper.id, NULL, signal_for_other, &helper) == 0);
	for (int i = 1; i <= ROUNDS; i++) {
		memset(row, i, sizeof row);
		tsr_net_put(me->net, next, net_bytes(DATA, ROW), row, ROW);
		atomic_store(&helper.round, i);
		NEED(net_await(me, FLAG, (uint64_t)i) == 0);
		NEED(is_row_of(me->heap + DATA, ROW, i));
		tsr_net_update(me->net, before, net_word(FLAG + 64, NET_SET, (uint64_t)i), true);
		NEED(net_await(me, FLAG + 64, (uint64_t)i) == 0);
	}
	pthread_join(helper.id, NULL);
	return 0;
}

Test(net_order, releases_cover_the_whole_rank, .timeout = 300)
{
	run_all(all_sizes, other_threads);
}

/** After a flush, all that was put is there: told by what the data plane does not carry. */
static int flushes(net_rank_t *me)
{
	static unsigned char row[ROW];
	for (int i = 1; i <= 60; i++) {
		memset(row, i, sizeof row);
		for (int r = 0; r < me->size; r++) {
			if (r == me->rank)
				continue;
			const uint64_t at = DATA + 2ull * ROW * (unsigned)me->rank;
			tsr_net_put(me->net, r, net_bytes(at, ROW), row, ROW);
			tsr_net_fill(me->net, r, net_bytes(at + ROW, ROW), i + 1);
		}
		tsr_net_flush(me->net);
		net_meet(me);
		for (int r = 0; r < me->size; r++) {
			if (r == me->rank)
				continue;
			const unsigned char *at = me->heap + DATA + 2ull * ROW * (unsigned)r;
			NEED(is_row_of(at, ROW, i) && is_row_of(at + ROW, ROW, i + 1));
		}
		net_meet(me);
	}
	return 0;
}

Test(net_order, flushed_is_applied, .timeout = 300)
{
	run_all(all_sizes, flushes);
}

/** Three ranks on two nodes: those of one node do not use the data plane. */
static int two_nodes(net_rank_t *me)
{
	if (me->rank != 1) { /* 0 and 2 share a node */
		tsr_net_update(me->net, 1, net_word(FLAG, NET_ADD, 1), true);
		NEED(net_await(me, FLAG, 1) == 0);
		NEED(!me->net->peers[2 - me->rank].here);
		return 0;
	}
	NEED(net_await(me, FLAG, 2) == 0);
	tsr_net_update(me->net, 0, net_word(FLAG, NET_ADD, 1), true);
	tsr_net_update(me->net, 2, net_word(FLAG, NET_ADD, 1), true);
	return 0;
}

Test(net_order, ranks_of_one_node_are_not_connected, .timeout = 60)
{
	net_test_t test = {.size = 3, .node_of = {0, 1, 0}, .carrier = "seed 9 delay 100"};
	net_test_begin(&test);
	cr_expect_eq(net_run(&test, two_nodes), 0);
	net_test_end(&test);
}

enum { WRITES = 400, SIDE_BY_SIDE = 24 };

/** Writes to the same places in every way, one after the other: the last one stays. */
static int rewrites(net_rank_t *me)
{
	const int next = (me->rank + 1) % me->size;
	uint64_t words[SIDE_BY_SIDE], seen;
	for (uint64_t i = 1; i <= WRITES; i++) {
		for (int w = 0; w < SIDE_BY_SIDE; w++)
			words[w] = i;
		if (i % 4 == 0)
			tsr_net_fill(me->net, next, net_bytes(WORDS, sizeof words), (int)i & 0xff);
		if (i % 4 == 1)
			tsr_net_update(me->net, next, net_word(WORDS, NET_SET, 7 * i), i % 3 == 0);
		if (i % 2 == 0)
			tsr_net_put(me->net, next, net_bytes(WORDS, sizeof words), words,
				    sizeof words);
		else
			tsr_net_each(me->net, next, net_word(WORDS, NET_SET, 0), words,
				     SIDE_BY_SIDE);
		if (i % 50 == 0) {
			tsr_net_get(me->net, next, net_bytes(WORDS, sizeof seen), &seen,
				    sizeof seen);
			NEED(seen == i);
		}
	}
	tsr_net_flush(me->net);
	net_meet(me);
	for (int w = 0; w < SIDE_BY_SIDE; w++)
		NEED(net_read(me, WORDS + 8u * (unsigned)w) == WRITES);
	NEED(net_read(me, WORDS + 8u * SIDE_BY_SIDE) != WRITES);
	return 0;
}

Test(net_order, the_last_of_a_ranks_writes_to_a_place_stays, .timeout = 300)
{
	run_all(all_sizes, rewrites);
}
