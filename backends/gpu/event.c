/* Events: marks in streams, with intervals between them. */
#include <stdlib.h>

#include "gpu/gpu.h"
#include "src/base/error.h"

static const tsr_gpu_calls_t *calls_of(const tsr_device_t *device)
{
	return tsr_gpu_of(device)->vendor->calls;
}

static tsr_status_t event_create(tsr_device_t *device, tsr_device_event_t **event_out)
{
	int before;
	tsr_device_event_t *event = calloc(1, sizeof *event);
	if (!event)
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for an event; free some");
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status == TSR_OK) {
		status =
			tsr_gpu_check(device, calls_of(device)->event_create(device, &event->event),
				      "destroy events that are not needed",
				      "making an event on rank %d", tsr_gpu_of(device)->host->rank);
		tsr_gpu_leave(device, before);
	}
	if (status != TSR_OK) {
		free(event);
		return status;
	}
	event->device = device;
	*event_out = event;
	return TSR_OK;
}

static void event_destroy(tsr_device_event_t *event)
{
	tsr_device_t *device = event->device;
	int before;
	if (tsr_gpu_enter(device, &before) == TSR_OK) {
		/* the driver keeps it until streams have passed it */
		(void)calls_of(device)->event_destroy(device, event->event);
		tsr_gpu_leave(device, before);
	}
	free(event);
}

static tsr_status_t event_record(tsr_device_event_t *event, tsr_device_stream_t *stream)
{
	tsr_device_t *device = event->device;
	int before;
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = tsr_gpu_check(device,
			       calls_of(device)->event_record(device, event->event, stream->stream),
			       TSR_GPU_SEE_FIRST, "recording an event on rank %d",
			       tsr_gpu_of(device)->host->rank);
	tsr_gpu_leave(device, before);
	if (status == TSR_OK) {
		event->recorded = true;
		event->serial = stream->track.serial;
	}
	return status;
}

/** Has no deadline of its own, for the reason that a stream's sync has none. */
static tsr_status_t event_sync(tsr_device_event_t *event)
{
	return tsr_gpu_wait(event->device, NULL, event->event, event->serial);
}

/** Drivers tell intervals, and more finely the shorter they are. */
static tsr_status_t event_elapsed_ns(const tsr_device_event_t *begin, const tsr_device_event_t *end,
				     int64_t *ns_out)
{
	tsr_device_t *device = begin->device;
	float ms = 0;
	int before;
	if (!begin->recorded || !end->recorded)
		return tsr_error(TSR_ERR_ARGUMENT, "the event was never recorded; record it and "
						   "wait for it before asking for its time");
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	const int code = calls_of(device)->event_elapsed(device, &ms, begin->event, end->event);
	tsr_gpu_leave(device, before);
	if (code == TSR_GPU_NOT_READY)
		return tsr_error(TSR_ERR_ARGUMENT, "the event has not been reached yet; wait for "
						   "it before asking for its time");
	status = tsr_gpu_check(device, code, TSR_GPU_SEE_FIRST, "reading events of rank %d",
			       tsr_gpu_of(device)->host->rank);
	if (status == TSR_OK)
		*ns_out = (int64_t)((double)ms * 1e6);
	return status;
}

const tsr_event_ops_t tsr_gpu_event_ops = {
	.size = sizeof(tsr_event_ops_t),
	.create = event_create,
	.destroy = event_destroy,
	.record = event_record,
	.sync = event_sync,
	.elapsed_ns = event_elapsed_ns,
};
