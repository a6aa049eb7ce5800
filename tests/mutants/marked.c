/*
 * marked [ROUNDS [WORDS]]: in each round every rank sends a message to all, in
 * words that carry their own flag, through two buffers by parity of the epoch
 * and with nothing else between the rounds. Another copy of it travels beside
 * the words, and is read behind a pair of fences.
 */
#include "program.h"

typedef struct marked_args {
	TSR_HEAP uint64_t *source; /* a message for each round */
	TSR_HEAP uint64_t *inbox;  /* words with an epoch: two messages from each rank */
	TSR_HEAP uint64_t *beside; /* the copies: likewise */
	TSR_HEAP uint64_t *taken;  /* what came, by round and sender */
	TSR_HEAP uint64_t *read;   /* the copies of that */
	int64_t rounds, words;
} marked_args_t;

enum { MARKED_WORDS = TSR_MARKED_WORDS(sizeof(uint64_t)) }; /* of one word of a message */

/** The epoch wraps in the third round. */
TSR_FN uint32_t marked_epoch(int64_t round)
{
	return (uint32_t)round - 2;
}

/** Two messages of each rank: one for even epochs and one for odd ones. */
TSR_FN int64_t marked_slot(tsr_coop_t *block, const marked_args_t *a, uint32_t parity, int from)
{
	return ((int64_t)parity * tsr_size(block) + from) * a->words;
}

/** Partner: the take in marked_receive. Litmus: LB.marked.diffGPU-ss, MP.frel.facq.diffGPU-ss. */
TSR_FN void marked_send(tsr_coop_t *block, const marked_args_t *a, int64_t round)
{
	const uint32_t epoch = marked_epoch(round);
	const size_t bytes = (size_t)a->words * sizeof(uint64_t);
	const int me = tsr_rank(block);
	TSR_HEAP uint64_t *message = a->source + round * a->words;
	tsr_put_all(block, a->beside + marked_slot(block, a, epoch % 2, me), message, bytes);
	tsr_fence(block, TSR_RELEASE, TSR_SCOPE_SYSTEM);
	tsr_put_all_marked(block, a->inbox + marked_slot(block, a, epoch & 1, me) * MARKED_WORDS,
			   message, bytes, epoch);
}

/** Partner: the put in marked_send. Litmus: LB.marked.diffGPU-ss, MP.frel.facq.diffGPU-ss. */
TSR_FN void marked_receive(tsr_coop_t *block, const marked_args_t *a, int64_t round, int from)
{
	const uint32_t epoch = marked_epoch(round);
	const size_t bytes = (size_t)a->words * sizeof(uint64_t);
	const int64_t at = (round * tsr_size(block) + from) * a->words;
	tsr_take_marked(block, a->taken + at,
			a->inbox + marked_slot(block, a, epoch & 1, from) * MARKED_WORDS, bytes,
			epoch, from);
	tsr_fence(block, TSR_ACQUIRE, TSR_SCOPE_SYSTEM);
	tsr_get(block, a->read + at, a->beside + marked_slot(block, a, epoch % 2, from), bytes,
		tsr_rank(block));
}

TSR_KERNEL(marked, marked_args_t, a)
{
	for (int64_t round = 0; round < a->rounds; round++) {
		marked_send(block, a, round);
		for (int from = 0; from < tsr_size(block); from++)
			marked_receive(block, a, round, from);
	}
}

static uint64_t from_all(const tsr_world_t *world, int64_t index, int64_t words)
{
	const int size = tsr_world_size(world);
	return word_of((int)(index / words % size), index / words / size, index % words);
}

static TSR_HEAP uint64_t *words_of(TSR_HEAP void *heap)
{
	return (TSR_HEAP uint64_t *)heap;
}

TSR_MAIN(world, argc, argv)
{
	marked_args_t args = {NULL, NULL, NULL, NULL, NULL, 0, 0};
	TSR_HEAP void *source = NULL, *inbox, *beside, *taken, *read;
	TSR_TRY(size_argument(argc, argv, 1, "ROUNDS", 5, &args.rounds));
	TSR_TRY(size_argument(argc, argv, 2, "WORDS", 3, &args.words));
	const int64_t each = args.words * tsr_world_size(world), all = args.rounds * each;
	TSR_TRY(filled(world, args.rounds * args.words, args.words, "source", &source));
	TSR_TRY(zeroed(world, (size_t)(2 * each * MARKED_WORDS) * 8, "inbox", &inbox));
	TSR_TRY(tsr_heap_alloc(world, (size_t)(2 * each) * 8, 0, "beside", &beside));
	TSR_TRY(tsr_heap_alloc(world, (size_t)all * 8, 0, "taken", &taken));
	TSR_TRY(tsr_heap_alloc(world, (size_t)all * 8, 0, "read", &read));
	TSR_TRY(tsr_barrier(world)); /* every rank's words are zero before a kernel puts one */
	args.source = words_of(source);
	args.inbox = words_of(inbox);
	args.beside = words_of(beside);
	args.taken = words_of(taken);
	args.read = words_of(read);
	TSR_TRY(run_to_end(world, &marked, 1, 1, &args));
	const int wrong = judge(world, taken, all, args.words, from_all);
	return judge(world, read, all, args.words, from_all) || wrong;
}
