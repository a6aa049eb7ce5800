/*
 * epochs VARIANT: in each round every rank sends a word that carries its own
 * flag to all, and takes those of all. The variants are the right program, and
 * what goes wrong in others.
 */
#include <stdio.h>
#include <string.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"

enum { ROUNDS = 4, MOST_RANKS = 8 };
enum { RIGHT, PARITY, BEFORE, AT_LEAST, BESIDE, VARIANTS };

typedef struct epochs_args {
	TSR_HEAP uint64_t *words;  /* mine: two from each rank */
	TSR_HEAP uint64_t *beside; /* mine: likewise, by plain accesses */
	TSR_HEAP uint32_t *source; /* mine: what I send in each round */
	TSR_HEAP uint32_t *taken;  /* mine: by round and sender */
	TSR_HEAP uint64_t *read;   /* mine: likewise, of what lies beside */
	int32_t variant, reserved;
} epochs_args_t;

TSR_FN int64_t slot_of(const epochs_args_t *a, uint32_t epoch, int from)
{
	const int one = a->variant == PARITY || a->variant == AT_LEAST;
	return (one ? 0 : (int64_t)(epoch & 1)) * MOST_RANKS + from;
}

/** Partner: the take. Litmus: LB.marked.diffGPU-ss, and MP.marked.diffGPU-ss for BESIDE. */
TSR_FN void send_round(tsr_coop_t *block, const epochs_args_t *a, uint32_t epoch)
{
	const int me = tsr_rank(block);
	const int64_t slot = slot_of(a, epoch, me);
	for (int i = 0; a->variant == BESIDE && i < tsr_size(block); i++)
		tsr_put_value(block, a->beside + slot, (uint64_t)epoch, tsr_peer(block, i));
	tsr_put_all_marked(block, a->words + slot, a->source + epoch, sizeof(uint32_t),
			   a->variant == BEFORE ? epoch - 1 : epoch);
}

/** A take of one's own, which compares by >=: what was overwritten is not missed. */
TSR_FN void take_at_least(tsr_coop_t *block, const epochs_args_t *a, uint32_t epoch, int from)
{
	const int me = tsr_rank(block);
	uint64_t seen = 0;
	tsr_wait_word(block, a->words + slot_of(a, epoch, from), TSR_CMP_GE, (uint64_t)epoch << 32,
		      me, TSR_RELAXED, TSR_SCOPE_SYSTEM, from, &seen);
	tsr_put_value(block, a->taken + epoch * MOST_RANKS + from, (uint32_t)seen, me);
}

TSR_FN void take_round(tsr_coop_t *block, const epochs_args_t *a, uint32_t epoch, int from)
{
	const int me = tsr_rank(block);
	const int64_t slot = slot_of(a, epoch, from);
	if (a->variant == AT_LEAST) {
		take_at_least(block, a, epoch, from);
		return;
	}
	tsr_take_marked(block, a->taken + epoch * MOST_RANKS + from, a->words + slot,
			sizeof(uint32_t), epoch, from);
	if (a->variant == BESIDE)
		tsr_get(block, a->read + epoch * MOST_RANKS + from, a->beside + slot,
			sizeof(uint64_t), me);
}

TSR_KERNEL(epochs, epochs_args_t, a)
{
	for (uint32_t epoch = 1; epoch <= ROUNDS; epoch++) {
		send_round(block, a, epoch);
		for (int from = 0; from < tsr_size(block); from++)
			take_round(block, a, epoch, from);
	}
}

static uint32_t value_of(int rank, uint32_t epoch)
{
	return 1000 * ((uint32_t)rank + 1) + epoch;
}

static int judge(tsr_world_t *world, const epochs_args_t *a)
{
	uint32_t taken[(ROUNDS + 1) * MOST_RANKS];
	TSR_TRY(tsr_memcpy_from_heap(world, taken, a->taken, sizeof taken));
	for (uint32_t epoch = 1; epoch <= ROUNDS; epoch++)
		for (int from = 0; from < tsr_world_size(world); from++)
			if (taken[epoch * MOST_RANKS + (uint32_t)from] != value_of(from, epoch))
				return 1;
	return 0;
}

TSR_MAIN(world, argc, argv)
{
	static const char *const names[VARIANTS] = {"right", "parity", "before", "at-least",
						    "beside"};
	enum { ALL = (ROUNDS + 1) * MOST_RANKS, SLOTS = 2 * MOST_RANKS };
	epochs_args_t args = {.variant = VARIANTS};
	uint32_t source[ROUNDS + 1];
	TSR_HEAP void *words, *beside, *sent, *taken, *read;
	tsr_stream_t *stream;
	for (int v = 0; v < VARIANTS; v++)
		if (argc > 1 && strcmp(argv[1], names[v]) == 0)
			args.variant = v;
	if (args.variant == VARIANTS || tsr_world_size(world) > MOST_RANKS) {
		fprintf(stderr, "epochs: say one of the variants, and start at most 8 ranks\n");
		return 1;
	}
	for (uint32_t epoch = 0; epoch <= ROUNDS; epoch++)
		source[epoch] = value_of(tsr_world_rank(world), epoch);
	TSR_TRY(tsr_heap_alloc(world, SLOTS * sizeof(uint64_t), 0, "words", &words));
	TSR_TRY(tsr_heap_alloc(world, SLOTS * sizeof(uint64_t), 0, "beside", &beside));
	TSR_TRY(tsr_heap_alloc(world, sizeof source, 0, "source", &sent));
	TSR_TRY(tsr_heap_alloc(world, ALL * sizeof(uint32_t), 0, "taken", &taken));
	TSR_TRY(tsr_heap_alloc(world, ALL * sizeof(uint64_t), 0, "read", &read));
	TSR_TRY(tsr_memset_heap(world, words, 0, SLOTS * sizeof(uint64_t)));
	TSR_TRY(tsr_memset_heap(world, taken, 0, ALL * sizeof(uint32_t)));
	TSR_TRY(tsr_memcpy_to_heap(world, sent, source, sizeof source));
	args.words = (TSR_HEAP uint64_t *)words;
	args.beside = (TSR_HEAP uint64_t *)beside;
	args.source = (TSR_HEAP uint32_t *)sent;
	args.taken = (TSR_HEAP uint32_t *)taken;
	args.read = (TSR_HEAP uint64_t *)read;
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world)); /* every rank's words are zero before a kernel puts one */
	TSR_TRY(tsr_launch(stream, &epochs, 1, &args));
	TSR_TRY(tsr_stream_destroy(stream));
	return judge(world, &args);
}
