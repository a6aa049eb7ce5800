/* Events: marks in streams, with intervals between them. */
#include <stdlib.h>

#include "cuda/device.h"
#include "src/base/error.h"

static tsr_status_t event_create(tsr_device_t *device, tsr_device_event_t **event_out)
{
	tsr_device_event_t *event = calloc(1, sizeof *event);
	if (!event)
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for an event; free some");
	tsr_status_t status = tsr_cuda_enter(device);
	if (status == TSR_OK) {
		status = tsr_cuda_check(&device->cu, device->cu.event_create(&event->event, CU_EVENT_DEFAULT),
					"destroy events that are not needed", "making an event on rank %d", device->gpu.host->rank);
		tsr_cuda_leave(device);
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
	if (tsr_cuda_enter(event->device) == TSR_OK) {
		(void)event->device->cu.event_destroy(event->event); /* the driver keeps it until streams have passed it */
		tsr_cuda_leave(event->device);
	}
	free(event);
}

static tsr_status_t event_record(tsr_device_event_t *event, tsr_device_stream_t *stream)
{
	tsr_device_t *device = event->device;
	tsr_status_t status = tsr_cuda_enter(device);
	if (status != TSR_OK)
		return status;
	status = tsr_cuda_check(&device->cu, device->cu.event_record(event->event, stream->stream),
				"a kernel may have crashed before: see what was said first", "recording an event on rank %d",
				device->gpu.host->rank);
	tsr_cuda_leave(device);
	if (status == TSR_OK) {
		event->recorded = true;
		event->serial = stream->track.serial;
	}
	return status;
}

/** Has no deadline of its own, for the reason that a stream's sync has none. */
static tsr_status_t event_sync(tsr_device_event_t *event)
{
	return tsr_cuda_wait(event->device, NULL, event->event, event->serial);
}

/** The driver tells intervals, and more finely the shorter they are. */
static tsr_status_t event_elapsed_ns(const tsr_device_event_t *begin, const tsr_device_event_t *end, int64_t *ns_out)
{
	const tsr_device_t *device = begin->device;
	float ms = 0;
	if (!begin->recorded || !end->recorded)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "the event was never recorded; record it and wait for it before asking for its time");
	tsr_status_t status = tsr_cuda_enter(device);
	if (status != TSR_OK)
		return status;
	CUresult code = device->cu.event_elapsed(&ms, begin->event, end->event);
	tsr_cuda_leave(device);
	if (code == CUDA_ERROR_NOT_READY)
		return tsr_error(TSR_ERR_ARGUMENT, "the event has not been reached yet; wait for it before asking for its time");
	status = tsr_cuda_check(&device->cu, code, "a kernel may have crashed before: see what was said first",
				"reading events of rank %d", device->gpu.host->rank);
	if (status == TSR_OK)
		*ns_out = (int64_t)((double)ms * 1e6);
	return status;
}

const tsr_event_ops_t tsr_cuda_event_ops = {
	.size = sizeof(tsr_event_ops_t),
	.create = event_create,
	.destroy = event_destroy,
	.record = event_record,
	.sync = event_sync,
	.elapsed_ns = event_elapsed_ns,
};
