/*
 * load_buffering VARIANT: each of two ranks loads its own word and stores to
 * the other's. Where nothing keeps the loads before the stores, both may see
 * the other's store: the model allows it, hardware shows it, and a program that
 * is run in program order never does. The variants say what stands in the way.
 */
#include <stdio.h>
#include <string.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"

enum { RELAXED, ONE_SIDE, RELEASES, EDGE, FENCES, BARRIER, UPDATES, ADDS, SIGNALS, VARIANTS };

typedef struct buffering_args {
	TSR_HEAP uint64_t *word, *seen; /* mine each */
	TSR_HEAP tsr_barrier_state_t *barrier;
	int32_t variant, reserved;
} buffering_args_t;

TSR_FN uint64_t load_mine(tsr_coop_t *block, const buffering_args_t *a)
{
	int me = tsr_rank(block);
	/* Acquire: partner is the store of rank 0 in store_to. Litmus: LB.ra.diffGPU-ss. */
	if (a->variant == EDGE && me == 1)
		return tsr_atomic_load(block, a->word, me, TSR_ACQUIRE, TSR_SCOPE_SYSTEM);
	if (a->variant == ONE_SIDE && me == 1)
		return tsr_atomic_load(block, a->word, me, TSR_ACQUIRE, TSR_SCOPE_SYSTEM);
	if (a->variant == UPDATES || (a->variant == ADDS && me == 1))
		return tsr_atomic_add(block, a->word, (uint64_t)1, me, TSR_RELAXED,
				      TSR_SCOPE_SYSTEM);
	if (a->variant == SIGNALS && me == 1) { /* no partner: nobody acquires it */
		tsr_signal(block, a->word, (uint64_t)1, TSR_SIGNAL_ADD, me);
		return 0;
	}
	return tsr_atomic_load(block, a->word, me, TSR_RELAXED, TSR_SCOPE_SYSTEM);
}

TSR_FN void store_to(tsr_coop_t *block, const buffering_args_t *a, int peer)
{
	/* Release: partner is the load of rank 1 in load_mine; in RELEASES there is none. Litmus:
	 * LB.ra.diffGPU-ss. */
	if (a->variant == RELEASES || (a->variant == EDGE && peer == 1))
		tsr_atomic_store(block, a->word, (uint64_t)1, peer, TSR_RELEASE, TSR_SCOPE_SYSTEM);
	else if (a->variant == SIGNALS)
		tsr_signal(block, a->word, (uint64_t)1, TSR_SIGNAL_ADD, peer);
	else if (a->variant == UPDATES || a->variant == ADDS)
		tsr_atomic_add(block, a->word, (uint64_t)1, peer, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	else
		tsr_atomic_store(block, a->word, (uint64_t)1, peer, TSR_RELAXED, TSR_SCOPE_SYSTEM);
}

TSR_KERNEL(cross, buffering_args_t, a)
{
	int me = tsr_rank(block), peer = 1 - me;
	uint64_t seen = load_mine(block, a);
	if (a->variant == FENCES) /* partner: itself on the other rank */
		tsr_fence(block, TSR_ACQ_REL, TSR_SCOPE_SYSTEM);
	if (a->variant == BARRIER)
		(void)tsr_barrier_ranks(block, a->barrier);
	store_to(block, a, peer);
	tsr_flush(block, peer);
	/* read by the host after the launch */
	tsr_atomic_store(block, a->seen, seen, me, TSR_RELAXED, TSR_SCOPE_BLOCK);
}

TSR_MAIN(world, argc, argv)
{
	static const char *const names[VARIANTS] = {"relaxed", "one-side", "releases",
						    "edge",    "fences",   "barrier",
						    "updates", "adds",     "signals"};
	buffering_args_t args = {NULL, NULL, NULL, VARIANTS, 0};
	TSR_HEAP void *words, *seen, *barrier;
	tsr_stream_t *stream;
	for (int v = 0; v < VARIANTS; v++)
		if (argc > 1 && strcmp(argv[1], names[v]) == 0)
			args.variant = v;
	if (args.variant == VARIANTS || tsr_world_size(world) != 2) {
		fprintf(stderr, "load_buffering: say one of the variants, and start two ranks\n");
		return 1;
	}
	TSR_TRY(tsr_heap_alloc(world, sizeof(uint64_t), 0, "word", &words));
	TSR_TRY(tsr_heap_alloc(world, sizeof(uint64_t), 0, "seen", &seen));
	TSR_TRY(tsr_heap_alloc(world, tsr_barrier_state_bytes(tsr_world_size(world)), 0, "barrier",
			       &barrier));
	TSR_TRY(tsr_memset_heap(world, words, 0, sizeof(uint64_t)));
	TSR_TRY(tsr_memset_heap(world, barrier, 0, tsr_barrier_state_bytes(tsr_world_size(world))));
	args.word = (TSR_HEAP uint64_t *)words;
	args.seen = (TSR_HEAP uint64_t *)seen;
	args.barrier = (TSR_HEAP tsr_barrier_state_t *)barrier;
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	TSR_TRY(tsr_launch(stream, &cross, 1, &args));
	TSR_TRY(tsr_stream_destroy(stream));
	return 0;
}
