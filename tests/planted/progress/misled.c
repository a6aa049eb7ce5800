/*
 * misled flag|rank|offset|home|behind|order|sender|right: rank 1 hands a number
 * to rank 0, and waits for its answer; rank 2 looks on.
 *
 *     flag    wrong: rank 1 raises another flag of rank 0
 *     offset  wrong: it raises the flag behind that, in the same array
 *     rank    wrong: it raises the flag in rank 2's memory
 *     home    wrong: it raises its own copy of the flag
 *     behind  wrong: it raises it only when it has got the answer
 *     order   wrong: it raises the flag to 1, and rank 0 waits for 2
 *     sender  wrong: rank 0 names rank 2 as the one that is to signal
 *     right
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { FLAG, RANK, OFFSET, HOME, BEHIND, ORDER, SENDER, RIGHT, KINDS };
static const char *const kinds[KINDS] = {"flag",   "rank",  "offset", "home",
					 "behind", "order", "sender", "right"};

typedef struct misled_args {
	TSR_HEAP uint64_t *ready, *other, *answer;
	int64_t kind;
} misled_args_t;

TSR_FN void hand_over(tsr_coop_t *block, const misled_args_t *a)
{
	TSR_HEAP uint64_t *flag = a->ready;
	if (a->kind == FLAG)
		flag = a->other;
	if (a->kind == OFFSET)
		flag = a->ready + 1;
	tsr_signal(block, flag, 1, TSR_SIGNAL_SET, a->kind == RANK ? 2 : a->kind == HOME ? 1 : 0);
}

TSR_KERNEL(pass_on, misled_args_t, a)
{
	if (tsr_rank(block) == 0) {
		tsr_wait(block, a->ready, a->kind == ORDER ? 2 : 1, a->kind == SENDER ? 2 : 1);
		tsr_signal(block, a->answer, 1, TSR_SIGNAL_SET, 1);
	} else if (tsr_rank(block) == 1) {
		if (a->kind != BEHIND)
			hand_over(block, a);
		tsr_wait(block, a->answer, 1, 0);
		if (a->kind == BEHIND)
			hand_over(block, a);
	}
}

TSR_MAIN(world, argc, argv)
{
	static const int64_t shape[] = {3};
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	tsr_tensor_t ready, other, answer;
	tsr_stream_t *stream;
	if (kind == KINDS || tsr_world_size(world) != 3) {
		fprintf(stderr, "misled: say which kind, and start 3 ranks\n");
		return 2;
	}
	TSR_TRY(tsr_tensor_zeros(world, TSR_I64, 1, shape, &ready));
	TSR_TRY(tsr_tensor_zeros(world, TSR_I64, 1, shape, &other));
	TSR_TRY(tsr_tensor_zeros(world, TSR_I64, 1, shape, &answer));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	const misled_args_t args = {(TSR_HEAP uint64_t *)ready.data,
				    (TSR_HEAP uint64_t *)other.data,
				    (TSR_HEAP uint64_t *)answer.data, kind};
	TSR_TRY(tsr_launch(stream, &pass_on, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}
