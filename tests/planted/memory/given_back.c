/*
 * given_back KIND: memory that is given back and allocated again, round after
 * round, on any number of ranks.
 *
 *     right   each round has its own memory, at the place of what the rounds
 *             before have given back
 *     inside  right too: each round first gives back the inside of its memory,
 *     which fails and changes nothing
 *     slab    right too: what a rank has declared of the first round's memory
 *             holds for that alone
 *     peer    wrong: rank 0 stores to the last rank when its own call has given
 *             the memory back, however slow others are
 *     own     wrong: the last rank stores into its own copy then
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { RIGHT, INSIDE, SLAB, PEER, OWN, KINDS };
static const char *const kinds[KINDS] = {"right", "inside", "slab", "peer", "own"};

enum { ROUNDS = 5 };

typedef struct given_box {
	uint64_t mine, got[2], flag;
} given_box_t;

typedef struct given_args {
	TSR_HEAP given_box_t *box;
	int64_t round, declares;
} given_args_t;

/** Each rank passes its number on to the next. */
TSR_KERNEL(pass_on, given_args_t, a)
{
	const int me = tsr_rank(block), size = tsr_size(block);
	TSR_HEAP uint64_t *got = &a->box->got[a->round % 2];
	if (a->declares)
		tsr_declare_writes(block, tsr_view(got, TSR_I64, 1, 1, 1));
	tsr_put(block, got, &a->box->mine, sizeof(uint64_t), (me + 1) % size);
	tsr_signal(block, &a->box->flag, (uint64_t)1, TSR_SIGNAL_SET, (me + 1) % size);
	tsr_wait(block, &a->box->flag, (uint64_t)1, (me + size - 1) % size);
}

TSR_KERNEL(store_to_last, given_args_t, a)
{
	const int last = tsr_size(block) - 1;
	tsr_atomic_store(block, &a->box->mine, (uint64_t)1, last, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	tsr_flush(block, last);
}

static tsr_status_t run(tsr_stream_t *stream, const tsr_kernel_t *kernel, const given_args_t *args)
{
	const tsr_status_t status = tsr_launch(stream, kernel, 1, args);
	return status == TSR_OK ? tsr_stream_sync(stream) : status;
}

/**
 * Allocates, uses, and gives back: no barrier stands between that and the next
 * round. `*args_out` is what it was.
 */
static int go_round(tsr_world_t *world, tsr_stream_t *stream, int kind, int round,
		    given_args_t *args_out)
{
	/* more and less than was there */
	static const size_t bytes[ROUNDS] = {sizeof(given_box_t), 1024, 256, 4096, 512};
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	given_box_t box = {.mine = (uint64_t)(round * size + me)};
	TSR_HEAP void *heap;
	TSR_TRY(tsr_heap_alloc(world, bytes[round], 0, "round", &heap));
	const given_args_t args = {(TSR_HEAP given_box_t *)heap, round, kind == SLAB && round == 0};
	if (kind == INSIDE && tsr_heap_free(world, &args.box->flag) != TSR_ERR_NOT_FOUND)
		return 1;
	TSR_TRY(tsr_memcpy_to_heap(world, heap, &box, sizeof box));
	TSR_TRY(tsr_barrier(world));
	TSR_TRY(run(stream, &pass_on, &args));
	TSR_TRY(tsr_memcpy_from_heap(world, &box, heap, sizeof box));
	TSR_TRY(tsr_heap_free(world, heap));
	*args_out = args;
	if (box.got[round % 2] == (uint64_t)(round * size + (me + size - 1) % size))
		return 0;
	fprintf(stderr, "given_back: round %d brought %llu\n", round,
		(unsigned long long)box.got[round % 2]);
	return 1;
}

TSR_MAIN(world, argc, argv)
{
	given_args_t args = {NULL, 0, 0};
	tsr_stream_t *stream;
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS || tsr_world_size(world) < 2) {
		fprintf(stderr, "given_back: say one of the kinds, and start at least 2 ranks\n");
		return 2;
	}
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	for (int round = 0; round < ROUNDS; round++)
		if (go_round(world, stream, kind, round, &args) != 0)
			return 1;
	const int strays = kind == PEER ? 0 : kind == OWN ? tsr_world_size(world) - 1 : -1;
	if (tsr_world_rank(world) == strays)
		TSR_TRY(run(stream, &store_to_last, &args));
	TSR_TRY(tsr_stream_destroy(stream));
	return 0;
}
