/*
 * summed right|beside: a block's two workers lay down values, and one of them
 * sums those of both. The block meets before (right), or does not, so that one
 * worker sums what the other lays down meanwhile (beside).
 */
#include <stdio.h>
#include <string.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"

enum { VALUES = 48, HALF = VALUES / 2 };

typedef struct summed_pad {
	int32_t values[VALUES];
} summed_pad_t;

typedef struct summed_args {
	TSR_HEAP int32_t *numbers, *sums;
	int32_t beside, reserved;
} summed_args_t;

TSR_KERNEL_SPLIT(sum_both, 2, summed_pad_t, summed_args_t, a)
{
	const int me = tsr_worker_index(worker), rank = tsr_rank(block);
	const tsr_view_t whole = tsr_view_shared(shared->values, TSR_I32, 1, VALUES, VALUES);
	const tsr_pos_t at = {0, me * HALF};
	tsr_get_2d(worker, tsr_view_part(whole, at, 1, HALF),
		   tsr_view(a->numbers + me * HALF, TSR_I32, 1, HALF, HALF), rank);
	if (!a->beside)
		tsr_sync(block);
	if (me == 0) {
		tsr_coop_scan(worker, shared->values, VALUES);
		tsr_put_2d(worker, tsr_view(a->sums, TSR_I32, 1, VALUES, VALUES), whole, rank);
	}
}

static int judge(const int32_t *sums)
{
	int wrong = 0;
	for (int i = 0; i < VALUES; i++)
		wrong += sums[i] != i * (i + 1) / 2;
	if (wrong > 0)
		fprintf(stderr, "wrong: %d of %d sums\n", wrong, VALUES);
	return wrong > 0;
}

TSR_MAIN(world, argc, argv)
{
	int32_t numbers[2 * VALUES] = {0};
	TSR_HEAP void *heap;
	tsr_stream_t *stream;
	if (argc != 2 || (strcmp(argv[1], "right") != 0 && strcmp(argv[1], "beside") != 0)) {
		fprintf(stderr, "usage: summed right|beside\n");
		return 2;
	}
	for (int i = 0; i < VALUES; i++)
		numbers[i] = i + 1;
	TSR_TRY(tsr_heap_alloc(world, sizeof numbers, 0, "numbers", &heap));
	TSR_TRY(tsr_memcpy_to_heap(world, heap, numbers, sizeof numbers));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	const summed_args_t args = {(TSR_HEAP int32_t *)heap, (TSR_HEAP int32_t *)heap + VALUES,
				    strcmp(argv[1], "beside") == 0, 0};
	TSR_TRY(tsr_launch(stream, &sum_both, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_stream_destroy(stream));
	TSR_TRY(tsr_memcpy_from_heap(world, numbers, heap, sizeof numbers));
	return judge(numbers + VALUES);
}
