/*
 * lock [TURNS]: every rank adds to a counter of rank 0, by plain accesses under
 * a lock that lies beside it and is taken by compare-and-swap.
 */
#include "program.h"

typedef struct lock_state {
	uint64_t word;    /* rank 0's: 0 free, 1 taken */
	uint64_t counter; /* rank 0's: whoever has the lock may read and write it */
	uint64_t mine;    /* for arithmetic: nobody else's */
} lock_state_t;

typedef struct lock_args {
	TSR_HEAP lock_state_t *lock;
	int64_t turns;
} lock_args_t;

/** Partner: the store in lock_give. Litmus: MP.casacq.diffGPU-ss. */
TSR_FN void lock_take(tsr_coop_t *block, const lock_args_t *a)
{
	const uint64_t open = 0, taken = 1;
	while (tsr_atomic_cas(block, &a->lock->word, open, taken, 0, TSR_ACQUIRE, TSR_RELAXED,
			      TSR_SCOPE_SYSTEM) != open) {
	}
}

/** Partner: the compare-and-swap in lock_take. */
TSR_FN void lock_give(tsr_coop_t *block, const lock_args_t *a)
{
	tsr_atomic_store(block, &a->lock->word, (uint64_t)0, 0, TSR_RELEASE, TSR_SCOPE_SYSTEM);
}

/** The addition orders the block's own threads: those that get, and those that put. */
TSR_FN void lock_count(tsr_coop_t *block, const lock_args_t *a)
{
	tsr_get(block, &a->lock->mine, &a->lock->counter, sizeof(uint64_t), 0);
	tsr_atomic_add(block, &a->lock->mine, (uint64_t)1, tsr_rank(block), TSR_ACQ_REL,
		       TSR_SCOPE_BLOCK);
	tsr_put(block, &a->lock->counter, &a->lock->mine, sizeof(uint64_t), 0);
}

TSR_KERNEL(lock, lock_args_t, a)
{
	for (int64_t turn = 0; turn < a->turns; turn++) {
		lock_take(block, a);
		lock_count(block, a);
		lock_give(block, a);
	}
}

static uint64_t all_turns(const tsr_world_t *world, int64_t index, int64_t turns)
{
	(void)index;
	return (uint64_t)(tsr_world_size(world) * turns);
}

TSR_MAIN(world, argc, argv)
{
	lock_args_t args = {NULL, 0};
	TSR_HEAP void *state;
	TSR_TRY(size_argument(argc, argv, 1, "TURNS", 4, &args.turns));
	TSR_TRY(zeroed(world, sizeof(lock_state_t), "lock", &state));
	TSR_TRY(tsr_barrier(world)); /* rank 0's lock is free */
	args.lock = (TSR_HEAP lock_state_t *)state;
	TSR_TRY(run_to_end(world, &lock, 1, 1, &args));
	TSR_TRY(tsr_barrier(world)); /* every rank has had its turns */
	return tsr_world_rank(world) == 0
		       ? judge(world, &args.lock->counter, 1, args.turns, all_turns)
		       : 0;
}
