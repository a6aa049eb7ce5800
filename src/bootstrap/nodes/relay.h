/*
 * The relay: the thread of a node's keeper that passes on what ranks do to
 * their control segments. It takes the events of this node's ranks (event.h)
 * and sends them to the other nodes, and does to this node's segment what far
 * ranks have done to theirs (frame.h). So all other code of src/bootstrap reads
 * far ranks in the segment as it reads those of this node.
 *
 * Keepers are connected to the keeper of node 0, the hub, which passes frames
 * on. All nodes get all frames in the hub's order: it keeps the order of each
 * rank, and puts no effect before its cause.
 */
#ifndef TESSERA_BOOTSTRAP_NODES_RELAY_H
#define TESSERA_BOOTSTRAP_NODES_RELAY_H

#include "src/bootstrap/control.h"

/**
 * Starts the relay of the keeper `boot`, whose segment is made. Errors:
 * TSR_ERR_CONFIG (rank 0's port is taken, ...), TSR_ERR_SYSTEM.
 */
tsr_status_t tsr_relay_begin(tsr_boot_t *boot, const tsr_job_t *job);

/**
 * Ends it. `orderly`: after all ranks of this node have left, or the world has
 * ended; for the hub, after all other nodes have said goodbye. It waits for
 * that until the deadline. Null: nothing to do.
 */
void tsr_relay_end(struct tsr_relay *relay, bool orderly);

/**
 * Ends a world of several nodes. Returns when it has ended in this segment:
 * with this end, or another one if node 0 has decided so. If node 0 says
 * nothing for two seconds, this node ends by itself.
 */
void tsr_relay_end_world(tsr_boot_t *boot, const tsr_end_t *end);

#endif
