/*
 * The wait-for graph while it is being built. Only stuck.c and stuck_class.c
 * use it.
 */
#ifndef TESSERA_EXPLORE_SCHEDULE_STUCK_GRAPH_H
#define TESSERA_EXPLORE_SCHEDULE_STUCK_GRAPH_H

#include "src/explore/schedule/explorer_state.h"

/** Something that a node waits for. */
typedef struct tsr_reason {
	tsr_blocker_t blocker;
	struct tsr_reason *next;
} tsr_reason_t;

typedef struct tsr_graph {
	const tsr_explorer_t *explorer;
	tsr_stuck_t *stuck;
	tsr_reason_t **reason; /* for each node, in the order in which they were reported */
	tsr_reason_t **last;
	int *node_of; /* node of each task; -1: none */
	/* for a search: the predecessor of each node (-1: not reached), and a queue of nodes */
	int room, *before, *line;
	bool exhausted;
} tsr_graph_t;

/** Visits a node that another one waits for. Returns true to stop. */
typedef bool (*tsr_edge_fn)(tsr_graph_t *graph, int from, int to, void *argument);

/**
 * Calls `found` for the nodes that `from` waits for, possibly several times for
 * one node, until it returns true. Returns whether it did.
 */
bool tsr_graph_each(tsr_graph_t *graph, int from, tsr_edge_fn found, void *argument);

/** Finds roots, and a cycle or a path to a root; returns the class. */
tsr_stuck_class_t tsr_graph_classify(tsr_graph_t *graph);

#endif
