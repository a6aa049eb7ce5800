/*
 * reduced [PARTS [COLUMNS]]: every rank stores a row for each part; the parts
 * are dealt to the ranks, which reduce them for all.
 */
#include "program.h"

typedef struct reduced_args {
	TSR_HEAP float *rows;    /* a row for each part */
	TSR_HEAP uint64_t *sums; /* what each rank finds there in the end */
	TSR_HEAP uint64_t *stored, *reduced;
	int64_t parts, columns;
} reduced_args_t;

enum { REDUCED_MOST = 32 };
TSR_TILE(reduced_tile, f32, 1, REDUCED_MOST, 4);

TSR_FN float reduced_value(float x, int64_t part, int64_t column, const void *ctx)
{
	(void)x;
	return (float)word_of(*(const int32_t *)ctx, part, column);
}

/**
 * Partners: of each wait the signals of all ranks. Litmus:
 * MP.count.diffGPU-sss, MP.mcast.diffGPU-sss.
 */
TSR_KERNEL(reduced, reduced_args_t, a)
{
	const int32_t me = tsr_rank(block);
	const uint64_t all = (uint64_t)tsr_size(block);
	const tsr_view_t rows = tsr_view(a->rows, TSR_F32, a->parts, a->columns, a->columns);
	TSR_FRAG(reduced_tile, tile, block);
	for (int64_t part = 0; part < a->parts; part++) {
		const tsr_pos_t at = {part, 0};
		tsr_frag_map(block, tile, at, reduced_value, &me);
		tsr_store(block, rows, at, tile, me);
	}
	tsr_signal_all(block, a->stored, 1, TSR_SIGNAL_ADD);
	tsr_wait(block, a->stored, all, TSR_ANY_RANK);
	for (int64_t part = me; part < a->parts; part += tsr_size(block)) {
		const tsr_pos_t at = {part, 0};
		tsr_all_reduce(block, tile, rows, at, TSR_REDUCE_SUM);
	}
	tsr_signal_all(block, a->reduced, 1, TSR_SIGNAL_ADD);
	tsr_wait(block, a->reduced, all, TSR_ANY_RANK);
	for (int64_t i = 0; i < a->parts * a->columns; i++)
		tsr_put_value(block, a->sums + i, (uint64_t)tsr_get_value(block, a->rows + i, me),
			      me);
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
	reduced_args_t args = {NULL, NULL, NULL, NULL, 0, 0};
	TSR_HEAP void *heap;
	TSR_TRY(size_argument(argc, argv, 1, "PARTS", 7, &args.parts));
	TSR_TRY(size_argument(argc, argv, 2, "COLUMNS", 5, &args.columns));
	args.columns = args.columns < REDUCED_MOST ? args.columns : REDUCED_MOST;
	const int64_t count = args.parts * args.columns;
	TSR_TRY(zeroed(world, (size_t)count * sizeof(float), "rows", &heap));
	args.rows = (TSR_HEAP float *)heap;
	TSR_TRY(zeroed(world, sizeof(uint64_t), "stored", &heap));
	args.stored = (TSR_HEAP uint64_t *)heap;
	TSR_TRY(zeroed(world, sizeof(uint64_t), "reduced", &heap));
	args.reduced = (TSR_HEAP uint64_t *)heap;
	TSR_TRY(zeroed(world, (size_t)count * sizeof(uint64_t), "sums", &heap));
	args.sums = (TSR_HEAP uint64_t *)heap;
	TSR_TRY(tsr_barrier(world)); /* every rank's flags are cleared */
	TSR_TRY(run_to_end(world, &reduced, 1, 1, &args));
	return judge(world, heap, count, args.columns, sum_of_all);
}
