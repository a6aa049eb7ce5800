/*
 * A wait that never comes: every rank ends within the deadline, with one
 * sentence and a record of who waited for whom.
 */
#include "tests/contract/ended_world.h"

typedef struct lone_args {
	TSR_HEAP uint64_t *flags;
	int32_t waiter, from;
} lone_args_t;

enum { LINE_OF_WAIT = __LINE__ + 7 };

TSR_KERNEL(wait_for_nothing, lone_args_t, a)
{
	if (tsr_rank(block) != a->waiter || tsr_block_index(block) != 2)
		return;
	/* Nobody signals this. */
	tsr_wait_result_t how = tsr_wait(block, a->flags + 8, 7, a->from);
	tsr_wait_result_t later = tsr_wait(block, a->flags, 1, a->from);
	int which = 7;
	tsr_wait_result_t any = tsr_wait_any_until(block, a->flags, 1, 0, 1, 1000, &which);
	tsr_atomic_store(block, a->flags + 1,
			 (uint64_t)(how == TSR_WAIT_ABORTED && later == TSR_WAIT_ABORTED &&
				    any == TSR_WAIT_ABORTED && which == 7),
			 tsr_rank(block), TSR_RELAXED, TSR_SCOPE_DEVICE);
}

static int expired_body(tsr_world_t *world, int argc, char **argv)
{
	int me = tsr_world_rank(world), size = tsr_world_size(world);
	uint64_t flags[9] = {0, 0, 0, 0, 0, 0, 0, 0, 6};
	tsr_wait_record_t record = {.size = sizeof record};
	char site[96];
	(void)argc, (void)argv;
	lone_args_t a = {poisoned(world, sizeof flags, "lone flags"), size - 1, size / 2};
	CHECK(a.flags);
	CHECK(tsr_memcpy_to_heap(world, a.flags, flags, sizeof flags) == TSR_OK);
	tsr_status_t status = run_kernel(world, &wait_for_nothing, 3, &a);
	CHECK(me != a.waiter || status == TSR_ERR_TIMEOUT, "%s", tsr_status_name(status));
	if (me == a.waiter) {
		const char *said = tsr_last_error();
		CHECK(strstr(said, "block 2 of kernel wait_for_nothing waited") &&
		      strstr(said, "'lone flags'+64 to 7; it was 6"));
		CHECK(tsr_memcpy_from_heap(world, flags, a.flags, sizeof flags) == TSR_OK);
		CHECK(flags[1] == 1, "later waits return at once");
	} else {
		for (int i = 0; i < 20000 && tsr_wait_record(world, 0, &record) != TSR_OK; i++)
			usleep(5000);
		CHECK(tsr_barrier(world) != TSR_OK, "the world has ended");
		CHECK(strstr(tsr_last_error(), "waited"));
	}
	CHECK(tsr_wait_record(world, 0, &record) == TSR_OK);
	snprintf(site, sizeof site, "%s:%d", __FILE__, LINE_OF_WAIT);
	CHECK(record.rank == a.waiter && record.block == 2 && record.worker == 0 &&
	      record.from == a.from);
	CHECK(strcmp(record.kernel, "wait_for_nothing") == 0);
	CHECK(strcmp(record.site, site) == 0, "%s for %s", record.site, site);
	CHECK(strcmp(record.allocation, "lone flags") == 0 && record.offset_bytes == 64);
	CHECK(record.expected == 7 && record.seen == 6);
	CHECK(record.waited_ns >= tsr_world_deadline_ns(world));
	return witness();
}

Test(expired, a_wait_that_never_comes)
{
	short_deadline();
	static const int sizes[] = {3, 1, 2, 5, 8};
	/* on a GPU each would take the deadline that a world needs to start */
	const int count = world_has_threads() ? 5 : 1;
	for (int i = 0; i < count; i++)
		ended_both(sizes[i], expired_body, NULL, "a wait");
}

/* ------------------------------------------- the kernel is named, not the barrier behind it */

