/* What is kept of a device and its streams. */
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu.h"
#include "src/base/error.h"

/* Static shared memory of the port: scratch and words of each worker (gpu/dev/port.h), and what the driver takes, rounded
 * up. */
enum { PORT_SHARED_BYTES = TSR_GPU_MAX_WORKERS * TSR_GPU_SCRATCH_BYTES + 2048 };

tsr_status_t tsr_gpu_open(tsr_gpu_t *gpu, const tsr_gpu_vendor_t *vendor, const tsr_host_t *host)
{
	gpu->vendor = vendor;
	gpu->host = host;
	gpu->launched = calloc(TSR_GPU_LAUNCHES_KEPT, sizeof *gpu->launched);
	if (!gpu->launched)
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for rank %d's device; free some", host->rank);
	pthread_mutex_init(&gpu->lock, NULL);
	return TSR_OK;
}

void tsr_gpu_close(tsr_gpu_t *gpu)
{
	if (gpu->launched)
		pthread_mutex_destroy(&gpu->lock);
	free(gpu->launched);
	gpu->launched = NULL;
}

void tsr_gpu_props_fill(tsr_gpu_t *gpu)
{
	/* One block a multiprocessor is what every kernel that can be launched at all has. */
	gpu->props.resident_blocks = gpu->sms;
	gpu->props.workers_per_block = TSR_GPU_MAX_WORKERS;
	gpu->props.shared_bytes = gpu->block_shared_bytes - PORT_SHARED_BYTES;
}

void tsr_gpu_context_fill(tsr_gpu_t *gpu, uint64_t page, uint64_t notes_taken, uint32_t clock_khz)
{
	const tsr_host_t *host = gpu->host;
	gpu->launch = (tsr_gpu_context_t){
		.deadline_ns = host->deadline_ns,
		.clock_khz = clock_khz,
		.abort = (uint32_t *)(uintptr_t)(page + offsetof(tsr_gpu_page_t, abort)),
		.notes = (tsr_gpu_note_t *)(uintptr_t)(page + offsetof(tsr_gpu_page_t, notes)),
		.notes_taken = (uint32_t *)(uintptr_t)notes_taken,
	};
}

void tsr_gpu_context_map(tsr_gpu_t *gpu, void *const *bases, int count)
{
	gpu->launch.heap = count > 0 ? bases[gpu->host->rank] : NULL;
	for (int r = 0; r < TSR_MAX_RANKS; r++)
		gpu->away[r] = r < count ? (intptr_t)bases[r] - (intptr_t)gpu->launch.heap : 0;
}

void tsr_gpu_stream_add(tsr_gpu_t *gpu, tsr_gpu_track_t *track, const tsr_device_team_t *team)
{
	track->team = team;
	pthread_mutex_lock(&gpu->lock);
	track->serial = ++gpu->serials;
	track->next = gpu->streams;
	gpu->streams = track;
	pthread_mutex_unlock(&gpu->lock);
}

void tsr_gpu_stream_remove(tsr_gpu_t *gpu, tsr_gpu_track_t *track)
{
	pthread_mutex_lock(&gpu->lock);
	for (tsr_gpu_track_t **t = &gpu->streams; *t; t = &(*t)->next)
		if (*t == track) {
			*t = track->next;
			break;
		}
	pthread_mutex_unlock(&gpu->lock);
}

tsr_gpu_track_t *tsr_gpu_stream_find(const tsr_gpu_t *gpu, uint64_t serial)
{
	tsr_gpu_track_t *track = gpu->streams;
	while (track && track->serial != serial)
		track = track->next;
	return track;
}
