/*
 * stale KIND: what only memory with caches can get wrong, on two ranks.
 *
 *     launches  right: a kernel of rank 0 reads rank 1's number, before and
 *               after a kernel of rank 1 has changed it
 *     peeks     wrong: rank 1 reads what rank 0 puts where it sees the flag
 *               down, and then it fails: there is a race whenever it does,
 *               though the flag may be up and its store late
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { LAUNCHES, PEEKS, KINDS };
static const char *const kinds[KINDS] = {"launches", "peeks"};

enum { ROUNDS = 3 };

typedef struct stale_box {
	uint64_t number, flag, looked, copies[ROUNDS], numbers[ROUNDS];
} stale_box_t;

typedef struct stale_args {
	TSR_HEAP stale_box_t *box;
	int64_t round;
} stale_args_t;

TSR_KERNEL(read_peer, stale_args_t, a)
{
	if (tsr_rank(block) == 0)
		tsr_get(block, &a->box->copies[a->round], &a->box->number, sizeof(uint64_t), 1);
}

TSR_KERNEL(change_number, stale_args_t, a)
{
	if (tsr_rank(block) == 1)
		tsr_put(block, &a->box->number, &a->box->numbers[a->round], sizeof(uint64_t), 1);
}

/**
 * Partner of the signal: the load, whose result is looked at the wrong way
 * round. Litmus: MP.unguarded.diffGPU-ss.
 */
TSR_KERNEL(peek, stale_args_t, a)
{
	if (tsr_rank(block) == 0) {
		tsr_put(block, &a->box->number, &a->box->numbers[1], sizeof(uint64_t), 1);
		tsr_signal(block, &a->box->flag, (uint64_t)1, TSR_SIGNAL_SET, 1);
		/* it lives on, and what it has kept back need not arrive */
		for (uint64_t i = 0; i < ROUNDS; i++)
			tsr_atomic_store(block, &a->box->looked, i, 0, TSR_RELAXED,
					 TSR_SCOPE_SYSTEM);
	} else if (tsr_atomic_load(block, &a->box->flag, 1, TSR_ACQUIRE, TSR_SCOPE_SYSTEM) == 0) {
		tsr_get(block, &a->box->copies[0], &a->box->number, sizeof(uint64_t), 1);
		tsr_atomic_store(block, &a->box->looked, (uint64_t)1, 1, TSR_RELAXED,
				 TSR_SCOPE_SYSTEM);
	}
}

static tsr_status_t run(tsr_world_t *world, tsr_stream_t *stream, const tsr_kernel_t *kernel,
			const stale_args_t *args)
{
	tsr_status_t status = tsr_launch(stream, kernel, 1, args);
	if (status == TSR_OK)
		status = tsr_stream_sync(stream);
	return status == TSR_OK ? tsr_barrier(world) : status;
}

/** What rank 0 has copied, and whether rank 1 has looked: 0 where it is right. */
static int judge(const stale_box_t *box, int rank)
{
	for (int round = 0; rank == 0 && round < ROUNDS; round++)
		if (box->copies[round] != 0 && box->copies[round] != box->numbers[round])
			return 1;
	return rank == 1 && box->looked != 0;
}

TSR_MAIN(world, argc, argv)
{
	stale_box_t box = {.number = 10, .numbers = {10, 11, 12}};
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	TSR_HEAP void *heap;
	tsr_stream_t *stream;
	if (kind == KINDS || tsr_world_size(world) != 2) {
		fprintf(stderr, "stale: say launches or peeks, and start two ranks\n");
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, sizeof box, 0, "box", &heap));
	TSR_TRY(tsr_memcpy_to_heap(world, heap, &box, sizeof box));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	stale_args_t args = {(TSR_HEAP stale_box_t *)heap, 0};
	for (; kind == LAUNCHES && args.round < ROUNDS; args.round++) {
		TSR_TRY(run(world, stream, &change_number, &args));
		TSR_TRY(run(world, stream, &read_peer, &args));
	}
	if (kind == PEEKS)
		TSR_TRY(run(world, stream, &peek, &args));
	TSR_TRY(tsr_memcpy_from_heap(world, &box, heap, sizeof box));
	TSR_TRY(tsr_stream_destroy(stream));
	return judge(&box, tsr_world_rank(world));
}
