/*
 * A put and its signal, right and wrong: `missing_release right|planted`. The
 * planted bug raises the flag by a relaxed store, so that nothing orders the
 * data before it. On x86 the wrong one gives right results; ThreadSanitizer has
 * to report it.
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { RIGHT, PLANTED, KINDS };
static const char *const kinds[KINDS] = {"right", "planted"};

enum { COUNT = 1000, ROUNDS = 20 };

typedef struct message_args {
	TSR_HEAP int32_t *from, *inbox, *copy; /* COUNT elements each */
	TSR_HEAP uint64_t *flag;
	uint64_t epoch;
	int32_t planted;
	int32_t reserved;
} message_args_t;

/**
 * Rank 0 sends to rank 1, which copies what it got. Partner of the signal: the
 * wait. Litmus: MP.rel.acq.diffGPU-ss.
 */
TSR_KERNEL(send_and_copy, message_args_t, a)
{
	if (tsr_rank(block) == 0) {
		tsr_put(block, a->inbox, a->from, COUNT * sizeof(int32_t), 1);
		if (a->planted) /* The bug: litmus MP.rlx.acq of the catalogue, a data race. */
			tsr_atomic_store(block, a->flag, a->epoch, 1, TSR_RELAXED,
					 TSR_SCOPE_SYSTEM);
		else
			tsr_signal(block, a->flag, a->epoch, TSR_SIGNAL_SET, 1);
	} else if (tsr_rank(block) == 1) {
		tsr_wait(block, a->flag, a->epoch, 0);
		tsr_get(block, a->copy, a->inbox, COUNT * sizeof(int32_t), 1);
	}
}

TSR_MAIN(world, argc, argv)
{
	int64_t shape[1] = {COUNT}, one[1] = {1};
	tsr_tensor_t from, inbox, copy, flag;
	tsr_stream_t *stream;
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS) {
		fprintf(stderr, "usage: missing_release right|planted\n");
		return 2;
	}
	TSR_TRY(tsr_tensor_randint(world, TSR_I32, 1, shape, 0, 1000, 7, &from));
	TSR_TRY(tsr_tensor_zeros(world, TSR_I32, 1, shape, &inbox));
	TSR_TRY(tsr_tensor_zeros(world, TSR_I32, 1, shape, &copy));
	TSR_TRY(tsr_tensor_zeros(world, TSR_I64, 1, one, &flag));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	for (uint64_t epoch = 1; epoch <= ROUNDS; epoch++) {
		message_args_t args = {(TSR_HEAP int32_t *)from.data,
				       (TSR_HEAP int32_t *)inbox.data,
				       (TSR_HEAP int32_t *)copy.data,
				       (TSR_HEAP uint64_t *)flag.data,
				       epoch,
				       kind == PLANTED,
				       0};
		TSR_TRY(tsr_launch(stream, &send_and_copy, 1, &args));
		TSR_TRY(tsr_barrier(world)); /* the inbox may be written again */
	}
	TSR_TRY(tsr_stream_destroy(stream));
	return 0;
}
