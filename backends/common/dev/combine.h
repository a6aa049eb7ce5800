/*
 * Bodies of the collectives on views that combine (dev/reduction.h). compose.h
 * includes this header.
 *
 * A port defines tsr_port_combine(coop, dst, src, op, to, apart): combines,
 * element by element and in rank order, what all ranks have in `src`, and stores
 * it to `dst` of rank `to`, or of all if that is TSR_ANY_RANK. The views are
 * alike. If `apart` is not 0, `src` is what rank 0 has given, in my own memory,
 * and what each next rank has given lies `apart` bytes behind. Meets nobody;
 * each element is read and stored by one thread.
 *
 * And tsr_port_combine_as(coop, dst, src, op, to): the same from the ranks' own
 * memory, where f32 may also be stored as f16 or bf16.
 */
#ifndef TESSERA_COMMON_DEV_COMBINE_H
#define TESSERA_COMMON_DEV_COMBINE_H

#include "common/dev/one_shot.h"
#include "common/dev/rooted.h"

enum { TSR_COMBINE_LINE = 64 };

#define TSR_SUMS_CURE "combine f64, f32, f16, bf16, i32, i8 or u8"

/**
 * Part `index` of `count`: whole rows, or if there are fewer, whole lines of
 * columns, so that parts begin at multiples of sixteen bytes if the view does.
 */
TSR_FN tsr_view_t tsr_combine_part(tsr_view_t view, int index, int count)
{
	if (view.rows >= count)
		return tsr_view_cut(view, TSR_DIM_ROWS, index, count);
	const int64_t lines = tsr_tiles(view.cols, TSR_COMBINE_LINE),
		      first = lines * index / count * TSR_COMBINE_LINE,
		      end = lines * (index + 1) / count * TSR_COMBINE_LINE;
	const tsr_pos_t at = {0, first};
	return tsr_view_part(view, at, view.rows, end - first);
}

/**
 * What this block combines of one of `count` shares of the elements. Views
 * without gaps count as one row, whatever their shape.
 */
TSR_FN tsr_combine_t tsr_combine_mine(tsr_coop_t *block, tsr_combine_t c, int share, int count)
{
	const int64_t elements = c.src.rows * c.src.cols;
	const int index = tsr_block_index(block), blocks = tsr_block_count(block);
	if (tsr_view_has_no_gaps(c.dst) && tsr_view_has_no_gaps(c.src)) {
		c.dst = tsr_view_flat(c.dst, 0, elements, elements);
		c.src = tsr_view_flat(c.src, 0, elements, elements);
	}
	c.dst = tsr_combine_part(tsr_combine_part(c.dst, share, count), index, blocks);
	c.src = tsr_combine_part(tsr_combine_part(c.src, share, count), index, blocks);
	return c;
}

TSR_FN void tsr_combine_own(tsr_coop_t *block, tsr_combine_t c)
{
	if (!tsr_view_is_empty(c.src))
		tsr_port_combine(block, c.dst, c.src, c.op, c.to, c.apart);
}

/** Whether elements of this type can be combined. */
TSR_FN int tsr_combine_has_sums(tsr_collect_t *c, int32_t dtype)
{
	if (dtype == TSR_F64 || dtype == TSR_F32 || dtype == TSR_F16 || dtype == TSR_BF16 ||
	    dtype == TSR_I32 || dtype == TSR_I8 || dtype == TSR_U8)
		return 1;
	TSR_REFUSE(c->block, c->call, TSR_SUMS_CURE,
		   "of elements of dtype %d, which it does not combine", (int)dtype);
	return 0;
}

TSR_FN int tsr_combine_takes(tsr_collect_t *c, tsr_view_t dst, tsr_view_t src)
{
	return tsr_collect_takes(c, dst, src) && tsr_combine_has_sums(c, src.dtype);
}

