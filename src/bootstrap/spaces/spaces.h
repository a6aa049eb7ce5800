/*
 * Network namespaces for emulated nodes: each node has one, with an interface
 * that a cable (a pair of the kind veth) leads from to a bridge, which is in
 * one more namespace. Nothing of it is in the launcher's own. The namespaces
 * have no names: descriptors and processes hold them, and with the last of
 * these the kernel removes them and all cables, however the launcher ends.
 */
#ifndef TESSERA_BOOTSTRAP_SPACES_H
#define TESSERA_BOOTSTRAP_SPACES_H

#include <stdbool.h>
#include <stddef.h>

#include "tessera/types.h"

/** The interface of each node, the address of node 0; the others follow. */
#define TSR_SPACE_INTERFACE "tsr0"
#define TSR_SPACE_FIRST "10.0.0.1"

typedef struct tsr_spaces {
	int count;
	int home; /* the namespace of the launcher */
	int bridge;
	int node[TSR_MAX_RANKS];
} tsr_spaces_t;

/**
 * Makes namespaces for `nodes` nodes, all connected. The calling thread is in
 * its own again afterwards. False: `why` says what is not permitted, or what a
 * rank cannot do there, and there is nothing to end.
 */
bool tsr_spaces_make(tsr_spaces_t *spaces, int nodes, char *why, size_t size);
void tsr_spaces_end(tsr_spaces_t *spaces);

/**
 * The sockets that the calling thread makes from now on are of that node's
 * network; -1: of the launcher's. Does nothing if `spaces` is null.
 */
bool tsr_spaces_visit(const tsr_spaces_t *spaces, int node);

/**
 * A rank's process, before its program: is on that node for good. Its /sys is
 * that of the node's network, because UCX and others read there which
 * interfaces there are. False: errno.
 */
bool tsr_spaces_live(const tsr_spaces_t *spaces, int node);

/* ------------------------------------------------------------------ cables */

/* In the namespace of the calling thread. False, or -1: errno. */
bool tsr_cable_make_bridge(void);
/** From the bridge to the namespace `node_fd`, where the interface is tsr0. */
bool tsr_cable_lay(int node, int node_fd);
/** Node's end: gives it the node's address, and brings it and the loopback up. */
bool tsr_cable_connect(int node);
/** Node's end: waits, for at most two seconds, until it carries something. */
bool tsr_cable_await(void);

#endif
