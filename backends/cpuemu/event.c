/* Events: marks in streams, with time stamps. */
#include <stdlib.h>

#include "cpuemu/device.h"
#include "src/base/error.h"
#include "src/base/os/clock.h"

/** With the lock: one user less; the last one releases it. */
void tsr_cpu_event_unuse(tsr_device_event_t *event)
{
	if (--event->users > 0)
		return;
	if (tsr_cpu_explored(event->device))
		tsr_exploration_edge_drop(tsr_cpu_explored(event->device), event->order);
	free(event);
}

/**
 * With the lock: marks are reached in the order of their streams; an older one
 * that comes late changes nothing.
 */
void tsr_cpu_event_reached(tsr_device_event_t *event, uint64_t mark,
			   const tsr_cpu_failure_t *failure)
{
	if (mark < event->reached)
		return;
	event->reached = mark;
	event->stamp_ns = tsr_now_ns();
	event->failure = *failure;
}

static tsr_status_t event_create(tsr_device_t *device, tsr_device_event_t **event_out)
{
	tsr_device_event_t *event = calloc(1, sizeof *event);
	if (!event)
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for an event; free some");
	event->device = device;
	event->users = 1;
	*event_out = event;
	return TSR_OK;
}

static void event_destroy(tsr_device_event_t *event)
{
	tsr_device_t *device = event->device;
	pthread_mutex_lock(&device->lock);
	tsr_cpu_event_unuse(event); /* streams may still have to pass it */
	pthread_mutex_unlock(&device->lock);
}

static tsr_status_t event_record(tsr_device_event_t *event, tsr_device_stream_t *stream)
{
	tsr_device_t *device = event->device;
	tsr_cpu_item_t *item = calloc(1, sizeof *item);
	if (!item)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory for an event's mark; free some");
	pthread_mutex_lock(&device->lock);
	*item = (tsr_cpu_item_t){
		.kind = TSR_CPU_ITEM_MARK, .event = event, .mark = ++event->recorded};
	event->users++;
	tsr_cpu_stream_push(stream, item);
	tsr_cpu_advance(device);
	pthread_mutex_unlock(&device->lock);
	return TSR_OK;
}

/** Has no deadline of its own, for the reason that a stream's sync has none. */
static tsr_status_t event_sync(tsr_device_event_t *event)
{
	tsr_device_t *device = event->device;
	pthread_mutex_lock(&device->lock);
	uint64_t mark = event->recorded;
	if (tsr_cpu_explored(device)) {
		pthread_mutex_unlock(&device->lock);
		tsr_cpu_explore_sync_event(event, mark);
		pthread_mutex_lock(&device->lock);
	}
	while (event->reached < mark)
		pthread_cond_wait(&device->changed, &device->lock);
	tsr_cpu_failure_t failure = event->failure;
	pthread_mutex_unlock(&device->lock);
	return tsr_cpu_failure_status(device, &failure);
}

static tsr_status_t event_stamp_ns(const tsr_device_event_t *event, uint64_t *ns_out)
{
	tsr_device_t *device = event->device;
	pthread_mutex_lock(&device->lock);
	bool recorded = event->recorded > 0, reached = event->reached == event->recorded;
	uint64_t stamp_ns = event->stamp_ns;
	pthread_mutex_unlock(&device->lock);
	if (!recorded || !reached)
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"the event %s; record it and wait for it before asking for its time",
			recorded ? "has not been reached yet" : "was never recorded");
	*ns_out = stamp_ns;
	return TSR_OK;
}

const tsr_event_ops_t tsr_cpu_event_ops = {
	.size = sizeof(tsr_event_ops_t),
	.create = event_create,
	.destroy = event_destroy,
	.record = event_record,
	.sync = event_sync,
	.stamp_ns = event_stamp_ns,
};
