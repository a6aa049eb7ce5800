/* Each rank gives its tile to every rank, and adds up the tiles of all. */
#include "tessera/dev.h"
#include "tessera/tessera.h"
#include <stdio.h>

enum { SIDE = 32 }; /* rows and columns of a tile */

TSR_TILE(tile, f32, 32, 32, 16);

typedef struct sum_args {
	tsr_view_t mine;  /* my tile */
	tsr_view_t tiles; /* a tile of each rank, one below the other */
	tsr_view_t sum;
	TSR_HEAP uint64_t *arrived; /* how many ranks have stored their tile here */
} sum_args_t;

TSR_FN float add(float x, float y, const void *unused)
{
	(void)unused;
	return x + y;
}

TSR_KERNEL(sum_tiles, sum_args_t, a)
{
	TSR_FRAG(tile, part, block);
	TSR_FRAG(tile, sum, block);
	tsr_pos_t origin = {0, 0}, my_place = {(int64_t)tsr_rank(block) * SIDE, 0};

	tsr_tile_load(block, part, a->mine, origin);
	tsr_store_all(block, a->tiles, my_place, part);
	/* partner: the wait below, on every rank */
	tsr_signal_all(block, a->arrived, 1, TSR_SIGNAL_ADD);

	/* partner: the signals above, of all ranks */
	tsr_wait(block, a->arrived, (uint64_t)tsr_size(block), TSR_ANY_RANK);
	tsr_frag_zero(block, sum);
	for (int rank = 0; rank < tsr_size(block); rank++) {
		tsr_pos_t place = {(int64_t)rank * SIDE, 0};
		tsr_tile_load(block, part, a->tiles, place);
		tsr_frag_zip(block, sum, part, add, NULL);
	}
	tsr_tile_store(block, a->sum, origin, sum);
}

TSR_MAIN(world, argc, argv)
{
	int rank = tsr_world_rank(world), ranks = tsr_world_size(world);
	const int64_t one[2] = {SIDE, SIDE}, all[2] = {(int64_t)ranks * SIDE, SIDE};
	tsr_tensor_t mine, tiles, sum;
	TSR_HEAP void *arrived;
	TSR_TRY(tsr_tensor_full(world, TSR_F32, 2, one, rank + 1, &mine));
	TSR_TRY(tsr_tensor_empty(world, TSR_F32, 2, all, &tiles));
	TSR_TRY(tsr_tensor_empty(world, TSR_F32, 2, one, &sum));
	TSR_TRY(tsr_heap_alloc(world, sizeof(uint64_t), 0, "arrived", &arrived));
	TSR_TRY(tsr_memset_heap(world, arrived, 0, sizeof(uint64_t)));

	sum_args_t args = {.arrived = (TSR_HEAP uint64_t *)arrived};
	TSR_TRY(tsr_tensor_view(&mine, &args.mine));
	TSR_TRY(tsr_tensor_view(&tiles, &args.tiles));
	TSR_TRY(tsr_tensor_view(&sum, &args.sum));

	tsr_stream_t *stream;
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world)); /* every rank's `arrived` is 0 */
	TSR_TRY(tsr_launch(stream, &sum_tiles, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));

	float right = (float)(ranks * (ranks + 1)) / 2, result[SIDE * SIDE];
	int wrong = 0;
	TSR_TRY(tsr_tensor_read(world, &sum, result));
	for (int i = 0; i < SIDE * SIDE; i++)
		wrong += result[i] != right;
	printf("rank %d of %d: the sum is %g: %s\n", rank, ranks, (double)result[0],
	       wrong ? "WRONG" : "ok");

	TSR_TRY(tsr_stream_destroy(stream));
	TSR_TRY(tsr_heap_free(world, arrived));
	TSR_TRY(tsr_tensor_free(world, &sum));
	TSR_TRY(tsr_tensor_free(world, &tiles));
	TSR_TRY(tsr_tensor_free(world, &mine));
	return wrong ? 1 : 0;
}
