/*
 * What runs while nodes fail: a world that lives through all that a world does,
 * long enough in each phase to be met there. Each rank prints a line as a phase
 * begins, and at last how much was wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"

enum { WORDS = 3000, ALLOCATIONS = 12, LAUNCHES = 12, TURNS = 10, COLLECTIVES = 12 };

typedef struct life_args {
	TSR_HEAP int64_t *mine, *received, *fetched; /* WORDS each */
	TSR_HEAP uint64_t *ready, *count;
	uint64_t first; /* the first turn's number, from 1 on */
} life_args_t;

/** Each turn: a put with a signal to the next rank, an atomic to all, a get from the one behind. */
TSR_KERNEL(life_turns, life_args_t, a)
{
	const int me = tsr_rank(block), ranks = tsr_size(block), next = (me + 1) % ranks,
		  previous = (me + ranks - 1) % ranks;
	for (uint64_t turn = a->first; turn < a->first + TURNS; turn++) {
		tsr_put_signal(block, a->received, a->mine, WORDS * sizeof(int64_t), a->ready, turn,
			       TSR_SIGNAL_SET, next);
		if (tsr_wait(block, a->ready, turn, previous) != TSR_WAIT_OK)
			return;
		for (int r = 0; r < ranks; r++)
			(void)tsr_atomic_add(block, a->count, (uint64_t)1, r, TSR_ACQ_REL,
					     TSR_SCOPE_SYSTEM);
		tsr_get(block, a->fetched, a->mine, WORDS * sizeof(int64_t), previous);
	}
}

static int64_t value_of(int rank, int at)
{
	return 1000000 * (int64_t)rank + 7 * at + 1;
}

static void begin(const tsr_world_t *world, const char *phase)
{
	printf("rank %d %s\n", tsr_world_rank(world), phase);
	(void)fflush(stdout);
}

static tsr_status_t allocate(tsr_world_t *world)
{
	tsr_status_t status = TSR_OK;
	begin(world, "allocation");
	for (int i = 0; status == TSR_OK && i < ALLOCATIONS; i++) {
		TSR_HEAP void *pointer;
		status = tsr_heap_alloc(world, (size_t)4096 << i % 7, 0, "life", &pointer);
		if (status == TSR_OK)
			status = tsr_heap_free(world, pointer);
	}
	return status;
}

static tsr_status_t compute(tsr_world_t *world, life_args_t *args)
{
	tsr_stream_t *stream = NULL;
	begin(world, "kernels");
	tsr_status_t status = tsr_stream_create(tsr_world_team(world), &stream);
	for (int i = 0; status == TSR_OK && i < LAUNCHES; i++) {
		args->first = 1 + (uint64_t)i * TURNS;
		status = tsr_launch(stream, &life_turns, 1, args);
		if (status == TSR_OK)
			status = tsr_stream_sync(stream);
	}
	return status == TSR_OK ? tsr_stream_destroy(stream) : status;
}

static tsr_status_t collect(tsr_world_t *world, int *wrong)
{
	const int rank = tsr_world_rank(world), ranks = tsr_world_size(world);
	int64_t mine[256], all[256 * 8];
	tsr_status_t status = TSR_OK;
	begin(world, "collectives");
	for (int i = 0; status == TSR_OK && i < COLLECTIVES; i++) {
		for (int k = 0; k < 256; k++)
			mine[k] = value_of(rank, k + i);
		status = tsr_team_gather_all(tsr_world_team(world), mine, all, sizeof mine);
		for (int k = 0; status == TSR_OK && k < 256 * ranks; k++)
			*wrong += all[k] != value_of(k / 256, k % 256 + i);
		if (status == TSR_OK)
			status = tsr_barrier(world);
	}
	return status;
}

static tsr_status_t check(tsr_world_t *world, const life_args_t *args, int *wrong)
{
	const int rank = tsr_world_rank(world), ranks = tsr_world_size(world);
	int64_t words[WORDS];
	uint64_t count;
	tsr_status_t status = tsr_barrier(world);
	if (status == TSR_OK)
		status = tsr_memcpy_from_heap(world, &count, args->count, sizeof count);
	*wrong += status == TSR_OK && count != (uint64_t)LAUNCHES * TURNS * (uint64_t)ranks;
	for (int part = 0; status == TSR_OK && part < 2; part++) {
		status = tsr_memcpy_from_heap(world, words, part ? args->fetched : args->received,
					      sizeof words);
		for (int i = 0; status == TSR_OK && i < WORDS; i++)
			*wrong += words[i] != value_of((rank + ranks - 1) % ranks, i);
	}
	return status;
}

TSR_MAIN(world, argc, argv)
{
	TSR_HEAP void *heap[5];
	int64_t mine[WORDS];
	int wrong = 0;
	if (tsr_world_size(world) > 8)
		return 2; /* collect() has room for 8 */
	TSR_TRY(allocate(world));
	for (int i = 0; i < 5; i++) {
		const size_t bytes = i < 3 ? sizeof mine : sizeof(uint64_t);
		TSR_TRY(tsr_heap_alloc(world, bytes, 0, "life", &heap[i]));
		TSR_TRY(tsr_memset_heap(world, heap[i], i < 3 ? 0xee : 0, bytes));
	}
	for (int i = 0; i < WORDS; i++)
		mine[i] = value_of(tsr_world_rank(world), i);
	TSR_TRY(tsr_memcpy_to_heap(world, heap[0], mine, sizeof mine));
	TSR_TRY(tsr_barrier(world));
	life_args_t args = {.mine = heap[0],
			    .received = heap[1],
			    .fetched = heap[2],
			    .ready = heap[3],
			    .count = heap[4]};
	TSR_TRY(compute(world, &args));
	TSR_TRY(check(world, &args, &wrong));
	TSR_TRY(collect(world, &wrong));
	for (int i = 0; i < 5; i++)
		TSR_TRY(tsr_heap_free(world, heap[i]));
	printf("rank %d end, %d wrong\n", tsr_world_rank(world), wrong);
	(void)fflush(stdout);
	return wrong != 0;
}
