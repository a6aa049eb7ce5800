/* Events: argument checks, then the backend. */
#include <stdlib.h>

#include "src/base/error.h"
#include "src/collectives/far_calls.h"
#include "src/world/stream.h"
#include "tessera/span.h"

tsr_status_t tsr_event_create(tsr_world_t *world, tsr_event_t **event_out)
{
	if (world == NULL || event_out == NULL)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_event_create: world and event_out must not be null");
	tsr_event_t *event = calloc(1, sizeof *event);
	if (event == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for an event; free some");
	event->world = world;
	const tsr_status_t status = world->backend->event->create(world->device, &event->device);
	if (status != TSR_OK) {
		free(event);
		return status;
	}
	*event_out = event;
	return TSR_OK;
}

tsr_status_t tsr_event_destroy(tsr_event_t *event)
{
	if (event == NULL)
		return TSR_OK;
	event->world->backend->event->destroy(event->device);
	tsr_order_drop(&event->order);
	free(event);
	return TSR_OK;
}

static tsr_status_t check_pair(const char *call, const tsr_event_t *event,
			       const tsr_stream_t *stream)
{
	if (event == NULL || stream == NULL)
		return tsr_error(TSR_ERR_ARGUMENT, "%s: event and stream must not be null", call);
	if (event->world != stream->world)
		return tsr_error(TSR_ERR_ARGUMENT, "%s: event and stream are of two worlds", call);
	return TSR_OK;
}

tsr_status_t tsr_event_record(tsr_event_t *event, tsr_stream_t *stream)
{
	const tsr_status_t status = check_pair("tsr_event_record", event, stream);
	if (status != TSR_OK)
		return status;
	tsr_order_record(event, stream);
	return tsr_world_result(event->world, event->world->backend->event->record(event->device,
										   stream->device));
}

tsr_status_t tsr_stream_wait_event(tsr_stream_t *stream, tsr_event_t *event)
{
	const tsr_status_t status = check_pair("tsr_stream_wait_event", event, stream);
	if (status != TSR_OK)
		return status;
	tsr_order_wait(stream, event);
	return tsr_world_result(event->world,
				event->world->backend->stream->wait_event(stream->device,
									  event->device));
}

tsr_status_t tsr_event_sync(tsr_event_t *event)
{
	if (event == NULL)
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_event_sync: event must not be null");
	tsr_status_t status = tsr_boot_check_process(event->world->boot, "tsr_event_sync");
	if (status != TSR_OK)
		return status;
	tsr_span_begin("tsr_event_sync", NULL);
	/* an event that another thread moves meanwhile is its program's affair */
	status = tsr_collective_settle(event->world, &event->order);
	const tsr_status_t synced = event->world->backend->event->sync(event->device);
	status = tsr_world_result(event->world, status == TSR_OK ? synced : TSR_ERR_ABORTED);
	tsr_span_end();
	tsr_order_synced(event->world, &event->order);
	return status;
}

/** By intervals or by stamps, whichever the device has. */
static tsr_status_t elapsed(const tsr_event_ops_t *ops, const tsr_device_event_t *begin,
			    const tsr_device_event_t *end, int64_t *ns_out)
{
	uint64_t begin_ns, end_ns;
	if (ops->elapsed_ns != NULL)
		return ops->elapsed_ns(begin, end, ns_out);
	tsr_status_t status = ops->stamp_ns(begin, &begin_ns);
	if (status == TSR_OK)
		status = ops->stamp_ns(end, &end_ns);
	if (status == TSR_OK)
		*ns_out = (int64_t)(end_ns - begin_ns);
	return status;
}

tsr_status_t tsr_event_elapsed_ns(const tsr_event_t *begin, const tsr_event_t *end,
				  uint64_t *ns_out)
{
	if (begin == NULL || end == NULL || ns_out == NULL)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_event_elapsed_ns: begin, end and ns_out must not be null");
	if (begin->world != end->world)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_event_elapsed_ns: the events are of two worlds");
	int64_t elapsed_ns;
	const tsr_status_t status =
		elapsed(begin->world->backend->event, begin->device, end->device, &elapsed_ns);
	if (status != TSR_OK)
		return status;
	if (elapsed_ns < 0)
		return tsr_error(TSR_ERR_ARGUMENT, "tsr_event_elapsed_ns: the second event was "
						   "reached before the first: exchange them");
	*ns_out = (uint64_t)elapsed_ns;
	return TSR_OK;
}
