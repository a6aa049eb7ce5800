/*
 * What can be on the device at one time: hundreds of blocks that wait for each
 * other, groups, and more blocks than fit.
 */
#include "tests/contract/ended_world.h"

typedef struct chain_args {
	TSR_HEAP uint64_t *flags;
	uint64_t turns;
} chain_args_t;

/*
 * Each block waits for the one after it, the last begins, and so around: every
 * block has to be resident at one time.
 */
TSR_KERNEL(chain, chain_args_t, a)
{
	int me = tsr_block_index(block), n = tsr_block_count(block);
	for (uint64_t turn = 1; turn <= a->turns; turn++) {
		uint64_t needed = me == n - 1 ? turn - 1 : turn;
		if (tsr_wait_local(block, a->flags + (me + 1) % n, needed, TSR_SCOPE_DEVICE) !=
		    TSR_WAIT_OK)
			return;
		tsr_signal_local(block, a->flags + me, turn, TSR_SCOPE_DEVICE);
	}
}

enum { CHAIN = 300 };

static int chain_body(tsr_world_t *world, int argc, char **argv)
{
	uint64_t seen[CHAIN];
	(void)argc, (void)argv;
	chain_args_t a = {zeroed(world, sizeof seen, "flags"), 3};
	CHECK(a.flags);
	CHECK(run_kernel(world, &chain, CHAIN, &a) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, seen, a.flags, sizeof seen) == TSR_OK);
	for (int i = 0; i < CHAIN; i++)
		CHECK(seen[i] == a.turns, "block %d", i);
	return 0;
}

Test(residency, a_chain_of_300_blocks)
{
	setenv("TESSERA_CPUEMU_RESIDENT_BLOCKS", "300", 1);
	cr_expect(world_run(1, TSR_PLACE_THREAD, chain_body, NULL) == 0);
#ifndef WORLD_THREADS_ONLY
	cr_expect(world_run(2, TSR_PLACE_PROCESS, chain_body, NULL) == 0);
#endif
}

/* One block too few: the chain cannot close, and says so instead of hanging. */
static int too_few_body(tsr_world_t *world, int argc, char **argv)
{
	(void)argc, (void)argv;
	chain_args_t a = {zeroed(world, 5 * sizeof(uint64_t), "flags"), 1};
	CHECK(a.flags);
	CHECK(run_kernel(world, &chain, 5, &a) == TSR_ERR_TIMEOUT);
	CHECK(strstr(tsr_last_error(), "not resident"));
	return witness();
}

Test(residency, waiting_for_a_block_that_is_not_resident)
{
	setenv("TESSERA_CPUEMU_RESIDENT_BLOCKS", "4", 1);
	short_deadline();
	ended_both(1, too_few_body, NULL, "a block too few");
}

/* ------------------------------------------------------------------ groups */

typedef struct half_args {
	TSR_HEAP uint64_t *arrived;
	uint64_t all;
} half_args_t;

/* Every block of both kernels waits for every other. */
TSR_KERNEL(half, half_args_t, a)
{
	tsr_signal(block, a->arrived, 1, TSR_SIGNAL_ADD, tsr_rank(block));
	tsr_wait(block, a->arrived, a->all, tsr_rank(block));
}

typedef struct tally_args {
	TSR_HEAP uint64_t *now, *most, *total;
} tally_args_t;

/* Notes how many blocks are inside at one time. */
TSR_KERNEL(tally, tally_args_t, a)
{
	int me = tsr_rank(block);
	uint64_t inside =
		1 + tsr_atomic_add(block, a->now, (uint64_t)1, me, TSR_RELAXED, TSR_SCOPE_DEVICE);
	tsr_atomic_max(block, a->most, inside, me, TSR_RELAXED, TSR_SCOPE_DEVICE);
	tsr_wait_until(block, a->total + 1, 1, me, 300000);
	tsr_atomic_add(block, a->now, (uint64_t)-1, me, TSR_RELAXED, TSR_SCOPE_DEVICE);
	tsr_atomic_add(block, a->total, (uint64_t)1, me, TSR_RELAXED, TSR_SCOPE_DEVICE);
}

/*
 * Holds its part of the device for a while, then notes how many blocks of the
 * group have begun before there was room for all.
 */
