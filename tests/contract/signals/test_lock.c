/*
 * Locks: one coop of all ranks at a time, what it did is seen by the next; and
 * a lock that somebody keeps.
 */
#include "tests/contract/contract_test.h"

enum { TURNS = 15, BLOCKS = 3, APART = 16 };

typedef struct count_args {
	TSR_HEAP uint64_t *locks; /* two of each rank's, APART words from each other */
	/* likewise: each is counted under its lock, by plain accesses */
	TSR_HEAP uint64_t *counters;
	TSR_HEAP uint64_t *mine;   /* a word of each of my blocks */
	TSR_HEAP uint64_t *inside; /* of each lock: who has it */
	TSR_HEAP uint64_t *bad;    /* of mine */
	int32_t until;
} count_args_t;

/** Under the lock `which` of `peer`. */
TSR_FN void count_once(tsr_coop_t *block, const count_args_t *a, int which, int peer)
{
	TSR_HEAP uint64_t *mine = a->mine + tsr_block_index(block) * APART,
			  *counter = a->counters + which * APART;
	int me = tsr_rank(block);
	if (tsr_atomic_add(block, a->inside + which * APART, (uint64_t)1, peer, TSR_RELAXED,
			   TSR_SCOPE_SYSTEM) != 0)
		tsr_atomic_add(block, a->bad, (uint64_t)1, me, TSR_RELAXED, TSR_SCOPE_DEVICE);
	/* whoever is in here has written its rank into the lock, even if it is alone */
	if (tsr_atomic_load(block, a->locks + which * APART, peer, TSR_RELAXED, TSR_SCOPE_SYSTEM) !=
	    (uint64_t)me + 1)
		tsr_atomic_add(block, a->bad, (uint64_t)1, me, TSR_RELAXED, TSR_SCOPE_DEVICE);
	tsr_get(block, mine, counter, sizeof(uint64_t), peer);
	tsr_atomic_add(block, mine, (uint64_t)1, me, TSR_ACQ_REL, TSR_SCOPE_BLOCK);
	tsr_put(block, counter, mine, sizeof(uint64_t), peer);
	tsr_atomic_add(block, a->inside + which * APART, ~(uint64_t)0, peer, TSR_RELAXED,
		       TSR_SCOPE_SYSTEM);
}

TSR_KERNEL(count_under_locks, count_args_t, a)
{
	int n = tsr_size(block);
	/* all go the same way round, so that they meet at each lock */
	for (int turn = 0; turn < TURNS; turn++)
		for (int i = 0; i < 2 * n; i++) {
			TSR_HEAP uint64_t *lock = a->locks + i % 2 * APART;
			tsr_wait_result_t how =
				a->until ? tsr_lock_until(block, lock, i / 2, (uint64_t)60000000000)
					 : tsr_lock(block, lock, i / 2);
			if (how != TSR_WAIT_OK)
				return;
			count_once(block, a, i % 2, i / 2);
			tsr_unlock(block, lock, i / 2);
		}
}

static int count_body(tsr_world_t *world, int argc, char **argv)
{
	const size_t pair = 2 * APART * sizeof(uint64_t);
	uint64_t words[2 * APART], locks[2 * APART], bad;
	(void)argv;
	count_args_t a = {.locks = zeroed(world, pair, "locks"),
			  .counters = zeroed(world, pair, "counters"),
			  .mine = poisoned(world, BLOCKS * APART * sizeof(uint64_t), "mine"),
			  .inside = zeroed(world, pair, "inside"),
			  .bad = zeroed(world, 8, "bad"),
			  .until = argc > 1};
	const uint64_t all = (uint64_t)(TURNS * BLOCKS * tsr_world_size(world));
	CHECK(a.locks && a.counters && a.mine && a.inside && a.bad);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &count_under_locks, BLOCKS, &a) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, words, a.counters, sizeof words) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, locks, a.locks, sizeof locks) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, &bad, a.bad, sizeof bad) == TSR_OK);
	CHECK(bad == 0, "%llu times two had one lock, or one who had not taken it",
	      (unsigned long long)bad);
	CHECK(words[0] == all && words[APART] == all, "%llu and %llu of %llu",
	      (unsigned long long)words[0], (unsigned long long)words[APART],
	      (unsigned long long)all);
	CHECK(locks[0] == 0 && locks[APART] == 0, "all locks have been given back");
	return 0;
}

Test(lock, one_at_a_time)
{
	world_each(count_body, NULL);
}

Test(lock, one_at_a_time_with_a_deadline)
{
	world_each(count_body, "until");
}

/* ------------------------------------------------------------------ a lock that is taken */

typedef struct taken_args {
	TSR_HEAP uint64_t *lock, *how; /* how: three words of mine */
} taken_args_t;

/*
 * The lock at the next rank has been taken by the host, in the name of the rank
 * before me; nobody else tries it.
 */
TSR_KERNEL(try_what_is_taken, taken_args_t, a)
{
	int me = tsr_rank(block), next = (me + 1) % tsr_size(block);
	uint64_t how[3];
	how[0] = (uint64_t)tsr_lock_until(block, a->lock, next, 2000000);
	/* in the name of the host, which holds it; partner: tsr_lock_until below */
	tsr_atomic_store(block, a->lock, (uint64_t)0, next, TSR_RELEASE, TSR_SCOPE_SYSTEM);
	how[1] = (uint64_t)tsr_lock_until(block, a->lock, next, 2000000);
	how[2] = tsr_atomic_load(block, a->lock, next, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	tsr_unlock(block, a->lock, next);
	for (int i = 0; i < 3; i++)
		tsr_atomic_store(block, a->how + i, how[i], me, TSR_RELAXED, TSR_SCOPE_BLOCK);
}

static int taken_body(tsr_world_t *world, int argc, char **argv)
{
	int me = tsr_world_rank(world), n = tsr_world_size(world), next = (me + 1) % n, found = 0;
	/* of the lock at the next rank, for me; of mine, for the one before */
	const int holder = (me + n - 1) % n;
	uint64_t how[3], word = (uint64_t)((me + 2 * n - 2) % n) + 1;
	tsr_wait_record_t record = {.size = sizeof record};
	(void)argc, (void)argv;
	taken_args_t a = {poisoned(world, sizeof word, "taken lock"),
			  poisoned(world, sizeof how, "how")};
	CHECK(a.lock && a.how);
	CHECK(tsr_memcpy_to_heap(world, a.lock, &word, sizeof word) == TSR_OK);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, &try_what_is_taken, 1, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, how, a.how, sizeof how) == TSR_OK);
	CHECK(how[0] == TSR_WAIT_EXPIRED && how[1] == TSR_WAIT_OK);
	CHECK(how[2] == (uint64_t)me + 1, "the word says who has the lock");
	for (int i = 0; tsr_wait_record(world, i, &record) == TSR_OK; i++) {
		if (record.rank != me || strcmp(record.kernel, "try_what_is_taken") != 0)
			continue;
		found++;
		CHECK(record.owner == next && record.from == holder &&
		      record.seen == (uint64_t)holder + 1);
		CHECK(strcmp(record.allocation, "taken lock") == 0 &&
		      strstr(record.site, "test_lock.c:"));
	}
	/* A world that has run other tests may have kept as many records as it keeps. */
	CHECK(found >= 1 || tsr_wait_record(world, 63, &record) == TSR_OK);
	return tsr_barrier(world) != TSR_OK;
}

Test(lock, who_keeps_one_is_named)
{
	world_each(taken_body, NULL);
}
