/*
 * Litmus tests of the operations of the device API: what stands in .litmus
 * files for single accesses, here against the headers that kernels are compiled
 * with. Every rank sends to the next, round after round, through one buffer; a
 * word that is not of its own round, older or newer, is counted. Few words are
 * looked at, far apart: moving all of them takes long, so that what overtakes
 * is seen.
 */
#include "tests/contract/contract_test.h"

enum {
	ROUNDS = 40,
	WORDS = 40,
	APART = 128,
	LENGTH = WORDS * APART,
	BLOCKS = 3,
	WORKERS = 4,
	MOST_RANKS = 8
};

typedef struct ring_args {
	TSR_HEAP uint64_t *outbox;  /* LENGTH, mine: word i at i * APART */
	TSR_HEAP uint64_t *inbox;   /* LENGTH for each rank: from the last one, or from each */
	TSR_HEAP uint64_t *kept;    /* LENGTH, mine: what was fetched */
	TSR_HEAP uint64_t *ready;   /* "the data is there" */
	TSR_HEAP uint64_t *retired; /* "the buffer may be written again" */
	TSR_HEAP uint64_t *arrived; /* blocks that have come to the end of a round */
	TSR_HEAP uint64_t *wrong;   /* words that were not of their round */
	TSR_HEAP tsr_barrier_state_t *barrier;
} ring_args_t;

/** What word `i` of rank `rank` holds in a round. */
TSR_FN uint64_t word_of(int rank, uint64_t round, int i)
{
	return round << 32 | (uint64_t)rank << 16 | (uint64_t)i;
}

TSR_FN int next_rank(tsr_coop_t *coop)
{
	return (tsr_rank(coop) + 1) % tsr_size(coop);
}

TSR_FN int last_rank(tsr_coop_t *coop)
{
	return (tsr_rank(coop) + tsr_size(coop) - 1) % tsr_size(coop);
}

/**
 * Words `begin` to `end` of mine. Relaxed: whoever reads them has synchronised
 * with what follows.
 */
TSR_FN void fill(tsr_coop_t *coop, TSR_HEAP uint64_t *words, uint64_t round, int begin, int end)
{
	int me = tsr_rank(coop);
	for (int i = begin; i < end; i++)
		tsr_atomic_store(coop, words + i * APART, word_of(me, round, i), me, TSR_RELAXED,
				 TSR_SCOPE_BLOCK);
	tsr_sync(coop);
}

TSR_FN void check(tsr_coop_t *coop, const ring_args_t *a, TSR_HEAP uint64_t *words, int from,
		  uint64_t round)
{
	uint64_t wrong = 0;
	int me = tsr_rank(coop);
	for (int i = WORDS - 1; i >= 0; i--) /* what is moved last is looked at first */
		wrong += tsr_atomic_load(coop, words + i * APART, me, TSR_RELAXED,
					 TSR_SCOPE_BLOCK) != word_of(from, round, i);
	if (wrong > 0)
		tsr_atomic_add(coop, a->wrong, wrong, me, TSR_RELAXED, TSR_SCOPE_DEVICE);
}

/**
 * The buffer at the next rank may be written: its RETIRED of the round before.
 * Litmus: LB.retired.diffGPU-ss.
 */
TSR_FN int may_send(tsr_coop_t *coop, const ring_args_t *a, uint64_t round)
{
	return tsr_wait(coop, a->retired, round - 1, next_rank(coop)) == TSR_WAIT_OK;
}

/**
 * Waits for READY, checks the inbox and retires it. Litmus:
 * MP.rel.acq.diffGPU-ss, MP.reuse.diffGPU-ss.
 */
TSR_FN int receive(tsr_coop_t *coop, const ring_args_t *a, uint64_t round)
{
	int last = last_rank(coop);
	if (tsr_wait(coop, a->ready, round, last) != TSR_WAIT_OK)
		return 0;
	check(coop, a, a->inbox, last, round);
	tsr_signal(coop, a->retired, round, TSR_SIGNAL_SET, last);
	return 1;
}

/* ------------------------------------------------------------------ moving and signalling */

