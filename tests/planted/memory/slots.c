/*
 * slots part|whole: rank 0 fills the begin of a slot and puts the whole slot to
 * rank 1, which copies it once more. The host of rank 1 reads what was filled
 * (part), or all of it (whole), of which nobody has written the end.
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { PART, WHOLE, KINDS };
static const char *const kinds[KINDS] = {"part", "whole"};

enum { WORDS = 24, FILLED = 9 };

typedef struct slots_box {
	uint64_t slot[WORDS], kept[WORDS];
} slots_box_t;

typedef struct slots_args {
	TSR_HEAP slots_box_t *box;
	TSR_HEAP uint64_t *message, *ready;
} slots_args_t;

TSR_KERNEL(pass_slot, slots_args_t, a)
{
	if (tsr_rank(block) == 0) {
		tsr_put(block, a->box->slot, a->message, FILLED * sizeof(uint64_t), 0);
		tsr_sync(block);
		tsr_put_signal(block, a->box->slot, a->box->slot, WORDS * sizeof(uint64_t),
			       a->ready, (uint64_t)1, TSR_SIGNAL_SET, 1);
	} else if (tsr_rank(block) == 1) {
		tsr_wait(block, a->ready, (uint64_t)1, 0);
		tsr_get(block, a->box->kept, a->box->slot, WORDS * sizeof(uint64_t), 1);
	}
}

static tsr_status_t zeroed(tsr_world_t *world, size_t bytes, const char *name,
			   TSR_HEAP uint64_t **heap_out)
{
	TSR_HEAP void *heap;
	tsr_status_t status = tsr_heap_alloc(world, bytes, 0, name, &heap);
	if (status != TSR_OK)
		return status;
	*heap_out = (TSR_HEAP uint64_t *)heap;
	return tsr_memset_heap(world, heap, 0, bytes);
}

TSR_MAIN(world, argc, argv)
{
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	uint64_t kept[WORDS];
	slots_args_t args = {NULL, NULL, NULL};
	TSR_HEAP void *box;
	tsr_stream_t *stream;
	if (kind == KINDS || tsr_world_size(world) < 2) {
		fprintf(stderr, "slots: say part or whole, and start at least 2 ranks\n");
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, sizeof(slots_box_t), 0, "box", &box));
	TSR_TRY(zeroed(world, FILLED * sizeof(uint64_t), "message", &args.message));
	TSR_TRY(zeroed(world, sizeof(uint64_t), "ready", &args.ready));
	args.box = (TSR_HEAP slots_box_t *)box;
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	TSR_TRY(tsr_launch(stream, &pass_slot, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	if (tsr_world_rank(world) == 1)
		TSR_TRY(tsr_memcpy_from_heap(world, kept, args.box->kept,
					     (kind == WHOLE ? WORDS : FILLED) * sizeof(uint64_t)));
	TSR_TRY(tsr_barrier(world));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}
