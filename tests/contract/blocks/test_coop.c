/* Roles of blocks, and sums over a block's shared memory. */
#include "tests/contract/contract_test.h"

/* ------------------------------------------------------------------ roles */

enum { MOST_BLOCKS = 9, MOST_ROLES = 4, ROLES_CASES = 6 };

typedef struct dealt {
	int32_t role, index, count, reserved;
} dealt_t;

typedef struct roles_args {
	TSR_HEAP dealt_t *dealt; /* of each block */
	int32_t shares[MOST_ROLES];
	int32_t roles, reserved;
} roles_args_t;

TSR_KERNEL(deal_roles, roles_args_t, a)
{
	TSR_HEAP dealt_t *mine = a->dealt + tsr_block_index(block);
	int index = -1, count = -1;
	const int role = tsr_role_of(block, a->shares, a->roles, &index, &count);
	tsr_atomic_store(block, &mine->role, role, tsr_rank(block), TSR_RELAXED, TSR_SCOPE_DEVICE);
	tsr_atomic_store(block, &mine->index, index, tsr_rank(block), TSR_RELAXED,
			 TSR_SCOPE_DEVICE);
	tsr_atomic_store(block, &mine->count, count, tsr_rank(block), TSR_RELAXED,
			 TSR_SCOPE_DEVICE);
}

/** Blocks that each role has, all of them there in order; false where they are not. */
static bool count_roles(const dealt_t *dealt, int blocks, int roles, int *counts)
{
	int last = 0;
	for (int i = 0; i < roles; i++)
		counts[i] = 0;
	for (int i = 0; i < blocks; i++) {
		if (dealt[i].role < last || dealt[i].role >= roles ||
		    dealt[i].index != counts[dealt[i].role])
			return false;
		last = dealt[i].role;
		counts[last]++;
	}
	for (int i = 0; i < blocks; i++)
		if (dealt[i].count != counts[dealt[i].role])
			return false;
	return true;
}

/** Whether so many blocks of each role are what the shares of `a` ask for. */
static bool is_fair(const roles_args_t *a, int blocks, const int *counts)
{
	int asked = 0, sharing = 0;
	for (int i = 0; i < a->roles; i++) {
		asked += a->shares[i] > 0 ? a->shares[i] : 0;
		sharing += a->shares[i] > 0;
	}
	for (int i = 0; i < a->roles; i++) {
		const int share = a->shares[i] > 0 ? a->shares[i] : 0;
		if (i + 1 < a->roles && (asked <= blocks ? counts[i] != share : counts[i] > share))
			return false;
		if (i + 1 == a->roles && asked <= blocks && counts[i] != blocks - asked + share)
			return false;
		if (share > 0 && sharing <= blocks && counts[i] < 1)
			return false;
	}
	return true;
}

static int roles_body(tsr_world_t *world, int argc, char **argv)
{
	static const int32_t shares[ROLES_CASES][1 + MOST_ROLES] = {
		{1, 0}, {2, 3, 0}, {2, 0, 4}, {3, 2, 1, 3}, {4, 1, 0, -7, 2}, {3, 4, 4, 4},
	};
	dealt_t dealt[MOST_BLOCKS];
	int counts[MOST_ROLES];
	(void)argc, (void)argv;
	TSR_HEAP dealt_t *heap = poisoned(world, sizeof dealt, "dealt");
	CHECK(heap);
	for (int i = 0; i < ROLES_CASES; i++)
		for (int blocks = 1; blocks <= MOST_BLOCKS; blocks++) {
			roles_args_t a = {.dealt = heap, .roles = shares[i][0]};
			memcpy(a.shares, shares[i] + 1, sizeof a.shares);
			CHECK(run_kernel(world, &deal_roles, blocks, &a) == TSR_OK);
			CHECK(tsr_memcpy_from_heap(world, dealt, heap, sizeof dealt) == TSR_OK);
			CHECK(count_roles(dealt, blocks, a.roles, counts), "case %d, %d blocks", i,
			      blocks);
			CHECK(is_fair(&a, blocks, counts), "case %d, %d blocks", i, blocks);
		}
	return 0;
}

Test(coop, blocks_are_dealt_to_roles)
{
	world_each(roles_body, NULL);
}

/* ------------------------------------------------------------------ prefix sums */

enum { WORKERS = 3, COOPS = 1 + WORKERS, MOST_VALUES = 1031, BLOCKS = 2 };

typedef struct summed {
	int32_t once[MOST_VALUES], twice[MOST_VALUES]; /* the sums, and the sums of the sums */
	int32_t all_once, all_twice;
} summed_t;

typedef struct sums_pad {
	int32_t of_block[MOST_VALUES], of_worker[WORKERS][MOST_VALUES];
} sums_pad_t;

typedef struct sums_args {
	TSR_HEAP int32_t *from;  /* the values of each block's coops: the block, then its workers */
	TSR_HEAP summed_t *sums; /* of each block's coops */
	int32_t count, reserved; /* of values of the block; its workers have 0, 1, 2 more */
} sums_args_t;

/**
 * Values come from the next rank; what the coop's threads lay down and take up
 * is apart by the meetings of the sums alone.
 */