TSR_KERNEL(put_then_signal, ring_args_t, a)
{
	int sound = 1;
	for (uint64_t round = 1; round <= ROUNDS && sound; round++) {
		sound = may_send(block, a, round);
		fill(block, a->outbox, round, 0, WORDS);
		tsr_put(block, a->inbox, a->outbox, LENGTH * sizeof *a->outbox, next_rank(block));
		tsr_signal(block, a->ready, round, TSR_SIGNAL_SET, next_rank(block));
		sound = sound && receive(block, a, round);
	}
}

/*
 * The reader moves the data: READY lets it, RETIRED lets the writer go on.
 * Litmus: MP.reuse.diffGPU-ss.
 */
TSR_KERNEL(signal_then_get, ring_args_t, a)
{
	int last = last_rank(block);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		if (!may_send(block, a, round))
			return;
		fill(block, a->outbox, round, 0, WORDS);
		tsr_signal(block, a->ready, round, TSR_SIGNAL_SET, next_rank(block));
		if (tsr_wait(block, a->ready, round, last) != TSR_WAIT_OK)
			return;
		tsr_get(block, a->kept, a->outbox, LENGTH * sizeof *a->outbox, last);
		tsr_signal(block, a->retired, round, TSR_SIGNAL_SET, last);
		check(block, a, a->kept, last, round);
	}
}

TSR_KERNEL(put_signal, ring_args_t, a)
{
	int sound = 1;
	for (uint64_t round = 1; round <= ROUNDS && sound; round++) {
		sound = may_send(block, a, round);
		fill(block, a->outbox, round, 0, WORDS);
		tsr_put_signal(block, a->inbox, a->outbox, LENGTH * sizeof *a->outbox, a->ready,
			       round, TSR_SIGNAL_SET, next_rank(block));
		sound = sound && receive(block, a, round);
	}
}

/** A tile in the block's shared memory, which a backend may move by its copy engine. */
typedef struct stage {
	uint64_t words[WORDS] __attribute__((aligned(128)));
} stage_t;

/* The signal is an access of the generic path: it must come after what the engine has written. */
TSR_KERNEL_SPLIT(stage_then_signal, WORKERS, stage_t, ring_args_t, a)
{
	tsr_view_t from = tsr_view_shared(shared->words, TSR_I64, WORDS, 1, 1);
	tsr_view_t to = tsr_view(a->inbox, TSR_I64, WORDS, 1, APART);
	int sound = 1, me = tsr_rank(block);
	(void)worker;
	for (uint64_t round = 1; round <= ROUNDS && sound; round++) {
		sound = may_send(block, a, round);
		for (int i = 0; i < WORDS; i++)
			tsr_atomic_store(block, shared->words + i, word_of(me, round, i), me,
					 TSR_RELAXED, TSR_SCOPE_BLOCK);
		tsr_sync(block);
		tsr_put_2d(block, to, from, next_rank(block));
		tsr_signal(block, a->ready, round, TSR_SIGNAL_SET, next_rank(block));
		tsr_sync(block); /* the stage is read before it is filled again */
		sound = sound && receive(block, a, round);
	}
}

/* ------------------------------------------------------------------ one releases for many */

/*
 * Each worker puts its part; after the block has met, the one with the shortest
 * signals for all. Litmus: ISA2.ra.WG+SYS-ws.
 */
TSR_KERNEL_SPLIT(neighbours_then_signal, WORKERS, stage_t, ring_args_t, a)
{
	int index = tsr_worker_index(worker), share = (WORDS - 1) / (WORKERS - 1), sound = 1;
	int begin = index == 0 ? 0 : 1 + (index - 1) * share, end = 1 + index * share;
	(void)shared;
	for (uint64_t round = 1; round <= ROUNDS && sound; round++) {
		sound = may_send(block, a, round);
		fill(worker, a->outbox, round, begin, end);
		tsr_put(worker, a->inbox + begin * APART, a->outbox + begin * APART,
			(size_t)((end - begin) * APART) * sizeof *a->outbox, next_rank(worker));
		tsr_sync(block);
		if (index == 0)
			tsr_signal(worker, a->ready, round, TSR_SIGNAL_SET, next_rank(worker));
		sound = sound && receive(block, a, round);
	}
}

