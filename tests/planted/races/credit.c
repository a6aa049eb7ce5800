/*
 * credit early|late: rank 0 passes numbers to rank 1 through one slot, round
 * after round, and waits for a credit before it fills the slot again. Rank 1
 * gives the credit before it has read the slot (early), or behind that (late),
 * as it should.
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { EARLY, LATE, KINDS };
static const char *const kinds[KINDS] = {"early", "late"};

enum { ROUNDS = 3 };

typedef struct credit_box {
	uint64_t slot, ready, credit, number, got[ROUNDS];
} credit_box_t;

typedef struct credit_args {
	TSR_HEAP credit_box_t *box;
	int64_t early;
} credit_args_t;

TSR_FN void produce(tsr_coop_t *block, TSR_HEAP credit_box_t *box)
{
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		if (round > 1)
			tsr_wait(block, &box->credit, round - 1, 1);
		tsr_put_signal(block, &box->slot, &box->number, sizeof(uint64_t), &box->ready,
			       round, TSR_SIGNAL_SET, 1);
	}
}

TSR_FN void consume(tsr_coop_t *block, const credit_args_t *a)
{
	TSR_HEAP credit_box_t *box = a->box;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		tsr_wait(block, &box->ready, round, 0);
		if (a->early)
			tsr_signal(block, &box->credit, round, TSR_SIGNAL_SET, 0);
		tsr_get(block, &box->got[round - 1], &box->slot, sizeof(uint64_t), 1);
		if (!a->early)
			tsr_signal(block, &box->credit, round, TSR_SIGNAL_SET, 0);
	}
}

TSR_KERNEL(pass_numbers, credit_args_t, a)
{
	if (tsr_rank(block) == 0)
		produce(block, a->box);
	else if (tsr_rank(block) == 1)
		consume(block, a);
}

TSR_MAIN(world, argc, argv)
{
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	credit_args_t args = {NULL, kind == EARLY};
	TSR_HEAP void *box;
	tsr_stream_t *stream;
	if (kind == KINDS || tsr_world_size(world) < 2) {
		fprintf(stderr, "credit: say early or late, and start at least 2 ranks\n");
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, sizeof(credit_box_t), 0, "box", &box));
	TSR_TRY(tsr_memset_heap(world, box, 0, sizeof(credit_box_t)));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	args.box = (TSR_HEAP credit_box_t *)box;
	TSR_TRY(tsr_launch(stream, &pass_numbers, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}
