/*
 * summed right|beside: a block's two workers lay down values, and one of them
 * sums those of both. The block meets before (right), or does not, so that one
 * worker sums what the other lays down meanwhile (beside).
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { RIGHT, BESIDE, KINDS };
static const char *const kinds[KINDS] = {"right", "beside"};

enum { VALUES = 48, HALF = VALUES / 2 };

typedef struct summed_pad {
	int32_t values[VALUES];
} summed_pad_t;

typedef struct summed_memory {
	int32_t numbers[VALUES], sums[VALUES];
} summed_memory_t;

TSR_KERNEL_SPLIT(sum_both, 2, summed_pad_t, planted_args_t, a)
{
	TSR_HEAP summed_memory_t *m = (TSR_HEAP summed_memory_t *)a->memory;
	const int me = tsr_worker_index(worker), rank = tsr_rank(block);
	const tsr_view_t whole = tsr_view_shared(shared->values, TSR_I32, 1, VALUES, VALUES);
	const tsr_pos_t at = {0, me * HALF};
	tsr_get_2d(worker, tsr_view_part(whole, at, 1, HALF),
		   tsr_view(m->numbers + me * HALF, TSR_I32, 1, HALF, HALF), rank);
	if (a->kind != BESIDE)
		tsr_sync(block);
	if (me == 0) {
		tsr_coop_scan(worker, shared->values, VALUES);
		tsr_put_2d(worker, tsr_view(m->sums, TSR_I32, 1, VALUES, VALUES), whole, rank);
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
	summed_memory_t memory = {.sums = {0}};
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS) {
		fprintf(stderr, "usage: summed right|beside\n");
		return 2;
	}
	for (int i = 0; i < VALUES; i++)
		memory.numbers[i] = i + 1;
	const int failed = planted_play(world, &sum_both, kind, &memory, sizeof memory);
	return failed ? failed : judge(memory.sums);
}