static int barrier_body(tsr_world_t *world, int argc, char **argv)
{
	tsr_stream_t *stream;
	(void)argc, (void)argv;
	lone_args_t a = {zeroed(world, 9 * sizeof(uint64_t), "lone flags"), 0, 1};
	CHECK(a.flags && tsr_stream_create(tsr_world_team(world), &stream) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_launch(stream, &wait_for_nothing, 3, &a) == TSR_OK);
	CHECK(tsr_barrier(world) != TSR_OK);
	CHECK(strstr(tsr_last_error(), "block 2 of kernel wait_for_nothing waited"), "%s",
	      tsr_last_error());
	return witness();
}

/** The ranks that wait in the barrier began to do so as early as the kernel. */
Test(expired, a_kernel_that_holds_up_a_barrier_is_named)
{
	set_ending_deadline(world_has_threads() ? 4000000000u : 6000000000u);
	ended_both(3, barrier_body, NULL, "a barrier");
}

/* ------------------------------------------------------------------ a lock that somebody keeps */

typedef struct kept_args {
	TSR_HEAP uint64_t *lock; /* rank 0's */
	int32_t taker, reserved;
} kept_args_t;

TSR_KERNEL(wait_for_kept_lock, kept_args_t, a)
{
	if (tsr_rank(block) == a->taker)
		tsr_lock(block, a->lock, 0);
}

/** Rank 1 keeps the lock. */
static int kept_body(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world);
	const uint64_t word = argc > 1 ? strtoull(argv[1], NULL, 0) : 2;
	kept_args_t a = {poisoned(world, sizeof word, "kept lock"), 2, 0};
	CHECK(a.lock);
	CHECK(tsr_memcpy_to_heap(world, a.lock, &word, sizeof word) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	if (me == a.taker) {
		CHECK(run_kernel(world, &wait_for_kept_lock, 1, &a) == TSR_ERR_TIMEOUT);
		const char *said = tsr_last_error();
		CHECK(strstr(said, "rank 2, block 0 of kernel wait_for_kept_lock waited ") &&
			      strstr(said, "test_expired.c:"),
		      "%s", said);
		/* GPUs do not note that the word is a lock */
		CHECK(!world_has_threads() ||
			      strstr(said, word == 2 ? "for the lock 'kept lock'+0 of rank 0, "
						       "which rank 1 holds: it has not called "
						     : "for the lock 'kept lock'+0 of rank 0, "
						       "whose word names no holder: it is 9; "),
		      "%s", said);
	} else {
		CHECK(tsr_barrier(world) != TSR_OK, "the world has ended");
	}
	return witness();
}

Test(expired, a_lock_that_somebody_keeps)
{
	short_deadline();
	ended_both(3, kept_body, "2", "a lock that rank 1 keeps");
	ended_both(3, kept_body, "9", "a lock with a word of nobody");
}

/* ------------------------------------------------------------------ a word that nobody writes */

TSR_KERNEL(wait_for_no_word, lone_args_t, a)
{
	int me = tsr_rank(block);
	uint64_t seen = 3;
	if (me != a->waiter)
		return;
	int how = tsr_wait_word(block, a->flags + 8, TSR_CMP_EQ, 7, a->from, TSR_ACQUIRE,
				TSR_SCOPE_SYSTEM, a->from, &seen);
	int later = tsr_wait_word(block, a->flags, TSR_CMP_EQ, 1, me, TSR_RELAXED, TSR_SCOPE_SYSTEM,
				  a->from, &seen);
	tsr_atomic_store(block, a->flags + 1,
			 (uint64_t)(how == TSR_WAIT_ABORTED && later == TSR_WAIT_ABORTED) * seen,
			 me, TSR_RELAXED, TSR_SCOPE_DEVICE);
}

