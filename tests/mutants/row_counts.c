/*
 * row_counts [ROWS]: blocks share the rows of a matrix in tiles of 16, and
 * count each row once, at the next rank.
 */
#include "program.h"

enum { ROWS_IN_TILE = 16, ROW_BLOCKS = 2 };

typedef struct row_args {
	TSR_HEAP uint64_t *counts; /* one a row, for the rank before */
	int64_t rows;
} row_args_t;

/**
 * The rows of one tile; the last tile has fewer. Relaxed: the counts are read
 * by the hosts, behind a barrier.
 */
TSR_FN void row_count(tsr_coop_t *block, const row_args_t *a, int64_t tile, int peer)
{
	for (int64_t i = 0; i < ROWS_IN_TILE; i++) {
		int64_t row = tile * ROWS_IN_TILE + i;
		if (row < a->rows)
			tsr_atomic_add(block, a->counts + row, (uint64_t)1, peer, TSR_RELAXED,
				       TSR_SCOPE_SYSTEM);
	}
}

TSR_KERNEL(row_counts, row_args_t, a)
{
	int next = (tsr_rank(block) + 1) % tsr_size(block);
	for (int64_t tile = tsr_block_index(block); tile < tsr_tiles(a->rows, ROWS_IN_TILE);
	     tile += tsr_block_count(block))
		row_count(block, a, tile, next);
}

static uint64_t once(const tsr_world_t *world, int64_t index, int64_t rows)
{
	(void)world, (void)index, (void)rows;
	return 1;
}

TSR_MAIN(world, argc, argv)
{
	row_args_t args = {NULL, 0};
	TSR_HEAP void *counts;
	TSR_TRY(size_argument(argc, argv, 1, "ROWS", 40, &args.rows));
	TSR_TRY(zeroed(world, (size_t)args.rows * sizeof(uint64_t), "counts", &counts));
	TSR_TRY(tsr_barrier(world)); /* every rank's counts are zero */
	args.counts = (TSR_HEAP uint64_t *)counts;
	TSR_TRY(run_to_end(world, &row_counts, ROW_BLOCKS, 1, &args));
	TSR_TRY(tsr_barrier(world)); /* every rank has counted */
	return judge(world, counts, args.rows, args.rows, once);
}
