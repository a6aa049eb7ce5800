/*
 * Signals: who acquires one sees what came before it; barriers can be entered
 * again; waits in every form.
 */
#include "tests/contract/contract_test.h"

enum { ROUNDS = 50, BYTES = 777 };

/* ------------------------------------------------ put_signal around the ring, READY and RETIRED */

typedef struct ring_args {
	TSR_HEAP unsigned char *mine, *inbox;
	TSR_HEAP uint64_t *ready, *retired, *bad;
} ring_args_t;

/*
 * Each rank sends to the next; the value tells the round. Partners: ready with
 * its wait, retired with its wait.
 */
TSR_KERNEL(ring, ring_args_t, a)
{
	int me = tsr_rank(block), n = tsr_size(block), next = (me + 1) % n, last = (me + n - 1) % n;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		tsr_atomic_store(block, (TSR_HEAP uint64_t *)a->mine, round * 1000 + (uint64_t)me,
				 me, TSR_RELAXED, TSR_SCOPE_BLOCK);
		if (tsr_wait(block, a->retired, round - 1, next) != TSR_WAIT_OK)
			return;
		tsr_put_signal(block, a->inbox, a->mine, BYTES, a->ready, round, TSR_SIGNAL_SET,
			       next);
		if (tsr_wait(block, a->ready, round, last) != TSR_WAIT_OK)
			return;
		uint64_t seen = tsr_atomic_load(block, (TSR_HEAP uint64_t *)a->inbox, me,
						TSR_RELAXED, TSR_SCOPE_BLOCK);
		if (seen != round * 1000 + (uint64_t)last)
			tsr_atomic_add(block, a->bad, (uint64_t)1, me, TSR_RELAXED,
				       TSR_SCOPE_BLOCK);
		tsr_signal(block, a->retired, round, TSR_SIGNAL_SET, last);
	}
}

static int ring_body(tsr_world_t *world, int argc, char **argv)
{
	uint64_t bad;
	(void)argc, (void)argv;
	TSR_HEAP uint64_t *flags = zeroed(world, 3 * sizeof *flags, "flags");
	ring_args_t a = {.mine = poisoned(world, BYTES, "mine"),
			 .inbox = poisoned(world, BYTES, "inbox"),
			 .ready = flags};
	CHECK(flags && a.mine && a.inbox);
	a.retired = flags + 1;
	a.bad = flags + 2;
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &ring, 1, &a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, &bad, a.bad, sizeof bad) == TSR_OK);
	CHECK(bad == 0, "%llu rounds saw old data", (unsigned long long)bad);
	return 0;
}

Test(signal, put_signal_makes_data_visible)
{
	world_each(ring_body, NULL);
}

/* ----------------------------------------------------- signal_all, ADD, put_signal_2d, wait_any */

enum { ROWS = 5, COLS = 7 };

typedef struct all_args {
	tsr_view_t inbox, mine; /* inbox: ROWS of each rank, one after the other */
	TSR_HEAP uint64_t *count, *from, *log;
} all_args_t;

TSR_KERNEL(everybody, all_args_t, a)
{
	int me = tsr_rank(block), n = tsr_size(block), start = 0;
	for (int i = 0; i < n; i++) {
		tsr_pos_t at = {me * ROWS, 0};
		tsr_put_signal_2d(block, tsr_view_part(a->inbox, at, ROWS, COLS), a->mine,
				  a->from + me, 1, TSR_SIGNAL_SET, tsr_peer(block, i));
	}
	/* each rank once: a flag that was found is taken out by waiting for 1 and lowering mine */
	for (int i = 0; i < n; i++) {
		if (tsr_wait_any(block, a->from, n, start, 1, &start) != TSR_WAIT_OK)
			return;
		tsr_atomic_store(block, a->from + start, (uint64_t)0, me, TSR_RELAXED,
				 TSR_SCOPE_DEVICE);
		tsr_atomic_add(block, a->log + start, (uint64_t)1, me, TSR_RELAXED,
			       TSR_SCOPE_DEVICE);
	}
	tsr_signal_all(block, a->count, 2, TSR_SIGNAL_ADD);
	tsr_wait(block, a->count, 2 * (uint64_t)n, TSR_ANY_RANK);
}

static int all_body(tsr_world_t *world, int argc, char **argv)
{
	int n = tsr_world_size(world), me = tsr_world_rank(world);
	float mine[ROWS * COLS], inbox[8 * ROWS * COLS];
	uint64_t flags[1 + 2 * 8];
	(void)argc, (void)argv;
	TSR_HEAP uint64_t *heap_flags = zeroed(world, sizeof flags, "flags");
	TSR_HEAP float *heap_mine = poisoned(world, sizeof mine, "mine"),
		       *heap_inbox = poisoned(world, sizeof inbox, "inbox");
	CHECK(heap_flags && heap_mine && heap_inbox);
	for (int i = 0; i < ROWS * COLS; i++)
		mine[i] = (float)(me * 100 + i);
	CHECK(tsr_memcpy_to_heap(world, heap_mine, mine, sizeof mine) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	all_args_t a = {.inbox = {heap_inbox, n * ROWS, COLS, COLS, TSR_F32, TSR_SPACE_HEAP},
			.mine = {heap_mine, ROWS, COLS, COLS, TSR_F32, TSR_SPACE_HEAP},
			.count = heap_flags,
			.from = heap_flags + 1,
			.log = heap_flags + 1 + n};
	CHECK(run_kernel(world, &everybody, 1, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, flags, heap_flags, sizeof flags) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, inbox, heap_inbox, sizeof inbox) == TSR_OK);
	CHECK(flags[0] == 2 * (uint64_t)n);
	for (int i = 0; i < n * ROWS * COLS; i++) {
		CHECK(inbox[i] == (float)(i / (ROWS * COLS) * 100 + i % (ROWS * COLS)));
		CHECK(flags[1 + n + i / (ROWS * COLS)] == 1, "each rank is found once");
	}
	return 0;
}

