/* What the host knows of the order of its streams. */
#include "src/world/order.h"

#include <stdlib.h>

#include "src/world/stream.h"

/** The count of a stream in a clock; 0: none. */
static uint64_t count_of(const tsr_clock_t *clock, int stream)
{
	for (int i = 0; clock != NULL && i < clock->streams; i++)
		if (clock->tick[i].stream == stream)
			return clock->tick[i].count;
	return 0;
}

/** Adds work to a clock. False: the host has no memory. */
static bool add(tsr_clock_t **clock, tsr_tick_t work)
{
	tsr_clock_t *c = *clock;
	for (int i = 0; c != NULL && i < c->streams; i++)
		if (c->tick[i].stream == work.stream) {
			if (c->tick[i].count < work.count)
				c->tick[i].count = work.count;
			return true;
		}
	if (c == NULL || c->streams == c->room) {
		const int streams = c != NULL ? c->streams : 0, room = 2 * streams + 4;
		c = realloc(c, sizeof *c + (size_t)room * sizeof c->tick[0]);
		if (c == NULL)
			return false;
		c->streams = streams;
		c->room = room;
		*clock = c;
	}
	c->tick[c->streams++] = work;
	return true;
}

static bool add_all(tsr_clock_t **clock, const tsr_clock_t *other)
{
	bool added = true;
	for (int i = 0; other != NULL && i < other->streams; i++)
		added = add(clock, other->tick[i]) && added;
	return added;
}

/** A copy with the stream's own work in `before`. */
static tsr_order_t copy(const tsr_order_t *order)
{
	tsr_order_t made = {.stream = order->stream, .unknown = order->unknown};
	const tsr_tick_t own = {order->stream, order->count};
	if (!add_all(&made.before, order->before) || (own.count > 0 && !add(&made.before, own)))
		made.unknown = true;
	return made;
}

tsr_tick_t tsr_order_count(tsr_stream_t *stream)
{
	return (tsr_tick_t){stream->order.stream, ++stream->order.count};
}

bool tsr_order_is_behind(const tsr_stream_t *stream, tsr_tick_t work)
{
	return stream->order.stream == work.stream || stream->order.unknown ||
	       count_of(stream->order.before, work.stream) >= work.count ||
	       count_of(stream->world->host_clock, work.stream) >= work.count;
}

bool tsr_order_covers(const tsr_order_t *order, tsr_tick_t work)
{
	return count_of(order->before, work.stream) >= work.count;
}

void tsr_order_record(tsr_event_t *event, tsr_stream_t *stream)
{
	tsr_order_t before;
	pthread_mutex_lock(&stream->world->order_lock);
	before = event->order;
	event->order = copy(&stream->order);
	pthread_mutex_unlock(&stream->world->order_lock);
	tsr_order_drop(&before);
}

void tsr_order_wait(tsr_stream_t *stream, const tsr_event_t *event)
{
	pthread_mutex_lock(&stream->world->order_lock);
	if (!add_all(&stream->order.before, event->order.before) || event->order.unknown)
		stream->order.unknown = true;
	pthread_mutex_unlock(&stream->world->order_lock);
}

tsr_order_t tsr_order_now(const tsr_stream_t *stream)
{
	pthread_mutex_lock(&stream->world->order_lock);
	const tsr_order_t now = copy(&stream->order);
	pthread_mutex_unlock(&stream->world->order_lock);
	return now;
}

void tsr_order_synced(tsr_world_t *world, const tsr_order_t *order)
{
	pthread_mutex_lock(&world->order_lock);
	(void)add_all(&world->host_clock, order->before);
	pthread_mutex_unlock(&world->order_lock);
}

void tsr_order_forget(tsr_world_t *world, int stream)
{
	tsr_clock_t *clock = world->host_clock;
	for (int i = 0; clock != NULL && i < clock->streams; i++)
		if (clock->tick[i].stream == stream)
			clock->tick[i--] = clock->tick[--clock->streams];
}

void tsr_order_drop(tsr_order_t *order)
{
	free(order->before);
	order->before = NULL;
}
