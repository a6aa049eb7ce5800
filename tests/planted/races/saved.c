/*
 * saved right|put|shape|viewed|kept|operand|beside: a block saves a state of
 * attention, loads it again, and saves, merges and finishes that, all without a
 * meeting, as the contract allows. Or it does without a meeting what needs one:
 * it puts what it has just saved (put); loads it as a state of another
 * configuration (shape); loads a tile from where it then saves a state (viewed);
 * adds to a fragment what it has just saved of another (kept); or stores an
 * accumulator where it has just loaded an operand (operand). Or one block loads
 * what another one saves, and nobody waits (beside).
 */
#include <math.h>
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { SIZE = 16, RIGHT = 0, PUT, SHAPE, VIEWED, KEPT, OPERAND, BESIDE, KINDS };
static const char *const kinds[KINDS] = {"right", "put",     "shape", "viewed",
					 "kept",  "operand", "beside"};

TSR_TILE(tile, f32, SIZE, SIZE, SIZE);
TSR_TILE(deep, f32, SIZE, SIZE, 2 * SIZE);

/* A state takes as many elements as a fragment, and two for each row. */
enum { SAVED = SIZE * SIZE + 2 * SIZE };

typedef struct saved_memory {
	_Alignas(16) float saved[SAVED], copy[SAVED], sum[SIZE * SIZE];
	float o[SIZE * SIZE], lse[SIZE], finished[SIZE * SIZE];
} saved_memory_t;

static const tsr_pos_t at = {0, 0};

TSR_FN tsr_view_t square(TSR_HEAP float *elements)
{
	return tsr_view(elements, TSR_F32, SIZE, SIZE, SIZE);
}

/* Every save, load and merge is of one place: none needs a meeting with another. */
TSR_FN void save_and_load(tsr_coop_t *block, TSR_HEAP saved_memory_t *m)
{
	TSR_STATE(tile, x, block);
	TSR_FRAG(tile, o, block);
	TSR_FRAG_ROWS(tile, lse, block);
	const tsr_view_t logarithms = tsr_view(m->lse, TSR_F32, SIZE, 1, 1);
	tsr_state_neutral(block, x);
	tsr_state_merge_output(block, x, square(m->o), at, logarithms, at, tsr_rank(block));
	tsr_state_save(block, m->saved, x);
	tsr_state_neutral(block, x);
	tsr_state_load(block, x, m->saved);
	tsr_state_save(block, m->saved, x);
	tsr_state_save(block, m->saved, x);
	tsr_state_merge_saved(block, x, m->saved);
	tsr_state_save(block, m->saved, x);
	tsr_state_finish(block, x, o, lse);
	tsr_tile_store(block, square(m->finished), at, o);
}

TSR_FN void load_deeper(tsr_coop_t *block, TSR_HEAP saved_memory_t *m)
{
	TSR_STATE(deep, x, block);
	tsr_state_load(block, x, m->saved);
	tsr_sync(block);
}

TSR_FN void load_tile_and_save(tsr_coop_t *block, TSR_HEAP saved_memory_t *m)
{
	TSR_STATE(tile, x, block);
	TSR_FRAG(tile, c, block);
	tsr_sync(block);
	tsr_tile_load(block, c, square(m->saved), at);
	tsr_state_neutral(block, x);
	tsr_state_save(block, m->saved, x);
}

TSR_FN void save_and_add(tsr_coop_t *block, TSR_HEAP saved_memory_t *m)
{
	TSR_FRAG(tile, c, block);
	tsr_frag_zero(block, c);
	tsr_frag_save(block, m->sum, c);
	tsr_frag_add(block, c, m->sum);
}

TSR_FN void load_operand_and_store(tsr_coop_t *block, TSR_HEAP saved_memory_t *m)
{
	TSR_FRAG(tile, c, block);
	TSR_FRAG_A(tile, a, block);
	tsr_frag_zero(block, c);
	tsr_load(block, a, square(m->sum), at, tsr_rank(block));
	tsr_store(block, square(m->sum), at, c, tsr_rank(block));
}

TSR_KERNEL(save_states, planted_args_t, a)
{
	TSR_HEAP saved_memory_t *m = (TSR_HEAP saved_memory_t *)a->memory;
	if (a->kind == BESIDE && tsr_block_index(block) == 1) {
		TSR_STATE(tile, x, block);
		tsr_state_load(block, x, m->saved);
		return;
	}
	save_and_load(block, m);
	if (a->kind == PUT)
		tsr_put(block, m->copy, m->saved, sizeof m->saved, tsr_rank(block));
	else if (a->kind == SHAPE)
		load_deeper(block, m);
	else if (a->kind == VIEWED)
		load_tile_and_save(block, m);
	else if (a->kind == KEPT)
		save_and_add(block, m);
	else if (a->kind == OPERAND)
		load_operand_and_store(block, m);
}

/* A state that is merged with itself has twice the sum, and the same output. */
static int judge(const saved_memory_t *m)
{
	int wrong = 0;
	for (int i = 0; i < SIZE * SIZE; i++)
		wrong += m->finished[i] != m->o[i];
	if (wrong > 0)
		fprintf(stderr, "wrong: %d elements\n", wrong);
	return wrong > 0;
}

TSR_MAIN(world, argc, argv)
{
	saved_memory_t memory = {.saved = {0}};
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS) {
		fprintf(stderr, "usage: saved right|put|shape|viewed|kept|operand|beside\n");
		return 2;
	}
	for (int i = 0; i < SIZE * SIZE; i++) {
		memory.o[i] = (float)(i + 1);
		memory.finished[i] = NAN;
	}
	const int failed = planted_play_in(world, &save_states, kind == BESIDE ? 2 : 1, kind,
					   &memory, sizeof memory);
	return failed ? failed : judge(&memory);
}
