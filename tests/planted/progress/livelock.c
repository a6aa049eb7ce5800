/*
 * livelock KIND: ranks that go round for ever, or nearly.
 *
 *     kept     wrong: a lock that rank 0's block takes and never gives back
 *     flag     wrong: a loop of loads for a flag that nobody raises
 *     counter  wrong: a loop that counts on while it waits for a flag that
 *              nobody raises
 *     patient  right: a loop of loads for such a flag that gives up after 5000
 *              turns
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { KEPT, FLAG, COUNTER, PATIENT, KINDS };
static const char *const kinds[KINDS] = {"kept", "flag", "counter", "patient"};

enum { PATIENCE = 5000 };

typedef struct livelock_state {
	uint64_t word, count;
} livelock_state_t;

typedef struct livelock_args {
	TSR_HEAP livelock_state_t *state;
	int kind;
} livelock_args_t;

/** Partner: nobody, as the lock is never given back. */
TSR_FN void take(tsr_coop_t *block, const livelock_args_t *a)
{
	const uint64_t open = 0, taken = 1;
	while (tsr_atomic_cas(block, &a->state->word, open, taken, 0, TSR_ACQUIRE, TSR_RELAXED,
			      TSR_SCOPE_SYSTEM) != open) {
	}
}

/** Partner: nobody, as the flag is never raised. */
TSR_FN void await(tsr_coop_t *block, const livelock_args_t *a)
{
	for (int64_t turn = 0; turn < PATIENCE || a->kind != PATIENT; turn++) {
		if (tsr_atomic_load(block, &a->state->word, tsr_rank(block), TSR_ACQUIRE,
				    TSR_SCOPE_SYSTEM) != 0)
			return;
		if (a->kind == COUNTER) /* relaxed: counts, and hands nothing over */
			(void)tsr_atomic_add(block, &a->state->count, (uint64_t)1, 0, TSR_RELAXED,
					     TSR_SCOPE_SYSTEM);
	}
}

TSR_KERNEL(livelock, livelock_args_t, a)
{
	if (a->kind == KEPT)
		take(block, a);
	else
		await(block, a);
}

TSR_MAIN(world, argc, argv)
{
	const livelock_state_t zero = {0, 0};
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS) {
		fprintf(stderr, "usage: livelock kept|flag|counter|patient\n");
		return 2;
	}
	TSR_HEAP void *heap;
	tsr_stream_t *stream;
	TSR_TRY(tsr_heap_alloc(world, sizeof zero, 0, "state", &heap));
	TSR_TRY(tsr_memcpy_to_heap(world, heap, &zero, sizeof zero));
	TSR_TRY(tsr_barrier(world)); /* every rank's state is cleared */
	const livelock_args_t args = {(TSR_HEAP livelock_state_t *)heap, kind};
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_launch(stream, &livelock, 2, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	TSR_TRY(tsr_stream_destroy(stream));
	return 0;
}
