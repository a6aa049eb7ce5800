/*
 * Litmus tests of whole blocks: what all threads of a block do together, and
 * one of them then says. Every rank sends 128 KiB to the next, round after
 * round; all threads put them and all threads fetch them, in blocks of as many
 * warps as the port has. The host looks at every word of every round. What the
 * API promises of a block as if it were one thread has to hold between its
 * threads.
 */
#include "tests/contract/contract_test.h"

enum { ROUNDS = 8, WORDS = 16384, LATEST = 1024, MANY = 16 * WORDS, WORKERS = 4, RUNS = 20 };
#define LOOKS ((uint64_t)1 << 26)
#define LATE_NS 20000000u

typedef struct block_args {
	TSR_HEAP uint64_t *numbers; /* WORDS a round, mine */
	TSR_HEAP uint64_t *inbox;   /* WORDS, from the rank before */
	TSR_HEAP uint64_t *kept;    /* WORDS a round: what has come */
	TSR_HEAP uint64_t *ready;   /* at the receiver: the round that has come */
	TSR_HEAP uint64_t *retired; /* at the sender: the round that was kept */
	int64_t words;              /* of a round, where the block shifts them: WORDS or MANY */
	uint64_t late_ns;           /* how late one worker puts */
} block_args_t;

TSR_FN int next_rank(tsr_coop_t *coop)
{
	return (tsr_rank(coop) + 1) % tsr_size(coop);
}

TSR_FN int rank_before(tsr_coop_t *coop)
{
	return (tsr_rank(coop) + tsr_size(coop) - 1) % tsr_size(coop);
}

/**
 * All threads put, when the round before was kept. Partner: the signal in keep.
 * Litmus: LB.retired.diffGPU-ss.
 */
TSR_FN int send(tsr_coop_t *block, const block_args_t *a, uint64_t round)
{
	int how = tsr_wait(block, a->retired, round - 1, next_rank(block));
	if (how == TSR_WAIT_OK)
		tsr_put(block, a->inbox, a->numbers + (round - 1) * WORDS, WORDS * sizeof(uint64_t),
			next_rank(block));
	return how == TSR_WAIT_OK;
}

/** All threads fetch. Partner: the wait in send. Litmus: MP.reuse.diffGPU-ss. */
TSR_FN void keep(tsr_coop_t *block, const block_args_t *a, uint64_t round)
{
	tsr_put(block, a->kept + (round - 1) * WORDS, a->inbox, WORDS * sizeof(uint64_t),
		tsr_rank(block));
	tsr_signal(block, a->retired, round, TSR_SIGNAL_SET, rank_before(block));
}

typedef struct nothing_shared {
	uint64_t unused;
} nothing_shared_t;

/* Looks until the round has come, with this order; a bound, so that nothing hangs. */
#define LOOK(order_)                                                                              \
	for (uint64_t looks = 0;                                                                  \
	     looks < LOOKS &&                                                                     \
	     tsr_atomic_load(block, a->ready, tsr_rank(block), order_, TSR_SCOPE_SYSTEM) < round; \
	     looks++) {                                                                           \
	}
#define STORE(order_) \
	tsr_atomic_store(block, a->ready, round, next_rank(block), order_, TSR_SCOPE_SYSTEM)
#define FENCE(order_) tsr_fence(block, order_, TSR_SCOPE_SYSTEM)

/*
 * How the sender says that all is there, and how the receiver learns it: in a
 * usual block, and in one as wide as there are.
 */
