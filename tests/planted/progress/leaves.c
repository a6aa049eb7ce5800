/*
 * leaves one|two|signal|waits|alone|right: blocks of three workers that meet
 * twice.
 *
 *     one     wrong: worker 1 of each block returns before the second meeting
 *     two     wrong: workers 1 and 2 do
 *     signal  wrong: worker 1 does, and the others signal with the block, which
 *             meets too
 *     waits   wrong: in place of the second meeting worker 1 waits for a signal
 *             that worker 0 gives behind it
 *     alone   wrong: worker 0 alone makes a call of the block before it
 *     right
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { ONE, TWO, SIGNAL, WAITS, ALONE, RIGHT, KINDS };
static const char *const kinds[KINDS] = {"one", "two", "signal", "waits", "alone", "right"};

typedef struct leaves_memory {
	uint64_t flag;
} leaves_memory_t;

typedef struct leaves_pad {
	uint64_t unused;
} leaves_pad_t;

TSR_KERNEL_SPLIT(meet_twice, 3, leaves_pad_t, planted_args_t, a)
{
	TSR_HEAP leaves_memory_t *m = (TSR_HEAP leaves_memory_t *)a->memory;
	const int me = tsr_worker_index(worker);
	(void)shared;
	tsr_sync(block);
	if (me == 1 && a->kind == WAITS)
		tsr_wait_local(worker, &m->flag, 1, TSR_SCOPE_BLOCK);
	if (me == 0 && a->kind == ALONE)
		tsr_signal(block, &m->flag, 1, TSR_SIGNAL_ADD, 0);
	if ((me == 1 && a->kind < ALONE) || (me == 2 && a->kind == TWO))
		return;
	if (a->kind == SIGNAL)
		tsr_signal(block, &m->flag, 1, TSR_SIGNAL_ADD, 0);
	else
		tsr_sync(block);
	if (me == 0 && a->kind == WAITS)
		tsr_signal_local(worker, &m->flag, 1, TSR_SCOPE_BLOCK);
}

TSR_MAIN(world, argc, argv)
{
	leaves_memory_t memory = {0};
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS) {
		fprintf(stderr, "usage: leaves one|two|signal|waits|alone|right\n");
		return 2;
	}
	return planted_play(world, &meet_twice, kind, &memory, sizeof memory);
}
