/*
 * overtaken relaxed|released: rank 0 counts in rank 1's memory, and then says
 * so by a flag there; rank 1 looks at both, and its host fails where the flag
 * has come before the count. All of it is atomic, so that nothing races: with
 * relaxed accesses the model lets rank 1 see an old count; with a release and
 * an acquire it does not.
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { RELAXED, RELEASED, KINDS };
static const char *const kinds[KINDS] = {"relaxed", "released"};

typedef struct overtaken_box {
	uint64_t count, flag, seen;
} overtaken_box_t;

typedef struct overtaken_args {
	TSR_HEAP overtaken_box_t *box;
	int64_t released;
} overtaken_args_t;

/** Partners: the loads in look. Litmus: MP.rlx.rlx.diffGPU-ss and MP.rel.acq.diffGPU-ss. */
TSR_FN void tell(tsr_coop_t *block, const overtaken_args_t *a)
{
	tsr_atomic_store(block, &a->box->count, (uint64_t)5, 1, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	if (a->released)
		tsr_atomic_store(block, &a->box->flag, (uint64_t)1, 1, TSR_RELEASE,
				 TSR_SCOPE_SYSTEM);
	else
		tsr_atomic_store(block, &a->box->flag, (uint64_t)1, 1, TSR_RELAXED,
				 TSR_SCOPE_SYSTEM);
}

TSR_FN void look(tsr_coop_t *block, const overtaken_args_t *a)
{
	const uint64_t flag =
		a->released
			? tsr_atomic_load(block, &a->box->flag, 1, TSR_ACQUIRE, TSR_SCOPE_SYSTEM)
			: tsr_atomic_load(block, &a->box->flag, 1, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	const uint64_t count =
		tsr_atomic_load(block, &a->box->count, 1, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	tsr_atomic_store(block, &a->box->seen, flag == 1 ? count : 5, 1, TSR_RELAXED,
			 TSR_SCOPE_SYSTEM);
}

TSR_KERNEL(overtake, overtaken_args_t, a)
{
	if (tsr_rank(block) == 0)
		tell(block, a);
	else if (tsr_rank(block) == 1)
		look(block, a);
}

TSR_MAIN(world, argc, argv)
{
	overtaken_box_t box = {0, 0, 5};
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	overtaken_args_t args = {NULL, kind == RELEASED};
	TSR_HEAP void *heap;
	tsr_stream_t *stream;
	if (kind == KINDS || tsr_world_size(world) < 2) {
		fprintf(stderr, "overtaken: say relaxed or released, and start at least 2 ranks\n");
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, sizeof box, 0, "box", &heap));
	TSR_TRY(tsr_memcpy_to_heap(world, heap, &box, sizeof box));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	args.box = (TSR_HEAP overtaken_box_t *)heap;
	TSR_TRY(tsr_launch(stream, &overtake, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	TSR_TRY(tsr_memcpy_from_heap(world, &box, heap, sizeof box));
	TSR_TRY(tsr_stream_destroy(stream));
	if (box.seen != 5)
		fprintf(stderr, "the flag came before the count\n");
	return box.seen != 5;
}