Test(signal, all_ranks_tell_all_ranks)
{
	world_each(all_body, NULL);
}

/* -------------------------------------------------- the ranks' barrier, entered again and again */

typedef struct meet_args {
	TSR_HEAP tsr_barrier_state_t *state;
	TSR_HEAP uint64_t *turn, *bad;
} meet_args_t;

TSR_KERNEL(meet_often, meet_args_t, a)
{
	int me = tsr_rank(block);
	for (uint64_t turn = 1; turn <= ROUNDS; turn++) {
		tsr_atomic_store(block, a->turn, turn, me, TSR_RELAXED, TSR_SCOPE_SYSTEM);
		if (tsr_barrier_ranks(block, a->state) != TSR_WAIT_OK)
			return;
		/* all have come to this turn, and none has left for the next but one */
		for (int i = 0; i < tsr_size(block); i++)
			if (tsr_atomic_load(block, a->turn, i, TSR_RELAXED, TSR_SCOPE_SYSTEM) -
				    turn >
			    1)
				tsr_atomic_add(block, a->bad, (uint64_t)1, me, TSR_RELAXED,
					       TSR_SCOPE_DEVICE);
	}
}

static int meet_body(tsr_world_t *world, int argc, char **argv)
{
	uint64_t words[2];
	(void)argc, (void)argv;
	meet_args_t a = {zeroed(world, tsr_barrier_state_bytes(tsr_world_size(world)), "barrier"),
			 zeroed(world, sizeof words, "words"), NULL};
	CHECK(a.state && a.turn);
	a.bad = a.turn + 1;
	CHECK(tsr_barrier(world) == TSR_OK);
	for (int i = 0; i < 3; i++) {
		CHECK(run_kernel(world, &meet_often, 1, &a) == TSR_OK);
		CHECK(tsr_memcpy_from_heap(world, words, a.turn, sizeof words) == TSR_OK);
		CHECK(words[1] == 0 && words[0] == ROUNDS);
		CHECK(tsr_barrier(world) == TSR_OK); /* nobody reads the turns any more */
		CHECK(tsr_memset_heap(world, a.turn, 0, 8) == TSR_OK);
		CHECK(tsr_barrier(world) == TSR_OK); /* the state goes on: no reset */
	}
	return 0;
}

Test(signal, the_barrier_can_be_entered_again)
{
	world_each(meet_body, NULL);
}

/* ------------------------------------------------------- the forms with a deadline of their own */

typedef struct until_args {
	TSR_HEAP uint64_t *flags, *log;
} until_args_t;

TSR_KERNEL(wait_until_late, until_args_t, a)
{
	int me = tsr_rank(block), none = 7, found = 7;
	tsr_wait_result_t one = tsr_wait_until(block, a->flags + 1, 3, TSR_ANY_RANK, 2000000);
	tsr_wait_result_t any = tsr_wait_any_until(block, a->flags, 2, 1, 3, 2000000, &none);
	uint64_t log = one == TSR_WAIT_EXPIRED && any == TSR_WAIT_EXPIRED && none == 7;
	one = tsr_wait_until(block, a->flags, 2, me, 2000000);
	any = tsr_wait_any_until(block, a->flags, 2, 1, 2, 2000000, &found);
	log = log && one == TSR_WAIT_OK && any == TSR_WAIT_OK && found == 0;
	tsr_atomic_store(block, a->log, log, me, TSR_RELAXED, TSR_SCOPE_BLOCK);
}

static int until_body(tsr_world_t *world, int argc, char **argv)
{
	uint64_t words[3] = {2, 1, 0};
	tsr_wait_record_t record = {.size = sizeof record};
	(void)argc, (void)argv;
	until_args_t a = {poisoned(world, sizeof words, "until flags"), NULL};
	CHECK(a.flags);
	a.log = a.flags + 2;
	CHECK(tsr_memcpy_to_heap(world, a.flags, words, sizeof words) == TSR_OK);
	CHECK(run_kernel(world, &wait_until_late, 1, &a) == TSR_OK,
	      "an expired wait of this form does not end the launch");
	CHECK(tsr_memcpy_from_heap(world, words, a.flags, sizeof words) == TSR_OK);
	CHECK(words[2] == 1);
	CHECK(tsr_wait_record(world, 0, &record) == TSR_OK, "but it leaves a record");
	CHECK(strcmp(record.allocation, "until flags") == 0);
	CHECK(record.expected == 3 && record.waited_ns >= 2000000);
	return tsr_barrier(world) != TSR_OK; /* and the world goes on */
}

Test(signal, waits_with_their_own_deadline)
{
	world_each(until_body, NULL);
}
