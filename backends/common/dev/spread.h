/*
 * Pieces that every rank gets, in teams that span nodes: each crosses to another
 * node once, and one member passes it on there. compose.h includes this header.
 */
#ifndef TESSERA_COMMON_DEV_SPREAD_H
#define TESSERA_COMMON_DEV_SPREAD_H

#include "common/dev/collect.h"

#if TSR_PORT_NODES

/** Where the pieces of all ranks lie, at the same address on each. */
typedef struct tsr_pieces {
	tsr_view_t all;
	tsr_dim_t dim;
	int lines; /* as tsr_combine_part cuts; else as tsr_view_cut does, along `dim` */
} tsr_pieces_t;

TSR_FN tsr_view_t tsr_piece(const tsr_coop_t *block, const tsr_pieces_t *p, int rank)
{
	return p->lines ? tsr_combine_part(p->all, rank, tsr_size(block))
			: tsr_view_cut(p->all, p->dim, rank, tsr_size(block));
}

TSR_FN void tsr_spread_put_unless_empty(tsr_coop_t *block, tsr_view_t to, tsr_view_t from, int peer)
{
	if (!tsr_view_is_empty(from))
		tsr_put_2d(block, to, from, peer);
}

/** Puts what this block has of my piece to the members of my node, and once to each other node. */
TSR_FN void tsr_spread_put(tsr_coop_t *block, tsr_view_t to, tsr_view_t from)
{
	const int me = tsr_rank(block), node = tsr_my_node(block);
	for (int k = 0; k < tsr_port_nodes(block); k++)
		if (k != node)
			tsr_spread_put_unless_empty(block, to, from, tsr_node_server(block, k, me));
	for (int i = tsr_views_are_one(to, from); i < tsr_port_node_members(block, node); i++)
		tsr_spread_put_unless_empty(block, to, from, tsr_node_peer(block, i));
}

/** Tells those who pass my piece on that this block has put all that it has of it. */
TSR_FN void tsr_spread_tell(tsr_coop_t *block, TSR_HEAP uint64_t *nodes)
{
	const int me = tsr_rank(block), node = tsr_my_node(block);
	for (int k = 0; k < tsr_port_nodes(block); k++)
		if (k != node)
			/* Partner: the wait of tsr_spread_pass_on. Litmus:
			 * MP.count.diffGPU-sss. */
			tsr_signal(block, nodes + TSR_NODES_PASSED_ON(me), tsr_gather_share(block),
				   TSR_SIGNAL_ADD, tsr_node_server(block, k, me));
}

/** Passes on what other nodes have put here: this block's share of each piece. */
TSR_FN tsr_wait_result_t tsr_spread_pass_on(tsr_coop_t *block, const tsr_pieces_t *p,
					    TSR_HEAP uint64_t *nodes, uint64_t target)
{
	const int me = tsr_rank(block), node = tsr_my_node(block);
	tsr_wait_result_t how = TSR_WAIT_OK;
	for (int i = 1; i < tsr_size(block) && how == TSR_WAIT_OK; i++) {
		const int from = tsr_peer(block, i);
		if (tsr_port_node(block, from) == node || tsr_node_server(block, node, from) != me)
			continue;
		/* Partner: the signal of tsr_spread_tell, of all blocks of `from`. Litmus:
		 * MP.count.diffGPU-sss. */
		how = tsr_wait(block, nodes + TSR_NODES_PASSED_ON(from), target, from);
		const tsr_view_t share =
			tsr_view_share(tsr_piece(block, p, from), tsr_block_index(block),
				       tsr_block_count(block));
		for (int j = 1; j < tsr_port_node_members(block, node) && how == TSR_WAIT_OK; j++)
			tsr_spread_put_unless_empty(block, share, share, tsr_node_peer(block, j));
	}
	return how;
}

/** What the blocks of an all-gather do between its meetings; `from` is my own piece. */
TSR_FN tsr_wait_result_t tsr_spread(tsr_coop_t *block, const tsr_pieces_t *p, tsr_view_t from,
				    TSR_HEAP uint64_t *nodes, uint64_t target)
{
	const int index = tsr_block_index(block), blocks = tsr_block_count(block);
	tsr_spread_put(block, tsr_view_share(tsr_piece(block, p, tsr_rank(block)), index, blocks),
		       tsr_view_share(from, index, blocks));
	tsr_spread_tell(block, nodes);
	return tsr_spread_pass_on(block, p, nodes, target);
}

