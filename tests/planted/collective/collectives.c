/*
 * collectives KIND: kernels meet and gather on all ranks, twice. The last rank
 * means something else:
 *
 *     size      gathers twice as much
 *     blocks    only its last block does
 *     to        gathers elsewhere
 *     behind    what it gathers does not fit into where it goes: on all ranks
 *               alike
 *     states    meets by another state
 *     crossed   gathers before it meets
 *     missing   does not meet
 *     root      broadcasts from another rank
 *     call      gathers to a root where the others broadcast
 *     steps     gathers in one step where the others broadcast, which takes two
 *     op        takes the largest where the others sum
 *     dim       combines a square along the other dimension
 *     right     nothing else, though its numbers are elsewhere, and in a launch
 *               of its own it gathers more, as all do
 */
#include <stdio.h>

#include "tessera/dev.h"
#include "tessera/tessera.h"
#include "tests/planted/planted.h"

enum {
	SIZE,
	BLOCKS,
	TO,
	BEHIND,
	STATES,
	CROSSED,
	MISSING,
	ROOT,
	CALL,
	STEPS,
	OP,
	DIM,
	RIGHT,
	KINDS
};
static const char *const kinds[KINDS] = {"size",    "blocks",  "to",   "behind", "states",
					 "crossed", "missing", "root", "call",   "steps",
					 "op",      "dim",     "right"};

enum { COUNT = 4, LAUNCHED = 3, ROUNDS = 2 };

typedef struct collective_args {
	TSR_HEAP uint64_t *all, *mine;
	TSR_HEAP tsr_barrier_state_t *meeting[2];
	TSR_HEAP tsr_all_gather_state_t *gathering;
	TSR_HEAP tsr_collective_state_t *sharing;
	int32_t kind, count;
} collective_args_t;

TSR_FN void meet(tsr_coop_t *block, const collective_args_t *a, int odd)
{
	if (tsr_block_index(block) == 0 && !(odd && a->kind == MISSING))
		tsr_barrier_ranks(block, a->meeting[odd && a->kind == STATES ? 1 : 0]);
}

TSR_FN void gather(tsr_coop_t *block, const collective_args_t *a, int odd)
{
	const int last = tsr_block_index(block) == tsr_block_count(block) - 1;
	const size_t more = odd && (a->kind == SIZE || (a->kind == BLOCKS && last)) ? 2 : 1;
	tsr_all_gather(block, odd && a->kind == TO ? a->all + COUNT : a->all,
		       odd ? a->mine + COUNT : a->mine, more * (size_t)a->count * sizeof(uint64_t),
		       a->gathering);
}

TSR_FN void share(tsr_coop_t *block, const collective_args_t *a, int odd)
{
	const tsr_view_t word = tsr_view(a->all, TSR_I64, 1, 1, 1),
			 mine = tsr_view_cut(word, TSR_DIM_ROWS, tsr_rank(block), tsr_size(block));
	const int ranks = tsr_size(block), by_cols = odd && a->kind == DIM;
	const tsr_view_t square = tsr_view(a->all, TSR_U8, ranks, ranks, ranks),
			 line = tsr_view(a->mine, TSR_U8, by_cols ? ranks : 1, by_cols ? 1 : ranks,
					 by_cols ? 1 : ranks);
	if (a->kind == OP)
		tsr_all_reduce_view(block, square, square, odd ? TSR_REDUCE_MAX : TSR_REDUCE_SUM,
				    a->sharing);
	else if (a->kind == DIM)
		tsr_reduce_scatter(block, line, square, by_cols ? TSR_DIM_COLS : TSR_DIM_ROWS,
				   TSR_REDUCE_SUM, a->sharing);
	else if (odd && a->kind == CALL)
		tsr_gather(block, word, mine, TSR_DIM_ROWS, 0, a->sharing);
	else if (odd && a->kind == STEPS)
		tsr_all_gather_view(block, word, mine, TSR_DIM_ROWS, a->sharing);
	else
		tsr_broadcast(block, word, word, odd && a->kind == ROOT ? 1 : 0, a->sharing);
}

TSR_KERNEL(work_together, collective_args_t, a)
{
	const int odd = tsr_rank(block) == tsr_size(block) - 1;
	for (int round = 0; round < ROUNDS; round++) {
		if (odd && a->kind == CROSSED)
			gather(block, a, odd);
		meet(block, a, odd);
		if (!odd || a->kind != CROSSED)
			gather(block, a, odd);
		if (a->kind >= ROOT)
			share(block, a, odd);
	}
}

static tsr_status_t zeroed(tsr_world_t *world, size_t bytes, const char *name,
			   TSR_HEAP void **heap_out)
{
	tsr_status_t status = tsr_heap_alloc(world, bytes, 0, name, heap_out);
	return status == TSR_OK ? tsr_memset_heap(world, *heap_out, 0, bytes) : status;
}

TSR_MAIN(world, argc, argv)
{
	const size_t part = COUNT * sizeof(uint64_t), ranks = (size_t)tsr_world_size(world);
	collective_args_t args = {NULL, NULL, {NULL, NULL}, NULL, NULL, 0, COUNT};
	TSR_HEAP void *all, *mine, *meeting[2], *gathering, *sharing;
	tsr_stream_t *stream;
	args.kind = planted_kind(argc, argv, kinds, KINDS);
	if (args.kind == KINDS) {
		fprintf(stderr, "collectives: say one of the kinds\n");
		return 2;
	}
	TSR_TRY(zeroed(world,
		       (args.kind == BEHIND ? ranks : 4 * ranks) * part - (args.kind == BEHIND),
		       "all", &all));
	TSR_TRY(zeroed(world, 4 * part, "mine", &mine));
	for (int i = 0; i < 2; i++)
		TSR_TRY(zeroed(world, tsr_barrier_state_bytes((int)ranks),
			       i == 0 ? "meeting" : "other meeting", &meeting[i]));
	TSR_TRY(zeroed(world, tsr_all_gather_state_bytes((int)ranks), "gathering", &gathering));
	TSR_TRY(zeroed(world, tsr_collective_state_bytes((int)ranks), "sharing", &sharing));
	TSR_TRY(tsr_stream_create(tsr_world_team(world), &stream));
	TSR_TRY(tsr_barrier(world));
	args.all = (TSR_HEAP uint64_t *)all;
	args.mine = (TSR_HEAP uint64_t *)mine;
	for (int i = 0; i < 2; i++)
		args.meeting[i] = (TSR_HEAP tsr_barrier_state_t *)meeting[i];
	args.gathering = (TSR_HEAP tsr_all_gather_state_t *)gathering;
	args.sharing = (TSR_HEAP tsr_collective_state_t *)sharing;
	TSR_TRY(tsr_launch(stream, &work_together,
			   args.kind == CROSSED || args.kind == MISSING ? 1 : LAUNCHED, &args));
	args.count = 2 * COUNT;
	if (args.kind == RIGHT)
		TSR_TRY(tsr_launch(stream, &work_together, 1, &args));
	TSR_TRY(tsr_stream_sync(stream));
	TSR_TRY(tsr_barrier(world));
	return tsr_stream_destroy(stream) == TSR_OK ? 0 : tsr_fail(world);
}
