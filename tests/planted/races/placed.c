/*
 * placed right|unmet|same|early|late|unsummed: ranks scatter words to the next
 * rank, put rows there, and sum what came to the rank after. The words are
 * scattered before the block's threads have met behind the loop that made them
 * (unmet), or by all ranks to one place (same), or are read before they are
 * waited for (early); the rows are put behind the signal that says they are
 * there (late); or the sum is read before it is waited for (unsummed).
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { WORDS = 29, ROWS = 3, COLS = 20 };
enum { RIGHT, UNMET, SAME, EARLY, LATE, UNSUMMED, KINDS };
static const char *const kinds[KINDS] = {"right", "unmet", "same", "early", "late", "unsummed"};

typedef struct placed_pad {
	int32_t index[WORDS], value[WORDS];
} placed_pad_t;

typedef struct placed_memory {
	int32_t words[WORDS], read[WORDS];
	float own[ROWS][COLS], came[ROWS][COLS], sum[COLS], copy[COLS];
	uint64_t placed, summed;
} placed_memory_t;

/* Each signal and the wait for it are partners. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_KERNEL_SHARED(place_words, placed_pad_t, planted_args_t, a)
{
	TSR_HEAP placed_memory_t *m = (TSR_HEAP placed_memory_t *)a->memory;
	const int me = tsr_rank(block), next = (me + 1) % tsr_size(block),
		  before = (me + tsr_size(block) - 1) % tsr_size(block);
	const int32_t rows[2] = {2, 0};
	TSR_EACH(block, i, WORDS) {
		shared->index[i] = i * 3 % WORDS;
		shared->value[i] = i + 1;
	}
	if (a->kind != UNMET)
		tsr_sync(block);
	tsr_put_scattered(block, m->words, shared->index, shared->value, WORDS,
			  a->kind == SAME ? 0 : next);
	if (a->kind != LATE)
		tsr_put(block, m->came, m->own, sizeof m->came, next);
	tsr_signal(block, &m->placed, 1, TSR_SIGNAL_SET, next);
	if (a->kind == LATE)
		tsr_put(block, m->came, m->own, sizeof m->came, next);
	if (a->kind != EARLY)
		tsr_wait(block, &m->placed, 1, before);
	tsr_put(block, m->read, m->words, sizeof m->read, me);
	if (a->kind == EARLY)
		tsr_wait(block, &m->placed, 1, before);
	tsr_sum_rows(block, tsr_view(m->sum, TSR_F32, 1, COLS, COLS),
		     tsr_view(m->came, TSR_F32, ROWS, COLS, COLS), rows, 0, 2, next);
	tsr_signal(block, &m->summed, 1, TSR_SIGNAL_SET, next);
	if (a->kind != UNSUMMED)
		tsr_wait(block, &m->summed, 1, before);
	tsr_put(block, m->copy, m->sum, sizeof m->copy, me);
}

static int judge(const placed_memory_t *m)
{
	int wrong = 0;
	for (int i = 0; i < WORDS; i++)
		wrong += m->read[i * 3 % WORDS] != i + 1;
	for (int i = 0; i < COLS; i++)
		wrong += m->copy[i] != (float)(2 * i + 2);
	if (wrong > 0)
		fprintf(stderr, "wrong: %d words and sums\n", wrong);
	return wrong > 0;
}

TSR_MAIN(world, argc, argv)
{
	placed_memory_t memory = {.words = {0}};
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS) {
		fprintf(stderr, "usage: placed right|unmet|same|early|late|unsummed\n");
		return 2;
	}
	for (int row = 0; row < ROWS; row++)
		for (int col = 0; col < COLS; col++)
			memory.own[row][col] = (float)(row + col);
	const int failed = planted_play(world, &place_words, kind, &memory, sizeof memory);
	return failed ? failed : judge(&memory);
}