/*
 * Each block puts its part and counts itself; the last to come signals for all.
 * Litmus: ISA2.rmw.GPU+SYS-as.
 */
TSR_KERNEL(blocks_then_signal, ring_args_t, a)
{
	int me = tsr_rank(block), index = tsr_block_index(block), sound = 1;
	int begin = WORDS * index / BLOCKS, end = WORDS * (index + 1) / BLOCKS;
	for (uint64_t round = 1; round <= ROUNDS && sound; round++) {
		sound = may_send(block, a, round);
		fill(block, a->outbox, round, begin, end);
		tsr_put(block, a->inbox + begin * APART, a->outbox + begin * APART,
			(size_t)((end - begin) * APART) * sizeof *a->outbox, next_rank(block));
		/* Partner: the same addition by the other blocks. */
		uint64_t before = tsr_atomic_add(block, a->arrived, (uint64_t)1, me, TSR_ACQ_REL,
						 TSR_SCOPE_DEVICE);
		if (before + 1 == round * BLOCKS)
			tsr_signal(block, a->ready, round, TSR_SIGNAL_SET, next_rank(block));
		sound = sound && tsr_wait(block, a->ready, round, last_rank(block)) == TSR_WAIT_OK;
		if (sound)
			check(block, a, a->inbox, last_rank(block), round);
		/* Every block has to read before the buffer is retired: each round ends when all
		 * have come twice. */
		before = tsr_atomic_add(block, a->arrived + 1, (uint64_t)1, me, TSR_ACQ_REL,
					TSR_SCOPE_DEVICE);
		if (before + 1 == round * BLOCKS)
			tsr_signal(block, a->retired, round, TSR_SIGNAL_SET, last_rank(block));
	}
}

/*
 * One release for the flags of all ranks; each waits for all. Litmus:
 * MP.mcast.diffGPU-sss, MP.count.diffGPU-sss.
 */
TSR_KERNEL(put_then_signal_all, ring_args_t, a)
{
	int me = tsr_rank(block), n = tsr_size(block);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		if (tsr_wait(block, a->retired, (round - 1) * (uint64_t)n, TSR_ANY_RANK) !=
		    TSR_WAIT_OK)
			return;
		fill(block, a->outbox, round, 0, WORDS);
		for (int i = 0; i < n; i++)
			tsr_put(block, a->inbox + me * LENGTH, a->outbox,
				LENGTH * sizeof *a->outbox, tsr_peer(block, i));
		tsr_signal_all(block, a->ready, 1, TSR_SIGNAL_ADD);
		if (tsr_wait(block, a->ready, round * (uint64_t)n, TSR_ANY_RANK) != TSR_WAIT_OK)
			return;
		for (int from = 0; from < n; from++)
			check(block, a, a->inbox + from * LENGTH, from, round);
		tsr_signal_all(block, a->retired, 1, TSR_SIGNAL_ADD);
	}
}

/* ------------------------------------------------------------------ epochs */

/* A barrier is entered again at once, and needs no reset. Litmus: MP.barrier.diffGPU-ss. */
TSR_KERNEL(put_between_barriers, ring_args_t, a)
{
	int sound = 1;
	for (uint64_t round = 1; round <= ROUNDS && sound; round++) {
		fill(block, a->outbox, round, 0, WORDS);
		tsr_put(block, a->inbox, a->outbox, LENGTH * sizeof *a->outbox, next_rank(block));
		sound = tsr_barrier_ranks(block, a->barrier) == TSR_WAIT_OK;
		check(block, a, a->inbox, last_rank(block), round);
		sound = sound && tsr_barrier_ranks(block, a->barrier) == TSR_WAIT_OK;
	}
}

/*
 * All ranks signal rank 0 without waiting for it, so that most signals come
 * late for the epoch that it waits for. It consumes each by an addition and
 * never by a reset: none is lost. Litmus: CoRESET.sub.diffGPU-ss.
 */
