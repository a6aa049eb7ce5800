/*
 * What runs under faults with the program's own memory: a window, a kernel of
 * each rank in it, and its release. Each rank prints a line that says how much
 * was wrong. A call that fails leaves the memory as it was; the program looks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"

enum { COUNT = 700, FLAG = 2 * COUNT, WORDS = FLAG + 1 };

typedef struct windowed_args {
	TSR_HEAP int64_t *window; /* COUNT numbers, as many of the rank before, a flag */
} windowed_args_t;

/** Signal and wait are partners. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_KERNEL(fault_window, windowed_args_t, a)
{
	const int ranks = tsr_size(block), next = (tsr_rank(block) + 1) % ranks,
		  previous = (tsr_rank(block) + ranks - 1) % ranks;
	TSR_HEAP uint64_t *flag = (TSR_HEAP uint64_t *)(a->window + FLAG);
	tsr_put_signal(block, a->window + COUNT, a->window, COUNT * sizeof(int64_t), flag, 1,
		       TSR_SIGNAL_SET, next);
	tsr_wait(block, flag, 1, previous);
}

static int64_t value_of(int rank, int at)
{
	return 1000000 * (int64_t)rank + 7 * at + 1;
}

/** How many of my numbers are not as I made them. */
static int lost(const int64_t *memory, int rank)
{
	int count = 0;
	for (int i = 0; i < COUNT; i++)
		count += memory[i] != value_of(rank, i);
	return count;
}

static tsr_status_t use_window(tsr_world_t *world, int64_t *memory, size_t bytes)
{
	TSR_HEAP void *window;
	tsr_stream_t *stream;
	tsr_status_t status = tsr_window_register(world, memory, bytes, "window", &window);
	if (status != TSR_OK)
		return status;
	const windowed_args_t args = {(TSR_HEAP int64_t *)window};
	status = tsr_stream_create(tsr_world_team(world), &stream);
	if (status == TSR_OK)
		status = tsr_launch(stream, &fault_window, 1, &args);
	if (status == TSR_OK)
		status = tsr_stream_sync(stream);
	return status == TSR_OK ? tsr_window_release(world, window) : status;
}

TSR_MAIN(world, argc, argv)
{
	const int rank = tsr_world_rank(world), ranks = tsr_world_size(world);
	const size_t unit = tsr_window_unit_bytes(world);
	const size_t bytes = (WORDS * sizeof(int64_t) + unit - 1) / unit * unit;
	int64_t *memory = aligned_alloc(unit, bytes);
	(void)argc, (void)argv;
	if (!memory)
		return tsr_fail(world);
	memset(memory, 0, bytes);
	for (int i = 0; i < COUNT; i++)
		memory[i] = value_of(rank, i);
	const tsr_status_t status = use_window(world, memory, bytes);
	int wrong = lost(memory, rank);
	if (wrong > 0)
		fprintf(stderr, "rank %d lost %d of its numbers\n", rank, wrong);
	TSR_TRY(status);
	for (int i = 0; i < COUNT; i++)
		wrong += memory[COUNT + i] != value_of((rank + ranks - 1) % ranks, i);
	printf("rank %d of %d: %d wrong\n", rank, ranks, wrong);
	free(memory);
	return wrong != 0;
}
