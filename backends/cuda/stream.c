/* Streams. */
#include <stdlib.h>

#include "cuda/device.h"
#include "src/base/error.h"

static tsr_status_t stream_create(tsr_device_t *device, const tsr_device_team_t *team, tsr_device_stream_t **stream_out)
{
	tsr_device_stream_t *stream = calloc(1, sizeof *stream);
	if (!stream)
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for a stream; free some");
	tsr_status_t status = tsr_cuda_enter(device);
	if (status == TSR_OK) {
		status =
			tsr_cuda_check(&device->cu, device->cu.stream_create(&stream->stream, CU_STREAM_NON_BLOCKING),
				       "destroy streams that are not needed", "making a stream on rank %d", device->gpu.host->rank);
		tsr_cuda_leave(device);
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
	tsr_gpu_stream_remove(&device->gpu, &stream->track);
	if (tsr_cuda_enter(device) == TSR_OK) {
		(void)device->cu.stream_destroy(stream->stream);
		tsr_cuda_leave(device);
	}
	free(stream);
}

/**
 * Has no deadline of its own: a kernel may compute for hours. It ends all the same, because every wait inside a kernel has the
 * world's deadline and returns when the world ends, and every block then runs to its end.
 */
static tsr_status_t stream_sync(tsr_device_stream_t *stream)
{
	return tsr_cuda_wait(stream->device, stream->stream, NULL, stream->track.serial);
}

static tsr_status_t stream_wait_event(tsr_device_stream_t *stream, tsr_device_event_t *event)
{
	tsr_device_t *device = stream->device;
	tsr_status_t status = tsr_cuda_enter(device);
	if (status != TSR_OK)
		return status;
	status = tsr_cuda_check(&device->cu, device->cu.stream_wait(stream->stream, event->event, CU_EVENT_WAIT_DEFAULT),
				"a kernel may have crashed before: see what was said first", "letting a stream of rank %d wait",
				device->gpu.host->rank);
	tsr_cuda_leave(device);
	return status;
}

/** By the device's copy engine. Addresses say whose memory they are. */
static tsr_status_t stream_copy(tsr_device_stream_t *stream, const tsr_device_copy_t *copy)
{
	tsr_device_t *device = stream->device;
	const CUDA_MEMCPY2D rows = {
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = (CUdeviceptr)(uintptr_t)copy->src,
		.srcPitch = copy->src_pitch_bytes,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstDevice = (CUdeviceptr)(uintptr_t)copy->dst,
		.dstPitch = copy->dst_pitch_bytes,
		.WidthInBytes = copy->row_bytes,
		.Height = copy->rows,
	};
	tsr_status_t status = tsr_gpu_world_status(&device->gpu);
	if (status == TSR_OK)
		status = tsr_cuda_enter(device);
	if (status != TSR_OK)
		return status;
	status = tsr_cuda_check(&device->cu, device->cu.copy_2d(&rows, stream->stream),
				"a kernel may have crashed before: see what was said first",
				"copying %zu rows of %zu bytes from rank %d to rank %d", copy->rows, copy->row_bytes,
				device->gpu.host->rank, copy->peer);
	tsr_cuda_leave(device);
	return status;
}

const tsr_stream_ops_t tsr_cuda_stream_ops = {
	.size = sizeof(tsr_stream_ops_t),
	.create = stream_create,
	.destroy = stream_destroy,
	.launch = tsr_cuda_launch,
	.sync = stream_sync,
	.wait_event = stream_wait_event,
	.copy = stream_copy,
};
