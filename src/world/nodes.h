/* A world over several nodes: who is where, and the net between them. */
#ifndef TESSERA_WORLD_NODES_H
#define TESSERA_WORLD_NODES_H

#include "src/world/world.h"

/** Notes the nodes of all ranks, after the world's first exchange. */
void tsr_world_find_nodes(tsr_world_t *world);

/**
 * Connects the ranks of different nodes, when the heaps are mapped. Nothing in a
 * world of one node. Collective.
 *
 * Errors:     TSR_ERR_UNSUPPORTED (the backend has no worlds of several nodes;
 *             nothing carries messages between nodes), those of the net.
 */
tsr_status_t tsr_world_connect_nodes(tsr_world_t *world);

/** Undoes that, when no rank uses the heap of another any more. */
void tsr_world_disconnect_nodes(tsr_world_t *world);

#endif
