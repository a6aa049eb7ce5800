/*
 * borrowed KIND: a worker uses the fragment that its block has declared, of
 * which it has a part, as if it were all its own.
 *
 *     load  it is loaded
 *     store it is stored, with the values that the block gave it
 *     map   it is changed
 *     zero  it is cleared
 *     right the worker declares one itself, and the block uses its own
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { LOAD, STORE, MAP, ZERO, RIGHT, KINDS };
static const char *const kinds[KINDS] = {"load", "store", "map", "zero", "right"};

enum { TILE = 16, TILES = 3 /* of the block, and of each worker */ };
TSR_TILE(tile, f32, 16, 16, 16);

typedef struct borrowed_pad {
	int32_t nothing;
} borrowed_pad_t;

TSR_FN float twice(float value, int64_t row, int64_t col, const void *ctx)
{
	(void)row, (void)col, (void)ctx;
	return 2 * value;
}

TSR_KERNEL_SPLIT(borrow, 2, borrowed_pad_t, planted_args_t, a)
{
	const int rank = tsr_rank(block);
	const tsr_view_t tiles =
		tsr_view((TSR_HEAP float *)a->memory, TSR_F32, TILES * TILE, TILE, TILE);
	const tsr_pos_t first = {0, 0}, own = {(1 + tsr_worker_index(worker)) * TILE, 0};
	TSR_FRAG(tile, of_block, block);
	TSR_FRAG(tile, of_worker, worker);
	(void)shared;
	tsr_load(block, of_block, tiles, first, rank);
	tsr_load(worker, of_worker, tiles, own, rank);
	if (a->kind == LOAD)
		tsr_load(worker, of_block, tiles, own, rank);
	else if (a->kind == STORE)
		tsr_store(worker, tiles, own, of_block, rank);
	else if (a->kind == MAP)
		tsr_frag_map(worker, of_block, own, twice, (const void *)0);
	else if (a->kind == ZERO)
		tsr_frag_zero(worker, of_block);
	tsr_frag_map(worker, of_worker, own, twice, (const void *)0);
	tsr_frag_map(block, of_block, first, twice, (const void *)0);
	tsr_store(worker, tiles, own, of_worker, rank);
	tsr_store(block, tiles, first, of_block, rank);
}

TSR_MAIN(world, argc, argv)
{
	float memory[TILES * TILE * TILE];
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS) {
		fprintf(stderr, "borrowed: say one of the kinds\n");
		return 2;
	}
	for (int i = 0; i < TILES * TILE * TILE; i++)
		memory[i] = (float)i;
	const int code = planted_play(world, &borrow, kind, memory, sizeof memory);
	for (int i = 0; code == 0 && i < TILES * TILE * TILE; i++)
		if (memory[i] < 2 * (float)i || memory[i] > 2 * (float)i)
			return 1;
	return code;
}
