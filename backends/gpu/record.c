/* The record of a run: started, stopped, and where each launch is recorded. */
#include "gpu/record.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"

static const tsr_gpu_calls_t *calls_of(const tsr_device_t *device)
{
	return tsr_gpu_of(device)->vendor->calls;
}

/* ------------------------------------------------------------ memory */

static void drop_launches(tsr_device_t *device, tsr_gpu_recording_t *r)
{
	for (int i = 0; i < r->launch_count; i++) {
		for (int j = 0; j < 2; j++)
			if (r->launches[i].events[j])
				(void)calls_of(device)->event_destroy(device,
								      r->launches[i].events[j]);
		free(r->launches[i].ranks);
	}
	r->launch_count = 0;
}

void tsr_gpu_record_drop(tsr_device_t *device)
{
	tsr_gpu_recording_t *r = tsr_gpu_of(device)->recording;
	void *const memory[] = {r ? r->lanes : NULL, r ? r->chunks : NULL,
				r ? r->chunks_taken : NULL};
	if (!r)
		return;
	drop_launches(device, r);
	for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
		if (memory[i])
			(void)calls_of(device)->release(device, memory[i]);
	if (r->begun)
		(void)calls_of(device)->event_destroy(device, r->begun);
	free(r->launches);
	free(r->entries);
	free(r->events);
	free(r);
	tsr_gpu_of(device)->recording = NULL;
}

/** With the device current: the memory that all records of this device use. */
static tsr_status_t make(tsr_device_t *device)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	const tsr_gpu_calls_t *calls = calls_of(device);
	void *lanes = NULL, *chunks = NULL, *taken = NULL, *begun = NULL;
	tsr_gpu_recording_t *r = calloc(1, sizeof *r);
	if (!r)
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for a record; free some");
	int code = calls->alloc(device, &lanes, TSR_GPU_LANES * sizeof *r->lanes);
	if (code == TSR_GPU_SUCCESS)
		code = calls->alloc(device, &chunks, TSR_GPU_CHUNKS * sizeof *r->chunks);
	if (code == TSR_GPU_SUCCESS)
		code = calls->alloc(device, &taken, sizeof *r->chunks_taken);
	if (code == TSR_GPU_SUCCESS)
		code = calls->event_create(device, &begun);
	*r = (tsr_gpu_recording_t){
		.lanes = lanes, .chunks = chunks, .chunks_taken = taken, .begun = begun};
	gpu->recording = r;
	if (code != TSR_GPU_SUCCESS)
		tsr_gpu_record_drop(device);
	return tsr_gpu_check(device, code, gpu->vendor->memory_is_full,
			     "making room for a record on rank %d", gpu->host->rank);
}

/* ------------------------------------------------------------ launches */

bool tsr_gpu_records(const tsr_gpu_t *gpu, const tsr_device_t *device, const tsr_kernel_t *kernel)
{
	return gpu->recording && gpu->recording->on && tsr_gpu_keeps_record(gpu, device, kernel);
}

/** With the lock: a new row of the table of launches, and its team's ranks. */
static tsr_gpu_recorded_t *add(tsr_gpu_recording_t *r, const tsr_device_stream_t *stream)
{
	const tsr_host_team_t *team = stream->track.team->host;
	if (r->launch_count == r->launch_room) {
		const int room = r->launch_room ? 2 * r->launch_room : 16;
		tsr_gpu_recorded_t *grown =
			realloc(r->launches, (size_t)room * sizeof *r->launches);
		if (!grown)
			return NULL;
		r->launches = grown;
		r->launch_room = room;
	}
	tsr_gpu_recorded_t *launch = &r->launches[r->launch_count];
	*launch = (tsr_gpu_recorded_t){.stream = (int)stream->track.serial - 1,
				       .size = team->size,
				       .ranks = malloc((size_t)team->size * sizeof(int))};
	if (!launch->ranks)
		return NULL;
	memcpy(launch->ranks, team->ranks, (size_t)team->size * sizeof *launch->ranks);
	r->launch_count++;
	r->read = false;
	return launch;
}

