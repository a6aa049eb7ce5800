/*
 * unsynchronised KIND: kernels with one mistake each, for what finds them.
 *
 *     crossed    two ranks, each of which waits for the other's signal before
 *                it sends its own
 *     residency  a block that cannot begin before others end, which wait for it
 *     reuse      a buffer is written again without asking whether it was read
 *     relaxed    a flag that is raised without a release
 *     none       none of these
 *     many       nor here: a wait for any of many flags, of which the last is
 *                raised
 *     fenced     nor here: a flag that is raised and read relaxed, behind and
 *                before fences
 *
 * It fails where a copy is not what was sent, which only some schedules show,
 * and only where memory shows old values.
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { CROSSED, RESIDENCY, REUSE, RELAXED, NONE, MANY, FENCED, KINDS };
static const char *const kinds[KINDS] = {"crossed", "residency", "reuse", "relaxed",
					 "none",    "many",      "fenced"};

enum { ROUNDS = 2, BLOCKS = 4, FLAGS = 100 };

typedef struct box {
	uint64_t number, ready, retired, begun[BLOCKS], copies[ROUNDS], many[FLAGS];
} box_t;

typedef struct box_args {
	TSR_HEAP box_t *box;
	int32_t kind, reserved;
} box_args_t;

/** A sends before it waits, as it should; or both wait first. */
TSR_KERNEL(meet_neighbour, box_args_t, a)
{
	int next = (tsr_rank(block) + 1) % tsr_size(block),
	    previous = (tsr_rank(block) + tsr_size(block) - 1) % tsr_size(block);
	if (a->kind == CROSSED)
		tsr_wait(block, &a->box->ready, 1, previous);
	tsr_signal(block, &a->box->ready, 1, TSR_SIGNAL_SET, next);
	if (a->kind != CROSSED)
		tsr_wait(block, &a->box->ready, 1, previous);
}

/** Each block waits for the last one, which has to begin for that. */
TSR_KERNEL(wait_for_last_block, box_args_t, a)
{
	int index = tsr_block_index(block), last = tsr_block_count(block) - 1;
	tsr_signal_local(block, &a->box->begun[index], (uint64_t)1, TSR_SCOPE_DEVICE);
	if (index < last)
		tsr_wait_local(block, &a->box->begun[last], (uint64_t)1, TSR_SCOPE_DEVICE);
}

/** Partners: the signal of send_rounds, or the fence before its relaxed store. */
TSR_FN void wait_for_round(tsr_coop_t *block, const box_args_t *a, uint64_t round)
{
	if (a->kind != FENCED) {
		tsr_wait(block, &a->box->ready, round, 0);
		return;
	}
	while (tsr_atomic_load(block, &a->box->ready, 1, TSR_RELAXED, TSR_SCOPE_SYSTEM) < round)
		;
	tsr_fence(block, TSR_ACQUIRE, TSR_SCOPE_SYSTEM);
}

/** Rank 0 sends a number every round through one buffer; rank 1 keeps a copy of each. */
TSR_KERNEL(send_rounds, box_args_t, a)
{
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		if (tsr_rank(block) == 0) {
			if (round > 1 && a->kind != REUSE)
				tsr_wait(block, &a->box->retired, round - 1, 1);
			tsr_put(block, &a->box->number, &a->box->copies[round - 1],
				sizeof(uint64_t), 1);
			if (a->kind ==
			    /* partner: the fence behind the reads of the flag. Litmus:
			     * MP.frel.facq.diffGPU-ss */
			    FENCED)
				tsr_fence(block, TSR_RELEASE, TSR_SCOPE_SYSTEM);
			if (a->kind == RELAXED || a->kind == FENCED)
				tsr_atomic_store(block, &a->box->ready, round, 1, TSR_RELAXED,
						 TSR_SCOPE_SYSTEM);
			else
				tsr_signal(block, &a->box->ready, round, TSR_SIGNAL_SET, 1);
		} else if (tsr_rank(block) == 1) {
			wait_for_round(block, a, round);
			tsr_get(block, &a->box->copies[round - 1], &a->box->number,
				sizeof(uint64_t), 1);
			tsr_signal(block, &a->box->retired, round, TSR_SIGNAL_SET, 0);
		}
	}
}

/** Rank 1 raises the last of rank 0's flags. */
TSR_KERNEL(wait_for_any, box_args_t, a)
{
	int which;
	if (tsr_rank(block) == 0)
		tsr_wait_any(block, a->box->many, FLAGS, 0, 1, &which);
	else if (tsr_rank(block) == 1)
		tsr_signal(block, &a->box->many[FLAGS - 1], 1, TSR_SIGNAL_SET, 0);
}

/** Whether rank 1 has got what was sent in each round. */
static tsr_status_t check_copies(tsr_world_t *world, const TSR_HEAP void *heap, const box_t *sent,
				 int *wrong_out)
{
	box_t got;
	tsr_status_t status = tsr_memcpy_from_heap(world, &got, heap, sizeof got);
	for (int round = 0; status == TSR_OK && round < ROUNDS; round++) {
		if (got.copies[round] == sent->copies[round])
			continue;
		fprintf(stderr, "round %d: rank %d got %d instead of %d\n", round + 1,
			tsr_world_rank(world), (int)got.copies[round], (int)sent->copies[round]);
		*wrong_out = 1;
	}
	return status;
}

TSR_MAIN(world, argc, argv)
{
	int wrong = 0;
	const int kind = planted_kind(argc, argv, kinds, KINDS);
	if (kind == KINDS || tsr_world_size(world) < 2) {
		fprintf(stderr,
			"usage: unsynchronised crossed|residency|reuse|relaxed|none|many|fenced, "
			"on at least 2 ranks\n");
		return 2;
	}
	const box_t sent = {.copies = {7, 8}}, nothing = {.number = 0};
	const box_t content = tsr_world_rank(world) == 1 ? nothing : sent;
	TSR_HEAP void *heap;
	tsr_stream_t *stream;
	TSR_TRY(tsr_heap_alloc(world, sizeof content, 0, "box", &heap));
	TSR_TRY(tsr_memcpy_to_heap(world, heap, &content, sizeof content));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	const box_args_t args = {(TSR_HEAP box_t *)heap, kind, 0};
	if (kind == RESIDENCY)
		TSR_TRY(tsr_launch(stream, &wait_for_last_block, BLOCKS, &args));
	else
		TSR_TRY(tsr_launch(stream,
				   kind == CROSSED ? &meet_neighbour
				   : kind == MANY  ? &wait_for_any
						   : &send_rounds,
				   1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	if (tsr_world_rank(world) == 1 && (kind == RELAXED || kind == NONE || kind == FENCED))
		TSR_TRY(check_copies(world, heap, &sent, &wrong));
	TSR_TRY(tsr_stream_destroy(stream));
	return tsr_heap_free(world, heap) == TSR_OK ? wrong : tsr_fail(world);
}
