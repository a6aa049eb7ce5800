/*
 * How two keepers prove to each other over TCP that they are of one job. The
 * messages are those of the local door (wire/wire.h), one behind the other in
 * the stream, and so are the proofs:
 *
 *   the keeper of a node          the keeper of node 0
 *   knock                    ->
 *                            <-   challenge
 *   hello (TSR_HELLO_NODE)   ->
 *                            <-   verdict
 *
 * Then frames follow (frame.h). Nobody hears anything else before, and a frame
 * is not read from anybody who has not proved that it knows the key. The kernel
 * does not tell which user is at the other end of TCP: the key alone decides.
 */
#ifndef TESSERA_BOOTSTRAP_NODES_GREETING_H
#define TESSERA_BOOTSTRAP_NODES_GREETING_H

#include "src/bootstrap/nodes/link.h"
#include "src/bootstrap/wire/wire.h"

typedef enum tsr_greeting {
	TSR_GREETING_WAITS, /* more must come first */
	TSR_GREETING_WRONG, /* the other end is not of this job */
	TSR_GREETING_DONE
} tsr_greeting_t;

/** The end that listens: DONE with the guest's hello. The verdict is the caller's to send. */
tsr_greeting_t tsr_greet_guest(tsr_link_t *link, const tsr_key_t *key, tsr_wire_hello_t *hello_out);

/** The end that connects, once the connection is there: says its knock. False: no memory. */
bool tsr_greet_first(tsr_link_t *link);

/**
 * Goes on: DONE with the verdict. `hello` identifies this keeper; the call
 * fills in its magic and proof.
 */
tsr_greeting_t tsr_greet_host(tsr_link_t *link, const tsr_key_t *key, tsr_wire_hello_t *hello,
			      tsr_wire_verdict_t *verdict_out);

#endif
