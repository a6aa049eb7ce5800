/*
 * Bodies of the collectives on views that move data from one rank or to one
 * (dev/collective.h). compose.h includes this header.
 */
#ifndef TESSERA_COMMON_DEV_ROOTED_H
#define TESSERA_COMMON_DEV_ROOTED_H

#include "common/dev/collect.h"

#define TSR_ROOT_CURE "ranks begin at 0 and end before the size of the stream's team"

TSR_FN int tsr_collect_rooted(tsr_collect_t *c, int root)
{
	if (root >= 0 && root < tsr_size(c->block))
		return 1;
	TSR_REFUSE(c->block, c->call, TSR_ROOT_CURE, "with root %d of %d ranks", root,
		   tsr_size(c->block));
	return 0;
}

/* ------------------------------------------------------------------ broadcast */

/** Fetches my share from the root and puts it to all. */
TSR_FN void tsr_broadcast_share(tsr_collect_t *c, tsr_view_t dst, tsr_view_t src, int root)
{
	const int me = tsr_rank(c->block), ranks = tsr_size(c->block);
	const tsr_view_t to = tsr_collect_mine(c, tsr_view_share(dst, me, ranks)),
			 from = tsr_collect_mine(c, tsr_view_share(src, me, ranks));
	if (me == root) {
		tsr_put_all_2d(c->block, to, from);
		return;
	}
	tsr_get_2d(c->block, to, from, root);
	tsr_sync(c->block); /* every thread's part of the share has come */
	tsr_put_all_2d(c->block, to, to);
}

#if TSR_PORT_NODES

/**
 * The same where the team spans nodes: the members of each node fetch it
 * together, once, and each puts its share to those of its node.
 */
TSR_FN void tsr_broadcast_in_node(tsr_collect_t *c, tsr_view_t dst, tsr_view_t src, int root)
{
	tsr_coop_t *block = c->block;
	const int me = tsr_rank(block), members = tsr_port_node_members(block, tsr_my_node(block)),
		  place = tsr_port_node_place(block, me);
	const tsr_view_t to = tsr_collect_mine(c, tsr_view_share(dst, place, members)),
			 from = tsr_collect_mine(c, tsr_view_share(src, place, members));
	if (me != root) {
		tsr_get_2d(block, to, from, root);
		tsr_sync(block); /* every thread's part of the share has come */
	} else if (!tsr_views_are_one(to, from)) {
		tsr_put_2d(block, to, from, me);
	}
	for (int i = 1; i < members; i++)
		tsr_put_2d(block, to, me == root ? from : to, tsr_node_peer(block, i));
}

#endif

TSR_DEV tsr_wait_result_t tsr_broadcast(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src, int root,
					TSR_HEAP tsr_collective_state_t *state)
{
	tsr_collect_t c = tsr_collect(block, "tsr_broadcast", state);
	const int in_place = tsr_views_are_one(dst, src);
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	TSR_COLLECTIVE(block, c.call, state,
		       tsr_gather_count(c.counts, TSR_GATHER_READY(tsr_rank(block))),
		       TSR_GATHER_ROUND, dst.data, 0,
		       tsr_collect_bytes(dst.rows, dst.cols, dst.dtype), root,
		       TSR_COLLECTIVE_WORDS(tsr_size(block)),
		       tsr_collect_how(TSR_REDUCE_SUM, TSR_DIM_ROWS, TSR_DIM_ROWS, dst));
	if (tsr_collect_takes(&c, dst, src) && tsr_collect_fits(&c, dst, src.rows, src.cols) &&
	    tsr_collect_apart(&c, dst, src, in_place) && tsr_collect_rooted(&c, root))
		how = tsr_collect_enter(&c);
	if (how == TSR_WAIT_OK) {
		TSR_BY_NODES(block, tsr_broadcast_in_node(&c, dst, src, root),
			     tsr_broadcast_share(&c, dst, src, root));
		how = tsr_collect_leave(&c);
	}
	return tsr_collect_return(&c, how);
}

/* ------------------------------------------------------------------ gather and scatter */

TSR_DEV tsr_wait_result_t tsr_gather(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src,
				     tsr_dim_t dim, int root,
				     TSR_HEAP tsr_collective_state_t *state)
{
	tsr_collect_t c = tsr_collect(block, "tsr_gather", state);
	const int me = tsr_rank(block);
	const tsr_view_t place = tsr_view_cut(dst, dim, me, tsr_size(block));
	const int in_place = tsr_views_are_one(place, src);
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	TSR_COLLECTIVE(block, c.call, state, tsr_gather_count(c.counts, TSR_GATHER_READY(me)),
		       TSR_GATHER_ROUND, dst.data, 0,
		       tsr_collect_bytes(dst.rows, dst.cols, dst.dtype), root,
		       TSR_COLLECTIVE_WORDS(tsr_size(block)),
		       tsr_collect_how(TSR_REDUCE_SUM, dim, TSR_DIM_ROWS, dst));
	if (tsr_collect_takes(&c, dst, src) && tsr_collect_fits(&c, place, src.rows, src.cols) &&
	    tsr_collect_apart(&c, dst, src, in_place) && tsr_collect_rooted(&c, root))
		how = tsr_collect_enter(&c);
	if (how == TSR_WAIT_OK) {
		if (me != root || !in_place)
			tsr_put_2d(block, tsr_collect_mine(&c, place), tsr_collect_mine(&c, src),
				   root);
		how = tsr_collect_leave(&c);
	}
	return tsr_collect_return(&c, how);
}

TSR_DEV tsr_wait_result_t tsr_scatter(tsr_coop_t *block, tsr_view_t dst, tsr_view_t src,
				      tsr_dim_t dim, int root,
				      TSR_HEAP tsr_collective_state_t *state)
{
	tsr_collect_t c = tsr_collect(block, "tsr_scatter", state);
	const int me = tsr_rank(block);
	const tsr_view_t part = tsr_view_cut(src, dim, me, tsr_size(block));
	const int in_place = tsr_views_are_one(dst, part);
	tsr_wait_result_t how = TSR_WAIT_ABORTED;
	TSR_COLLECTIVE(block, c.call, state, tsr_gather_count(c.counts, TSR_GATHER_READY(me)),
		       TSR_GATHER_ROUND, src.data, 0,
		       tsr_collect_bytes(src.rows, src.cols, src.dtype), root,
		       TSR_COLLECTIVE_WORDS(tsr_size(block)),
		       tsr_collect_how(TSR_REDUCE_SUM, dim, TSR_DIM_ROWS, src));
	if (tsr_collect_takes(&c, dst, src) && tsr_collect_fits(&c, dst, part.rows, part.cols) &&
	    tsr_collect_apart(&c, dst, src, in_place) && tsr_collect_rooted(&c, root))
		how = tsr_collect_enter(&c);
	if (how == TSR_WAIT_OK) {
		if (me != root || !in_place)
			tsr_get_2d(block, tsr_collect_mine(&c, dst), tsr_collect_mine(&c, part),
				   root);
		how = tsr_collect_leave(&c);
	}
	return tsr_collect_return(&c, how);
}

#endif
