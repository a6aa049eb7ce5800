/*
 * relocks KIND: ranks that take a lock, look at a word under it, and release the
 * lock, again and again until the word is set.
 *
 *     right    rank 0 sets the word under the lock
 *     never    wrong: nobody sets the word
 *     swap     right, by a lock of compare-and-swap and store
 *     forever  wrong, by such a lock
 *     copied   right: the word is copied first, which writes the same bytes in
 *              each turn
 *     few      right: takes the lock 40 times and never waits for the word
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { RIGHT, NEVER, SWAP, FOREVER, COPIED, FEW, KINDS };
static const char *const kinds[KINDS] = {"right", "never", "swap", "forever", "copied", "few"};

enum { TURNS = 40 };

typedef struct relocks_state {
	uint64_t lock, word; /* of rank 0 */
	uint64_t mine;       /* a copy of the word */
} relocks_state_t;

typedef struct relocks_args {
	TSR_HEAP relocks_state_t *state;
	int kind;
} relocks_args_t;

TSR_FN int swaps(const relocks_args_t *a)
{
	return a->kind == SWAP || a->kind == FOREVER;
}

/** Partner: give. Litmus: MP.casacq.diffGPU-ss. */
TSR_FN void take(tsr_coop_t *block, const relocks_args_t *a)
{
	const uint64_t open = 0, taken = 1;
	if (!swaps(a)) {
		(void)tsr_lock(block, &a->state->lock, 0);
		return;
	}
	while (tsr_atomic_cas(block, &a->state->lock, open, taken, 0, TSR_ACQUIRE, TSR_RELAXED,
			      TSR_SCOPE_SYSTEM) != open) {
	}
}

/** Partner: take. */
TSR_FN void give(tsr_coop_t *block, const relocks_args_t *a)
{
	if (swaps(a))
		tsr_atomic_store(block, &a->state->lock, (uint64_t)0, 0, TSR_RELEASE,
				 TSR_SCOPE_SYSTEM);
	else
		tsr_unlock(block, &a->state->lock, 0);
}

/** Relaxed: the lock orders it. */
TSR_FN uint64_t look(tsr_coop_t *block, const relocks_args_t *a)
{
	if (a->kind != COPIED)
		return tsr_atomic_load(block, &a->state->word, 0, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	tsr_get(block, &a->state->mine, &a->state->word, sizeof a->state->word, 0);
	tsr_sync(block);
	return tsr_atomic_load(block, &a->state->mine, tsr_rank(block), TSR_RELAXED,
			       TSR_SCOPE_BLOCK);
}

TSR_KERNEL(relocks, relocks_args_t, a)
{
	const int sets = tsr_rank(block) == 0 && a->kind != NEVER && a->kind != FOREVER;
	uint64_t seen = 0;
	if (sets) {
		take(block, a);
		tsr_atomic_store(block, &a->state->word, (uint64_t)1, 0, TSR_RELAXED,
				 TSR_SCOPE_SYSTEM);
		give(block, a);
	}
	for (int64_t turn = 0; !seen && (turn < TURNS || a->kind != FEW); turn++) {
		take(block, a);
		seen = look(block, a);
		give(block, a);
	}
}

TSR_MAIN(world, argc, argv)
{
	const relocks_state_t zero = {0, 0, 0};
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS) {
		fprintf(stderr, "usage: relocks right|never|swap|forever|copied|few\n");
		return 2;
	}
	TSR_HEAP void *heap;
	tsr_stream_t *stream;
	TSR_TRY(tsr_heap_alloc(world, sizeof zero, 0, "state", &heap));
	TSR_TRY(tsr_memcpy_to_heap(world, heap, &zero, sizeof zero));
	TSR_TRY(tsr_barrier(world)); /* every rank's state is cleared */
	const relocks_args_t args = {(TSR_HEAP relocks_state_t *)heap, kind};
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_launch(stream, &relocks, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	TSR_TRY(tsr_stream_destroy(stream));
	return 0;
}
