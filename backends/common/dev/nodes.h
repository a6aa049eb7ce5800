/*
 * Collectives of teams that span nodes: who meets whom, and what crosses from
 * node to node. compose.h includes this header.
 *
 * Between nodes each signal and each put is a message. So the blocks of a node
 * meet first, and one rank of each node tells the ranks of the other nodes. And
 * a rank puts data to one member of each other node, which passes it on there.
 *
 * A port whose teams may span nodes has TSR_PORT_NODES 1 and defines:
 *   tsr_port_nodes(coop): the nodes on which the team has members
 *   tsr_port_node(coop, rank): the node of a member, from 0 on
 *   tsr_port_node_place(coop, rank): its number among those of its node
 *   tsr_port_node_members(coop, node): how many members that node has
 *   tsr_port_node_member(coop, node, place): one of them
 * The code of a port that has TSR_PORT_NODES 0 is that of one node alone.
 */
#ifndef TESSERA_COMMON_DEV_NODES_H
#define TESSERA_COMMON_DEV_NODES_H

#include "common/dev/states.h"
#include "tessera/dev/signal.h"

#if TSR_PORT_NODES

/** One of two expressions: the first if the team spans nodes. */
#define TSR_BY_NODES(block_, spans_, else_) (tsr_port_nodes(block_) > 1 ? (spans_) : (else_))

TSR_FN int tsr_my_node(const tsr_coop_t *block)
{
	return tsr_port_node(block, tsr_rank(block));
}

/** The member of `node` that serves `rank` of another node: what crosses between them is its. */
TSR_FN int tsr_node_server(const tsr_coop_t *block, int node, int rank)
{
	return tsr_port_node_member(block, node,
				    tsr_port_node_place(block, rank) %
					    tsr_port_node_members(block, node));
}

/** Member `i` of my node, counted from this rank on, so that not all begin with one. */
TSR_FN int tsr_node_peer(const tsr_coop_t *block, int i)
{
	const int node = tsr_my_node(block), place = tsr_port_node_place(block, tsr_rank(block));
	return tsr_port_node_member(block, node, (place + i) % tsr_port_node_members(block, node));
}

/** One member tells the ranks of all other nodes that the blocks of this one have arrived. */
TSR_FN void tsr_nodes_tell(tsr_coop_t *block, TSR_HEAP uint64_t *mine)
{
	const int me = tsr_rank(block), node = tsr_my_node(block);
	if (tsr_port_node_place(block, me) != 0 || tsr_block_index(block) != 0)
		return;
	for (int i = 1; i < tsr_size(block); i++) {
		const int peer = tsr_peer(block, i);
		/* What the blocks of my node did: this block has acquired it, and a release hands
		 * that on. Partner: the second wait of tsr_nodes_meet, on `peer`. Litmus:
		 * ISA2.ra.diffGPU-ss, LB.retired.diffGPU-ss. */
		if (tsr_port_node(block, peer) != node)
			tsr_signal(block, mine, TSR_GATHER_ROUND, TSR_SIGNAL_ADD, peer);
	}
}

/**
 * All blocks of all ranks meet, as by a signal of each block to all ranks.
 * `counts` is the count of rank 0, and that of rank r lies `apart` words behind
 * that of rank r - 1. All meetings on a count are of this kind.
 */
TSR_FN tsr_wait_result_t tsr_nodes_meet(tsr_coop_t *block, TSR_HEAP uint64_t *counts, int apart,
					uint64_t target)
{
	const int me = tsr_rank(block), node = tsr_my_node(block),
		  members = tsr_port_node_members(block, node);
	tsr_wait_result_t how = TSR_WAIT_OK;
	for (int i = 0; i < members; i++)
		/* Partner: the first wait below, on the members of my node. Litmus:
		 * MP.count.diffGPU-sss, LB.retired.diffGPU-ss. */
		tsr_signal(block, counts + me * apart, tsr_gather_share(block), TSR_SIGNAL_ADD,
			   tsr_node_peer(block, i));
	for (int i = 0; i < members && how == TSR_WAIT_OK; i++) {
		const int from = tsr_node_peer(block, i);
		/* Partner: the signal above, of all blocks of `from`. Litmus:
		 * MP.count.diffGPU-sss, LB.retired.diffGPU-ss. */
		how = tsr_wait(block, counts + from * apart, target, from);
	}
	if (how == TSR_WAIT_OK)
		tsr_nodes_tell(block, counts + me * apart);
	for (int k = 0; k < tsr_port_nodes(block) && how == TSR_WAIT_OK; k++) {
		const int from = tsr_port_node_member(block, k, 0);
		/* Partner: the signal of tsr_nodes_tell, on `from`. Litmus: ISA2.ra.diffGPU-ss,
		 * LB.retired.diffGPU-ss. */
		if (k != node)
			how = tsr_wait(block, counts + from * apart, target, from);
	}
	return how;
}

#else

#define TSR_BY_NODES(block_, spans_, else_) (else_)

#endif

#endif
