/*
 * fickle KIND: a program that is not the same twice, which no search of all its
 * schedules can go on with.
 *
 *     blocks  wrong: its kernel has two blocks, and one in the first schedule
 *             only
 *     exits   wrong: it leaves in the middle of its second schedule
 *     none    right
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { BLOCKS, EXITS, NONE, KINDS };
static const char *const kinds[KINDS] = {"blocks", "exits", "none"};

typedef struct count_args {
	TSR_HEAP uint64_t *count;
} count_args_t;

/** Relaxed: counts, and hands nothing over. */
TSR_KERNEL(count_all, count_args_t, a)
{
	(void)tsr_atomic_add(block, a->count, (uint64_t)1, 0, TSR_RELAXED, TSR_SCOPE_SYSTEM);
}

TSR_MAIN(world, argc, argv)
{
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	atomic_int *visits = planted_visits();
	if (kind == KINDS || !visits) {
		fprintf(stderr, "usage: fickle blocks|exits|none\n");
		return 2;
	}
	const uint64_t zero = 0;
	TSR_HEAP void *heap;
	tsr_stream_t *stream;
	TSR_TRY(tsr_heap_alloc(world, sizeof zero, 0, "count", &heap));
	TSR_TRY(tsr_memcpy_to_heap(world, heap, &zero, sizeof zero));
	TSR_TRY(tsr_barrier(world));
	const count_args_t args = {(TSR_HEAP uint64_t *)heap};
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_launch(stream, &count_all, 1, &args)); /* from here on once for each schedule */
	const int visit = planted_nth_visit(visits);
	if (kind == EXITS && visit == 1 && tsr_world_rank(world) == 0)
		_Exit(3);
	TSR_TRY(tsr_launch(stream, &count_all, kind == BLOCKS && visit > 0 ? 2 : 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	TSR_TRY(tsr_stream_destroy(stream));
	TSR_TRY(tsr_heap_free(world, heap));
	(void)munmap(visits, sizeof *visits);
	return 0;
}
