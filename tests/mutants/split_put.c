/*
 * split_put [ROUNDS [WORDS]]: the two workers of a block each put half of a
 * message to the next rank; one of them tells it. There the one that is told
 * tells the other, and each takes half.
 */
#include "program.h"

enum { SPLIT_WORKERS = 2, SPLIT_TELLS = 0 };

typedef struct split_shared {
	/* messages that stand in my inbox, or stood there: for the worker that is not told */
	uint64_t arrived;
} split_shared_t;

typedef struct split_flags {
	uint64_t ready;   /* messages that stand in my inbox, or stood there */
	uint64_t retired; /* messages that the next rank has taken out of its inbox */
} split_flags_t;

typedef struct split_args {
	TSR_HEAP uint64_t *source;  /* message below message */
	TSR_HEAP uint64_t *inbox;   /* one message */
	TSR_HEAP uint64_t *results; /* message below message */
	TSR_HEAP split_flags_t *flags;
	int64_t rounds, words; /* words: of half a message */
} split_args_t;

/**
 * Partners of the wait and the signal: those in split_receive. Litmus:
 * MP.rel.acq.diffGPU-ss, MP.reuse.diffGPU-ss.
 */
TSR_FN void split_send(tsr_coop_t *block, tsr_coop_t *worker, const split_args_t *a, int64_t m)
{
	int me = tsr_worker_index(worker), next = (tsr_rank(block) + 1) % tsr_size(block);
	TSR_HEAP uint64_t *source = a->source + (m - 1) * SPLIT_WORKERS * a->words;
	tsr_wait(worker, &a->flags->retired, (uint64_t)m - 1, next);
	tsr_put(worker, a->inbox + me * a->words, source + me * a->words,
		(size_t)a->words * sizeof(uint64_t), next);
	tsr_sync(block); /* the release of one worker covers what the other has put */
	if (me == SPLIT_TELLS)
		tsr_signal(worker, &a->flags->ready, (uint64_t)m, TSR_SIGNAL_SET, next);
}

/** The local signal's partner is the wait beside it. Litmus: MP.rel.acq.sameWG-ww. */
TSR_FN void split_receive(tsr_coop_t *block, tsr_coop_t *worker, split_shared_t *shared,
			  const split_args_t *a, int64_t m)
{
	int me = tsr_worker_index(worker),
	    previous = (tsr_rank(block) + tsr_size(block) - 1) % tsr_size(block);
	TSR_HEAP uint64_t *results = a->results + (m - 1) * SPLIT_WORKERS * a->words;
	if (me == SPLIT_TELLS) {
		tsr_wait(worker, &a->flags->ready, (uint64_t)m, previous);
		tsr_signal_local(worker, &shared->arrived, (uint64_t)m, TSR_SCOPE_BLOCK);
	} else {
		tsr_wait_local(worker, &shared->arrived, (uint64_t)m, TSR_SCOPE_BLOCK);
	}
	tsr_get(worker, results + me * a->words, a->inbox + me * a->words,
		(size_t)a->words * sizeof(uint64_t), tsr_rank(block));
	tsr_sync(block); /* both have taken their half */
	if (me == SPLIT_TELLS)
		tsr_signal(worker, &a->flags->retired, (uint64_t)m, TSR_SIGNAL_SET, previous);
}

TSR_KERNEL_SPLIT(split_put, SPLIT_WORKERS, split_shared_t, split_args_t, a)
{
	tsr_shared_clear(block, shared, sizeof *shared);
	for (int64_t m = 1; m <= a->rounds; m++) {
		split_send(block, worker, a, m);
		split_receive(block, worker, shared, a, m);
	}
}

static uint64_t from_previous(const tsr_world_t *world, int64_t index, int64_t words)
{
	int size = tsr_world_size(world);
	return word_of((tsr_world_rank(world) + size - 1) % size, index / words, index % words);
}

TSR_MAIN(world, argc, argv)
{
	split_args_t args = {NULL, NULL, NULL, NULL, 0, 0};
	TSR_HEAP void *source = NULL, *inbox, *results, *flags;
	TSR_TRY(size_argument(argc, argv, 1, "ROUNDS", 3, &args.rounds));
	TSR_TRY(size_argument(argc, argv, 2, "WORDS", 64, &args.words));
	const int64_t message = SPLIT_WORKERS * args.words;
	TSR_TRY(filled(world, args.rounds * message, message, "source", &source));
	TSR_TRY(tsr_heap_alloc(world, (size_t)message * sizeof(uint64_t), 0, "inbox", &inbox));
	TSR_TRY(tsr_heap_alloc(world, (size_t)(args.rounds * message) * sizeof(uint64_t), 0,
			       "results", &results));
	TSR_TRY(zeroed(world, sizeof(split_flags_t), "flags", &flags));
	TSR_TRY(tsr_barrier(world)); /* every rank's flags are zero before a kernel raises one */
	args.source = (TSR_HEAP uint64_t *)source;
	args.inbox = (TSR_HEAP uint64_t *)inbox;
	args.results = (TSR_HEAP uint64_t *)results;
	args.flags = (TSR_HEAP split_flags_t *)flags;
	TSR_TRY(run_to_end(world, &split_put, 1, 1, &args));
	return judge(world, results, args.rounds * message, message, from_previous);
}
