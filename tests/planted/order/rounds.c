/*
 * rounds VARIANT: a shift in rounds, each rank to the next, with two buffers. In
 * each round a rank tells all, by signals that ADD, and waits for those of all.
 * It is right: a rank that is a round ahead can have its signal counted for that
 * of a slower one, but what it waited for comes with it.
 *
 *   each    a call for each rank
 *   all     tsr_signal_all
 *   looked  a rank looks at a count without acquiring it: what is before that may
 *           come after its own signals (load buffering)
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { ROUNDS = 2 };
enum { EACH, ALL, LOOKED, VARIANTS };
static const char *const names[VARIANTS] = {"each", "all", "looked"};

typedef struct rounds_args {
	TSR_HEAP int32_t *x;      /* of two rounds */
	TSR_HEAP uint64_t *moved; /* signals so far */
	int32_t variant, reserved;
} rounds_args_t;

TSR_FN void tell_all(tsr_coop_t *block, const rounds_args_t *a)
{
	if (a->variant != EACH) {
		tsr_signal_all(block, a->moved, 1, TSR_SIGNAL_ADD);
		return;
	}
	for (int rank = 0; rank < tsr_size(block); rank++)
		tsr_signal(block, a->moved, 1, TSR_SIGNAL_ADD, rank);
}

TSR_KERNEL(shift, rounds_args_t, a)
{
	int me = tsr_rank(block), n = tsr_size(block), next = (me + 1) % n;
	for (int round = 1; round <= ROUNDS; round++) {
		int32_t mine = tsr_get_value(block, a->x + (round & 1), me);
		tsr_put_value(block, a->x + 1 - (round & 1), mine + 1, next);
		if (a->variant == LOOKED) /* no partner: that is the bug */
			(void)tsr_atomic_load(block, a->moved, me, TSR_RELAXED, TSR_SCOPE_SYSTEM);
		tell_all(block, a);
		tsr_wait(block, a->moved, (uint64_t)round * (uint64_t)n, TSR_ANY_RANK);
	}
}

TSR_MAIN(world, argc, argv)
{
	rounds_args_t args = {NULL, NULL, planted_kind(argc, argv, names, VARIANTS), 0};
	TSR_HEAP void *x, *moved;
	tsr_stream_t *stream;
	if (args.variant == VARIANTS) {
		fprintf(stderr, "rounds: say one of the variants\n");
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, 2 * sizeof *args.x, 0, "x", &x));
	TSR_TRY(tsr_heap_alloc(world, sizeof *args.moved, 0, "moved", &moved));
	TSR_TRY(tsr_memset_heap(world, x, 0, 2 * sizeof *args.x));
	TSR_TRY(tsr_memset_heap(world, moved, 0, sizeof *args.moved));
	args.x = (TSR_HEAP int32_t *)x;
	args.moved = (TSR_HEAP uint64_t *)moved;
	TSR_TRY(tsr_barrier(world));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_launch(stream, &shift, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_stream_destroy(stream));
	return 0;
}
