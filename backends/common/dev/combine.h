/*
 * Bodies of the collectives on views that combine (dev/reduction.h), tile by
 * tile. compose.h includes this header.
 */
#ifndef TESSERA_COMMON_DEV_COMBINE_H
#define TESSERA_COMMON_DEV_COMBINE_H

#include "common/dev/combine_tiles.h"
#include "common/dev/one_shot.h"
#include "common/dev/rooted.h"

#define TSR_SUMS_CURE "combine f64, f32, f16, bf16, i32, i8 or u8"

/** Combines every `step`-th tile, from `first` on. Returns the index behind, counted on. */
TSR_FN int64_t tsr_combine_tiles(tsr_coop_t *block, const tsr_combine_t *c, int64_t first,
				 int64_t step)
{
	const int64_t height = TSR_TILE_M(tsr_combined_f32),
		      width = c->src.dtype == TSR_F64 ? TSR_TILE_N(tsr_combined_f64)
						      : TSR_TILE_N(tsr_combined_f32),
		      across = tsr_tiles(c->src.cols, width),
		      tiles = tsr_tiles(c->src.rows, height) * across;
	for (; first < tiles; first += step) {
		const tsr_pos_t at = {first / across * height, first % across * width};
		tsr_combine_tile(block, c, at);
	}
	return first - tiles;
}

/**
 * Combines one of `count` shares of the elements, by all blocks of this rank.
 * Views without gaps are cut into lines as wide as a tile, and what is left.
 */
TSR_FN void tsr_combine_share(tsr_coop_t *block, const tsr_combine_t *all, int share, int count)
{
	const int64_t step = tsr_block_count(block), elements = all->src.rows * all->src.cols,
		      width = TSR_TILE_N(tsr_combined_f32), lines = elements / width * width;
	const int gaps = !tsr_view_has_no_gaps(all->dst) || !tsr_view_has_no_gaps(all->src);
	int64_t first = tsr_block_index(block);
	/* one loop, so that the code of a tile is laid down once */
	for (int part = 0; part < 2; part++) {
		const int64_t begin = part == 0 ? 0 : lines,
			      left = part == 0 ? lines : elements - lines,
			      cols = part == 0 ? width : elements - lines;
		tsr_combine_t c = *all;
		if (part == 1 && (gaps || share + 1 < count))
			return;
		if (!gaps) {
			c.dst = tsr_view_flat(all->dst, begin, left, cols);
			c.src = tsr_view_flat(all->src, begin, left, cols);
		}
		if (part == 0) {
			c.dst = tsr_view_share(c.dst, share, count);
			c.src = tsr_view_share(c.src, share, count);
		}
		first = tsr_combine_tiles(block, &c, first, step);
	}
}

/** Whether elements of this type can be combined. */
TSR_FN int tsr_combine_takes(tsr_collect_t *c, tsr_view_t dst, tsr_view_t src)
{
	const int32_t dtype = src.dtype;
	if (!tsr_collect_takes(c, dst, src))
		return 0;
	if (dtype == TSR_F64 || dtype == TSR_F32 || dtype == TSR_F16 || dtype == TSR_BF16 ||
	    dtype == TSR_I32 || dtype == TSR_I8 || dtype == TSR_U8)
		return 1;
	TSR_REFUSE(c->block, c->call, TSR_SUMS_CURE,
		   "of elements of dtype %d, which it does not combine", (int)dtype);
	return 0;
}

TSR_DEV tsr_wait_result_t tsr_reduce_scatter(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src,
					     tsr_dim_t dim, tsr_reduce_t op,
					     TSR_HEAP tsr_collective_state_t *state)
{
	tsr_collect_t c = tsr_collect(block, "tsr_reduce_scatter", state);
	const int me = tsr_rank(block);
	const tsr_view_t part = tsr_view_cut(src, dim, me, tsr_size(block));
	const tsr_combine_t combine = {dst, part, op, me, 0};
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	TSR_COLLECTIVE(block, c.call, state, tsr_gather_count(c.counts, TSR_GATHER_READY(me)),
		       TSR_GATHER_ROUND, src.data, 1,
		       tsr_collect_bytes(src.rows, src.cols, src.dtype), 0);
	if (tsr_combine_takes(&c, dst, src) && tsr_collect_fits(&c, dst, part.rows, part.cols) &&
	    tsr_collect_apart(&c, dst, src, tsr_views_are_one(dst, part)))
		how = tsr_collect_enter(&c);
	if (how == TSR_WAIT_OK) {
		tsr_combine_share(block, &combine, 0, 1);
		how = tsr_collect_leave(&c);
	}
	return tsr_collect_return(&c, how);
}

TSR_DEV tsr_wait_result_t tsr_all_reduce_view(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src,
					      tsr_reduce_t op,
					      TSR_HEAP tsr_collective_state_t *state)
{
	tsr_collect_t c = tsr_collect(block, "tsr_all_reduce_view", state);
	const int me = tsr_rank(block), one_shot = tsr_one_shot_suits(block, dst, src);
	const tsr_combine_t combine = {dst, src, op, TSR_ANY_RANK, 0};
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	/* calls in one step have a count of their own, and so rounds of their own */
	TSR_COLLECTIVE(block, c.call,
		       one_shot ? (void *)tsr_one_shot_arrived(block, state) : (void *)state,
		       one_shot ? tsr_one_shot_left(block, state)
				: tsr_gather_count(c.counts, TSR_GATHER_READY(me)),
		       TSR_GATHER_ROUND, dst.data, 1,
		       tsr_collect_bytes(src.rows, src.cols, src.dtype), 0);
	if (!tsr_combine_takes(&c, dst, src) || !tsr_collect_fits(&c, dst, src.rows, src.cols) ||
	    !tsr_collect_apart(&c, dst, src, tsr_views_are_one(dst, src)))
		return tsr_collect_return(&c, how);
	if (one_shot)
		return tsr_collect_return(&c, tsr_one_shot(&c, dst, src, op, state));
	how = tsr_collect_enter(&c);
	if (how == TSR_WAIT_OK) {
		tsr_combine_share(block, &combine, me, tsr_size(block));
		how = tsr_collect_leave(&c);
	}
	return tsr_collect_return(&c, how);
}

TSR_DEV tsr_wait_result_t tsr_reduce_view(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src,
					  tsr_reduce_t op, int root,
					  TSR_HEAP tsr_collective_state_t *state)
{
	tsr_collect_t c = tsr_collect(block, "tsr_reduce_view", state);
	const int me = tsr_rank(block);
	const tsr_combine_t combine = {dst, src, op, root, 0};
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	TSR_COLLECTIVE(block, c.call, state, tsr_gather_count(c.counts, TSR_GATHER_READY(me)),
		       TSR_GATHER_ROUND, dst.data, 1,
		       tsr_collect_bytes(src.rows, src.cols, src.dtype), root);
	if (tsr_combine_takes(&c, dst, src) && tsr_collect_fits(&c, dst, src.rows, src.cols) &&
	    tsr_collect_apart(&c, dst, src, tsr_views_are_one(dst, src)) &&
	    tsr_collect_rooted(&c, root))
		how = tsr_collect_enter(&c);
	if (how == TSR_WAIT_OK) {
		tsr_combine_share(block, &combine, me, tsr_size(block));
		how = tsr_collect_leave(&c);
	}
	return tsr_collect_return(&c, how);
}

#endif
