/*
 * A command: one access to a far heap, as it stands in a rank's queue. The
 * layout is fixed and plain, so that a kernel can write it into pinned memory.
 *
 * The queue is a ring. A producer takes a ticket (adds 1 to `head`), waits
 * until ticket - tail < TSR_NET_SLOTS, writes the slot (ticket modulo
 * TSR_NET_SLOTS), and stores the stamp last.
 */
#ifndef TESSERA_NET_COMMAND_H
#define TESSERA_NET_COMMAND_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

enum { TSR_NET_SLOTS = 1024, TSR_NET_SLOT_BYTES = 128 };

typedef enum tsr_net_what {
	TSR_NET_PUT = 1,
	TSR_NET_GET,
	TSR_NET_FILL,
	TSR_NET_FETCH,
	TSR_NET_UPDATE,
	TSR_NET_EACH,
	TSR_NET_FLUSH
} tsr_net_what_t;

typedef struct tsr_net_command {
	/* ticket + 1 once the rest is written. Stored with release; its partner is the acquire of
	 * whoever serves the queue (tsr_net_queue_next) */
	_Atomic uint64_t stamp;
	uint8_t what;     /* tsr_net_what_t */
	uint8_t release;  /* of fetch and update: it releases what was before it in the queue */
	uint8_t kind, op; /* of fetch, update and each: the back end's numbers */
	uint8_t bytes;    /* the same: the word's width */
	uint8_t byte;     /* of fill: the value */
	uint16_t cell;    /* where to write that it is complete; 0: nowhere (update) */
	int32_t peer;     /* a rank of the world; of flush: -1 */
	uint32_t reserved;
	uint64_t offset;          /* in the peer's heap */
	uint64_t pitch_bytes;     /* from row to row in the peer's heap */
	uint64_t row_bytes, rows; /* of each: all bytes, 1 */
	uint64_t local; /* address of the rows in this process: source of put, target of get */
	uint64_t local_pitch; /* from row to row there */
	uint64_t bits;        /* of fetch and update: the operand */
	uint64_t expected;    /* of a compare-and-swap */
	uint64_t unused[5];
} tsr_net_command_t;

static_assert(sizeof(tsr_net_command_t) == TSR_NET_SLOT_BYTES, "slots are of two lines");

#endif
