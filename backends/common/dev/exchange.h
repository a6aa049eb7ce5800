/*
 * Bodies of the collectives on views that move data between all ranks
 * (dev/collective.h). compose.h includes this header.
 */
#ifndef TESSERA_COMMON_DEV_EXCHANGE_H
#define TESSERA_COMMON_DEV_EXCHANGE_H

#include "common/dev/one_shot.h"
#include "common/dev/spread.h"

/* ------------------------------------------------------------------ gather */

/** Puts `src` to all in words, and stores those of the others when all ranks have begun. */
TSR_FN tsr_wait_result_t tsr_gather_in_one(tsr_one_shot_t *o, tsr_view_t dst, tsr_view_t src,
					   tsr_dim_t dim, int in_place)
{
	const int me = tsr_rank(o->c->block), ranks = tsr_size(o->c->block);
	tsr_wait_result_t how = tsr_one_shot_arrive(o);
	if (how != TSR_WAIT_OK)
		return how;
	tsr_one_shot_tell(o);
	tsr_one_shot_put(o, src, TSR_ANY_RANK, 0);
	how = tsr_one_shot_hear(o);
	if (how == TSR_WAIT_OK && !in_place)
		tsr_put_2d(o->c->block, tsr_collect_mine(o->c, tsr_view_cut(dst, dim, me, ranks)),
			   tsr_collect_mine(o->c, src), me);
	for (int i = 1; i < ranks && how == TSR_WAIT_OK; i++) {
		const int from = tsr_peer(o->c->block, i);
		how = tsr_one_shot_take(o, tsr_view_cut(dst, dim, from, ranks), from, i);
	}
	return how == TSR_WAIT_OK ? tsr_one_shot_leave(o) : how;
}

TSR_FN tsr_wait_result_t tsr_gather_in_two(tsr_collect_t *c, tsr_view_t place, tsr_view_t src)
{
	const tsr_wait_result_t how = tsr_collect_enter(c);
	if (how != TSR_WAIT_OK)
		return how;
	tsr_put_all_2d(c->block, tsr_collect_mine(c, place), tsr_collect_mine(c, src));
	return tsr_collect_leave(c);
}

TSR_DEV tsr_wait_result_t tsr_all_gather_view(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src,
					      tsr_dim_t dim, TSR_HEAP tsr_collective_state_t *state)
{
	tsr_collect_t c = tsr_collect(block, "tsr_all_gather_view", state);
	const tsr_view_t place = tsr_view_cut(dst, dim, tsr_rank(block), tsr_size(block));
	const int in_place = tsr_views_are_one(place, src), by_rows = dim == TSR_DIM_ROWS;
	tsr_one_shot_t one = tsr_one_shot_of(&c, state,
					     tsr_one_shot_suits(block, dst.rows, dst.cols,
								dst.dtype, by_rows, !by_rows));
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	TSR_COLLECTIVE(block, c.call, tsr_one_shot_key(&one), tsr_one_shot_rounds(&one),
		       TSR_GATHER_ROUND, dst.data, 0,
		       tsr_collect_bytes(dst.rows, dst.cols, dst.dtype), 0,
		       tsr_one_shot_words(&one),
		       tsr_collect_how(TSR_REDUCE_SUM, dim, TSR_DIM_ROWS, dst));
	if (tsr_collect_takes(&c, dst, src) && tsr_collect_fits(&c, place, src.rows, src.cols) &&
	    tsr_collect_apart(&c, dst, src, in_place))
		how = one.used ? tsr_gather_in_one(&one, dst, src, dim, in_place)
			       : TSR_BY_NODES(block, tsr_spread_view(&c, dst, src, dim, state),
					      tsr_gather_in_two(&c, place, src));
	return tsr_collect_return(&c, how);
}

/* ------------------------------------------------------------------ all to all */

/**
 * The place of rank `from`'s piece in the `dst` of the rank that gets it. Along
 * the other dimension `dst` may have other extents there than here.
 */
TSR_FN tsr_view_t tsr_exchange_place(tsr_view_t dst, tsr_dim_t split, tsr_dim_t place,
				     tsr_view_t piece, int from, int ranks)
{
	if (place == TSR_DIM_ROWS) {
		dst.cols = piece.cols;
		dst.rows = split == place ? piece.rows * ranks : dst.rows;
	} else {
		dst.rows = piece.rows;
		dst.cols = split == place ? piece.cols * ranks : dst.cols;
	}
	return tsr_view_cut(dst, place, from, ranks);
}

