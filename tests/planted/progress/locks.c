/*
 * locks KIND: every rank takes two locks of rank 0, one in the other.
 *
 *     kept     wrong: rank 0 does not give the first one back
 *     crossed  wrong: rank 1 takes the second one first
 *     twice    wrong: rank 0 gives the first one back twice
 *     right
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { KEPT, CROSSED, TWICE, RIGHT, KINDS };
static const char *const kinds[KINDS] = {"kept", "crossed", "twice", "right"};

typedef struct locks_args {
	TSR_HEAP uint64_t *locks;
	int32_t keeper, crosser, repeater; /* -1: none */
} locks_args_t;

TSR_KERNEL(take_both, locks_args_t, a)
{
	const int me = tsr_rank(block), first = me == a->crosser;
	tsr_wait_result_t how = tsr_lock(block, a->locks + first, 0);
	if (how == TSR_WAIT_OK)
		how = tsr_lock(block, a->locks + !first, 0);
	if (how != TSR_WAIT_OK)
		return;
	tsr_unlock(block, a->locks + !first, 0);
	if (me != a->keeper)
		tsr_unlock(block, a->locks + first, 0);
	if (me == a->repeater)
		tsr_unlock(block, a->locks + first, 0);
}

TSR_MAIN(world, argc, argv)
{
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	locks_args_t args = {NULL, kind == KEPT ? 0 : -1, kind == CROSSED ? 1 : -1,
			     kind == TWICE ? 0 : -1};
	TSR_HEAP void *heap;
	tsr_stream_t *stream;
	if (kind == KINDS) {
		fprintf(stderr, "usage: locks kept|crossed|twice|right\n");
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, 2 * sizeof(uint64_t), 0, "locks", &heap));
	TSR_TRY(tsr_memset_heap(world, heap, 0, 2 * sizeof(uint64_t)));
	TSR_TRY(tsr_barrier(world));
	args.locks = (TSR_HEAP uint64_t *)heap;
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_launch(stream, &take_both, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_stream_destroy(stream));
	return 0;
}
