/*
 * astray KIND: waits and signals on flags that are not there, for what finds
 * them. Rank 0 signals rank 1, which waits. What was freed could be given out
 * again at once: as much is allocated before the launch.
 *
 *     wait-freed    rank 1 waits on a flag that was freed before the launch,
 *                   for a value that it has
 *     signal-freed  rank 0 signals there
 *     wait-slack    the flag that rank 1 waits on lies behind its allocation,
 *                   in what alignment leaves
 *     signal-slack  the one that rank 0 signals does
 *     wait-any      of several flags the last lies there
 *     none          none of these
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { WAIT_FREED, SIGNAL_FREED, WAIT_SLACK, SIGNAL_SLACK, WAIT_ANY, NONE, KINDS };
static const char *const kinds[KINDS] = {"wait-freed",   "signal-freed", "wait-slack",
					 "signal-slack", "wait-any",     "none"};

enum { FLAGS = 3 };

typedef struct astray_args {
	TSR_HEAP uint64_t *waited, *signalled; /* FLAGS of them, or not */
	uint64_t value;
	int32_t count, reserved;
} astray_args_t;

TSR_KERNEL(send_flag, astray_args_t, a)
{
	int which;
	if (tsr_rank(block) == 0)
		tsr_signal(block, a->signalled, 1, TSR_SIGNAL_SET, 1);
	else if (tsr_rank(block) == 1 && a->count == 1)
		tsr_wait(block, a->waited, a->value, 0);
	else if (tsr_rank(block) == 1)
		tsr_wait_any(block, a->waited, a->count, a->value, 0, &which);
}

/** FLAGS flags that are zero, in an allocation of their own. */
static tsr_status_t flags_of(tsr_world_t *world, const char *name, TSR_HEAP void **flags_out)
{
	TSR_TRY(tsr_heap_alloc(world, FLAGS * sizeof(uint64_t), 0, name, flags_out));
	return tsr_memset_heap(world, *flags_out, 0, FLAGS * sizeof(uint64_t));
}

static void go_astray(astray_args_t *args, int kind, TSR_HEAP uint64_t *freed)
{
	if (kind == WAIT_FREED || kind == WAIT_SLACK)
		args->value = 0;
	if (kind == WAIT_FREED)
		args->waited = freed;
	if (kind == SIGNAL_FREED)
		args->signalled = freed;
	if (kind == WAIT_SLACK)
		args->waited += FLAGS;
	if (kind == SIGNAL_SLACK)
		args->signalled += FLAGS;
	if (kind == WAIT_ANY)
		args->count = FLAGS + 1;
}

TSR_MAIN(world, argc, argv)
{
	TSR_HEAP void *flags, *freed, *others;
	tsr_stream_t *stream;
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS || tsr_world_size(world) < 2) {
		fprintf(stderr, "astray: say one of the kinds, and start at least 2 ranks\n");
		return 2;
	}
	TSR_TRY(flags_of(world, "flags", &flags));
	TSR_TRY(flags_of(world, "old flags", &freed));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	TSR_TRY(tsr_heap_free(world, freed));
	TSR_TRY(flags_of(world, "new flags", &others));
	TSR_TRY(tsr_barrier(world));
	astray_args_t args = {(TSR_HEAP uint64_t *)flags, (TSR_HEAP uint64_t *)flags, 1, 1, 0};
	go_astray(&args, kind, (TSR_HEAP uint64_t *)freed);
	TSR_TRY(tsr_launch(stream, &send_flag, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}