/** Whether `dst` has what this rank receives, and `src` what it sends. */
TSR_FN int tsr_exchange_fits(tsr_collect_t *c, tsr_view_t dst, tsr_view_t src, tsr_dim_t split,
			     tsr_dim_t place)
{
	const int me = tsr_rank(c->block), ranks = tsr_size(c->block);
	const int64_t split_extent = split == TSR_DIM_ROWS ? src.rows : src.cols;
	/* also where `src` is empty, because this rank has none of the matrix yet */
	const int64_t mine = tsr_quotient(split_extent * (me + 1), ranks) -
			     tsr_quotient(split_extent * me, ranks);
	const tsr_view_t held = tsr_view_cut(dst, place, me, ranks);
	if (split == place)
		return place == TSR_DIM_ROWS ? tsr_collect_fits(c, dst, mine * ranks, src.cols)
					     : tsr_collect_fits(c, dst, src.rows, mine * ranks);
	return place == TSR_DIM_ROWS ? tsr_collect_fits(c, held, src.rows, mine) &&
					       tsr_collect_fits(c, dst, dst.rows, mine)
				     : tsr_collect_fits(c, held, mine, src.cols) &&
					       tsr_collect_fits(c, dst, mine, dst.cols);
}

/** The matrix of which all ranks have a part, or the `src` that each has. */
TSR_FN tsr_view_t tsr_exchange_whole(tsr_view_t dst, tsr_view_t src, tsr_dim_t split,
				     tsr_dim_t place)
{
	if (split != place && place == TSR_DIM_ROWS)
		src.rows = dst.rows;
	else if (split != place)
		src.cols = dst.cols;
	return src;
}

/** What one rank gets from this one, or from all, and where that lies. */
typedef struct tsr_exchange {
	tsr_view_t dst, src;
	tsr_dim_t split, place;
} tsr_exchange_t;

/** Puts this block's share of the piece for `peer` to it. */
TSR_FN void tsr_exchange_put(const tsr_collect_t *c, const tsr_exchange_t *x, int peer)
{
	const int me = tsr_rank(c->block), ranks = tsr_size(c->block);
	const tsr_view_t piece = tsr_view_cut(x->src, x->split, peer, ranks),
			 to = tsr_exchange_place(x->dst, x->split, x->place, piece, me, ranks);
	tsr_put_2d(c->block, tsr_collect_mine(c, to), tsr_collect_mine(c, piece), peer);
}

/** Puts every rank its piece in words, and stores what has come when all have begun. */
TSR_FN tsr_wait_result_t tsr_exchange_in_one(tsr_one_shot_t *o, const tsr_exchange_t *x)
{
	tsr_coop_t *block = o->c->block;
	const int ranks = tsr_size(block);
	tsr_wait_result_t how = tsr_one_shot_arrive(o);
	if (how != TSR_WAIT_OK)
		return how;
	tsr_one_shot_tell(o);
	for (int i = 1; i < ranks; i++) {
		const int peer = tsr_peer(block, i);
		tsr_one_shot_put(o, tsr_view_cut(x->src, x->split, peer, ranks), peer, i);
	}
	how = tsr_one_shot_hear(o);
	if (how == TSR_WAIT_OK)
		tsr_exchange_put(o->c, x, tsr_rank(block));
	for (int i = 1; i < ranks && how == TSR_WAIT_OK; i++) {
		const int from = tsr_peer(block, i);
		how = tsr_one_shot_take(o, tsr_view_cut(x->dst, x->place, from, ranks), from, i);
	}
	return how == TSR_WAIT_OK ? tsr_one_shot_leave(o) : how;
}

TSR_FN tsr_wait_result_t tsr_exchange_in_two(tsr_collect_t *c, const tsr_exchange_t *x)
{
	const tsr_wait_result_t how = tsr_collect_enter(c);
	if (how != TSR_WAIT_OK)
		return how;
	for (int i = 0; i < tsr_size(c->block); i++)
		tsr_exchange_put(c, x, tsr_peer(c->block, i));
	return tsr_collect_leave(c);
}

TSR_DEV tsr_wait_result_t tsr_all_to_all(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src,
					 tsr_dim_t split, tsr_dim_t place,
					 TSR_HEAP tsr_collective_state_t *state)
{
	tsr_collect_t c = tsr_collect(block, "tsr_all_to_all", state);
	const tsr_exchange_t x = {dst, src, split, place};
	const tsr_view_t whole = tsr_exchange_whole(dst, src, split, place);
	tsr_one_shot_t one =
		tsr_one_shot_of(&c, state,
				tsr_one_shot_suits(block, whole.rows, whole.cols, whole.dtype,
						   split == TSR_DIM_ROWS || place == TSR_DIM_ROWS,
						   split == TSR_DIM_COLS || place == TSR_DIM_COLS));
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	TSR_COLLECTIVE(block, c.call, tsr_one_shot_key(&one), tsr_one_shot_rounds(&one),
		       TSR_GATHER_ROUND, dst.data, 0,
		       tsr_collect_bytes(whole.rows, whole.cols, whole.dtype), 0,
		       tsr_one_shot_words(&one),
		       tsr_collect_how(TSR_REDUCE_SUM, split, place, dst));
	if (tsr_collect_takes(&c, dst, src) && tsr_exchange_fits(&c, dst, src, split, place) &&
	    tsr_collect_apart(&c, dst, src, 0))
		how = one.used ? tsr_exchange_in_one(&one, &x) : tsr_exchange_in_two(&c, &x);
	return tsr_collect_return(&c, how);
}

#endif
