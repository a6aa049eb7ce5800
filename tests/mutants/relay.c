/*
 * relay [WORDS]: every rank copies what the rank before has written into the
 * memory of the next, and tells it.
 */
#include "program.h"

typedef struct relay_args {
	TSR_HEAP uint64_t *outbox;  /* mine, written by the host */
	TSR_HEAP uint64_t *inbox;   /* from two ranks before */
	TSR_HEAP uint64_t *results; /* a copy of the inbox */
	TSR_HEAP uint64_t *ready;   /* 1: the inbox is filled */
	int64_t words;
} relay_args_t;

/** Partner of the signal: the wait on the next rank. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_KERNEL(relay, relay_args_t, a)
{
	size_t bytes = (size_t)a->words * sizeof(uint64_t);
	int me = tsr_rank(block), size = tsr_size(block);
	int next = (me + 1) % size, previous = (me + size - 1) % size;
	tsr_copy(block, a->inbox, next, a->outbox, previous, bytes);
	tsr_signal(block, a->ready, 1, TSR_SIGNAL_SET, next);
	tsr_wait(block, a->ready, 1, previous);
	tsr_get(block, a->results, a->inbox, bytes, me);
}

static uint64_t from_two_before(const tsr_world_t *world, int64_t index, int64_t words)
{
	int size = tsr_world_size(world);
	return word_of((tsr_world_rank(world) + 2 * size - 2) % size, index / words, index % words);
}

TSR_MAIN(world, argc, argv)
{
	relay_args_t args = {NULL, NULL, NULL, NULL, 0};
	TSR_HEAP void *outbox = NULL, *inbox, *results, *ready;
	TSR_TRY(size_argument(argc, argv, 1, "WORDS", 64, &args.words));
	TSR_TRY(filled(world, args.words, args.words, "outbox", &outbox));
	TSR_TRY(tsr_heap_alloc(world, (size_t)args.words * sizeof(uint64_t), 0, "inbox", &inbox));
	TSR_TRY(tsr_heap_alloc(world, (size_t)args.words * sizeof(uint64_t), 0, "results",
			       &results));
	TSR_TRY(zeroed(world, sizeof(uint64_t), "ready", &ready));
	TSR_TRY(tsr_barrier(world)); /* every outbox is filled, every flag is zero */
	args.outbox = (TSR_HEAP uint64_t *)outbox;
	args.inbox = (TSR_HEAP uint64_t *)inbox;
	args.results = (TSR_HEAP uint64_t *)results;
	args.ready = (TSR_HEAP uint64_t *)ready;
	TSR_TRY(run_to_end(world, &relay, 1, 1, &args));
	return judge(world, results, args.words, args.words, from_two_before);
}