static int word_body(tsr_world_t *world, int argc, char **argv)
{
	int me = tsr_world_rank(world), size = tsr_world_size(world);
	uint64_t flags[9] = {0, 0, 0, 0, 0, 0, 0, 0, 8};
	char of[32] = " ";
	tsr_wait_record_t record = {.size = sizeof record};
	(void)argc, (void)argv;
	lone_args_t a = {poisoned(world, sizeof flags, "lone words"), size - 1, 0};
	CHECK(a.flags);
	CHECK(tsr_memcpy_to_heap(world, a.flags, flags, sizeof flags) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	if (me == a.waiter) {
		CHECK(run_kernel(world, &wait_for_no_word, 1, &a) == TSR_ERR_TIMEOUT);
		if (me != a.from)
			snprintf(of, sizeof of, " of rank %d ", a.from);
		const char *said = tsr_last_error();
		CHECK(strstr(said, "rank 0 to write 'lone words'+64") && strstr(said, of) &&
			      strstr(said, "so that it is == 7; it was 8"),
		      "%s", said);
		CHECK(tsr_memcpy_from_heap(world, flags, a.flags, sizeof flags) == TSR_OK);
		CHECK(flags[1] == 3,
		      "later waits return at once, and nothing is said to have been seen");
	} else {
		for (int i = 0; i < 20000 && tsr_wait_record(world, 0, &record) != TSR_OK; i++)
			usleep(5000);
		CHECK(tsr_barrier(world) != TSR_OK, "the world has ended");
	}
	CHECK(tsr_wait_record(world, 0, &record) == TSR_OK);
	CHECK(record.rank == a.waiter && record.owner == 0 && record.from == 0 &&
	      record.cmp == TSR_CMP_EQ);
	CHECK(record.expected == 7 && record.seen == 8 && record.offset_bytes == 64);
	return witness();
}

Test(expired, a_word_that_nobody_writes)
{
	short_deadline();
	ended_both(3, word_body, NULL, "a word");
	if (world_has_threads())
		ended_both(1, word_body, NULL, "a word of its own");
}

/* ----------------------------------------------------------------- workers that do not all come */

typedef struct nothing {
	uint64_t unused;
} nothing_t;

TSR_KERNEL_SPLIT(miss_a_meeting, 2, nothing_t, nothing_t, a)
{
	if (tsr_worker_index(worker) == 0)
		tsr_sync(block);
	else
		tsr_wait_local(worker, &shared->unused, 0, TSR_SCOPE_BLOCK);
}

static int meeting_body(tsr_world_t *world, int argc, char **argv)
{
	nothing_t args = {0};
	tsr_wait_record_t record = {.size = sizeof record};
	(void)argc, (void)argv;
	CHECK(run_kernel(world, &miss_a_meeting, 1, &args) == TSR_ERR_TIMEOUT);
	CHECK(strstr(tsr_last_error(), "1 of the block's 2 workers came"));
	CHECK(strstr(tsr_last_error(), "block 0, worker 0 of kernel miss_a_meeting waited"));
	CHECK(tsr_wait_record(world, 0, &record) == TSR_OK);
	CHECK(record.expected == 2 && record.seen == 1);
	return witness();
}

Test(expired, a_meeting_that_one_worker_misses)
{
	if (!world_has_threads())
		cr_skip_test("meetings have deadlines on the emulator alone");
	short_deadline();
	ended_both(1, meeting_body, NULL, "a meeting");
}

/* -------------------------------------------------- a rank that dies while another waits for it */

#ifdef WORLD_THREADS_ONLY
Test(expired, a_rank_that_dies_is_named_long_before_the_deadline)
{
	cr_skip_test("a rank that is a thread cannot die alone");
}
#else
static int dying_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	lone_args_t a = {zeroed(world, 9 * sizeof(uint64_t), "flags"), 0, 1};
	CHECK(a.flags);
	CHECK(tsr_barrier(world) == TSR_OK);
	if (tsr_world_rank(world) == 1)
		_Exit(0); /* without leaving */
	tsr_status_t status = run_kernel(world, &wait_for_nothing, 3, &a);
	CHECK(status != TSR_OK && strstr(tsr_last_error(), "rank 1"), "%s",
	      tsr_status_name(status));
	return witness();
}

Test(expired, a_rank_that_dies_is_named_long_before_the_deadline)
{
	cr_expect(ended_world(2, 1, TSR_PLACE_PROCESS, dying_body, NULL), "the rank that lives");
}
#endif
