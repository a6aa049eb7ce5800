/*
 * divided KIND: a block is divided by tsr_split. The workers of rank 0's put a
 * part each to the last rank, which sums what it has got; or the last rank's
 * read a part each, which rank 0 then writes again.
 *
 *     one      wrong: worker 0 raises the flag, and the others may still put
 *     first    wrong: each worker adds 1 to the flag, and one is waited for
 *     sets     wrong: each puts its last part with a signal that sets the flag
 *     atomic   wrong: as first, by an atomic add and a wait for the word
 *     stored   wrong: as one, of values that are stored at home, and fetched
 *     retired  wrong: worker 0 says that all have read
 *     credits  wrong: each worker says so, and one is waited for
 *     met      right: the block meets, and then it raises the flag
 *     all      right: each worker adds 1, and as many as there are are waited for
 *     again    right: as met, twice, and the workers of the first time go on
 *     read     right: the block meets, and says that all have read
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { ONE, FIRST, SETS, ATOMIC, STORED, RETIRED, CREDITS, MET, ALL, AGAIN, READ, KINDS };
static const char *const kinds[KINDS] = {"one",     "first", "sets", "atomic", "stored", "retired",
					 "credits", "met",   "all",  "again",  "read"};

enum { PARTS = 4, PART = 16, VALUES = PARTS * PART, PART_BYTES = PART * sizeof(int32_t) };

typedef struct divided_memory {
	int32_t numbers[VALUES], got[VALUES], kept[VALUES];
	uint64_t flag, read;
} divided_memory_t;

typedef TSR_HEAP divided_memory_t *memory_t;

/** Each worker's parts. Partner: receive. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_FN void put_parts(tsr_coop_t *worker, memory_t m, int kind, int peer)
{
	for (int i = tsr_worker_index(worker); i < PARTS; i += tsr_worker_count(worker)) {
		TSR_HEAP int32_t *to = m->got + i * PART, *from = m->numbers + i * PART;
		if (kind == SETS && i + tsr_worker_count(worker) >= PARTS)
			tsr_put_signal(worker, to, from, PART_BYTES, &m->flag, 1, TSR_SIGNAL_SET,
				       peer);
		else
			tsr_put(worker, to, from, PART_BYTES, kind == STORED ? 0 : peer);
	}
}

/** Partner: receive. Litmus: MP.rel.acq.diffGPU-ss, MP.count.diffGPU-sss. */
TSR_FN void say(tsr_coop_t *block, tsr_coop_t *worker, memory_t m, int kind, int peer)
{
	if (kind == MET || kind == AGAIN) {
		tsr_sync(block);
		tsr_signal(block, &m->flag, 1, TSR_SIGNAL_ADD, peer);
	} else if (kind == FIRST || kind == ALL) {
		tsr_signal(worker, &m->flag, 1, TSR_SIGNAL_ADD, peer);
	} else if (kind == ATOMIC) {
		tsr_atomic_add(worker, &m->flag, (uint64_t)1, peer, TSR_RELEASE, TSR_SCOPE_SYSTEM);
	} else if (kind != SETS && tsr_worker_index(worker) == 0) {
		tsr_signal(worker, &m->flag, 1, TSR_SIGNAL_SET, peer);
	}
}

/** Partner: say on rank 0. Litmus: MP.rel.acq.diffGPU-ss, MP.count.diffGPU-sss. */
TSR_FN void receive(tsr_coop_t *block, memory_t m, int kind, int me)
{
	const tsr_coop_t worker = tsr_split(block);
	tsr_wait(block, &m->flag, kind == ALL ? (uint64_t)tsr_worker_count(&worker) : 1, 0);
	tsr_get(block, m->kept, m->got, sizeof m->got, kind == STORED ? 0 : me);
}

/**
 * The last rank's workers read what rank 0 has in got, which writes there behind
 * the flag. Partner of each other. Litmus: LB.retired.diffGPU-ss.
 */
TSR_FN void read_parts(tsr_coop_t *block, memory_t m, int kind, int last)
{
	if (tsr_rank(block) == 0) {
		tsr_wait(block, &m->read, 1, last);
		tsr_put(block, m->got, m->numbers, sizeof m->got, 0);
	} else if (tsr_rank(block) == last) {
		tsr_coop_t worker = tsr_split(block);
		for (int i = tsr_worker_index(&worker); i < PARTS; i += tsr_worker_count(&worker))
			tsr_get(&worker, m->kept + i * PART, m->got + i * PART, PART_BYTES, 0);
		if (kind == READ)
			tsr_sync(block);
		if (kind == READ)
			tsr_signal(block, &m->read, 1, TSR_SIGNAL_SET, 0);
		else if (kind == CREDITS)
			tsr_signal(&worker, &m->read, 1, TSR_SIGNAL_ADD, 0);
		else if (tsr_worker_index(&worker) == 0)
			tsr_signal(&worker, &m->read, 1, TSR_SIGNAL_SET, 0);
	}
}

TSR_KERNEL(divide, planted_args_t, a)
{
	const memory_t m = (memory_t)a->memory;
	const int last = tsr_size(block) - 1;
	if (a->kind == RETIRED || a->kind == CREDITS || a->kind == READ) {
		read_parts(block, m, a->kind, last);
	} else if (tsr_rank(block) == 0) {
		tsr_coop_t worker = tsr_split(block);
		put_parts(&worker, m, a->kind, last);
		if (a->kind == AGAIN) {
			/* a meeting, and the same workers write other parts */
			tsr_sync(block);
			put_parts(&worker, m, a->kind, last);
		}
		say(block, &worker, m, a->kind, last);
	} else if (tsr_rank(block) == last) {
		receive(block, m, a->kind, last);
	}
}

TSR_MAIN(world, argc, argv)
{
	planted_args_t args = {NULL, planted_kind(argc, argv, kinds, KINDS), 0};
	TSR_HEAP void *memory;
	tsr_stream_t *stream;
	if (args.kind == KINDS || tsr_world_size(world) < 2) {
		fprintf(stderr, "usage: divided one|first|sets|atomic|stored|retired|credits|met|"
				"all|again|read, on at least 2 ranks\n");
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, sizeof(divided_memory_t), 0, "memory", &memory));
	TSR_TRY(tsr_memset_heap(world, memory, 0, sizeof(divided_memory_t)));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	args.memory = memory;
	TSR_TRY(tsr_launch(stream, &divide, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}
