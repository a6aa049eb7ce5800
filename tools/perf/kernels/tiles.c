/*
 * load and store: tiles of f32 between memory and registers, in the layout of
 * sums that the matrix units leave.
 */
#include "tessera/dev.h"
#include "tools/perf/kernels/kernels.h"

TSR_TILE(perf_tile, bf16, 64, PERF_TILE_COLS, 64);

/** All that is moved: whole rows of tiles, or one row that is shorter. */
TSR_FN tsr_view_t perf_tiles(TSR_HEAP void *data, const perf_move_args_t *a)
{
	const int64_t count = (int64_t)(a->size_bytes / sizeof(float)),
		      cols = count < PERF_TILE_COLS ? count : PERF_TILE_COLS;
	return tsr_view(data, TSR_F32, count / cols, cols, cols);
}

/*
 * Compilers for GPUs remove loads of tiles that nobody uses. So perf_load sums
 * the tiles, and stores the sum if the host asks for it, which it never does.
 */
#if defined(TSR_PORT_WIDE_THREADS)
TSR_FN float perf_sum_of(float x, float y, const void *ctx)
{
	(void)ctx;
	return x + y;
}
#define PERF_USE(block_, sum_, x_, ctx_) tsr_frag_zip((block_), (sum_), (x_), perf_sum_of, (ctx_))
#else
#define PERF_USE(block_, sum_, x_, ctx_) ((void)0)
#endif

TSR_KERNEL(perf_load, perf_move_args_t, a)
{
	const tsr_view_t from = perf_tiles(a->src, a), to = perf_tiles(a->dst, a);
	const int64_t step = (int64_t)tsr_block_count(block) * TSR_TILE_M(perf_tile);
	tsr_pos_t at = {(int64_t)tsr_block_index(block) * TSR_TILE_M(perf_tile), 0};
	const int64_t first = at.row;
	TSR_FRAG(perf_tile, x, block);
	TSR_FRAG(perf_tile, sum, block);
	tsr_frag_zero(block, sum);
	for (uint64_t i = 0; i < a->repeats; i++) {
		for (at.row = first; at.row < from.rows; at.row += step) {
			tsr_load(block, x, from, at, a->src_peer);
			if (a->keeps == PERF_KEEPS_TILES)
				tsr_store(block, to, at, x, a->dst_peer);
			else
				PERF_USE(block, sum, x, a);
		}
		/* Nothing is acquired. Without it a GPU would load the tiles once for all repeats,
		 * or again from a multiprocessor's own cache. */
		tsr_fence(block, TSR_ACQUIRE, TSR_SCOPE_DEVICE);
	}
	at.row = first;
	if (a->keeps == PERF_KEEPS_SUMS)
		tsr_store(block, to, at, sum, a->dst_peer);
}

/** Stores one tile over and over, unless the tiles are kept. */
TSR_KERNEL(perf_store, perf_move_args_t, a)
{
	const tsr_view_t from = perf_tiles(a->src, a), to = perf_tiles(a->dst, a);
	const int64_t step = (int64_t)tsr_block_count(block) * TSR_TILE_M(perf_tile);
	tsr_pos_t at = {(int64_t)tsr_block_index(block) * TSR_TILE_M(perf_tile), 0};
	const int64_t first = at.row;
	TSR_FRAG(perf_tile, x, block);
	tsr_load(block, x, from, at, a->src_peer);
	for (uint64_t i = 0; i < a->repeats; i++)
		for (at.row = first; at.row < from.rows; at.row += step) {
			if (a->keeps == PERF_KEEPS_TILES)
				tsr_load(block, x, from, at, a->src_peer);
			tsr_store(block, to, at, x, a->dst_peer);
		}
}
