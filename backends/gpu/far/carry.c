/* Copies on a stream to the heap of a rank on another node: by a kernel that puts. */
#include "gpu/far/kernels.h"

#include "gpu/far/nodes.h"

/** The member of the stream's team that has this rank of the world. */
static int member_of(const tsr_host_team_t *team, int rank)
{
	for (int i = 0; i < team->size; i++)
		if (team->ranks[i] == rank)
			return i;
	return -1;
}

int tsr_gpu_far_carry(tsr_device_stream_t *stream, const tsr_device_copy_t *copy)
{
	tsr_device_t *device = stream->device;
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	tsr_gpu_context_t context = gpu->launch;
	context.rank = stream->track.team->host->rank;
	context.size = stream->track.team->host->size;
	context.peer_offset = stream->track.team->peer_offset;
	context.nodes = (const int32_t *)(stream->track.team->peer_offset + gpu->host->size);
	context.blocks = 1;
	const ptrdiff_t place = (char *)copy->dst - (char *)gpu->base[copy->peer];
	tsr_gpu_carried_t carried = {.dst = gpu->launch.heap + place,
				     .src = copy->src,
				     .dst_pitch = (int64_t)copy->dst_pitch_bytes,
				     .src_pitch = (int64_t)copy->src_pitch_bytes,
				     .row_bytes = (int64_t)copy->row_bytes,
				     .rows = (int64_t)copy->rows,
				     .peer = member_of(stream->track.team->host, copy->peer)};
	void *parameters[] = {&context, &carried};
	return gpu->vendor->calls->launch(device, gpu->nodes->carry, 1, TSR_GPU_CARRY_THREADS, 0,
					  stream->stream, parameters);
}
