/*
 * windowed [ROUNDS [WORDS]]: every rank has its memory, flags among it, in a
 * window. Each round it puts words to the next rank's, which keeps them. It may
 * put the next ones when those have been read.
 */
#include "program.h"

enum { READY = 0, RETIRED = 16, INBOX = 32 }; /* in words of the window */

typedef struct windowed_args {
	TSR_HEAP uint64_t *window;
	int64_t rounds, words;
} windowed_args_t;

/** Partners: each wait and the signal of the same flag. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_KERNEL(windowed, windowed_args_t, a)
{
	const int me = tsr_rank(block), size = tsr_size(block), next = (me + 1) % size,
		  previous = (me + size - 1) % size;
	TSR_HEAP uint64_t *inbox = a->window + INBOX, *outbox = inbox + a->words,
			  *kept = outbox + a->rounds * a->words;
	const size_t bytes = (size_t)a->words * sizeof(uint64_t);
	for (int64_t round = 0; round < a->rounds; round++) {
		const uint64_t epoch = (uint64_t)round;
		tsr_wait(block, a->window + RETIRED, epoch, next);
		tsr_put(block, inbox, outbox + round * a->words, bytes, next);
		tsr_signal(block, a->window + READY, epoch + 1, TSR_SIGNAL_SET, next);
		tsr_wait(block, a->window + READY, epoch + 1, previous);
		tsr_put(block, kept + round * a->words, inbox, bytes, me);
		tsr_signal(block, a->window + RETIRED, epoch + 1, TSR_SIGNAL_SET, previous);
	}
}

static uint64_t expected(const tsr_world_t *world, int64_t index, int64_t words)
{
	const int size = tsr_world_size(world);
	return word_of((tsr_world_rank(world) + size - 1) % size, index / words, index % words);
}

/** Whole pages of the program's, with this rank's words where it puts them from. */
static uint64_t *filled_pages(tsr_world_t *world, const windowed_args_t *args, size_t *bytes_out)
{
	const size_t unit = tsr_window_unit_bytes(world);
	const size_t count = INBOX + (size_t)((2 * args->rounds + 1) * args->words),
		     bytes = (count * sizeof(uint64_t) + unit - 1) / unit * unit;
	uint64_t *memory = (uint64_t *)aligned_alloc(unit, bytes);
	if (!memory)
		return NULL;
	memset(memory, 0, bytes);
	for (int64_t i = 0; i < args->rounds * args->words; i++)
		memory[INBOX + args->words + i] =
			word_of(tsr_world_rank(world), i / args->words, i % args->words);
	*bytes_out = bytes;
	return memory;
}

TSR_MAIN(world, argc, argv)
{
	windowed_args_t args = {NULL, 0, 0};
	TSR_HEAP void *window;
	size_t bytes;
	TSR_TRY(size_argument(argc, argv, 1, "ROUNDS", 5, &args.rounds));
	TSR_TRY(size_argument(argc, argv, 2, "WORDS", 9, &args.words));
	uint64_t *memory = filled_pages(world, &args, &bytes);
	if (!memory)
		return 1;
	TSR_TRY(tsr_window_register(world, memory, bytes, "window", &window));
	args.window = (TSR_HEAP uint64_t *)window;
	TSR_TRY(run_to_end(world, &windowed, 1, 1, &args));
	const int code = judge(world, args.window + INBOX + (args.rounds + 1) * args.words,
			       args.rounds * args.words, args.words, expected);
	TSR_TRY(tsr_window_release(world, window));
	free(memory);
	return code;
}
