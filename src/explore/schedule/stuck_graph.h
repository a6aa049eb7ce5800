/* The wait-for graph while it is being made: known to stuck.c and stuck_class.c only. */
#ifndef TESSERA_EXPLORE_SCHEDULE_STUCK_GRAPH_H
#define TESSERA_EXPLORE_SCHEDULE_STUCK_GRAPH_H

#include "src/explore/schedule/explorer_state.h"

/** One of those that a node waits for. */
typedef struct tsr_reason {
	tsr_blocker_t blocker;
	struct tsr_reason *next;
} tsr_reason_t;

typedef struct tsr_graph {
	const tsr_explorer_t *explorer;
	tsr_stuck_t *stuck;
	tsr_reason_t **reason; /* of each node, in the order in which they were told */
	tsr_reason_t **last;
	int *node_of; /* of each task; -1: none */
	/* of a search: where each node was reached from (-1: not), and nodes in line */
	int room, *before, *line;
	bool exhausted;
} tsr_graph_t;

/** What to do with each that a node waits for; true: no more. */
typedef bool (*tsr_edge_fn)(tsr_graph_t *graph, int from, int to, void *argument);

/**
 * Calls `found` for the nodes that `from` waits for, the same perhaps more than
 * once, until it says true; whether it did.
 */
bool tsr_graph_each(tsr_graph_t *graph, int from, tsr_edge_fn found, void *argument);

/** Finds roots and a cycle, or a way to a root, and says what it is. */
tsr_stuck_class_t tsr_graph_classify(tsr_graph_t *graph);

#endif
