/*
 * gathered early|late: every rank gathers the numbers of all. The host changes
 * its own number while the kernel may still read it (early), or behind the
 * kernel (late): what reports call a race inside a call that the library makes
 * of others.
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { EARLY, LATE, KINDS };
static const char *const kinds[KINDS] = {"early", "late"};

typedef struct gather_args {
	TSR_HEAP uint64_t *numbers, *mine;
	TSR_HEAP tsr_all_gather_state_t *state;
} gather_args_t;

TSR_KERNEL(gather_numbers, gather_args_t, a)
{
	tsr_all_gather(block, a->numbers, a->mine, sizeof(uint64_t), a->state);
}

static tsr_status_t zeroed(tsr_world_t *world, size_t bytes, const char *name,
			   TSR_HEAP void **heap_out)
{
	tsr_status_t status = tsr_heap_alloc(world, bytes, 0, name, heap_out);
	return status == TSR_OK ? tsr_memset_heap(world, *heap_out, 0, bytes) : status;
}

TSR_MAIN(world, argc, argv)
{
	const uint64_t next = 7;
	TSR_HEAP void *numbers, *mine, *state;
	tsr_stream_t *stream;
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS) {
		fprintf(stderr, "usage: gathered early|late\n");
		return 2;
	}
	TSR_TRY(zeroed(world, TSR_MAX_RANKS * sizeof(uint64_t), "numbers", &numbers));
	TSR_TRY(zeroed(world, sizeof(uint64_t), "mine", &mine));
	TSR_TRY(zeroed(world, tsr_all_gather_state_bytes(tsr_world_size(world)), "state", &state));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	const gather_args_t args = {(TSR_HEAP uint64_t *)numbers, (TSR_HEAP uint64_t *)mine,
				    (TSR_HEAP tsr_all_gather_state_t *)state};
	TSR_TRY(tsr_launch(stream, &gather_numbers, 1, &args));
	if (kind == LATE)
		TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_memcpy_to_heap(world, mine, &next, sizeof next));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_stream_destroy(stream));
	return 0;
}
