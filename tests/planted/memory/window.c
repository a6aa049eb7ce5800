/*
 * window KIND: memory of the program's, registered as a window. Each rank puts
 * its number into the next rank's window, which keeps what it finds there.
 *
 *     right     it waits for the number, and the host reads what is kept by
 *               calls
 *     early     wrong: it does not wait for the number
 *     host      wrong: the host reads what is kept at the memory's own address
 *               before it has waited for the kernel
 *     slept     wrong: the same a while later, when the kernel has kept it
 *     kernel    wrong: the kernel reads its number at the memory's own address
 *     released  wrong: a second kernel puts into a window that was released
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { RIGHT, EARLY, HOST, SLEPT, KERNEL, RELEASED, KINDS };
static const char *const kinds[KINDS] = {"right", "early", "host", "slept", "kernel", "released"};

typedef struct window_cells {
	uint64_t number, got, kept, flag;
} window_cells_t;

typedef struct window_args {
	TSR_HEAP window_cells_t *cells;
	const volatile window_cells_t *own; /* the same at the program's address */
	int32_t kind, reserved;
} window_args_t;

/** Signal and wait are partners. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_KERNEL(keep_number, window_args_t, a)
{
	const int me = tsr_rank(block), size = tsr_size(block), next = (me + 1) % size;
	uint64_t number = 0;
	if (a->kind == KERNEL)
		number = a->own->number;
	tsr_put(block, &a->cells->got, &a->cells->number, sizeof number, next);
	tsr_signal(block, &a->cells->flag, 1, TSR_SIGNAL_SET, next);
	if (a->kind != EARLY)
		tsr_wait(block, &a->cells->flag, 1, (me + size - 1) % size);
	tsr_put(block, &a->cells->kept, &a->cells->got, sizeof number, me);
	if (number > (uint64_t)size) /* it is looked at, so that no compiler leaves it out */
		tsr_signal(block, &a->cells->flag, 2, TSR_SIGNAL_SET, me);
}

/** Runs the kernel in a window on `memory`. Not 0: what the rank returns. */
static int run_in_window(tsr_world_t *world, window_args_t *args, window_cells_t *memory,
			 size_t bytes)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	TSR_HEAP void *window;
	tsr_stream_t *stream;
	uint64_t kept = 0;
	TSR_TRY(tsr_window_register(world, memory, bytes, "cells", &window));
	args->cells = (TSR_HEAP window_cells_t *)window;
	args->own = memory;
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_launch(stream, &keep_number, 1, args));
	if (args->kind == SLEPT)
		(void)nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
	if (args->kind == HOST || args->kind == SLEPT)
		kept = args->own->kept;
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_memcpy_from_heap(world, &kept, &args->cells->kept, sizeof kept));
	TSR_TRY(tsr_window_release(world, window));
	if (args->kind == RELEASED) {
		TSR_TRY(tsr_launch(stream, &keep_number, 1, args));
		TSR_TRY(tsr_stream_sync(stream));
	}
	TSR_TRY(tsr_stream_destroy(stream));
	/* the memory is the program's alone again */
	return kept == (uint64_t)((me + size - 1) % size) + 1 && memory->kept == kept ? 0 : 1;
}

TSR_MAIN(world, argc, argv)
{
	window_args_t args = {.kind = planted_kind(argc, argv, kinds, KINDS)};
	if (args.kind == KINDS) {
		fprintf(stderr, "usage: window right|early|host|slept|kernel|released\n");
		return 2;
	}
	const size_t unit = tsr_window_unit_bytes(world);
	window_cells_t *memory = aligned_alloc(unit, unit);
	if (!memory)
		return 1;
	memset(memory, 0, unit);
	memory->number = (uint64_t)tsr_world_rank(world) + 1;
	const int code = run_in_window(world, &args, memory, unit);
	free(memory);
	return code;
}
