/*
 * unset flag|right: one worker of a block writes a number and another reads it,
 * by a flag in the block's shared memory.
 *
 *     flag   wrong: nobody sets the flag to 0 before
 *     right
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { FLAG, RIGHT, KINDS };
static const char *const kinds[KINDS] = {"flag", "right"};

typedef struct unset_shared {
	uint64_t flag;
} unset_shared_t;

typedef struct unset_memory {
	int64_t from, to;
} unset_memory_t;

/** Litmus: MP.rel.acq.sameWG-ww. */
TSR_KERNEL_SPLIT(hand_over, 2, unset_shared_t, planted_args_t, a)
{
	TSR_HEAP unset_memory_t *memory = (TSR_HEAP unset_memory_t *)a->memory;
	const int me = tsr_rank(block);
	if (a->kind == RIGHT)
		tsr_shared_clear(block, shared, sizeof *shared);
	if (tsr_worker_index(worker) == 1) {
		tsr_put_value(worker, &memory->from, (int64_t)7, me);
		tsr_signal_local(worker, &shared->flag, 1, TSR_SCOPE_BLOCK);
	} else {
		tsr_wait_local(worker, &shared->flag, 1, TSR_SCOPE_BLOCK);
		tsr_put_value(worker, &memory->to, tsr_get_value(worker, &memory->from, me), me);
	}
}

TSR_MAIN(world, argc, argv)
{
	unset_memory_t memory = {0, 0};
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS) {
		fprintf(stderr, "unset: say which kind\n");
		return 2;
	}
	return planted_play(world, &hand_over, kind, &memory, sizeof memory);
}
