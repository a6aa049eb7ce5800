/*
 * permuted KIND: every rank puts its rows to all others, each at the place of a
 * rank, and raises a flag there; all sum what they have got when all flags are
 * up. No two ranks write one place, so nothing races.
 *
 *     right     each rank's rows are at that rank's place
 *     next      wrong: they are at the place of the rank behind it
 *     swapped   wrong: two ranks have each other's place
 *     others    wrong, on two ranks: they are at the place of the rank that gets
 *               them
 *
 * promised-KIND: the same, where the ranks have said what they write. fresh-KIND:
 * in memory that the host has not cleared.
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum { RIGHT, NEXT, SWAPPED, OTHERS, FORMS };
enum { CLEARED, PROMISED, FRESH, KINDS = 3 * FORMS };
static const char *const kinds[KINDS] = {
	"right",          "next",          "swapped",          "others",
	"promised-right", "promised-next", "promised-swapped", "promised-others",
	"fresh-right",    "fresh-next",    "fresh-swapped",    "fresh-others"};

enum { ROW = 16, MOST = 8, ROW_BYTES = ROW * sizeof(int32_t) };

typedef struct permuted_memory {
	int32_t mine[ROW], kept[MOST * ROW], sum;
	uint64_t flags[MOST];
} permuted_memory_t;

typedef struct permuted_args {
	TSR_HEAP permuted_memory_t *memory;
	TSR_HEAP int32_t *rows; /* an allocation of its own */
	int32_t kind, reserved;
} permuted_args_t;

TSR_FN int place_of(int form, int rank, int ranks, int peer)
{
	return form == NEXT                  ? (rank + 1) % ranks
	       : form == SWAPPED && rank < 2 ? 1 - rank
	       : form == OTHERS              ? peer
					     : rank;
}

/** Partner of each signal: the waits below on that rank. Litmus: MP.rel.acq.diffGPU-ss. */
TSR_KERNEL(permute, permuted_args_t, a)
{
	TSR_HEAP permuted_memory_t *m = a->memory;
	const int me = tsr_rank(block), ranks = tsr_size(block), form = a->kind % FORMS;
	if (a->kind / FORMS == PROMISED)
		tsr_declare_writes(block, tsr_view(a->rows + me * ROW, TSR_I32, 1, ROW, ROW));
	for (int i = 1; i < ranks; i++) {
		const int peer = tsr_peer(block, i);
		tsr_put(block, a->rows + place_of(form, me, ranks, peer) * ROW, m->mine, ROW_BYTES,
			peer);
		tsr_signal(block, &m->flags[me], 1, TSR_SIGNAL_SET, peer);
	}
	int32_t sum = 0;
	for (int i = 1; i < ranks; i++)
		tsr_wait(block, &m->flags[tsr_peer(block, i)], 1, tsr_peer(block, i));
	for (int i = 1; i < ranks; i++)
		sum += tsr_get_value(block, &a->rows[tsr_peer(block, i) * ROW], me);
	tsr_put_value(block, &m->sum, sum, me);
}

TSR_MAIN(world, argc, argv)
{
	permuted_args_t args = {NULL, NULL, planted_kind(argc, argv, kinds, KINDS), 0};
	TSR_HEAP void *memory, *rows;
	tsr_stream_t *stream;
	if (args.kind == KINDS || tsr_world_size(world) < 2 || tsr_world_size(world) > MOST) {
		fprintf(stderr,
			"usage: permuted [promised-|fresh-]right|next|swapped|others, on 2 to %d "
			"ranks\n",
			MOST);
		return 2;
	}
	TSR_TRY(tsr_heap_alloc(world, sizeof(permuted_memory_t), 0, "memory", &memory));
	TSR_TRY(tsr_heap_alloc(world, (size_t)MOST * ROW_BYTES, 0, "rows", &rows));
	TSR_TRY(tsr_memset_heap(world, memory, 0, sizeof(permuted_memory_t)));
	if (args.kind / FORMS != FRESH)
		TSR_TRY(tsr_memset_heap(world, rows, 0, (size_t)MOST * ROW_BYTES));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	args.memory = (TSR_HEAP permuted_memory_t *)memory;
	args.rows = (TSR_HEAP int32_t *)rows;
	TSR_TRY(tsr_launch(stream, &permute, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}
