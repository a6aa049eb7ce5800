/*
 * passing KIND: values that come and go, of which one who waits may see the next
 * one alone. Rank 0 writes a word of rank 1, which waits for it.
 *
 *     exact     wrong: waits for a count to be 1, which goes on to 2
 *     bit       wrong: waits for a bit that is cleared again
 *     loop      wrong: a loop of loads that waits for the count to be 1
 *     looped    wrong: a loop of loads that waits for the bit
 *     held      wrong: as exact, and rank 0 waits for an answer behind both
 *     store     wrong: two blocks wait for a flag, which the first that sees it
 *               resets by a store
 *     swap      wrong: the same by an exchange
 *     any       wrong: the same, where they wait for one of two flags
 *     one       right: one block waits for the flag, and resets it
 *     answered  right: each value stays until the other rank has answered
 *     rising    right: waits for the count to be 1 or more
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { EXACT, BIT, LOOP, LOOPED, HELD, STORE, SWAP, ANY, ONE, ANSWERED, RISING, KINDS };
static const char *const kinds[KINDS] = {"exact", "bit", "loop", "looped",   "held",  "store",
					 "swap",  "any", "one",  "answered", "rising"};

typedef struct passing_memory {
	uint64_t word, other, answer;
} passing_memory_t;

/** Whether it is a kind of two blocks on each rank. */
TSR_FN int resets(int kind)
{
	return kind == STORE || kind == SWAP || kind == ANY || kind == ONE;
}

/** Partner: wait_for. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_FN void write(tsr_coop_t *block, TSR_HEAP passing_memory_t *m, uint64_t value)
{
	tsr_atomic_store(block, &m->word, value, 1, TSR_RELEASE, TSR_SCOPE_SYSTEM);
}

/** Partner of the wait: the answer of wait_for. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_FN void write_both(tsr_coop_t *block, TSR_HEAP passing_memory_t *m, int kind)
{
	write(block, m, 1);
	if (kind == ANSWERED)
		tsr_wait(block, &m->answer, 1, 1);
	if (kind == BIT || kind == LOOPED)
		write(block, m, 0);
	else if (!resets(kind))
		write(block, m, 2);
	if (kind == HELD)
		tsr_wait(block, &m->answer, 1, 1);
}

/** Partner: write. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_FN void look_for(tsr_coop_t *block, TSR_HEAP passing_memory_t *m, int kind)
{
	uint64_t seen;
	do
		seen = tsr_atomic_load(block, &m->word, 1, TSR_ACQUIRE, TSR_SCOPE_SYSTEM);
	while (kind == LOOP ? seen != 1 : (seen & 1) == 0);
}

/** Partner: write. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_FN void wait_for(tsr_coop_t *block, TSR_HEAP passing_memory_t *m, int kind)
{
	const tsr_cmp_t cmp = kind == RISING ? TSR_CMP_GE : kind == BIT ? TSR_CMP_ANY : TSR_CMP_EQ;
	tsr_wait_word(block, &m->word, cmp, (uint64_t)1, 1, TSR_ACQUIRE, TSR_SCOPE_SYSTEM, 0,
		      (uint64_t *)0);
	if (kind == ANSWERED || kind == HELD)
		tsr_signal(block, &m->answer, 1, TSR_SIGNAL_SET, 0);
}

/** Partner of the wait: write. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_FN void wait_and_reset(tsr_coop_t *block, TSR_HEAP passing_memory_t *m, int kind)
{
	int which;
	if (tsr_block_index(block) > 0 && kind == ONE)
		return;
	if (kind == ANY) /* of the word and the other; the latter is never raised */
		tsr_wait_any(block, &m->word, 2, 0, 1, &which);
	else
		tsr_wait(block, &m->word, 1, 0);
	if (kind == SWAP) /* relaxed: hands nothing over */
		(void)tsr_atomic_xchg(block, &m->word, (uint64_t)0, 1, TSR_RELAXED,
				      TSR_SCOPE_SYSTEM);
	else
		tsr_atomic_store(block, &m->word, (uint64_t)0, 1, TSR_RELAXED, TSR_SCOPE_SYSTEM);
}

TSR_KERNEL(pass, planted_args_t, a)
{
	TSR_HEAP passing_memory_t *m = (TSR_HEAP passing_memory_t *)a->memory;
	if (tsr_rank(block) == 0 && tsr_block_index(block) == 0)
		write_both(block, m, a->kind);
	else if (tsr_rank(block) != 1)
		return;
	else if (resets(a->kind))
		wait_and_reset(block, m, a->kind);
	else if (a->kind == LOOP || a->kind == LOOPED)
		look_for(block, m, a->kind);
	else
		wait_for(block, m, a->kind);
}

TSR_MAIN(world, argc, argv)
{
	planted_args_t args = {NULL, planted_kind(argc, argv, kinds, KINDS), 0};
	TSR_HEAP void *memory;
	tsr_stream_t *stream;
	if (args.kind == KINDS || tsr_world_size(world) < 2) {
		fprintf(stderr, "usage: passing exact|bit|loop|looped|held|store|swap|any|one|"
				"answered|rising, on at least 2 ranks\n");
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, sizeof(passing_memory_t), 0, "memory", &memory));
	TSR_TRY(tsr_memset_heap(world, memory, 0, sizeof(passing_memory_t)));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	args.memory = memory;
	TSR_TRY(tsr_launch(stream, &pass, resets(args.kind) ? 2 : 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}
