/*
 * The order in which a team's sums run (dev/value.h): the members of each node
 * first, in the team's order, then the nodes. On one node: the team's order.
 */
#ifndef TESSERA_NODE_ORDER_H
#define TESSERA_NODE_ORDER_H

#include "tessera/dtype.h"
#include "tessera/team.h"

typedef struct node_order {
	int ranks;
	int rank[TSR_MAX_RANKS];   /* the team's ranks, node by node */
	int begins[TSR_MAX_RANKS]; /* whether a node begins with it */
} node_order_t;

static inline node_order_t node_order_of(const tsr_team_t *team)
{
	const tsr_world_t *world = tsr_team_world(team);
	node_order_t order;
	order.ranks = 0;
	for (int node = 0; node < tsr_world_nodes(world); node++) {
		int begins = 1;
		for (int r = 0; r < tsr_team_size(team); r++) {
			if (tsr_world_node(world, tsr_team_world_rank(team, r)) != node)
				continue;
			order.rank[order.ranks] = r;
			order.begins[order.ranks++] = begins;
			begins = 0;
		}
	}
	return order;
}

/** One step of a sum, in the type that holds it. */
static inline double node_order_step(tsr_reduce_t op, tsr_dtype_t held, double x, double y)
{
	unsigned char bits[8];
	tsr_dtype_set(held, bits, 0,
		      op == TSR_REDUCE_SUM   ? x + y
		      : op == TSR_REDUCE_MAX ? (y > x ? y : x)
					     : (y < x ? y : x));
	return tsr_dtype_get(held, bits, 0);
}

/** What all ranks have together; `value` gives what one of them has. */
static inline double node_order_result(const node_order_t *order, tsr_reduce_t op, tsr_dtype_t held,
				       double (*value)(const void *ctx, int rank), const void *ctx)
{
	double result = 0, node = 0;
	int nodes = 0;
	for (int i = 0; i < order->ranks; i++) {
		const double x = value(ctx, order->rank[i]);
		node = order->begins[i] ? x : node_order_step(op, held, node, x);
		if (i + 1 < order->ranks && !order->begins[i + 1])
			continue;
		result = nodes++ == 0 ? node : node_order_step(op, held, result, node);
	}
	return result;
}

#endif
