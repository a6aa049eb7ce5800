/* counter [ADDS]: every rank adds to the counters of all ranks, which their hosts have cleared. */
#include "program.h"

typedef struct counter_args {
	TSR_HEAP uint64_t *counter;
	int64_t adds;
} counter_args_t;

/** Relaxed: the counters are read by the hosts, behind a barrier. */
TSR_KERNEL(counter, counter_args_t, a)
{
	for (int64_t i = 0; i < a->adds; i++)
		for (int r = 0; r < tsr_size(block); r++)
			tsr_atomic_add(block, a->counter, (uint64_t)1, tsr_peer(block, r),
				       TSR_RELAXED, TSR_SCOPE_SYSTEM);
}

static uint64_t all_adds(const tsr_world_t *world, int64_t index, int64_t adds)
{
	(void)index;
	return (uint64_t)(tsr_world_size(world) * adds);
}

TSR_MAIN(world, argc, argv)
{
	counter_args_t args = {NULL, 0};
	TSR_HEAP void *heap;
	TSR_TRY(size_argument(argc, argv, 1, "ADDS", 8, &args.adds));
	TSR_TRY(zeroed(world, sizeof(uint64_t), "counter", &heap));
	TSR_TRY(tsr_barrier(world)); /* every rank's counter is cleared */
	args.counter = (TSR_HEAP uint64_t *)heap;
	TSR_TRY(run_to_end(world, &counter, 1, 1, &args));
	TSR_TRY(tsr_barrier(world)); /* every rank has added */
	return judge(world, heap, 1, args.adds, all_adds);
}
