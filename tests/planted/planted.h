/*
 * What planted programs share beside their bugs: which of its bugs a program is
 * asked for, and a run of one kernel on memory that the host fills and judges.
 */
#ifndef TESSERA_TESTS_PLANTED_H
#define TESSERA_TESTS_PLANTED_H

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "tessera/tessera.h"

/** The kind that the only argument names; `count`: there is no such argument or kind. */
static inline int planted_kind(int argc, char **argv, const char *const kinds[], int count)
{
	int kind = 0;
	while (kind < count && (argc != 2 || strcmp(argv[1], kinds[kind]) != 0))
		kind++;
	return kind;
}

/** The arguments of the kernels that planted_play runs. */
typedef struct planted_args {
	TSR_HEAP void *memory;
	int32_t kind, reserved;
} planted_args_t;

/**
 * Runs some blocks of `kernel` on each rank, which find a copy of the host's
 * `memory` in its heap. The host gets back what the kernel has made of it. Not
 * 0: what TSR_MAIN returns, after a sentence. Collective.
 */
static inline int planted_play_in(tsr_world_t *world, const tsr_kernel_t *kernel, int blocks,
				  int kind, void *memory, size_t size_bytes)
{
	TSR_HEAP void *heap;
	tsr_stream_t *stream;
	TSR_TRY(tsr_heap_alloc(world, size_bytes, 0, "memory", &heap));
	TSR_TRY(tsr_memcpy_to_heap(world, heap, memory, size_bytes));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	const planted_args_t args = {heap, kind, 0};
	TSR_TRY(tsr_launch(stream, kernel, blocks, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_stream_destroy(stream));
	TSR_TRY(tsr_memcpy_from_heap(world, memory, heap, size_bytes));
	return 0;
}

/** The same in one block. */
static inline int planted_play(tsr_world_t *world, const tsr_kernel_t *kernel, int kind,
			       void *memory, size_t size_bytes)
{
	return planted_play_in(world, kernel, 1, kind, memory, size_bytes);
}

/**
 * A count of schedules: in memory that their processes share, and that outlives
 * each. Null: the system has none.
 */
static inline atomic_int *planted_visits(void)
{
	atomic_int *visits = mmap(NULL, sizeof *visits, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return visits == MAP_FAILED ? NULL : visits;
}

/** How many schedules before this one have come here. */
static inline int planted_nth_visit(atomic_int *visits)
{
	/* it counts, and hands nothing over */
	return atomic_fetch_add_explicit(visits, 1, memory_order_relaxed);
}

#endif
