/*
 * hangs WHERE: a program whose rank 1 does not come back from its own code,
 * which no other rank can go on without.
 *
 *     loop    wrong: its host loops before the first kernel
 *     sleep   wrong: its host sleeps before the first kernel
 *     host    wrong: its host loops after the first kernel, in its third
 *             schedule
 *     kernel  wrong: its kernel loops
 *     long    right, and takes for ever: its kernel makes calls all the time
 */
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { LOOP, SLEEP, HOST, KERNEL, LONG, KINDS };
static const char *const kinds[KINDS] = {"loop", "sleep", "host", "kernel", "long"};

typedef struct hang_args {
	TSR_HEAP uint64_t *count;
	int kind;
} hang_args_t;

static volatile int never;

/** Relaxed: counts, and hands nothing over. */
TSR_KERNEL(count_up, hang_args_t, a)
{
	do
		(void)tsr_atomic_add(block, a->count, (uint64_t)1, 0, TSR_RELAXED,
				     TSR_SCOPE_SYSTEM);
	while (a->kind == LONG);
	while (a->kind == KERNEL && tsr_rank(block) == 1 && !never)
		;
}

TSR_MAIN(world, argc, argv)
{
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	atomic_int *visits = planted_visits();
	if (kind == KINDS || !visits) {
		fprintf(stderr, "usage: hangs loop|sleep|host|kernel|long\n");
		return 2;
	}
	const bool mine = tsr_world_rank(world) == 1;
	const uint64_t zero = 0;
	TSR_HEAP void *heap;
	tsr_stream_t *stream;
	TSR_TRY(tsr_heap_alloc(world, sizeof zero, 0, "count", &heap));
	TSR_TRY(tsr_memcpy_to_heap(world, heap, &zero, sizeof zero));
	TSR_TRY(tsr_barrier(world));
	while (kind == LOOP && mine && !never)
		;
	while (kind == SLEEP && mine && !never)
		sleep(1000);
	const hang_args_t args = {(TSR_HEAP uint64_t *)heap, kind};
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_launch(stream, &count_up, 1, &args)); /* from here on once for each schedule */
	const bool third = mine && planted_nth_visit(visits) == 2;
	while (kind == HOST && third && !never)
		;
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	TSR_TRY(tsr_stream_destroy(stream));
	return 0;
}