#define PASS(name_, say_, learn_)                \
	PASS_BY(TSR_KERNEL, name_, say_, learn_) \
	PASS_BY(TSR_KERNEL_WIDE, wide_##name_, say_, learn_)
#define PASS_BY(kind_, name_, say_, learn_)                          \
	kind_(name_, block_args_t, a)                                \
	{                                                            \
		for (uint64_t round = 1; round <= ROUNDS; round++) { \
			if (!send(block, a, round))                  \
				return;                              \
			say_;                                        \
			learn_;                                      \
			keep(block, a, round);                       \
		}                                                    \
	}

/*
 * Litmus: MP.frel.facq.diffGPU-ss: a fence is the block's, and covers what all
 * its threads have put or will fetch.
 */
PASS(by_fences, FENCE(TSR_RELEASE); STORE(TSR_RELAXED), LOOK(TSR_RELAXED) FENCE(TSR_ACQUIRE))
PASS(by_full_fences, FENCE(TSR_SEQ_CST); STORE(TSR_RELAXED), LOOK(TSR_RELAXED) FENCE(TSR_ACQ_REL))
/* Litmus: MP.rel.acq.diffGPU-ss. */
PASS(by_accesses, STORE(TSR_RELEASE), LOOK(TSR_ACQUIRE))
PASS(by_release_and_fence, STORE(TSR_RELEASE), LOOK(TSR_RELAXED) FENCE(TSR_ACQUIRE))

/*
 * Each worker puts and fetches its part; the block's fence covers what all of
 * them did. Litmus: MP.frel.facq.diffGPU-ss. The last worker of rank 0 puts
 * late: until its deadline, or until the next rank has kept the round. If the
 * fence does not wait for this worker, the next rank keeps an old part. Partner
 * of that wait, and of the block's: the signal of the next rank at the round's
 * end. Litmus: LB.retired.diffGPU-ss.
 */
TSR_KERNEL_SPLIT(by_fences_of_workers, WORKERS, nothing_shared_t, block_args_t, a)
{
	const int part = WORDS / WORKERS, first = tsr_worker_index(worker) * part;
	(void)shared;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		if (tsr_wait(block, a->retired, round - 1, next_rank(block)) != TSR_WAIT_OK)
			return;
		if (a->late_ns && tsr_rank(worker) == 0 && tsr_worker_index(worker) == WORKERS - 1)
			tsr_wait_until(worker, a->retired, round, next_rank(worker), a->late_ns);
		tsr_put(worker, a->inbox + first, a->numbers + (round - 1) * WORDS + first,
			(size_t)part * sizeof(uint64_t), next_rank(worker));
		FENCE(TSR_RELEASE);
		STORE(TSR_RELAXED);
		LOOK(TSR_RELAXED)
		FENCE(TSR_ACQUIRE);
		tsr_put(worker, a->kept + (round - 1) * WORDS + first, a->inbox + first,
			(size_t)part * sizeof(uint64_t), tsr_rank(worker));
		tsr_signal(block, a->retired, round, TSR_SIGNAL_SET, rank_before(block));
	}
}

/*
 * The block gets numbers of the next rank into its inbox, and hands on what
 * stands one word further: to each thread what another one has got. Between the
 * two the block has to meet. Where it does not, a block of several warps shows
 * it: the words that were got last are handed on first, and among many words
 * the warps drift apart.
 */
#define SHIFT(kind_, name_, meet_)                                                        \
	kind_(name_, block_args_t, a)                                                     \
	{                                                                                 \
		const int64_t words = a->words, earlier = words - LATEST;                 \
		for (int64_t first = 0; first < ROUNDS * words; first += words) {         \
			tsr_get(block, a->inbox, a->numbers + first,                      \
				(size_t)words * sizeof(uint64_t), next_rank(block));      \
			meet_;                                                            \
			tsr_put(block, a->kept + first + earlier, a->inbox + earlier + 1, \
				(LATEST - 1) * sizeof(uint64_t), tsr_rank(block));        \
			tsr_put(block, a->kept + first, a->inbox + 1,                     \
				(size_t)earlier * sizeof(uint64_t), tsr_rank(block));     \
			tsr_sync(block); /* the inbox was read, and may be got anew */    \
		}                                                                         \
	}
SHIFT(TSR_KERNEL, shift_met, tsr_sync(block))
SHIFT(TSR_KERNEL_WIDE, wide_shift_met, tsr_sync(block))
SHIFT(TSR_KERNEL, shift_unmet, (void)0)
SHIFT(TSR_KERNEL_WIDE, wide_shift_unmet, (void)0)

/* ------------------------------------------------------------------ the host's half */

static uint64_t number_of(int rank, uint64_t round, uint64_t i)
{
	return (round + 1) << 40 | (uint64_t)(rank + 1) << 32 | i;
}

static int allocate(tsr_world_t *world, block_args_t *a)
{
	const size_t round = (size_t)a->words * sizeof(uint64_t), all = ROUNDS * round;
	uint64_t *numbers = (uint64_t *)malloc(all);
	a->numbers = poisoned(world, all, "numbers");
	a->inbox = poisoned(world, round, "inbox");
	a->kept = poisoned(world, all, "kept");
	a->ready = zeroed(world, sizeof(uint64_t), "ready");
	a->retired = zeroed(world, sizeof(uint64_t), "retired");
	CHECK(numbers && a->numbers && a->inbox && a->kept && a->ready && a->retired);
	for (int64_t i = 0; i < ROUNDS * a->words; i++)
		numbers[i] = number_of(tsr_world_rank(world), (uint64_t)(i / a->words),
				       (uint64_t)(i % a->words));
	CHECK(tsr_memcpy_to_heap(world, a->numbers, numbers, all) == TSR_OK);
	free(numbers);
	return 0;
}

static int give_back(tsr_world_t *world, const block_args_t *a)
{
	CHECK(tsr_heap_free(world, a->numbers) == TSR_OK &&
	      tsr_heap_free(world, a->inbox) == TSR_OK);
	CHECK(tsr_heap_free(world, a->kept) == TSR_OK && tsr_heap_free(world, a->ready) == TSR_OK);
	CHECK(tsr_heap_free(world, a->retired) == TSR_OK);
	return 0;
}

/** What one run of a kernel is to do. */
typedef struct block_run {
	const tsr_kernel_t *kernel;
	int from;       /* whose numbers must come, */
	uint64_t shift; /* so many words further */
	int64_t words;  /* of a round */
} block_run_t;

