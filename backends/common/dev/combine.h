/*
 * Bodies of the collectives on views that combine (dev/reduction.h). compose.h
 * includes this header.
 *
 * A port defines tsr_port_combine(coop, dst, src, op, to): combines, element by
 * element and in rank order, what all ranks have in `src`, and stores it to
 * `dst` of rank `to`, or of all if that is TSR_ANY_RANK. The views are alike.
 * Meets nobody; each element is read and stored by one thread.
 *
 * And tsr_port_combine_as(coop, dst, src, op, to): the same, where f32 may also be
 * stored as f16 or bf16.
 */
#ifndef TESSERA_COMMON_DEV_COMBINE_H
#define TESSERA_COMMON_DEV_COMBINE_H

#include "common/dev/node_sums.h"
#include "common/dev/one_shot.h"
#include "common/dev/rooted.h"

/** What is combined, and where it goes: to one rank, or with TSR_ANY_RANK to all. */
typedef struct tsr_combine {
	tsr_view_t dst, src;
	tsr_reduce_t op;
	int32_t to;
} tsr_combine_t;

#define TSR_SUMS_CURE "combine f64, f32, f16, bf16, i32, i8 or u8"

/** Views without gaps count as one row, whatever their shape. */
TSR_FN tsr_combine_t tsr_combine_flat(tsr_combine_t c)
{
	const int64_t elements = c.src.rows * c.src.cols;
	if (tsr_view_has_no_gaps(c.dst) && tsr_view_has_no_gaps(c.src) &&
	    tsr_views_are_alike(c.dst, c.src)) {
		c.dst = tsr_view_flat(c.dst, 0, elements, elements);
		c.src = tsr_view_flat(c.src, 0, elements, elements);
	}
	return c;
}

/** What this block combines of one of `count` shares of the elements. */
TSR_FN tsr_combine_t tsr_combine_mine(tsr_coop_t *block, tsr_combine_t c, int share, int count)
{
	const int index = tsr_block_index(block), blocks = tsr_block_count(block);
	c = tsr_combine_flat(c);
	c.dst = tsr_combine_part(tsr_combine_part(c.dst, share, count), index, blocks);
	c.src = tsr_combine_part(tsr_combine_part(c.src, share, count), index, blocks);
	return c;
}

