/*
 * Events: what a rank does to its node's control segment, for the segments of
 * the other nodes. The ranks of a node write events to a ring in the segment;
 * the relay thread of the node's keeper (relay.h) takes them out.
 *
 * An event holds no payload. It names the place in the segment where its data
 * is: a slot of a barrier, a wait record, or a post. A slot is written again two
 * rounds later. By then the far members have come to the next round, so the relay
 * has read it. A post is written again when the far members have compared it.
 */
#ifndef TESSERA_BOOTSTRAP_NODES_EVENT_H
#define TESSERA_BOOTSTRAP_NODES_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct tsr_boot;

typedef enum tsr_event_kind {
	TSR_EVENT_PRESENT = 1,      /* `rank` has joined; `place`: the keeper of its node */
	TSR_EVENT_LEFT = 2,         /* `rank` has left the world */
	TSR_EVENT_ARRIVED = 3,      /* `member` has come to `round` of the meeting at `place` */
	TSR_EVENT_MEETING_LEFT = 4, /* `member` has left the meeting at `place` */
	TSR_EVENT_WAIT_RECORD = 5,  /* `rank` has kept the wait record `place` */
	/* `rank` has made its post of the number `round` on the topic of `key`, whose rows are at
	 * `place` (board.h) */
	TSR_EVENT_POSTED = 6,
	/* `rank` has compared the posts of far ranks below the number `round` on that topic */
	TSR_EVENT_COMPARED = 7,
	/* the node of `rank` has lost posts: nobody waits for one any more */
	TSR_EVENT_POSTS_LOST = 8,
	TSR_EVENT_LAST = TSR_EVENT_POSTS_LOST
} tsr_event_kind_t;

typedef struct tsr_event {
	uint32_t kind; /* tsr_event_kind_t */
	int32_t rank;  /* the rank that did it */
	int32_t place; /* of a meeting: its first unit */
	int32_t member, members;
	uint32_t round;
	uint32_t payload_bytes; /* of the slot: as many as the round moves */
	uint32_t zero;
	uint64_t key; /* of a topic */
} tsr_event_t;

enum { TSR_EVENTS = 1024 }; /* a power of two, for numbers that wrap */

/**
 * A bounded ring, in the control segment. Events have numbers, and the relay
 * takes them in this order. So no node sees an effect before its cause.
 */
typedef struct tsr_event_ring {
	_Alignas(64) _Atomic uint32_t claimed; /* number of the next event */
	_Alignas(64) _Atomic uint32_t taken;   /* futex: how many the relay has taken */
	struct {
		/* its number plus 1: the event is there */
		_Atomic uint32_t stamp;
		tsr_event_t event;
	} entry[TSR_EVENTS];
} tsr_event_ring_t;

/*
 * A rank claims the number of an event, does to its own segment what the event
 * will say, and then tells it:
 *
 * - The number comes before the effect. So another rank of the node that sees
 *   the effect gets a higher number for what it does next.
 * - The event comes after the effect. So no far rank acts on it, and has that
 *   applied here, before the effect.
 */
enum { TSR_EVENT_UNTOLD = -1 };

/**
 * Claims the next number; TSR_EVENT_UNTOLD in a world of one node, and where
 * the world has ended. Waits while the ring is full, until the deadline, which
 * ends the world.
 */
int64_t tsr_event_claim(struct tsr_boot *boot);

/** Tells the relay the event of the claimed number; nothing if that is UNTOLD. */
void tsr_event_tell(struct tsr_boot *boot, int64_t number, const tsr_event_t *event);

/** The relay: takes the next event. False: there is none yet. */
bool tsr_event_take(tsr_event_ring_t *ring, tsr_event_t *event_out);

/** Wakes the relay of this node. */
void tsr_event_ring_bell(const struct tsr_boot *boot);

#endif