/** `tessera check` tries every order anyway, and calls a wait that only time ends a deadlock. */
static uint64_t late_ns(void)
{
	return getenv("TESSERA_CHECK") ? 0 : LATE_NS;
}

/** Runs a kernel, and counts the words that are not as they must be. */
static int run_one(tsr_world_t *world, const block_run_t *run, uint64_t *wrong_out)
{
	const uint64_t words = (uint64_t)run->words, all = ROUNDS * words;
	uint64_t *kept = (uint64_t *)malloc((size_t)all * sizeof *kept);
	block_args_t a = {.words = run->words, .late_ns = late_ns()};
	CHECK(kept && allocate(world, &a) == 0);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, run->kernel, 1, &a) == TSR_OK, "%s", run->kernel->name);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, kept, a.kept, (size_t)all * sizeof *kept) == TSR_OK);
	*wrong_out = 0;
	for (uint64_t i = 0; i < all; i++)
		*wrong_out += i % words + run->shift < words &&
			      kept[i] != number_of(run->from, i / words, i % words + run->shift);
	free(kept);
	return give_back(world, &a);
}

/** No word of any of these kernels is wrong. Those that are wide are no others on the emulator. */
static int run_right(tsr_world_t *world, const tsr_kernel_t *const *kernels, size_t count, int from,
		     uint64_t shift)
{
	for (size_t i = 0; i < count; i++) {
		const block_run_t run = {kernels[i], from, shift, WORDS};
		uint64_t wrong = 0;
		const bool same = world_has_threads() && strncmp(kernels[i]->name, "wide_", 5) == 0;
		if (!same && run_one(world, &run, &wrong) != 0)
			return 1;
		CHECK(wrong == 0, "%s: %llu words were not of their round", kernels[i]->name,
		      (unsigned long long)wrong);
	}
	return 0;
}

static int passed_body(tsr_world_t *world, int argc, char **argv)
{
	const tsr_kernel_t *const kernels[] = {&by_fences,        &by_full_fences,
					       &by_accesses,      &by_release_and_fence,
					       &wide_by_fences,   &wide_by_full_fences,
					       &wide_by_accesses, &wide_by_release_and_fence};
	const int ranks = tsr_world_size(world);
	(void)argc, (void)argv;
	return run_right(world, kernels, sizeof kernels / sizeof *kernels,
			 (tsr_world_rank(world) + ranks - 1) % ranks, 0);
}

Test(blocks, fences_order_what_all_threads_have_put)
{
	world_each(passed_body, NULL);
}

static int workers_body(tsr_world_t *world, int argc, char **argv)
{
	const tsr_kernel_t *const kernels[] = {&by_fences_of_workers};
	const int ranks = tsr_world_size(world);
	(void)argc, (void)argv;
	return run_right(world, kernels, 1, (tsr_world_rank(world) + ranks - 1) % ranks, 0);
}

Test(blocks, a_fence_of_the_block_covers_its_workers)
{
	world_each(workers_body, NULL);
}

static int met_body(tsr_world_t *world, int argc, char **argv)
{
	const tsr_kernel_t *const kernels[] = {&shift_met, &wide_shift_met};
	(void)argc, (void)argv;
	return run_right(world, kernels, 2, (tsr_world_rank(world) + 1) % tsr_world_size(world), 1);
}

Test(blocks, a_block_that_meets_hands_on_what_its_threads_have_got)
{
	world_each(met_body, NULL);
}

/**
 * On the emulator a block is one thread, and only `tessera check` can tell: it
 * reports a coop-race. A GPU shows it (argv[1]).
 */
static int unmet_body(tsr_world_t *world, int argc, char **argv)
{
	const tsr_kernel_t *const kernels[] = {&shift_unmet, &wide_shift_unmet};
	const int from = (tsr_world_rank(world) + 1) % tsr_world_size(world),
		  runs = argc > 1 ? RUNS : 1;
	(void)argv;
	for (int i = 0; i < 2; i++) {
		const block_run_t one = {kernels[i], from, 1, argc > 1 ? MANY : WORDS};
		int seen = 0;
		for (int run = 0; run < runs; run++) {
			uint64_t wrong;
			if (run_one(world, &one, &wrong) != 0)
				return 1;
			seen += wrong > 0;
		}
		if (argc > 1)
			fprintf(stderr, "%s: wrong in %d of %d runs\n", kernels[i]->name, seen,
				runs);
		CHECK(argc == 1 || seen > 0,
		      "%s: a block that does not meet went right, so this test sees nothing",
		      kernels[i]->name);
	}
	return 0;
}

/**
 * With its twin above this shows that a block of several warps can go wrong,
 * and that the test would see it.
 */
Test(blocks, one_that_does_not_meet_is_seen_on_a_gpu)
{
	if (!world_checked(unmet_body, NULL))
		cr_expect(world_run(2, TSR_PLACE_PROCESS, unmet_body,
				    world_has_threads() ? NULL : "show") == 0,
			  "2 ranks");
}
