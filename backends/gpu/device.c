/* What is kept of a device and its streams. */
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu.h"
#include "gpu/record.h"
#include "src/base/error.h"

/*
 * Static shared memory of the port: scratch and words of each worker
 * (gpu/dev/port.h), and what the driver takes, rounded up.
 */
enum { PORT_SHARED_BYTES = TSR_GPU_MAX_WORKERS * TSR_GPU_SCRATCH_BYTES + 2048 };

void tsr_gpu_props_fill(tsr_gpu_t *gpu)
{
	/* One block a multiprocessor is what every kernel that can be launched at all has. In a
	 * world over several nodes one multiprocessor is left to the kernel that serves the ranks
	 * of other nodes, which kernels wait for (far/serve.c). */
	const int blocks = gpu->sms - tsr_gpu_spans_nodes(gpu);
	gpu->props.resident_blocks = blocks;
	gpu->props.parallel_blocks = blocks;
	gpu->props.workers_per_block = TSR_GPU_MAX_WORKERS;
	gpu->props.shared_bytes = gpu->block_shared_bytes - PORT_SHARED_BYTES;
}

/** What launches have in common, from where the device sees the page. */
static void fill_context(tsr_device_t *device)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	const uint64_t page = gpu->page_on_device;
	gpu->launch = (tsr_gpu_context_t){
		.deadline_ns = gpu->host->deadline_ns,
		.clock_khz = gpu->vendor->clock_khz(device),
		.abort = (uint32_t *)(uintptr_t)(page + offsetof(tsr_gpu_page_t, abort)),
		.notes = (tsr_gpu_note_t *)(uintptr_t)(page + offsetof(tsr_gpu_page_t, notes)),
		.notes_taken = gpu->notes_taken,
	};
}

/**
 * With the device current: the page, the side stream, the notes' counter, and
 * the vendor's parts.
 */
static tsr_status_t make_parts(tsr_device_t *device)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	const tsr_gpu_calls_t *calls = gpu->vendor->calls;
	void *page = NULL;
	int code = calls->host_alloc(device, &page, sizeof *gpu->page, &gpu->page_on_device);
	gpu->page = page;
	if (code == TSR_GPU_SUCCESS) {
		memset(page, 0, sizeof *gpu->page);
		code = calls->stream_create(device, &gpu->side);
	}
	if (code == TSR_GPU_SUCCESS)
		code = calls->alloc(device, &gpu->notes_taken, sizeof(uint32_t));
	if (code != TSR_GPU_SUCCESS)
		return tsr_gpu_check(device, code, gpu->vendor->memory_is_full,
				     "setting rank %d's device up", gpu->host->rank);
	fill_context(device);
	const tsr_status_t status = tsr_gpu_fill(device, gpu->notes_taken, 0, sizeof(uint32_t));
	return status == TSR_OK ? gpu->vendor->make(device) : status;
}

static void drop_parts(tsr_device_t *device)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	const tsr_gpu_calls_t *calls = gpu->vendor->calls;
	tsr_gpu_modules_unload(gpu, device);
	tsr_gpu_record_drop(device);
	tsr_gpu_teams_drop(device);
	gpu->vendor->drop(device);
	if (gpu->notes_taken)
		(void)calls->release(device, gpu->notes_taken);
	if (gpu->side)
		(void)calls->stream_destroy(device, gpu->side);
	if (gpu->page)
		(void)calls->host_release(device, gpu->page);
}

static tsr_status_t open_parts(tsr_device_t *device)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	int before;
	gpu->launched = calloc(TSR_GPU_LAUNCHES_KEPT, sizeof *gpu->launched);
	if (!gpu->launched)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory for rank %d's device; free some", gpu->host->rank);
	pthread_mutex_init(&gpu->lock, NULL);
	tsr_status_t status = gpu->vendor->take(device);
	if (status == TSR_OK)
		status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	gpu->opened = true;
	status = make_parts(device);
	tsr_gpu_leave(device, before);
	return status;
}

tsr_status_t tsr_gpu_device_open(tsr_device_t *device, const tsr_gpu_vendor_t *vendor,
				 const tsr_host_t *host)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	gpu->vendor = vendor;
	gpu->host = host;
	const tsr_status_t status = open_parts(device);
	if (status != TSR_OK)
		tsr_gpu_device_close(device);
	return status;
}

void tsr_gpu_device_close(tsr_device_t *device)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	int before;
	if (gpu->opened && tsr_gpu_enter(device, &before) == TSR_OK) {
		drop_parts(device);
		tsr_gpu_leave(device, before);
	}
	gpu->vendor->give_back(device);
	if (gpu->launched)
		pthread_mutex_destroy(&gpu->lock);
	free(gpu->launched);
	free(device);
}

tsr_status_t tsr_gpu_device_properties(tsr_device_t *device, tsr_device_props_t *props_out)
{
	*props_out = tsr_gpu_of(device)->props;
	return TSR_OK;
}

void tsr_gpu_context_map(tsr_gpu_t *gpu, int count)
{
	gpu->launch.heap = count > 0 ? gpu->base[gpu->host->rank] : NULL;
	for (int r = 0; r < TSR_MAX_RANKS; r++)
		gpu->peer_offset[r] = r >= count ? 0
				      : tsr_host_is_far(gpu->host, r)
					      ? TSR_GPU_FAR_OFFSET
					      : (intptr_t)gpu->base[r] - (intptr_t)gpu->launch.heap;
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
