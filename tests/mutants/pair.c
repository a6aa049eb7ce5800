/*
 * pair [MESSAGES [WORDS]]: rank 0 sends messages to the last rank, through an
 * inbox of one message. Nobody else does anything. READY says that the message
 * is there, RETIRED that the inbox may be written again.
 */
#include "program.h"

typedef struct pair_flags {
	uint64_t ready;   /* mine: messages that stand in my inbox, or stood there */
	uint64_t retired; /* mine: messages that the last rank has taken out of its inbox */
	uint64_t seen;    /* for a wait of one's own: nobody else's */
} pair_flags_t;

typedef struct pair_args {
	TSR_HEAP uint64_t *source;  /* message below message */
	TSR_HEAP uint64_t *inbox;   /* one message */
	TSR_HEAP uint64_t *results; /* message below message */
	TSR_HEAP pair_flags_t *flags;
	int64_t messages, words;
} pair_args_t;

/**
 * Partners: the wait and the signal in pair_receive. Litmus:
 * MP.rel.acq.diffGPU-ss, MP.reuse.diffGPU-ss.
 */
TSR_FN void pair_send(tsr_coop_t *block, const pair_args_t *a, int64_t m)
{
	int to = tsr_size(block) - 1;
	tsr_wait(block, &a->flags->retired, (uint64_t)m - 1, to);
	tsr_put(block, a->inbox, a->source + (m - 1) * a->words,
		(size_t)a->words * sizeof(uint64_t), to);
	tsr_signal(block, &a->flags->ready, (uint64_t)m, TSR_SIGNAL_SET, to);
}

/**
 * Partners: the signal and the wait in pair_send. Litmus:
 * MP.rel.acq.diffGPU-ss, MP.reuse.diffGPU-ss.
 */
TSR_FN void pair_receive(tsr_coop_t *block, const pair_args_t *a, int64_t m)
{
	int me = tsr_rank(block);
	tsr_wait(block, &a->flags->ready, (uint64_t)m, 0);
	tsr_get(block, a->results + (m - 1) * a->words, a->inbox,
		(size_t)a->words * sizeof(uint64_t), me);
	tsr_signal(block, &a->flags->retired, (uint64_t)m, TSR_SIGNAL_SET, 0);
}

TSR_KERNEL(pair, pair_args_t, a)
{
	for (int64_t m = 1; m <= a->messages; m++) {
		if (tsr_rank(block) == 0)
			pair_send(block, a, m);
		if (tsr_rank(block) == tsr_size(block) - 1)
			pair_receive(block, a, m);
	}
}

static uint64_t from_rank_0(const tsr_world_t *world, int64_t index, int64_t words)
{
	(void)world;
	return word_of(0, index / words, index % words);
}

TSR_MAIN(world, argc, argv)
{
	pair_args_t args = {NULL, NULL, NULL, NULL, 0, 0};
	TSR_HEAP void *source = NULL, *inbox, *results, *flags;
	TSR_TRY(size_argument(argc, argv, 1, "MESSAGES", 4, &args.messages));
	TSR_TRY(size_argument(argc, argv, 2, "WORDS", 64, &args.words));
	TSR_TRY(filled(world, args.messages * args.words, args.words, "source", &source));
	TSR_TRY(tsr_heap_alloc(world, (size_t)args.words * sizeof(uint64_t), 0, "inbox", &inbox));
	TSR_TRY(tsr_heap_alloc(world, (size_t)(args.messages * args.words) * sizeof(uint64_t), 0,
			       "results", &results));
	TSR_TRY(zeroed(world, sizeof(pair_flags_t), "flags", &flags));
	TSR_TRY(tsr_barrier(world)); /* every rank's flags are zero before a kernel raises one */
	args.source = (TSR_HEAP uint64_t *)source;
	args.inbox = (TSR_HEAP uint64_t *)inbox;
	args.results = (TSR_HEAP uint64_t *)results;
	args.flags = (TSR_HEAP pair_flags_t *)flags;
	TSR_TRY(run_to_end(world, &pair, 1, 1, &args));
	if (tsr_world_rank(world) < tsr_world_size(world) - 1)
		return 0;
	return judge(world, results, args.messages * args.words, args.words, from_rank_0);
}