/** Whether tsr_combine can store what it combines: as it is, or f32 as a shorter float. */
TSR_FN int tsr_combine_rounds(tsr_collect_t *c, tsr_view_t dst, tsr_view_t src)
{
	if (dst.dtype == src.dtype ||
	    (src.dtype == TSR_F32 && (dst.dtype == TSR_F16 || dst.dtype == TSR_BF16)))
		return 1;
	TSR_REFUSE(c->block, c->call, "store the dtype of src; or of f32 also f16 and bf16",
		   "from a view of dtype %d to one of dtype %d", (int)src.dtype, (int)dst.dtype);
	return 0;
}

TSR_DEV void tsr_combine(tsr_coop_t *coop, tsr_view_t dst, tsr_view_t src, tsr_reduce_t op, int to)
{
	tsr_collect_t c = tsr_collect(coop, "tsr_combine", 0);
	const int heap = dst.space == TSR_SPACE_HEAP && src.space == TSR_SPACE_HEAP;
	if (!heap)
		TSR_REFUSE(coop, c.call, TSR_SPACE_CURE, "of a view of shared memory");
	else if (tsr_combine_rounds(&c, dst, src) && tsr_combine_has_sums(&c, src.dtype) &&
		 tsr_collect_fits(&c, dst, src.rows, src.cols) &&
		 tsr_collect_apart(&c, dst, src, tsr_views_are_one(dst, src)) &&
		 (to == TSR_ANY_RANK || tsr_collect_rooted(&c, to)) && !tsr_view_is_empty(src))
		tsr_port_combine_as(coop, dst, src, op, to);
	(void)tsr_collect_return(&c, TSR_WAIT_OK);
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
		tsr_combine_own(block, tsr_combine_mine(block, combine, 0, 1));
		how = tsr_collect_leave(&c);
	}
	return tsr_collect_return(&c, how);
}

/** The work of an all-reduce. One loop for both ways, so that its code is laid down once. */
TSR_FN void tsr_all_reduce_mine(tsr_coop_t *block, const tsr_combine_t *c,
				const tsr_one_shot_t *one_shot)
{
	const int64_t pieces = one_shot->used ? tsr_one_shot_pieces(c->src) : 1,
		      step = one_shot->used ? tsr_block_count(block) : 1;
	int64_t piece = one_shot->used ? tsr_block_index(block) : 0;
	for (; piece < pieces; piece += step)
		tsr_combine_own(block, one_shot->used ? tsr_one_shot_mine(one_shot, c->op, piece)
						      : tsr_combine_mine(block, *c, tsr_rank(block),
									 tsr_size(block)));
}

TSR_DEV tsr_wait_result_t tsr_all_reduce_view(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src,
					      tsr_reduce_t op,
					      TSR_HEAP tsr_collective_state_t *state)
{
	tsr_collect_t c = tsr_collect(block, "tsr_all_reduce_view", state);
	tsr_one_shot_t one_shot = tsr_one_shot_of(&c, dst, src, state);
	const tsr_combine_t combine = {dst, src, op, TSR_ANY_RANK, 0};
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	/* calls in one step have a count of their own, and so rounds of their own */
	TSR_COLLECTIVE(block, c.call,
		       one_shot.used ? (void *)tsr_one_shot_arrived(block, state) : (void *)state,
		       one_shot.used
			       ? tsr_one_shot_left(block, state)
			       : tsr_gather_count(c.counts, TSR_GATHER_READY(tsr_rank(block))),
		       TSR_GATHER_ROUND, dst.data, 1,
		       tsr_collect_bytes(src.rows, src.cols, src.dtype), 0);
	if (tsr_combine_takes(&c, dst, src) && tsr_collect_fits(&c, dst, src.rows, src.cols) &&
	    tsr_collect_apart(&c, dst, src, tsr_views_are_one(dst, src)))
		how = one_shot.used ? tsr_one_shot_enter(&one_shot) : tsr_collect_enter(&c);
	if (how == TSR_WAIT_OK) {
		tsr_all_reduce_mine(block, &combine, &one_shot);
		how = one_shot.used ? tsr_one_shot_leave(&one_shot) : tsr_collect_leave(&c);
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
		tsr_combine_own(block, tsr_combine_mine(block, combine, me, tsr_size(block)));
		how = tsr_collect_leave(&c);
	}
	return tsr_collect_return(&c, how);
}

#endif
