/*
 * within [ROUNDS [WORDS]]: what one block does to its own memory, call after
 * call, with a meeting of its threads wherever one of them goes on with what
 * another has done: it moves on what it has fetched, reads a word of it, stores
 * another and puts that.
 */
#include "program.h"

typedef struct within_args {
	TSR_HEAP uint64_t *numbers; /* WORDS a round */
	/* WORDS, of the next rank; then its count alone, in the second of them */
	TSR_HEAP uint64_t *fetched;
	TSR_HEAP uint64_t *word;
	/* WORDS a round: all but the first of what was fetched, then a word of the rank before */
	TSR_HEAP uint64_t *results;
	int64_t rounds, words;
} within_args_t;

/** To each thread what another one has got. */
TSR_FN void within_shift(tsr_coop_t *block, const within_args_t *a, int64_t round, int next)
{
	const size_t bytes = (size_t)a->words * sizeof(uint64_t);
	tsr_get(block, a->fetched, a->numbers + round * a->words, bytes, next);
	tsr_sync(block); /* a thread moves what another has fetched */
	tsr_put(block, a->results + round * a->words, a->fetched + 1, bytes - sizeof(uint64_t),
		tsr_rank(block));
	tsr_sync(block); /* what was fetched has been moved on, and its place may be fetched into */
}

/** One thread reads what another has got, and stores what another puts. */
TSR_FN void within_count(tsr_coop_t *block, const within_args_t *a, int64_t round, int next)
{
	const int me = tsr_rank(block);
	tsr_get(block, a->fetched + 1, a->numbers + round * a->words, sizeof(uint64_t), next);
	tsr_sync(block); /* one thread reads what another has fetched */
	uint64_t count = tsr_atomic_load(block, a->fetched + 1, me, TSR_RELAXED, TSR_SCOPE_BLOCK);
	tsr_atomic_store(block, a->word, count + 1, me, TSR_RELAXED, TSR_SCOPE_BLOCK);
	tsr_sync(block); /* a thread puts what another has stored */
	tsr_put(block, a->results + (round + 1) * a->words - 1, a->word, sizeof(uint64_t), next);
	tsr_sync(block); /* it has been put, and may be stored anew */
}

TSR_KERNEL(within, within_args_t, a)
{
	const int next = (tsr_rank(block) + 1) % tsr_size(block);
	for (int64_t round = 0; round < a->rounds; round++) {
		within_shift(block, a, round, next);
		within_count(block, a, round, next);
	}
	tsr_flush(block, next);
}

static uint64_t expected(const tsr_world_t *world, int64_t index, int64_t words)
{
	const int me = tsr_world_rank(world);
	const int64_t round = index / words, at = index % words;
	return at < words - 1 ? word_of((me + 1) % tsr_world_size(world), round, at + 1)
			      : word_of(me, round, 0) + 1;
}

TSR_MAIN(world, argc, argv)
{
	within_args_t args = {NULL, NULL, NULL, NULL, 0, 0};
	TSR_HEAP void *numbers = NULL, *fetched = NULL, *word = NULL, *results = NULL;
	TSR_TRY(size_argument(argc, argv, 1, "ROUNDS", 4, &args.rounds));
	TSR_TRY(size_argument(argc, argv, 2, "WORDS", 64, &args.words));
	TSR_TRY(filled(world, args.rounds * args.words, args.words, "numbers", &numbers));
	TSR_TRY(zeroed(world, (size_t)(args.words + 1) * sizeof(uint64_t), "fetched", &fetched));
	TSR_TRY(zeroed(world, sizeof(uint64_t), "word", &word));
	TSR_TRY(zeroed(world, (size_t)(args.rounds * args.words) * sizeof(uint64_t), "results",
		       &results));
	TSR_TRY(tsr_barrier(world)); /* all numbers are there before a kernel fetches them */
	args.numbers = (TSR_HEAP uint64_t *)numbers;
	args.fetched = (TSR_HEAP uint64_t *)fetched;
	args.word = (TSR_HEAP uint64_t *)word;
	args.results = (TSR_HEAP uint64_t *)results;
	TSR_TRY(run_to_end(world, &within, 1, 1, &args));
	TSR_TRY(tsr_barrier(world)); /* the rank before has put its last word */
	return judge(world, results, args.rounds * args.words, args.words, expected);
}
