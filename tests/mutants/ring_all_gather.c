/*
 * ring_all_gather [WORDS [CALLS]]: every rank gets the words of all, which
 * travel round the ring: what came from the rank before is passed on to the
 * next. Call after call, into the same memory.
 */
#include "program.h"

typedef struct ring_sync {
	uint64_t calls; /* calls completed on this rank */
	uint64_t ready; /* parts that the rank before has put here, over all calls */
} ring_sync_t;

typedef struct ring_args {
	TSR_HEAP uint64_t *source;  /* my part of each call */
	TSR_HEAP uint64_t *all;     /* the parts of all ranks */
	TSR_HEAP uint64_t *results; /* what `all` was at the end of each call */
	TSR_HEAP ring_sync_t *sync;
	TSR_HEAP tsr_barrier_state_t *barrier;
	int64_t words;
} ring_args_t;

/**
 * The parts, one after the other: mine first. Partner of the signal: the wait
 * on the next rank. Litmus: MP.rel.acq.diffGPU-ss.
 */
TSR_FN void ring_pass(tsr_coop_t *block, const ring_args_t *a, uint64_t calls)
{
	int me = tsr_rank(block), size = tsr_size(block);
	int next = (me + 1) % size, previous = (me + size - 1) % size;
	for (int step = 1; step < size; step++) {
		uint64_t count = calls * (uint64_t)(size - 1) + (uint64_t)step;
		TSR_HEAP uint64_t *part = a->all + (me + size - step + 1) % size * a->words;
		tsr_put_signal(block, part, part, (size_t)a->words * sizeof(uint64_t),
			       &a->sync->ready, count, TSR_SIGNAL_SET, next);
		tsr_wait(block, &a->sync->ready, count, previous);
	}
}

/**
 * One call. The count of calls was stored before the last launch ended, which
 * happens before this one begins.
 */
TSR_KERNEL(ring_all_gather, ring_args_t, a)
{
	int me = tsr_rank(block);
	size_t part_bytes = (size_t)a->words * sizeof(uint64_t);
	uint64_t calls = tsr_atomic_load(block, &a->sync->calls, me, TSR_RELAXED, TSR_SCOPE_DEVICE);
	tsr_put(block, a->all + me * a->words, a->source + (int64_t)calls * a->words, part_bytes,
		me);
	tsr_sync(block);
	ring_pass(block, a, calls);
	tsr_put(block, a->results + (int64_t)calls * tsr_size(block) * a->words, a->all,
		(size_t)tsr_size(block) * part_bytes, me);
	/* what every rank has, it has read: `all` may be written again */
	tsr_barrier_ranks(block, a->barrier);
	tsr_atomic_store(block, &a->sync->calls, calls + 1, me, TSR_RELAXED, TSR_SCOPE_DEVICE);
}

static uint64_t gathered(const tsr_world_t *world, int64_t index, int64_t words)
{
	int64_t part = index / words;
	return word_of((int)(part % tsr_world_size(world)), part / tsr_world_size(world),
		       index % words);
}

TSR_MAIN(world, argc, argv)
{
	ring_args_t args = {NULL, NULL, NULL, NULL, NULL, 0};
	TSR_HEAP void *source = NULL, *all, *results, *sync, *barrier;
	int64_t calls;
	TSR_TRY(size_argument(argc, argv, 1, "WORDS", 64, &args.words));
	TSR_TRY(size_argument(argc, argv, 2, "CALLS", 3, &calls));
	const int64_t gathered_words = tsr_world_size(world) * args.words;
	TSR_TRY(filled(world, calls * args.words, args.words, "source", &source));
	TSR_TRY(tsr_heap_alloc(world, (size_t)gathered_words * sizeof(uint64_t), 0, "all", &all));
	TSR_TRY(tsr_heap_alloc(world, (size_t)(calls * gathered_words) * sizeof(uint64_t), 0,
			       "results", &results));
	TSR_TRY(zeroed(world, sizeof(ring_sync_t), "sync", &sync));
	TSR_TRY(zeroed(world, tsr_barrier_state_bytes(tsr_world_size(world)), "barrier", &barrier));
	TSR_TRY(tsr_barrier(world)); /* every rank's flags are zero before a kernel raises one */
	args.source = (TSR_HEAP uint64_t *)source;
	args.all = (TSR_HEAP uint64_t *)all;
	args.results = (TSR_HEAP uint64_t *)results;
	args.sync = (TSR_HEAP ring_sync_t *)sync;
	args.barrier = (TSR_HEAP tsr_barrier_state_t *)barrier;
	TSR_TRY(run_to_end(world, &ring_all_gather, 1, (int)calls, &args));
	return judge(world, results, calls * gathered_words, args.words, gathered);
}
