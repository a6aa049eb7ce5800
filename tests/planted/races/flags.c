/*
 * flags KIND: each rank gives a number to the next one, round by round, or to
 * all, and says so by a flag. `right` and `all` are right; each other kind has
 * one mistake in how the flag is raised or waited for. The kinds are in the
 * table `kinds`, each with what it does.
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { ROUNDS = 4, MOST = 16 };

enum {
	RIGHT,        /* to the next one, who gives the box back */
	ADD,          /* wrong: it adds the number of the round, and does not set it */
	SIGNAL_FIRST, /* wrong: it signals before it puts */
	SAME,         /* wrong: it signals and waits for 1 in each round */
	ALL,          /* to all, and waits for all */
	FEWER,        /* wrong: it waits for all but one */
	RELAXED_WAIT, /* wrong: it waits for the count without acquiring */
	RELAXED_ADD,  /* wrong: it raises the count without releasing */
	PUT,          /* wrong: it puts the flag, and does not raise it */
	KINDS
};
static const char *const kinds[KINDS] = {"right", "add",          "signal-first", "same", "all",
					 "fewer", "relaxed-wait", "relaxed-add",  "put"};

typedef struct flags_memory {
	int64_t box[MOST], sum;
	uint64_t ready, retired, put[MOST];
} flags_memory_t;

#define MINE(field_) (&((TSR_HEAP flags_memory_t *)a->memory)->field_)

/** Litmus: MP.rel.acq.diffGPU-ss. */
TSR_FN void tell_next(tsr_coop_t *block, const planted_args_t *a, uint64_t round, int next)
{
	if (a->kind == ADD)
		tsr_signal(block, MINE(ready), round, TSR_SIGNAL_ADD, next);
	else
		tsr_signal(block, MINE(ready), a->kind == SAME ? 1 : round, TSR_SIGNAL_SET, next);
}

TSR_FN int64_t give_to_next(tsr_coop_t *block, const planted_args_t *a)
{
	const int me = tsr_rank(block), ranks = tsr_size(block);
	const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
	int64_t sum = 0;
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		if (round > 1)
			tsr_wait(block, MINE(retired), round - 1, next);
		if (a->kind == SIGNAL_FIRST)
			tsr_signal(block, MINE(ready), round, TSR_SIGNAL_SET, next);
		tsr_put_value(block, MINE(box[0]), (int64_t)round, next);
		if (a->kind != SIGNAL_FIRST)
			tell_next(block, a, round, next);
		tsr_wait(block, MINE(ready), a->kind == SAME ? 1 : round, before);
		sum += tsr_get_value(block, MINE(box[0]), me);
		/* Litmus: MP.reuse.diffGPU-ss */
		tsr_signal(block, MINE(retired), round, TSR_SIGNAL_SET, before);
	}
	return sum;
}

/** Litmus: MP.rs.rmw.diffGPU-sss: each addition goes on with the release of that before. */
TSR_FN void tell_all(tsr_coop_t *block, const planted_args_t *a, int ranks)
{
	if (a->kind == RELAXED_ADD)
		for (int rank = 0; rank < ranks; rank++)
			tsr_atomic_add(block, MINE(ready), (uint64_t)1, rank, TSR_RELAXED,
				       TSR_SCOPE_SYSTEM);
	else
		tsr_signal_all(block, MINE(ready), 1, TSR_SIGNAL_ADD);
}

TSR_FN void wait_for_all(tsr_coop_t *block, const planted_args_t *a, int me, int ranks)
{
	if (a->kind == RELAXED_WAIT)
		tsr_wait_word(block, MINE(ready), TSR_CMP_GE, (uint64_t)ranks, me, TSR_RELAXED,
			      TSR_SCOPE_SYSTEM, TSR_ANY_RANK, NULL);
	else
		tsr_wait(block, MINE(ready), (uint64_t)(ranks - (a->kind == FEWER)), TSR_ANY_RANK);
}

TSR_FN int64_t give_to_all(tsr_coop_t *block, const planted_args_t *a)
{
	const int me = tsr_rank(block), ranks = tsr_size(block);
	int64_t sum = 0;
	for (int rank = 0; rank < ranks; rank++)
		tsr_put_value(block, MINE(box[me]), (int64_t)me, rank);
	tell_all(block, a, ranks);
	wait_for_all(block, a, me, ranks);
	for (int rank = 0; rank < ranks; rank++)
		sum += tsr_get_value(block, MINE(box[rank]), me);
	return sum;
}

TSR_FN int64_t put_to_next(tsr_coop_t *block, const planted_args_t *a)
{
	const int me = tsr_rank(block), ranks = tsr_size(block);
	const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
	tsr_put_value(block, MINE(box[0]), (int64_t)me, next);
	tsr_put_value(block, MINE(put[0]), (uint64_t)1, next);
	tsr_wait(block, MINE(put[0]), 1, before);
	return tsr_get_value(block, MINE(box[0]), me);
}

TSR_KERNEL(give, planted_args_t, a)
{
	const int64_t sum = a->kind == PUT   ? put_to_next(block, a)
			    : a->kind >= ALL ? give_to_all(block, a)
					     : give_to_next(block, a);
	tsr_put_value(block, MINE(sum), sum, tsr_rank(block));
}

TSR_MAIN(world, argc, argv)
{
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	TSR_HEAP void *memory;
	tsr_stream_t *stream;
	if (kind == KINDS || tsr_world_size(world) > MOST) {
		fprintf(stderr, "flags: say which kind, and start %d ranks at most\n", MOST);
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, sizeof(flags_memory_t), 0, "memory", &memory));
	if (kind >= ALL && kind != PUT) /* their boxes have no number yet */
		TSR_TRY(tsr_memset_heap(world, &((TSR_HEAP flags_memory_t *)memory)->ready, 0, 8));
	else
		TSR_TRY(tsr_memset_heap(world, memory, 0, sizeof(flags_memory_t)));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	TSR_TRY(tsr_launch(stream, &give, 1, &(planted_args_t){memory, kind, 0}));
	TSR_TRY(tsr_stream_sync(stream));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}
