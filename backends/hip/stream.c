/* Streams, launches, and the host's wait for either. */
#include <stdlib.h>

#include "hip/device.h"
#include "src/base/error.h"

static tsr_status_t stream_create(tsr_device_t *device, const tsr_device_team_t *team, tsr_device_stream_t **stream_out)
{
	int before;
	tsr_device_stream_t *stream = calloc(1, sizeof *stream);
	if (!stream)
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for a stream; free some");
	tsr_status_t status = tsr_hip_enter(device, &before);
	if (status == TSR_OK) {
		status = tsr_hip_check(&device->hip, device->hip.stream_create(&stream->stream, TSR_HIP_STREAM_NON_BLOCKING),
				       "destroy streams that are not needed", "making a stream on rank %d", device->gpu.host->rank);
		tsr_hip_leave(device, before);
	}
	if (status != TSR_OK) {
		free(stream);
		return status;
	}
	stream->device = device;
	tsr_gpu_stream_add(&device->gpu, &stream->track, team);
	*stream_out = stream;
	return TSR_OK;
}

static void stream_destroy(tsr_device_stream_t *stream)
{
	tsr_device_t *device = stream->device;
	int before;
	tsr_gpu_stream_remove(&device->gpu, &stream->track);
	if (tsr_hip_enter(device, &before) == TSR_OK) {
		(void)device->hip.stream_destroy(stream->stream);
		tsr_hip_leave(device, before);
	}
	free(stream);
}

tsr_status_t tsr_hip_start(tsr_device_t *device, const tsr_device_launch_t *l, const tsr_gpu_function_t *f)
{
	uint64_t nothing = 0; /* a struct without members has a byte in C++ */
	tsr_gpu_context_t context = tsr_gpu_launch_number(&device->gpu, &l->stream->track, l);
	void *parameters[] = {&context, l->kernel->args_bytes > 0 ? (void *)(uintptr_t)l->args : &nothing};
	const tsr_hip_code_t code = device->hip.launch(f->entry, (unsigned)l->blocks, 1, 1, (unsigned)f->threads, 1, 1,
						       (unsigned)f->dynamic_bytes, l->stream->stream, parameters, NULL);
	if (code == TSR_HIP_SUCCESS)
		l->stream->track.last = l->kernel;
	return tsr_hip_check(&device->hip, code, "a kernel may have crashed before: see what was said first",
			     "launching %d blocks of kernel %s on rank %d", l->blocks, l->kernel->name, device->gpu.host->rank);
}

static tsr_status_t stream_launch(tsr_device_t *device, const tsr_device_launch_t *launches, int count, bool together)
{
	int before;
	tsr_status_t status = tsr_gpu_launch_check(&device->gpu, launches, count);
	if (status == TSR_OK)
		status = tsr_hip_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = tsr_gpu_launch(&device->gpu, device, launches, count, together);
	tsr_hip_leave(device, before);
	return status;
}

typedef struct mark {
	const tsr_hip_runtime_t *hip;
	tsr_hip_stream_t stream;
	tsr_hip_event_t event; /* null: the end of the stream */
	tsr_hip_code_t code;   /* of the last look */
} mark_t;

static bool busy(void *ctx)
{
	mark_t *mark = ctx;
	mark->code = mark->event ? mark->hip->event_query(mark->event) : mark->hip->stream_query(mark->stream);
	return mark->code == TSR_HIP_ERROR_NOT_READY;
}

tsr_status_t tsr_hip_wait(tsr_device_t *device, tsr_hip_stream_t stream, tsr_hip_event_t event, uint64_t serial)
{
	mark_t mark = {.hip = &device->hip, .stream = stream, .event = event};
	char text[128];
	int before;
	tsr_status_t status = tsr_hip_enter(device, &before);
	if (status != TSR_OK)
		return status;
	tsr_gpu_await(&device->gpu, busy, &mark);
	/* It has ended, and this returns at once: that stores are visible to all then is said of this call, and not of the query.
	 * An event releases to the system where it is recorded. */
	if (mark.code == TSR_HIP_SUCCESS && !event)
		mark.code = device->hip.stream_sync(stream);
	tsr_hip_leave(device, before);
	const char *trouble = mark.code == TSR_HIP_SUCCESS ? NULL : tsr_hip_text(mark.hip, mark.code, text);
	return tsr_gpu_verdict(&device->gpu, serial, trouble);
}

/**
 * Has no deadline of its own: a kernel may compute for hours. It ends all the same, because every wait inside a kernel has the
 * world's deadline and returns when the world ends, and every block then runs to its end.
 */
static tsr_status_t stream_sync(tsr_device_stream_t *stream)
{
	return tsr_hip_wait(stream->device, stream->stream, NULL, stream->track.serial);
}

static tsr_status_t stream_wait_event(tsr_device_stream_t *stream, tsr_device_event_t *event)
{
	tsr_device_t *device = stream->device;
	int before;
	tsr_status_t status = tsr_hip_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = tsr_hip_check(&device->hip, device->hip.stream_wait(stream->stream, event->event, 0),
			       "a kernel may have crashed before: see what was said first", "letting a stream of rank %d wait",
			       device->gpu.host->rank);
	tsr_hip_leave(device, before);
	return status;
}

/** By SDMA, or as the runtime likes. Addresses say whose memory they are. */
static tsr_status_t stream_copy(tsr_device_stream_t *stream, const tsr_device_copy_t *copy)
{
	tsr_device_t *device = stream->device;
	int before;
	tsr_status_t status = tsr_gpu_world_status(&device->gpu);
	if (status == TSR_OK)
		status = tsr_hip_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = tsr_hip_check(&device->hip,
			       device->hip.copy_2d(copy->dst, copy->dst_pitch_bytes, copy->src, copy->src_pitch_bytes,
						   copy->row_bytes, copy->rows, TSR_HIP_BY_ADDRESS, stream->stream),
			       "a kernel may have crashed before: see what was said first",
			       "copying %zu rows of %zu bytes from rank %d to rank %d", copy->rows, copy->row_bytes,
			       device->gpu.host->rank, copy->peer);
	tsr_hip_leave(device, before);
	return status;
}

const tsr_stream_ops_t tsr_hip_stream_ops = {
	.size = sizeof(tsr_stream_ops_t),
	.create = stream_create,
	.destroy = stream_destroy,
	.launch = stream_launch,
	.sync = stream_sync,
	.wait_event = stream_wait_event,
	.copy = stream_copy,
};