static tsr_status_t is_full(const tsr_gpu_t *gpu)
{
	return tsr_error(TSR_ERR_NO_MEMORY,
			 "no memory for the record of one more launch of rank %d after %d; record "
			 "fewer launches, or launches of fewer blocks",
			 gpu->host->rank, gpu->recording->launch_count);
}

tsr_status_t tsr_gpu_record_launch(tsr_gpu_t *gpu, const tsr_device_launch_t *l,
				   const tsr_gpu_function_t *f, tsr_gpu_record_t *record_out)
{
	tsr_gpu_recording_t *r = gpu->recording;
	*record_out = (tsr_gpu_record_t){0};
	if (!r || !r->on)
		return TSR_OK;
	const int each = (f->threads + TSR_GPU_LANE_THREADS - 1) / TSR_GPU_LANE_THREADS;
	const size_t lanes = f->form == TSR_GPU_RECORDED ? (size_t)l->blocks * (size_t)each : 0;
	if (lanes > TSR_GPU_LANES - r->lanes_used)
		return is_full(gpu);
	tsr_gpu_recorded_t *launch = add(r, l->stream);
	if (!launch)
		return is_full(gpu);
	launch->kernel = l->kernel;
	launch->blocks = l->blocks;
	if (f->form != TSR_GPU_RECORDED) {
		r->unrecorded = l->kernel;
		return TSR_OK;
	}
	launch->lanes_each = each;
	launch->first_lane = r->lanes_used;
	*record_out = (tsr_gpu_record_t){.lanes = r->lanes + r->lanes_used,
					 .chunks = r->chunks,
					 .chunks_taken = r->chunks_taken,
					 .chunk_count = TSR_GPU_CHUNKS,
					 .lanes_each = each};
	r->lanes_used += lanes;
	return TSR_OK;
}

/* ------------------------------------------------------------ copies */

void tsr_gpu_record_copy_begin(tsr_device_t *device, const tsr_device_stream_t *stream,
			       const tsr_device_copy_t *copy)
{
	tsr_gpu_recording_t *r = tsr_gpu_of(device)->recording;
	if (!r || !r->on)
		return;
	tsr_gpu_recorded_t *launch = add(r, stream);
	if (!launch) /* the copy is made all the same */
		return;
	launch->blocks = 1;
	launch->bytes = (uint64_t)copy->row_bytes * copy->rows;
	launch->peer = copy->peer;
	for (int i = 0; i < 2; i++)
		(void)calls_of(device)->event_create(device, &launch->events[i]);
	if (launch->events[0])
		(void)calls_of(device)->event_record(device, launch->events[0], stream->stream);
}

void tsr_gpu_record_copy_end(tsr_device_t *device, const tsr_device_stream_t *stream)
{
	const tsr_gpu_recording_t *r = tsr_gpu_of(device)->recording;
	if (!r || !r->on || r->launch_count == 0)
		return;
	const tsr_gpu_recorded_t *launch = &r->launches[r->launch_count - 1];
	if (!launch->kernel && launch->events[1])
		(void)calls_of(device)->event_record(device, launch->events[1], stream->stream);
}

/* ------------------------------------------------------------ tsr_record_ops_t */

/** With the device current. */
static tsr_status_t begin_anew(tsr_device_t *device)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	tsr_status_t status = gpu->recording ? TSR_OK : make(device);
	if (status != TSR_OK)
		return status;
	tsr_gpu_recording_t *r = gpu->recording;
	drop_launches(device, r);
	r->lanes_used = 0;
	r->unrecorded = NULL;
	r->entry_count = r->event_count = 0;
	r->read = true;
	status = tsr_gpu_fill(device, r->lanes, 0, TSR_GPU_LANES * sizeof *r->lanes);
	if (status == TSR_OK)
		status = tsr_gpu_fill(device, r->chunks_taken, 0, sizeof *r->chunks_taken);
	if (status == TSR_OK)
		status = tsr_gpu_clock_compare(device, &r->begin);
	if (status == TSR_OK)
		status = tsr_gpu_check(device,
				       calls_of(device)->event_record(device, r->begun, gpu->side),
				       TSR_GPU_SEE_FIRST, "starting a record on rank %d",
				       gpu->host->rank);
	r->end = r->begin;
	r->on = status == TSR_OK;
	return status;
}