/** tsr_all_gather: its state counts a round of each kind in each call. */
TSR_FN tsr_wait_result_t tsr_spread_bytes(tsr_coop_t *block, TSR_HEAP void *dst,
					  const TSR_HEAP void *src, size_t size_bytes,
					  TSR_HEAP tsr_all_gather_state_t *state)
{
	const int me = tsr_rank(block), ranks = tsr_size(block),
		  apart = TSR_GATHER_READY(1) - TSR_GATHER_READY(0);
	const int64_t bytes = (int64_t)size_bytes;
	const tsr_pieces_t pieces = {tsr_view(dst, TSR_U8, ranks, bytes, bytes), TSR_DIM_ROWS, 0};
	const tsr_view_t mine = {(TSR_HEAP void *)src, 1, bytes, bytes, TSR_U8, TSR_SPACE_HEAP};
	TSR_COLLECTIVE(block, "tsr_all_gather", state,
		       tsr_gather_count(state, TSR_GATHER_READY(me)), TSR_GATHER_ROUND, dst,
		       size_bytes * (size_t)ranks, size_bytes, 0,
		       TSR_ALL_GATHER_WORDS(tsr_size(block)), 0);
	const uint64_t target = tsr_gather_target(block, state);
	tsr_wait_result_t how =
		tsr_nodes_meet(block, tsr_gather_count(state, TSR_GATHER_RETIRED(0)), apart,
			       target);
	if (how == TSR_WAIT_OK)
		how = tsr_spread(block, &pieces, mine,
				 tsr_gather_count(state, TSR_NODES_OF_GATHER(ranks)), target);
	return how == TSR_WAIT_OK
		       ? tsr_nodes_meet(block, tsr_gather_count(state, TSR_GATHER_READY(0)), apart,
					target)
		       : how;
}

/* ------------------------------------------------------------------ rounds */

/** How many rounds of each kind the calls so far have counted; [1]: of odd chunks. */
typedef struct tsr_nodes_rounds {
	uint64_t passed_on, filled[2], drained[2];
} tsr_nodes_rounds_t;

TSR_FN TSR_HEAP uint64_t *tsr_nodes_words(tsr_coop_t *block, TSR_HEAP tsr_collective_state_t *state)
{
	return (TSR_HEAP uint64_t *)state + TSR_NODES_OF_COLLECTIVE(tsr_size(block));
}

/** Relaxed: the meetings of calls order the accesses to these words. */
TSR_FN uint64_t tsr_nodes_round(tsr_coop_t *block, TSR_HEAP uint64_t *nodes, int word)
{
	return tsr_atomic_load(block, nodes + TSR_NODES_ROUNDS(tsr_size(block)) + word,
			       tsr_rank(block), TSR_RELAXED, TSR_SCOPE_DEVICE);
}

TSR_FN void tsr_nodes_set_round(tsr_coop_t *block, TSR_HEAP uint64_t *nodes, int word,
				uint64_t rounds)
{
	tsr_atomic_store(block, nodes + TSR_NODES_ROUNDS(tsr_size(block)) + word, rounds,
			 tsr_rank(block), TSR_RELAXED, TSR_SCOPE_DEVICE);
}

/** Before the first meeting of a call. */
TSR_FN tsr_nodes_rounds_t tsr_nodes_rounds(tsr_coop_t *block, TSR_HEAP uint64_t *nodes)
{
	tsr_nodes_rounds_t rounds;
	rounds.passed_on = tsr_nodes_round(block, nodes, 0);
	for (int odd = 0; odd < 2; odd++) {
		rounds.filled[odd] = tsr_nodes_round(block, nodes, 1 + odd);
		rounds.drained[odd] = tsr_nodes_round(block, nodes, 3 + odd);
	}
	return rounds;
}

/** Between the meetings of a call, behind what counts. */
TSR_FN void tsr_nodes_count(tsr_coop_t *block, TSR_HEAP uint64_t *nodes, tsr_nodes_rounds_t rounds)
{
	if (tsr_block_index(block) != 0)
		return;
	tsr_nodes_set_round(block, nodes, 0, rounds.passed_on);
	for (int odd = 0; odd < 2; odd++) {
		tsr_nodes_set_round(block, nodes, 1 + odd, rounds.filled[odd]);
		tsr_nodes_set_round(block, nodes, 3 + odd, rounds.drained[odd]);
	}
}

/** An all-gather of views. */
TSR_FN tsr_wait_result_t tsr_spread_view(tsr_collect_t *c, tsr_view_t dst, tsr_view_t src,
					 tsr_dim_t dim, TSR_HEAP tsr_collective_state_t *state)
{
	TSR_HEAP uint64_t *nodes = tsr_nodes_words(c->block, state);
	tsr_nodes_rounds_t rounds = tsr_nodes_rounds(c->block, nodes);
	const tsr_pieces_t pieces = {dst, dim, 0};
	tsr_wait_result_t how = tsr_collect_enter(c);
	rounds.passed_on++;
	if (how == TSR_WAIT_OK)
		how = tsr_spread(c->block, &pieces, src, nodes,
				 rounds.passed_on * TSR_GATHER_ROUND);
	if (how != TSR_WAIT_OK)
		return how;
	tsr_nodes_count(c->block, nodes, rounds);
	return tsr_collect_leave(c);
}

#endif

#endif
