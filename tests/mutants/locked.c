/*
 * locked [TURNS]: every rank adds to a counter of rank 0, by plain accesses
 * under the lock of the API that lies beside it.
 */
#include "program.h"

typedef struct locked_state {
	uint64_t word;    /* rank 0's: the lock */
	uint64_t counter; /* rank 0's: whoever has the lock may read and write it */
	uint64_t mine;    /* for arithmetic: nobody else's */
} locked_state_t;

typedef struct locked_args {
	TSR_HEAP locked_state_t *lock;
	int64_t turns;
} locked_args_t;

TSR_KERNEL(locked, locked_args_t, a)
{
	for (int64_t turn = 0; turn < a->turns; turn++) {
		if (tsr_lock(block, &a->lock->word, 0) != TSR_WAIT_OK)
			return;
		tsr_get(block, &a->lock->mine, &a->lock->counter, sizeof(uint64_t), 0);
		tsr_atomic_add(block, &a->lock->mine, (uint64_t)1, tsr_rank(block), TSR_ACQ_REL,
			       TSR_SCOPE_BLOCK);
		tsr_put(block, &a->lock->counter, &a->lock->mine, sizeof(uint64_t), 0);
		tsr_unlock(block, &a->lock->word, 0);
	}
}

static uint64_t all_turns(const tsr_world_t *world, int64_t index, int64_t turns)
{
	(void)index;
	return (uint64_t)(tsr_world_size(world) * turns);
}

TSR_MAIN(world, argc, argv)
{
	locked_args_t args = {NULL, 0};
	TSR_HEAP void *state;
	TSR_TRY(size_argument(argc, argv, 1, "TURNS", 4, &args.turns));
	TSR_TRY(zeroed(world, sizeof(locked_state_t), "locked", &state));
	TSR_TRY(tsr_barrier(world)); /* rank 0's lock is free */
	args.lock = (TSR_HEAP locked_state_t *)state;
	TSR_TRY(run_to_end(world, &locked, 1, 1, &args));
	TSR_TRY(tsr_barrier(world)); /* every rank has had its turns */
	return tsr_world_rank(world) == 0
		       ? judge(world, &args.lock->counter, 1, args.turns, all_turns)
		       : 0;
}
