/*
 * nodes KIND: what ranks on several nodes do to each other's memory, on three
 * ranks. It fails where a rank has not seen what it should.
 *
 *     transitive  right: rank 0 puts to rank 2 and signals rank 1, which signals
 *                 rank 2
 *     bystander   right: rank 0 puts to rank 2 and signals rank 1, which gets it
 *                 from there
 *     own         right: rank 0 puts to rank 2, gets that back, stores a count
 *                 there twice and adds to it
 *     unreleased  wrong: as transitive, but rank 0 tells rank 1 by a relaxed
 *                 store: a race
 *     hands       wrong: ranks 0 and 2 each add to a flag of the other and look
 *                 at their own. Nothing races; a signal that is under way lets
 *                 both think that they are first
 */
#include <stdbool.h>
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { TRANSITIVE, BYSTANDER, OWN, UNRELEASED, HANDS, KINDS };
static const char *const kinds[KINDS] = {"transitive", "bystander", "own", "unreleased", "hands"};

enum { RANKS = 3, WORDS = 20, SENT = 7 };

typedef struct nodes_box {
	uint64_t words[WORDS], source[WORDS], copy[WORDS]; /* more than a line of a cache */
	uint64_t flag, count, raised, read, first[RANKS];
} nodes_box_t;

/**
 * To rank 2's words, and the news to rank 1; partner: the wait of pass_on. Then
 * rank 0 lives on until all is read, so that what is under way need not land.
 */
TSR_FN void begin_news(tsr_coop_t *block, TSR_HEAP nodes_box_t *box, bool released)
{
	tsr_put(block, box->words, box->source, sizeof box->words, 2);
	if (released)
		/* Litmus: ISA2.ra.diffGPU-ss */
		tsr_signal(block, &box->flag, (uint64_t)1, TSR_SIGNAL_SET, 1);
	else
		/* Litmus: MP.rlx.acq.diffGPU-ss */
		tsr_atomic_store(block, &box->flag, (uint64_t)1, 1, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	tsr_wait(block, &box->read, 1, TSR_ANY_RANK);
}

/** The last reader. Partner: the last wait of begin_news. Litmus: LB.retired.diffGPU-ss. */
TSR_FN void read_news(tsr_coop_t *block, TSR_HEAP nodes_box_t *box)
{
	tsr_get(block, box->copy, box->words, sizeof box->words, 2);
	tsr_signal(block, &box->read, (uint64_t)1, TSR_SIGNAL_SET, 0);
}

/** Rank 1. Partners: begin_news, and the wait of rank 2. Litmus: ISA2.ra.diffGPU-ss. */
TSR_FN void pass_on(tsr_coop_t *block, TSR_HEAP nodes_box_t *box, int kind)
{
	tsr_wait(block, &box->flag, 1, 0);
	if (kind == BYSTANDER)
		read_news(block, box);
	else
		tsr_signal(block, &box->flag, (uint64_t)1, TSR_SIGNAL_SET, 2);
}

/** Litmus: CoWW.rlx.diffGPU-ss and CoWINC.rlx.diffGPU-ss. */
TSR_FN void see_own(tsr_coop_t *block, TSR_HEAP nodes_box_t *box)
{
	tsr_put(block, box->words, box->source, sizeof box->words, 2);
	tsr_sync(block); /* each thread gets what others have put */
	tsr_get(block, box->copy, box->words, sizeof box->words, 2);
	tsr_atomic_store(block, &box->count, (uint64_t)4, 2, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	tsr_atomic_store(block, &box->count, (uint64_t)5, 2, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	const uint64_t had =
		tsr_atomic_add(block, &box->count, (uint64_t)1, 2, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	tsr_atomic_store(block, &box->first[0], had == 5 ? (uint64_t)0 : (uint64_t)1, 0,
			 TSR_RELAXED, TSR_SCOPE_SYSTEM);
}

/** Litmus: SB.facqrel.diffGPU-ss: a release orders no store before a later load. */
TSR_FN void raise_hand(tsr_coop_t *block, TSR_HEAP nodes_box_t *box, int me, int other)
{
	tsr_signal(block, &box->raised, (uint64_t)1, TSR_SIGNAL_ADD, other);
	const uint64_t seen =
		tsr_atomic_load(block, &box->raised, me, TSR_RELAXED, TSR_SCOPE_SYSTEM);
	/* both to rank 0's host, which judges */
	tsr_atomic_store(block, &box->first[me], seen == 0 ? (uint64_t)1 : (uint64_t)0, 0,
			 TSR_RELAXED, TSR_SCOPE_SYSTEM);
}

TSR_KERNEL(act, planted_args_t, a)
{
	TSR_HEAP nodes_box_t *box = (TSR_HEAP nodes_box_t *)a->memory;
	const int rank = tsr_rank(block);
	if (a->kind == OWN) {
		if (rank == 0)
			see_own(block, box);
	} else if (a->kind == HANDS) {
		if (rank != 1)
			raise_hand(block, box, rank, 2 - rank);
	} else if (rank == 0) {
		begin_news(block, box, a->kind != UNRELEASED);
	} else if (rank == 1) {
		pass_on(block, box, a->kind);
	} else if (a->kind != BYSTANDER) {
		tsr_wait(block, &box->flag, 1, 1);
		read_news(block, box);
	}
}

/** Whether a rank's copy is what rank 0 has sent, and whether not both were first. */
static int judge(const nodes_box_t *box, int kind, int rank)
{
	const int reader = kind == OWN ? 0 : kind == BYSTANDER ? 1 : 2;
	for (int i = 0; kind != HANDS && rank == reader && i < WORDS; i++)
		if (box->copy[i] != (uint64_t)(SENT + i))
			return 1;
	return rank == 0 && (kind == HANDS ? box->first[0] && box->first[2] : box->first[0] != 0);
}

TSR_MAIN(world, argc, argv)
{
	const int kind = planted_kind(argc, argv, kinds, KINDS), rank = tsr_world_rank(world);
	nodes_box_t box = {.flag = 0};
	TSR_HEAP void *heap;
	tsr_stream_t *stream;
	if (kind == KINDS || tsr_world_size(world) != RANKS) {
		fprintf(stderr, "usage: nodes transitive|bystander|own|unreleased|hands, on three "
				"ranks\n");
		return 2;
	}
	for (int i = 0; i < WORDS; i++)
		box.source[i] = rank == 0 ? (uint64_t)(SENT + i) : 0;
	TSR_TRY(tsr_heap_alloc(world, sizeof box, 0, "box", &heap));
	TSR_TRY(tsr_memcpy_to_heap(world, heap, &box, sizeof box));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	const planted_args_t args = {heap, kind, 0};
	TSR_TRY(tsr_launch(stream, &act, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	TSR_TRY(tsr_memcpy_from_heap(world, &box, heap, sizeof box));
	TSR_TRY(tsr_stream_destroy(stream));
	const int wrong = judge(&box, kind, rank);
	if (wrong)
		fprintf(stderr, "rank %d has not seen what it should\n", rank);
	return wrong;
}