TSR_KERNEL(occupy, tally_args_t, a)
{
	int me = tsr_rank(block);
	tsr_wait_until(block, a->total + 1, 1, me, 50000000);
	tsr_atomic_add(block, a->most,
		       tsr_atomic_load(block, a->now, me, TSR_RELAXED, TSR_SCOPE_DEVICE), me,
		       TSR_RELAXED, TSR_SCOPE_DEVICE);
}

static int group_body(tsr_world_t *world, int argc, char **argv)
{
	tsr_stream_t *s[2];
	uint64_t words[4];
	(void)argc, (void)argv;
	TSR_HEAP uint64_t *heap = zeroed(world, sizeof words, "words");
	CHECK(heap);
	CHECK(tsr_stream_create(tsr_world_team(world), &s[0]) == TSR_OK &&
	      tsr_stream_create(tsr_world_team(world), &s[1]) == TSR_OK);
	half_args_t h = {heap, 10};
	tsr_launch_desc_t too_big[] = {TSR_LAUNCH_DESC(s[0], &half, 5, &h),
				       TSR_LAUNCH_DESC(s[1], &half, 6, &h)},
			  behind[] = {TSR_LAUNCH_DESC(s[0], &half, 1, &h),
				      TSR_LAUNCH_DESC(s[0], &half, 1, &h)};
	CHECK(tsr_launch_group(too_big, 2) == TSR_ERR_RESIDENCY);
	CHECK(strstr(tsr_last_error(), "11 blocks") && strstr(tsr_last_error(), "10 can"));
	CHECK(tsr_launch_group(behind, 2) == TSR_ERR_ARGUMENT,
	      "two launches of one group on one stream");
	CHECK(tsr_stream_sync(s[0]) == TSR_OK && tsr_stream_sync(s[1]) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, words, heap, sizeof words) == TSR_OK);
	CHECK(words[0] == 0, "nothing was started");

	tally_args_t t = {.now = heap, .most = heap + 1, .total = heap + 2};
	tsr_stream_t *third;
	CHECK(tsr_stream_create(tsr_world_team(world), &third) == TSR_OK);
	tsr_launch_desc_t fits[] = {TSR_LAUNCH_DESC(s[0], &half, 5, &h),
				    TSR_LAUNCH_DESC(s[1], &half, 5, &h)};
	CHECK(tsr_launch(third, &occupy, 5, &t) == TSR_OK);
	CHECK(tsr_launch_group(fits, 2) == TSR_OK);
	CHECK(tsr_stream_sync(s[0]) == TSR_OK && tsr_stream_sync(s[1]) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, words, heap, sizeof words) == TSR_OK);
	CHECK(words[0] == 10);
	CHECK(words[1] == 0, "some began before all could");
	CHECK(tsr_stream_destroy(third) == TSR_OK);
	CHECK(tsr_stream_destroy(s[0]) == TSR_OK && tsr_stream_destroy(s[1]) == TSR_OK);
	return 0;
}

Test(residency, a_group_is_resident_together_or_not_started)
{
	setenv("TESSERA_CPUEMU_RESIDENT_BLOCKS", "10", 1);
	cr_expect(world_run(1, TSR_PLACE_THREAD, group_body, NULL) == 0);
	cr_expect(world_run(3, TSR_PLACE_THREAD, group_body, NULL) == 0);
}

static int limit_body(tsr_world_t *world, int argc, char **argv)
{
	uint64_t words[4];
	(void)argc, (void)argv;
	TSR_HEAP uint64_t *heap = zeroed(world, sizeof words, "words");
	CHECK(heap);
	tally_args_t t = {heap, heap + 1, heap + 2};
	CHECK(run_kernel(world, &tally, 50, &t) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, words, heap, sizeof words) == TSR_OK);
	CHECK(words[0] == 0 && words[2] == 50);
	CHECK(words[1] >= 1 && words[1] <= 3, "%llu were resident", (unsigned long long)words[1]);
	return 0;
}

Test(residency, never_more_than_the_limit)
{
	setenv("TESSERA_CPUEMU_RESIDENT_BLOCKS", "3", 1);
	cr_expect(world_run(2, TSR_PLACE_THREAD, limit_body, NULL) == 0);
}
