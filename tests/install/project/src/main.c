/* The host half: every rank prints the sum of all squares. */
#include <stdio.h>

#include "squares.h"
#include "tessera/tessera.h"

TSR_MAIN(world, argc, argv)
{
	squares_t mine;
	TSR_HEAP void *heap;
	tsr_stream_t *stream;

	if (tsr_world_size(world) > SQUARES_MOST_RANKS)
		return 2;
	TSR_TRY(tsr_heap_alloc(world, sizeof mine, 0, "squares", &heap));
	TSR_TRY(tsr_memset_heap(world, heap, 0, sizeof mine));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world)); /* every rank's flags are zero */
	TSR_TRY(tsr_launch(stream, &add_squares, 1, &(squares_args_t){(TSR_HEAP squares_t *)heap}));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_memcpy_from_heap(world, &mine, heap, sizeof mine));
	printf("rank %d: %d\n", tsr_world_rank(world), (int)mine.sum);
	TSR_TRY(tsr_stream_destroy(stream));
	return tsr_heap_free(world, heap) == TSR_OK ? 0 : tsr_fail(world);
}
