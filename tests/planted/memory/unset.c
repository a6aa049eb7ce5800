/*
 * unset KIND: a tile that nothing has given values.
 *
 *     store  is stored as it is
 *     dot    is what products are added to
 *     right  is the sum of what was loaded, or of nothing
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { STORE, DOT, RIGHT, KINDS };
static const char *const kinds[KINDS] = {"store", "dot", "right"};

enum { TILE = 16, TILE_BYTES = TILE * TILE * 4 };
TSR_TILE(tile, f32, 16, 16, 16);

typedef struct unset_args {
	TSR_HEAP float *matrix;
	int64_t kind;
} unset_args_t;

TSR_KERNEL(sum_tile, unset_args_t, a)
{
	const tsr_view_t matrix = tsr_view(a->matrix, TSR_F32, TILE, TILE, TILE);
	const tsr_pos_t origin = {0, 0};
	TSR_FRAG(tile, sum, block);
	TSR_FRAG_A(tile, left, block);
	TSR_FRAG_B(tile, right, block);
	tsr_load(block, left, matrix, origin, tsr_rank(block));
	tsr_load(block, right, matrix, origin, tsr_rank(block));
	if (a->kind == RIGHT)
		tsr_frag_zero(block, sum);
	if (a->kind != STORE)
		tsr_tile_dot(block, sum, left, right);
	tsr_sync(block);
	tsr_store(block, matrix, origin, sum, tsr_rank(block));
}

TSR_MAIN(world, argc, argv)
{
	unset_args_t args = {NULL, 0};
	TSR_HEAP void *matrix;
	tsr_stream_t *stream;
	args.kind = planted_kind(argc, argv, kinds, KINDS);
	if (args.kind == KINDS) {
		fprintf(stderr, "unset: say one of the kinds\n");
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, TILE_BYTES, 0, "matrix", &matrix));
	TSR_TRY(tsr_memset_heap(world, matrix, 0, TILE_BYTES));
	args.matrix = (TSR_HEAP float *)matrix;
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_launch(stream, &sum_tile, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}