TSR_KERNEL(late_signals, ring_args_t, a)
{
	int me = tsr_rank(block), n = tsr_size(block);
	for (int i = 0; i < ROUNDS; i++)
		tsr_signal(block, a->ready, 1, TSR_SIGNAL_ADD, 0);
	for (int taken = 0; me == 0 && taken < ROUNDS * n; taken++) {
		if (tsr_wait(block, a->ready, 1, TSR_ANY_RANK) != TSR_WAIT_OK)
			return;
		/* less by one */
		tsr_atomic_add(block, a->ready, ~(uint64_t)0, 0, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	}
}

/* ------------------------------------------------------------------ the host's half */

typedef struct operation {
	const char *name;
	const tsr_kernel_t *kernel;
	int blocks;
} operation_t;

/** Runs one kernel on fresh memory in all ranks. */
static int run_operation(tsr_world_t *world, const operation_t *operation)
{
	const size_t flags = 16 * 8; /* apart from each other */
	uint64_t seen[5 * 16];
	TSR_HEAP uint64_t *words = zeroed(world, 5 * flags, "flags");
	ring_args_t a;

	CHECK(words);
	a.outbox = poisoned(world, LENGTH * sizeof *a.outbox, "outbox");
	a.inbox = poisoned(world, MOST_RANKS * LENGTH * sizeof *a.inbox, "inbox");
	a.kept = poisoned(world, LENGTH * sizeof *a.kept, "kept");
	a.barrier = zeroed(world, tsr_barrier_state_bytes(tsr_world_size(world)), "barrier");
	CHECK(a.outbox && a.inbox && a.kept && a.barrier);
	a.ready = words;
	a.retired = words + 16;
	a.arrived = words + 32;
	a.wrong = words + 64;
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(run_kernel(world, operation->kernel, operation->blocks, &a) == TSR_OK, "%s",
	      operation->name);
	CHECK(tsr_barrier(world) == TSR_OK);
	CHECK(tsr_memcpy_from_heap(world, seen, words, sizeof seen) == TSR_OK);
	CHECK(seen[64] == 0, "%s: %llu words were not of their round", operation->name,
	      (unsigned long long)seen[64]);
	if (operation->kernel == &late_signals)
		CHECK(seen[0] == 0, "%s: %llu signals are left", operation->name,
		      (unsigned long long)seen[0]);
	else if (operation->kernel != &put_between_barriers)
		CHECK(seen[0] >= ROUNDS, "%s ended in round %llu", operation->name,
		      (unsigned long long)seen[0]);
	CHECK(tsr_heap_free(world, words) == TSR_OK && tsr_heap_free(world, a.outbox) == TSR_OK);
	CHECK(tsr_heap_free(world, a.inbox) == TSR_OK && tsr_heap_free(world, a.kept) == TSR_OK);
	CHECK(tsr_heap_free(world, a.barrier) == TSR_OK);
	return 0;
}

static int moving_body(tsr_world_t *world, int argc, char **argv)
{
	static const operation_t operations[] = {
		{"put then signal", &put_then_signal, 1},
		{"signal then get", &signal_then_get, 1},
		{"put_signal", &put_signal, 1},
		{"stage then signal", &stage_then_signal, 1},
	};
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
		if (run_operation(world, &operations[i]) != 0)
			return 1;
	return 0;
}

Test(operations, data_comes_before_its_signal)
{
	world_each(moving_body, NULL);
}

static int many_body(tsr_world_t *world, int argc, char **argv)
{
	static const operation_t operations[] = {
		{"neighbours then signal", &neighbours_then_signal, 1},
		{"blocks then signal", &blocks_then_signal, BLOCKS},
		{"put then signal_all", &put_then_signal_all, 1},
	};
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
		if (run_operation(world, &operations[i]) != 0)
			return 1;
	return 0;
}

Test(operations, one_signal_covers_what_many_stored)
{
	world_each(many_body, NULL);
}

static int epochs_body(tsr_world_t *world, int argc, char **argv)
{
	static const operation_t operations[] = {
		{"put between barriers", &put_between_barriers, 1},
		{"late signals", &late_signals, 1},
	};
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
		if (run_operation(world, &operations[i]) != 0)
			return 1;
	return 0;
}

Test(operations, epochs_need_no_reset)
{
	world_each(epochs_body, NULL);
}
