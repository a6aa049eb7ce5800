/*
 * gives_up KIND: rank 1 looks for a number of rank 0 some times, and gives up
 * where it has not come by then. Rank 0 waits for an answer.
 *
 *     loads    wrong: gives up after 200 loads, without an answer
 *     swaps    wrong: the same by exchanges, which take what they find
 *     counts   wrong: the same by loads, and counts its turns in memory
 *     answers  right: answers, whether it has given up or not
 *     waits    right: looks some times, and then waits
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { LOADS, SWAPS, COUNTS, ANSWERS, WAITS, KINDS };
static const char *const kinds[KINDS] = {"loads", "swaps", "counts", "answers", "waits"};

enum { TRIES = 200, STEPS = 40 };

typedef struct gives_up_memory {
	uint64_t number, steps, turns, answer;
} gives_up_memory_t;

/** Partner: the release of offer. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_FN int look(tsr_coop_t *block, TSR_HEAP gives_up_memory_t *m, int kind)
{
	for (int i = 0; i < TRIES; i++) {
		const uint64_t nothing = 0;
		if (kind == SWAPS ? tsr_atomic_xchg(block, &m->number, nothing, 1, TSR_ACQUIRE,
						    TSR_SCOPE_SYSTEM) != 0
				  : tsr_atomic_load(block, &m->number, 1, TSR_ACQUIRE,
						    TSR_SCOPE_SYSTEM) != 0)
			return 1;
		if (kind == COUNTS) /* relaxed: counts, and hands nothing over */
			(void)tsr_atomic_add(block, &m->turns, (uint64_t)1, 1, TSR_RELAXED,
					     TSR_SCOPE_SYSTEM);
	}
	return 0;
}

/** Partner of the signal: the wait of offer. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_FN void take(tsr_coop_t *block, TSR_HEAP gives_up_memory_t *m, int kind)
{
	int found = look(block, m, kind);
	if (!found && kind == WAITS) /* partner: the release of offer */
		found = tsr_wait(block, &m->number, 1, 0) == TSR_WAIT_OK;
	if (found || kind == ANSWERS)
		tsr_signal(block, &m->answer, 1, TSR_SIGNAL_SET, 0);
}

/** Partner of the release: the acquires of take. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_FN void offer(tsr_coop_t *block, TSR_HEAP gives_up_memory_t *m)
{
	for (uint64_t i = 0; i < STEPS; i++) /* relaxed: takes its time, and hands nothing over */
		tsr_atomic_store(block, &m->steps, i, 0, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	tsr_atomic_store(block, &m->number, (uint64_t)1, 1, TSR_RELEASE, TSR_SCOPE_SYSTEM);
	tsr_wait(block, &m->answer, 1, 1);
}

TSR_KERNEL(pass_number, planted_args_t, a)
{
	TSR_HEAP gives_up_memory_t *m = (TSR_HEAP gives_up_memory_t *)a->memory;
	if (tsr_rank(block) == 0)
		offer(block, m);
	else if (tsr_rank(block) == 1)
		take(block, m, a->kind);
}

TSR_MAIN(world, argc, argv)
{
	planted_args_t args = {NULL, planted_kind(argc, argv, kinds, KINDS), 0};
	TSR_HEAP void *memory;
	tsr_stream_t *stream;
	if (args.kind == KINDS || tsr_world_size(world) < 2) {
		fprintf(stderr, "usage: gives_up loads|swaps|counts|answers|waits, on at least 2 "
				"ranks\n");
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, sizeof(gives_up_memory_t), 0, "memory", &memory));
	TSR_TRY(tsr_memset_heap(world, memory, 0, sizeof(gives_up_memory_t)));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	args.memory = memory;
	TSR_TRY(tsr_launch(stream, &pass_number, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}
