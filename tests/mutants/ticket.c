/*
 * ticket [TURNS]: every rank adds to a counter of rank 0, by plain accesses
 * under a ticket lock that lies beside it: who draws a ticket waits until it is
 * served.
 */
#include "program.h"

typedef struct ticket_state {
	uint64_t next;    /* rank 0's: the ticket that is drawn next */
	uint64_t serving; /* rank 0's: the ticket that has the lock */
	uint64_t counter; /* rank 0's: whoever has the lock may read and write it */
	uint64_t mine;    /* for arithmetic: nobody else's */
} ticket_state_t;

typedef struct ticket_args {
	TSR_HEAP ticket_state_t *lock;
	int64_t turns;
} ticket_args_t;

/**
 * Its wait's partner: the store in ticket_give. Litmus: MP.rel.acq.diffGPU-ss.
 * Drawing is relaxed: it deals out numbers.
 */
TSR_FN uint64_t ticket_take(tsr_coop_t *block, const ticket_args_t *a)
{
	const uint64_t one = 1;
	uint64_t seen = 0;
	uint64_t ticket =
		tsr_atomic_add(block, &a->lock->next, one, 0, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	tsr_wait_word(block, &a->lock->serving, TSR_CMP_EQ, ticket, 0, TSR_ACQUIRE,
		      TSR_SCOPE_SYSTEM, TSR_ANY_RANK, &seen);
	return seen;
}

/** Partner: the wait in ticket_take. */
TSR_FN void ticket_give(tsr_coop_t *block, const ticket_args_t *a, uint64_t ticket)
{
	tsr_atomic_store(block, &a->lock->serving, ticket + 1, 0, TSR_RELEASE, TSR_SCOPE_SYSTEM);
}

TSR_KERNEL(ticket, ticket_args_t, a)
{
	for (int64_t turn = 0; turn < a->turns; turn++) {
		uint64_t mine = ticket_take(block, a);
		tsr_get(block, &a->lock->mine, &a->lock->counter, sizeof(uint64_t), 0);
		tsr_atomic_add(block, &a->lock->mine, (uint64_t)1, tsr_rank(block), TSR_ACQ_REL,
			       TSR_SCOPE_BLOCK);
		tsr_put(block, &a->lock->counter, &a->lock->mine, sizeof(uint64_t), 0);
		ticket_give(block, a, mine);
	}
}

static uint64_t all_turns(const tsr_world_t *world, int64_t index, int64_t turns)
{
	(void)index;
	return (uint64_t)(tsr_world_size(world) * turns);
}

TSR_MAIN(world, argc, argv)
{
	ticket_args_t args = {NULL, 0};
	TSR_HEAP void *state;
	TSR_TRY(size_argument(argc, argv, 1, "TURNS", 4, &args.turns));
	TSR_TRY(zeroed(world, sizeof(ticket_state_t), "ticket", &state));
	TSR_TRY(tsr_barrier(world)); /* rank 0's lock is free */
	args.lock = (TSR_HEAP ticket_state_t *)state;
	TSR_TRY(run_to_end(world, &ticket, 1, 1, &args));
	TSR_TRY(tsr_barrier(world)); /* every rank has had its turns */
	return tsr_world_rank(world) == 0
		       ? judge(world, &args.lock->counter, 1, args.turns, all_turns)
		       : 0;
}