static tsr_status_t record_start(tsr_device_t *device)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	int before;
	if (gpu->nodes)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "there is no record of a world of GPUs over several nodes: start "
				 "all ranks on one node, or set TESSERA_BACKEND=cpuemu");
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	pthread_mutex_lock(&gpu->lock);
	status = begin_anew(device);
	pthread_mutex_unlock(&gpu->lock);
	tsr_gpu_leave(device, before);
	return status;
}

/** A kernel that was launched keeps no record. */
static tsr_status_t lacks(const tsr_gpu_t *gpu, const tsr_kernel_t *kernel)
{
	return tsr_error(TSR_ERR_UNSUPPORTED,
			 "kernel %s%s%s ran, and the executable has no code of it for %s that "
			 "keeps a record: build it by scons recorded=yes, with the tiles that run",
			 kernel->name, *kernel->variant ? " for " : "", kernel->variant, gpu->arch);
}

static tsr_status_t record_stop(tsr_device_t *device)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	pthread_mutex_lock(&gpu->lock);
	const tsr_gpu_recording_t *r = gpu->recording;
	const tsr_kernel_t *unrecorded = r ? r->unrecorded : NULL;
	if (r)
		gpu->recording->on = false;
	pthread_mutex_unlock(&gpu->lock);
	return unrecorded ? lacks(gpu, unrecorded) : TSR_OK;
}

/** With the lock: reads what kernels have written, once. */
static tsr_status_t ready(tsr_device_t *device)
{
	tsr_gpu_recording_t *r = tsr_gpu_of(device)->recording;
	int before;
	if (!r || r->read)
		return TSR_OK;
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = tsr_gpu_clock_compare(device, &r->end);
	if (status == TSR_OK)
		status = tsr_gpu_record_read(device, r);
	tsr_gpu_leave(device, before);
	r->read = status == TSR_OK;
	return status;
}

static tsr_status_t past(const char *what, int index)
{
	return tsr_error(TSR_ERR_NOT_FOUND,
			 "the record has no %s %d; count up from 0 to the first that is not found",
			 what, index);
}

static tsr_status_t record_entry(const tsr_device_t *device, int index,
				 tsr_record_entry_t *entry_out)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	pthread_mutex_lock(&gpu->lock);
	tsr_status_t status = ready((tsr_device_t *)(uintptr_t)device);
	const tsr_gpu_recording_t *r = gpu->recording;
	if (status == TSR_OK && (!r || index < 0 || index >= r->entry_count))
		status = past("entry", index);
	if (status == TSR_OK)
		*entry_out = r->entries[index];
	pthread_mutex_unlock(&gpu->lock);
	return status;
}

static tsr_status_t record_event(const tsr_device_t *device, int index,
				 tsr_record_event_t *event_out)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	pthread_mutex_lock(&gpu->lock);
	tsr_status_t status = ready((tsr_device_t *)(uintptr_t)device);
	const tsr_gpu_recording_t *r = gpu->recording;
	if (status == TSR_OK && (!r || index < 0 || index >= r->event_count))
		status = past("event", index);
	if (status == TSR_OK)
		*event_out = r->events[index];
	pthread_mutex_unlock(&gpu->lock);
	return status;
}

const tsr_record_ops_t tsr_gpu_record_ops = {
	.size = sizeof(tsr_record_ops_t),
	.start = record_start,
	.stop = record_stop,
	.entry = record_entry,
	.event = record_event,
};