TSR_FN void sum_twice(tsr_coop_t *coop, const sums_args_t *a, int which, int32_t *values, int count)
{
	const int rank = tsr_rank(coop), place = tsr_block_index(coop) * COOPS + which;
	TSR_HEAP summed_t *sums = a->sums + place;
	const tsr_view_t held = tsr_view_shared(values, TSR_I32, 1, count, count);
	if (count > 0)
		tsr_get_2d(coop, held,
			   tsr_view(a->from + place * MOST_VALUES, TSR_I32, 1, count, count),
			   (rank + 1) % tsr_size(coop));
	const int32_t once = tsr_coop_scan(coop, values, count);
	if (count > 0)
		tsr_put_2d(coop, tsr_view(sums->once, TSR_I32, 1, count, count), held, rank);
	const int32_t twice = tsr_coop_scan(coop, values, count);
	if (count > 0)
		tsr_put_2d(coop, tsr_view(sums->twice, TSR_I32, 1, count, count), held, rank);
	tsr_atomic_store(coop, &sums->all_once, once, rank, TSR_RELAXED, TSR_SCOPE_DEVICE);
	tsr_atomic_store(coop, &sums->all_twice, twice, rank, TSR_RELAXED, TSR_SCOPE_DEVICE);
}

TSR_KERNEL_SPLIT(sum_shared, WORKERS, sums_pad_t, sums_args_t, a)
{
	const int me = tsr_worker_index(worker);
	sum_twice(block, a, 0, shared->of_block, a->count);
	sum_twice(worker, a, 1 + me, shared->of_worker[me], a->count + me);
}

TSR_KERNEL_SPLIT(sum_shared_alone, 1, sums_pad_t, sums_args_t, a)
{
	sum_twice(block, a, 0, shared->of_block, a->count);
	sum_twice(worker, a, 1, shared->of_worker[0], a->count);
}

/** Of every sign and size, so that sums wrap around. */
static int32_t value_of(int rank, int count, int i)
{
	uint64_t mixed = ((uint64_t)rank * 1000003 + (uint64_t)count * 4099 + (uint64_t)i + 1) *
			 UINT64_C(0x9e3779b97f4a7c15);
	return (int32_t)(uint32_t)(mixed >> 24);
}

/** Whether `sums` are those of values, and `all` what they sum up to. */
static bool are_sums(const int32_t *values, const int32_t *sums, int32_t all, int count)
{
	uint32_t sum = 0;
	for (int i = 0; i < count; i++) {
		if (sums[i] != (int32_t)sum)
			return false;
		sum += (uint32_t)values[i];
	}
	for (int i = count; i < MOST_VALUES; i++) /* nobody touches what is behind them */
		if (sums[i] != POISON * 0x01010101)
			return false;
	return all == (int32_t)sum;
}

static int sum_case(tsr_world_t *world, const sums_args_t *a, int workers)
{
	static const char *const names[] = {"block", "worker 0", "worker 1", "worker 2"};
	int32_t values[MOST_VALUES];
	summed_t sums;
	const int next = (tsr_world_rank(world) + 1) % tsr_world_size(world);
	for (int place = 0; place < BLOCKS * COOPS; place++) {
		const int which = place % COOPS,
			  count = a->count + (workers > 1 && which > 0 ? which - 1 : 0);
		if (which > workers)
			continue;
		for (int i = 0; i < MOST_VALUES; i++)
			values[i] = value_of(next, a->count, place * MOST_VALUES + i);
		CHECK(tsr_memcpy_from_heap(world, &sums, a->sums + place, sizeof sums) == TSR_OK);
		CHECK(are_sums(values, sums.once, sums.all_once, count), "%d values of %s of %d",
		      count, names[which], workers);
		CHECK(are_sums(sums.once, sums.twice, sums.all_twice, count), "%d sums of %s of %d",
		      count, names[which], workers);
	}
	return 0;
}

static int sums_body(tsr_world_t *world, int argc, char **argv)
{
	static const int counts[] = {0, 1, 2, 3, 31, 64, 65, 127, 128, 383, 385, 512, 641, 1029};
	const size_t bytes = sizeof(int32_t) * BLOCKS * COOPS * MOST_VALUES;
	(void)argc, (void)argv;
	sums_args_t a = {.from = poisoned(world, bytes, "values"),
			 .sums = poisoned(world, BLOCKS * COOPS * sizeof(summed_t), "sums")};
	CHECK(a.from && a.sums);
	for (size_t i = 0; i < 2 * sizeof counts / sizeof *counts; i++) {
		const int workers = i % 2 ? 1 : WORKERS;
		a.count = counts[i / 2];
		int32_t *mine = (int32_t *)malloc(bytes);
		CHECK(mine);
		for (int j = 0; j < BLOCKS * COOPS * MOST_VALUES; j++)
			mine[j] = value_of(tsr_world_rank(world), a.count, j);
		CHECK(tsr_memcpy_to_heap(world, a.from, mine, bytes) == TSR_OK);
		free(mine);
		CHECK(tsr_memset_heap(world, a.sums, POISON, BLOCKS * COOPS * sizeof(summed_t)) ==
		      TSR_OK);
		CHECK(tsr_barrier(world) == TSR_OK);
		CHECK(run_kernel(world, workers > 1 ? &sum_shared : &sum_shared_alone, BLOCKS,
				 &a) == TSR_OK);
		CHECK(sum_case(world, &a, workers) == 0);
		CHECK(tsr_barrier(world) == TSR_OK);
	}
	return 0;
}

Test(coop, shared_values_are_summed_up)
{
	world_each(sums_body, NULL);
}
