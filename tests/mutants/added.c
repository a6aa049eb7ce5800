/*
 * added [ROUNDS [COLUMNS]]: every rank adds its tile to those of all ranks; who
 * has them all reads the sum of its own.
 */
#include "program.h"

typedef struct added_args {
	TSR_HEAP float *parts;   /* a row for each round, cleared */
	TSR_HEAP uint64_t *sums; /* the same, as they were read */
	TSR_HEAP uint64_t *came; /* a count for each round */
	int64_t rounds, columns;
} added_args_t;

enum { ADDED_MOST = 32 };
TSR_TILE(added_tile, f32, 1, ADDED_MOST, 4);

TSR_FN float added_value(float x, int64_t round, int64_t column, const void *ctx)
{
	(void)x;
	return (float)word_of(*(const int32_t *)ctx, round, column);
}

/**
 * Partners: the signals of all ranks, and the wait behind. Litmus:
 * MP.count.diffGPU-sss; of the adds: CoINC.rlx.diffGPU-ss.
 */
TSR_FN void added_round(tsr_coop_t *block, const added_args_t *a, int64_t round)
{
	const tsr_pos_t at = {round, 0};
	const int32_t me = tsr_rank(block);
	const tsr_view_t parts = tsr_view(a->parts, TSR_F32, a->rounds, a->columns, a->columns);
	TSR_FRAG(added_tile, tile, block);
	tsr_frag_map(block, tile, at, added_value, &me);
	for (int i = 0; i < tsr_size(block); i++) {
		tsr_store_add(block, parts, at, tile, tsr_peer(block, i));
		tsr_signal(block, a->came + round, 1, TSR_SIGNAL_ADD, tsr_peer(block, i));
	}
	tsr_wait(block, a->came + round, (uint64_t)tsr_size(block), TSR_ANY_RANK);
	for (int64_t c = 0; c < a->columns; c++) {
		const float sum = tsr_get_value(block, a->parts + round * a->columns + c, me);
		tsr_put_value(block, a->sums + round * a->columns + c, (uint64_t)sum, me);
	}
}

TSR_KERNEL(added, added_args_t, a)
{
	for (int64_t round = 0; round < a->rounds; round++)
		added_round(block, a, round);
}

static uint64_t sum_of_all(const tsr_world_t *world, int64_t index, int64_t columns)
{
	uint64_t sum = 0;
	for (int r = 0; r < tsr_world_size(world); r++)
		sum += word_of(r, index / columns, index % columns);
	return sum;
}

TSR_MAIN(world, argc, argv)
{
	added_args_t args = {NULL, NULL, NULL, 0, 0};
	TSR_HEAP void *heap;
	TSR_TRY(size_argument(argc, argv, 1, "ROUNDS", 3, &args.rounds));
	TSR_TRY(size_argument(argc, argv, 2, "COLUMNS", 5, &args.columns));
	args.columns = args.columns < ADDED_MOST ? args.columns : ADDED_MOST;
	const int64_t count = args.rounds * args.columns;
	TSR_TRY(zeroed(world, (size_t)count * sizeof(float), "parts", &heap));
	args.parts = (TSR_HEAP float *)heap;
	TSR_TRY(zeroed(world, (size_t)args.rounds * sizeof(uint64_t), "came", &heap));
	args.came = (TSR_HEAP uint64_t *)heap;
	TSR_TRY(zeroed(world, (size_t)count * sizeof(uint64_t), "sums", &heap));
	args.sums = (TSR_HEAP uint64_t *)heap;
	TSR_TRY(tsr_barrier(world)); /* every rank's parts are cleared */
	TSR_TRY(run_to_end(world, &added, 1, 1, &args));
	return judge(world, heap, count, args.columns, sum_of_all);
}
