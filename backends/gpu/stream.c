/* Streams. */
#include <stdlib.h>

#include "gpu/far/nodes.h"
#include "gpu/gpu.h"
#include "gpu/record.h"
#include "src/base/error.h"

static const tsr_gpu_calls_t *calls_of(const tsr_device_t *device)
{
	return tsr_gpu_of(device)->vendor->calls;
}

static tsr_status_t no_memory(void)
{
	return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for a stream; free some");
}

/**
 * Asks the driver nothing: the stream may be one that is being captured into a
 * graph, where a question would end the capture.
 */
static tsr_status_t stream_adopt(tsr_device_t *device, const tsr_device_team_t *team, void *native,
				 tsr_device_stream_t **stream_out)
{
	tsr_device_stream_t *stream = calloc(1, sizeof *stream);
	if (!stream)
		return no_memory();
	stream->device = device;
	stream->stream = native;
	stream->adopted = true;
	tsr_gpu_stream_add(tsr_gpu_of(device), &stream->track, team);
	*stream_out = stream;
	return TSR_OK;
}

static tsr_status_t stream_native(const tsr_device_stream_t *stream, void **native_out)
{
	*native_out = stream->stream;
	return TSR_OK;
}

static tsr_status_t stream_create(tsr_device_t *device, const tsr_device_team_t *team,
				  tsr_device_stream_t **stream_out)
{
	int before;
	tsr_device_stream_t *stream = calloc(1, sizeof *stream);
	if (!stream)
		return no_memory();
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status == TSR_OK) {
		status =
			tsr_gpu_check(device,
				      calls_of(device)->stream_create(device, &stream->stream),
				      "destroy streams that are not needed",
				      "making a stream on rank %d", tsr_gpu_of(device)->host->rank);
		tsr_gpu_leave(device, before);
	}
	if (status != TSR_OK) {
		free(stream);
		return status;
	}
	stream->device = device;
	tsr_gpu_stream_add(tsr_gpu_of(device), &stream->track, team);
	*stream_out = stream;
	return TSR_OK;
}

static void stream_destroy(tsr_device_stream_t *stream)
{
	tsr_device_t *device = stream->device;
	int before;
	tsr_gpu_stream_remove(tsr_gpu_of(device), &stream->track);
	if (!stream->adopted && tsr_gpu_enter(device, &before) == TSR_OK) {
		(void)calls_of(device)->stream_destroy(device, stream->stream);
		tsr_gpu_leave(device, before);
	}
	free(stream);
}

/**
 * Has no deadline of its own: a kernel may compute for hours. It ends all the
 * same, because every wait inside a kernel has the world's deadline and returns
 * when the world ends, and every block then runs to its end.
 */
static tsr_status_t stream_sync(tsr_device_stream_t *stream)
{
	return tsr_gpu_wait(stream->device, stream->stream, NULL, stream->track.serial);
}

static tsr_status_t stream_wait_event(tsr_device_stream_t *stream, tsr_device_event_t *event)
{
	tsr_device_t *device = stream->device;
	int before;
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = tsr_gpu_check(device,
			       calls_of(device)->stream_wait(device, stream->stream, event->event),
			       TSR_GPU_SEE_FIRST, "letting a stream of rank %d wait",
			       tsr_gpu_of(device)->host->rank);
	tsr_gpu_leave(device, before);
	return status;
}

/** By the device's copy engine, or as the driver likes. Addresses say whose memory they are. */
static tsr_status_t stream_copy(tsr_device_stream_t *stream, const tsr_device_copy_t *copy)
{
	tsr_device_t *device = stream->device;
	int before;
	tsr_status_t status = tsr_gpu_world_status(tsr_gpu_of(device));
	if (status == TSR_OK)
		status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	pthread_mutex_lock(&tsr_gpu_of(device)->lock);
	tsr_gpu_record_copy_begin(device, stream, copy);
	const int code = tsr_host_is_far(tsr_gpu_of(device)->host, copy->peer)
				 ? tsr_gpu_far_carry(stream, copy)
				 : calls_of(device)->copy_rows(device, copy, stream->stream);
	tsr_gpu_record_copy_end(device, stream);
	pthread_mutex_unlock(&tsr_gpu_of(device)->lock);
	status = tsr_gpu_check(device, code, TSR_GPU_SEE_FIRST,
			       "copying %zu rows of %zu bytes from rank %d to rank %d", copy->rows,
			       copy->row_bytes, tsr_gpu_of(device)->host->rank, copy->peer);
	tsr_gpu_leave(device, before);
	return status;
}

const tsr_stream_ops_t tsr_gpu_stream_ops = {
	.size = sizeof(tsr_stream_ops_t),
	.create = stream_create,
	.destroy = stream_destroy,
	.launch = tsr_gpu_launch,
	.sync = stream_sync,
	.wait_event = stream_wait_event,
	.copy = stream_copy,
	.adopt = stream_adopt,
	.native = stream_native,
};