TSR_FN void tsr_combine_own(tsr_coop_t *block, tsr_combine_t c)
{
	if (!tsr_view_is_empty(c.src))
		tsr_port_combine(block, c.dst, c.src, c.op, c.to);
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

/* ------------------------------------------------------------------ one step or two */

/**
 * In one step. `whole` is of all ranks, and each gets its part along `dim`;
 * without `parts` each gets all. My own message is put by the block that combines
 * it: in place, it is stored over.
 */
TSR_FN tsr_wait_result_t tsr_combine_in_one(tsr_one_shot_t *o, const tsr_combine_t *c,
					    tsr_view_t whole, int parts, tsr_dim_t dim)
{
	const int ranks = tsr_size(o->c->block);
	tsr_wait_result_t how = tsr_one_shot_arrive(o);
	if (how != TSR_WAIT_OK)
		return how;
	tsr_one_shot_tell(o);
	if (!parts)
		tsr_one_shot_put(o, whole, TSR_ANY_RANK, 0);
	for (int i = 0; i < ranks && parts; i++) {
		const int peer = tsr_peer(o->c->block, i);
		tsr_one_shot_put(o, tsr_view_cut(whole, dim, peer, ranks), peer, i);
	}
	how = tsr_one_shot_hear(o);
	if (how == TSR_WAIT_OK)
		how = tsr_one_shot_combine(o, c->dst, c->op);
	return how == TSR_WAIT_OK ? tsr_one_shot_leave(o) : how;
}

/** In two steps: one of `count` shares of the elements. */
TSR_FN tsr_wait_result_t tsr_combine_in_two(tsr_collect_t *c, const tsr_combine_t *combine,
					    int share, int count)
{
	const tsr_wait_result_t how = tsr_collect_enter(c);
	if (how != TSR_WAIT_OK)
		return how;
	tsr_combine_own(c->block, tsr_combine_mine(c->block, *combine, share, count));
	return tsr_collect_leave(c);
}

/* ------------------------------------------------------------------ the calls */

TSR_DEV tsr_wait_result_t tsr_reduce_scatter(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src,
					     tsr_dim_t dim, tsr_reduce_t op,
					     TSR_HEAP tsr_collective_state_t *state)
{
	tsr_collect_t c = tsr_collect(block, "tsr_reduce_scatter", state);
	const int me = tsr_rank(block), ranks = tsr_size(block), by_rows = dim == TSR_DIM_ROWS;
	const tsr_view_t part = tsr_view_cut(src, dim, me, ranks);
	const tsr_combine_t combine = {dst, part, op, me};
	tsr_one_shot_t one = tsr_one_shot_of(&c, state,
					     tsr_one_shot_suits(block, src.rows, src.cols,
								src.dtype, by_rows, !by_rows));
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	TSR_COLLECTIVE(block, c.call, tsr_one_shot_key(&one), tsr_one_shot_rounds(&one),
		       TSR_GATHER_ROUND, src.data, 1,
		       tsr_collect_bytes(src.rows, src.cols, src.dtype), 0,
		       tsr_one_shot_words(&one), tsr_collect_how(op, dim, TSR_DIM_ROWS, src));
	if (tsr_combine_takes(&c, dst, src) && tsr_collect_fits(&c, dst, part.rows, part.cols) &&
	    tsr_collect_apart(&c, dst, src, tsr_views_are_one(dst, part)))
		how = one.used ? tsr_combine_in_one(&one, &combine, src, 1, dim)
			       : TSR_BY_NODES(block,
					      tsr_node_sum_scatter(&c, dst, src, dim, op, state),
					      tsr_combine_in_two(&c, &combine, 0, 1));
	return tsr_collect_return(&c, how);
}

TSR_DEV tsr_wait_result_t tsr_all_reduce_view(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src,
					      tsr_reduce_t op,
					      TSR_HEAP tsr_collective_state_t *state)
{
	tsr_collect_t c = tsr_collect(block, "tsr_all_reduce_view", state);
	const tsr_combine_t given = {dst, src, op, TSR_ANY_RANK};
	const tsr_combine_t combine = tsr_combine_flat(given);
	tsr_one_shot_t one = tsr_one_shot_of(&c, state,
					     tsr_one_shot_suits(block, combine.src.rows,
								combine.src.cols, src.dtype, 0, 0));
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	TSR_COLLECTIVE(block, c.call, tsr_one_shot_key(&one), tsr_one_shot_rounds(&one),
		       TSR_GATHER_ROUND, dst.data, 1,
		       tsr_collect_bytes(src.rows, src.cols, src.dtype), 0,
		       tsr_one_shot_words(&one),
		       tsr_collect_how(op, TSR_DIM_ROWS, TSR_DIM_ROWS, dst));
	if (tsr_combine_takes(&c, dst, src) && tsr_collect_fits(&c, dst, src.rows, src.cols) &&
	    tsr_collect_apart(&c, dst, src, tsr_views_are_one(dst, src)))
		how = one.used ? tsr_combine_in_one(&one, &combine, combine.src, 0, TSR_DIM_ROWS)
			       : TSR_BY_NODES(block,
					      tsr_node_sum_whole(&c, combine.dst, combine.src, op,
								 TSR_SUM_SPREAD, state),
					      tsr_combine_in_two(&c, &combine, tsr_rank(block),
								 tsr_size(block)));
	return tsr_collect_return(&c, how);
}

TSR_DEV tsr_wait_result_t tsr_reduce_view(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src,
					  tsr_reduce_t op, int root,
					  TSR_HEAP tsr_collective_state_t *state)
{
	tsr_collect_t c = tsr_collect(block, "tsr_reduce_view", state);
	const int me = tsr_rank(block);
	const tsr_combine_t combine = {dst, src, op, root};
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	TSR_COLLECTIVE(block, c.call, state, tsr_gather_count(c.counts, TSR_GATHER_READY(me)),
		       TSR_GATHER_ROUND, dst.data, 1,
		       tsr_collect_bytes(src.rows, src.cols, src.dtype), root,
		       TSR_COLLECTIVE_WORDS(tsr_size(block)),
		       tsr_collect_how(op, TSR_DIM_ROWS, TSR_DIM_ROWS, dst));
	if (tsr_combine_takes(&c, dst, src) && tsr_collect_fits(&c, dst, src.rows, src.cols) &&
	    tsr_collect_apart(&c, dst, src, tsr_views_are_one(dst, src)) &&
	    tsr_collect_rooted(&c, root))
		how = TSR_BY_NODES(block,
				   tsr_node_sum_whole(&c, tsr_combine_flat(combine).dst,
						      tsr_combine_flat(combine).src, op, root,
						      state),
				   tsr_combine_in_two(&c, &combine, me, tsr_size(block)));
	return tsr_collect_return(&c, how);
}

#endif
