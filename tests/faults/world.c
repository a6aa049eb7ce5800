/*
 * What runs under faults, and in odd surroundings: a world that uses bootstrap,
 * heap, streams and kernels. Each rank prints a line that says how much of it
 * was wrong; with an argument, the name of a folder, it writes the line into a
 * file there instead.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"

enum { COUNT = 1000, ROUND_BYTES = 40000 /* more than one round of the exchange carries */ };

typedef struct ring_args {
	TSR_HEAP int64_t *mine;
	TSR_HEAP int64_t *received;
	TSR_HEAP uint64_t *ready;
} ring_args_t;

TSR_KERNEL(fault_ring, ring_args_t, a)
{
	const int ranks = tsr_size(block), next = (tsr_rank(block) + 1) % ranks,
		  previous = (tsr_rank(block) + ranks - 1) % ranks;
	tsr_put_signal(block, a->received, a->mine, COUNT * sizeof(int64_t), a->ready, 1,
		       TSR_SIGNAL_SET, next);
	tsr_wait(block, a->ready, 1, previous);
}

static int64_t value_of(int rank, int at)
{
	return 1000000 * (int64_t)rank + 7 * at + 1;
}

/** Every rank's bytes come to every rank, in several rounds. */
static tsr_status_t gather(tsr_world_t *world, int *wrong)
{
	static const int prime = 251;
	const int ranks = tsr_world_size(world);
	unsigned char *mine = malloc(ROUND_BYTES), *all = malloc((size_t)ranks * ROUND_BYTES);
	tsr_status_t status = TSR_ERR_NO_MEMORY;
	if (mine && all) {
		for (int i = 0; i < ROUND_BYTES; i++)
			mine[i] = (unsigned char)((i + 3 * tsr_world_rank(world)) % prime);
		status = tsr_team_gather_all(tsr_world_team(world), mine, all, ROUND_BYTES);
		for (int i = 0; status == TSR_OK && i < ranks * ROUND_BYTES; i++)
			*wrong +=
				all[i] !=
				(unsigned char)((i % ROUND_BYTES + 3 * (i / ROUND_BYTES)) % prime);
	}
	free(mine);
	free(all);
	return status;
}

static tsr_status_t run_ring(tsr_world_t *world, const ring_args_t *args)
{
	tsr_stream_t *stream = NULL;
	tsr_event_t *event = NULL;
	tsr_status_t status = tsr_stream_create(tsr_world_team(world), &stream);
	if (status == TSR_OK)
		status = tsr_event_create(world, &event);
	if (status == TSR_OK)
		status = tsr_launch(stream, &fault_ring, 1, args);
	if (status == TSR_OK)
		status = tsr_event_record(event, stream);
	if (status == TSR_OK)
		status = tsr_event_sync(event);
	if (event && status == TSR_OK)
		status = tsr_event_destroy(event);
	if (stream && status == TSR_OK)
		status = tsr_stream_destroy(stream);
	return status;
}

/** Writes the line to the standard output, or into `folder`. Returns the exit code of the rank. */
static int tell(const char *folder, int rank, int ranks, int wrong)
{
	char path[4096];
	FILE *file = stdout;
	if (folder) {
		snprintf(path, sizeof path, "%s/rank.%d", folder, rank);
		file = fopen(path, "w");
	}
	if (file && fprintf(file, "rank %d of %d: %d wrong\n", rank, ranks, wrong) > 0 &&
	    fflush(file) == 0)
		return wrong != 0;
	perror("world: cannot write its line");
	return 1;
}

TSR_MAIN(world, argc, argv)
{
	const int rank = tsr_world_rank(world), ranks = tsr_world_size(world);
	int64_t numbers[2 * COUNT] = {0};
	TSR_HEAP void *heap, *signal;
	int wrong = 0;
	if (argc > 1) { /* whatever is behind these descriptors, it must not be the world's own */
		printf("rank %d prints\n", rank);
		fprintf(stderr, "rank %d prints\n", rank);
		(void)fflush(stdout);
	}
	for (int i = 0; i < COUNT; i++)
		numbers[i] = value_of(rank, i);
	TSR_TRY(tsr_heap_alloc(world, sizeof numbers, 0, "numbers", &heap));
	TSR_TRY(tsr_heap_alloc(world, sizeof(uint64_t), 0, "signal", &signal));
	TSR_TRY(tsr_memcpy_to_heap(world, heap, numbers, sizeof numbers));
	TSR_TRY(tsr_memset_heap(world, signal, 0, sizeof(uint64_t)));
	TSR_TRY(gather(world, &wrong));
	TSR_TRY(tsr_barrier(world));
	const ring_args_t args = {(TSR_HEAP int64_t *)heap, (TSR_HEAP int64_t *)heap + COUNT,
				  (TSR_HEAP uint64_t *)signal};
	TSR_TRY(run_ring(world, &args));
	TSR_TRY(tsr_memcpy_from_heap(world, numbers, heap, sizeof numbers));
	for (int i = 0; i < COUNT; i++)
		wrong += numbers[COUNT + i] != value_of((rank + ranks - 1) % ranks, i);
	TSR_TRY(tsr_heap_free(world, signal));
	TSR_TRY(tsr_heap_free(world, heap));
	return tell(argc > 1 ? argv[1] : NULL, rank, ranks, wrong);
}
