/*
 * What the host knows of the order of its streams: by events, and by what it has
 * waited for. Streams have numbers, and the work that is queued on each is
 * counted, so far as somebody asks for its order.
 */
#ifndef TESSERA_WORLD_ORDER_H
#define TESSERA_WORLD_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/world/world.h"

/** Work on a stream: its count there, from 1 on. */
typedef struct tsr_tick {
	int stream; /* its number */
	uint64_t count;
} tsr_tick_t;

/** What comes before something: of each stream that it has, work up to a count. */
typedef struct tsr_clock {
	int streams, room;
	tsr_tick_t tick[];
} tsr_clock_t;

/** The order of one stream, or of an event: what comes before its next work, or its mark. */
typedef struct tsr_order {
	int stream;
	uint64_t count; /* of the stream's own work */
	tsr_clock_t *before;
	/* order that the library does not see may be there: of the vendor's calls; or there was no
	 * memory to keep it */
	bool unknown;
} tsr_order_t;

struct tsr_stream;
struct tsr_event;

/** Counts work that is queued on the stream. With order_lock. */
tsr_tick_t tsr_order_count(struct tsr_stream *stream);

/** Whether the stream's next work comes behind this work of another one. With order_lock. */
bool tsr_order_is_behind(const struct tsr_stream *stream, tsr_tick_t work);

/** Whether this work comes before what has that order. With order_lock. */
bool tsr_order_covers(const tsr_order_t *order, tsr_tick_t work);

/** What the calls of these names do to the order. They take order_lock. */
void tsr_order_record(struct tsr_event *event, struct tsr_stream *stream);
void tsr_order_wait(struct tsr_stream *stream, const struct tsr_event *event);
void tsr_order_synced(tsr_world_t *world, const tsr_order_t *order);

/** What a wait for the stream will have waited for: for tsr_order_synced. */
tsr_order_t tsr_order_now(const struct tsr_stream *stream);

/** The stream is destroyed: no clock of the host needs its number. With order_lock. */
void tsr_order_forget(tsr_world_t *world, int stream);

void tsr_order_drop(tsr_order_t *order);

#endif
