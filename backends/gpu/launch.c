/* Launches, one or several together. */
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu.h"
#include "gpu/record.h"
#include "src/base/error.h"

static tsr_status_t check_one(const tsr_device_launch_t *l)
{
	const tsr_kernel_t *k = l->kernel;
	if (!k || !l->stream || l->blocks < 1 || (k->args_bytes > 0 && !l->args))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "a launch of %d blocks of %s; it takes a stream, a kernel, its "
				 "arguments and at least one block",
				 l->blocks, k ? k->name : "no kernel");
	if (k->abi != TSR_KERNEL_ABI || !k->unit)
		return tsr_error(
			TSR_ERR_UNSUPPORTED,
			"kernel %s was built for another version of the library: build it anew",
			k->name);
	if (k->workers > TSR_GPU_MAX_WORKERS)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "kernel %s splits a block into %u workers, a GPU's has %d at "
				 "most: split it into fewer",
				 k->name, (unsigned)k->workers, TSR_GPU_MAX_WORKERS);
	return TSR_OK;
}

static tsr_status_t check_all(const tsr_gpu_t *gpu, const tsr_device_launch_t *launches, int count)
{
	tsr_status_t status = tsr_gpu_world_status(gpu);
	for (int i = 0; status == TSR_OK && i < count; i++)
		status = check_one(&launches[i]);
	return status;
}

/**
 * Whether all blocks of a group fit the device together, in whatever order it
 * places them. A block of any of the kernels takes at most 1/least of a
 * multiprocessor, so that one with fewer than `least` blocks always has room.
 */
static tsr_status_t group_check(const tsr_gpu_t *gpu, const tsr_device_launch_t *launches,
				const tsr_gpu_function_t *const *functions, int count)
{
	long blocks = 0;
	int least = functions[0]->blocks_per_sm;
	for (int i = 0; i < count; i++) {
		blocks += launches[i].blocks;
		if (functions[i]->blocks_per_sm < least)
			least = functions[i]->blocks_per_sm;
		for (int j = 0; j < i; j++)
			if (launches[j].stream == launches[i].stream)
				return tsr_error(TSR_ERR_ARGUMENT,
						 "kernels %s and %s of one group are on the same "
						 "stream, where one waits for the end of "
						 "the other; give each a stream",
						 launches[j].kernel->name,
						 launches[i].kernel->name);
	}
	if (blocks > (long)gpu->props.resident_blocks * least)
		return tsr_error(TSR_ERR_RESIDENCY,
				 "the group has %ld blocks, and %ld can be resident together: %d "
				 "on each of %d multiprocessors; "
				 "launch fewer blocks",
				 blocks, (long)gpu->props.resident_blocks * least, least,
				 (int)gpu->props.resident_blocks);
	return TSR_OK;
}

tsr_gpu_context_t tsr_gpu_launch_number(tsr_gpu_t *gpu, const tsr_gpu_track_t *track,
					const tsr_device_launch_t *launch)
{
	tsr_gpu_context_t context = gpu->launch;
	context.rank = track->team->host->rank;
	context.size = track->team->host->size;
	context.peer_offset = track->team->peer_offset;
	context.nodes = (const int32_t *)(track->team->peer_offset + gpu->host->size);
	const uint32_t number = ++gpu->launches;
	context.blocks = launch->blocks;
	context.launch = number;
	context.shared_bytes = (uint32_t)launch->kernel->shared_bytes;
	gpu->launched[number % TSR_GPU_LAUNCHES_KEPT] = (tsr_gpu_launched_t){
		number, track->serial, launch->kernel, launch->file, launch->line};
	return context;
}

/** With the lock: starts one launch. */
static tsr_status_t start(tsr_device_t *device, const tsr_device_launch_t *l,
			  const tsr_gpu_function_t *f)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	uint64_t nothing = 0; /* a struct without members has a byte in C++ */
	tsr_gpu_context_t context = tsr_gpu_launch_number(gpu, &l->stream->track, l);
	const tsr_status_t recorded = tsr_gpu_record_launch(gpu, l, f, &context.record);
	if (recorded != TSR_OK)
		return recorded;
	void *parameters[] = {&context,
			      l->kernel->args_bytes > 0 ? (void *)(uintptr_t)l->args : &nothing};
	const int code =
		gpu->vendor->calls->launch(device, f->entry, l->blocks, f->threads,
					   f->dynamic_bytes, l->stream->stream, parameters);
	if (code == TSR_GPU_SUCCESS)
		l->stream->track.last = l->kernel;
	return tsr_gpu_check(device, code, TSR_GPU_SEE_FIRST,
			     "launching %d blocks of kernel %s on rank %d", l->blocks,
			     l->kernel->name, gpu->host->rank);
}

/**
 * With the lock: starts a group. What needs the most local memory goes first:
 * where a launch makes that memory grow, the driver waits for the kernels that
 * run, and these may wait for the launch.
 */
static tsr_status_t start_group(tsr_gpu_t *gpu, tsr_device_t *device,
				const tsr_device_launch_t *launches,
				const tsr_gpu_function_t *const *functions, int count)
{
	bool started[count];
	memset(started, 0, sizeof started);
	for (int n = 0; n < count; n++) {
		int next = -1;
		for (int i = 0; i < count; i++)
			if (!started[i] &&
			    (next < 0 || functions[i]->local_bytes > functions[next]->local_bytes))
				next = i;
		started[next] = true;
		const tsr_status_t status = start(device, &launches[next], functions[next]);
		if (status != TSR_OK && n > 0) /* the others wait for it in vain */
			gpu->host->abort_world(gpu->host->ctx, status, tsr_last_error());
		if (status != TSR_OK)
			return status;
	}
	return TSR_OK;
}

/** The form in which a kernel is launched now. */
static tsr_gpu_form_t form_of(const tsr_gpu_t *gpu, const tsr_device_t *device,
			      const tsr_kernel_t *kernel)
{
	if (gpu->nodes)
		return TSR_GPU_NODES;
	return tsr_gpu_records(gpu, device, kernel) ? TSR_GPU_RECORDED : TSR_GPU_PLAIN;
}

/** With the lock: all or nothing where `together`. */
static tsr_status_t launch_all(tsr_gpu_t *gpu, tsr_device_t *device,
			       const tsr_device_launch_t *launches,
			       const tsr_gpu_function_t **functions, int count, bool together)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; i < count && status == TSR_OK; i++)
		status = tsr_gpu_function(gpu, device, launches[i].kernel,
					  form_of(gpu, device, launches[i].kernel), &functions[i]);
	if (status == TSR_OK && together)
		status = group_check(gpu, launches, functions, count);
	if (status == TSR_OK && together)
		return start_group(gpu, device, launches, functions, count);
	for (int i = 0; i < count && status == TSR_OK; i++)
		status = start(device, &launches[i], functions[i]);
	return status;
}

/** With the device current. */
static tsr_status_t launch_here(tsr_device_t *device, const tsr_device_launch_t *launches,
				int count, bool together)
{
	enum { USUAL = 8 };
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	const tsr_gpu_function_t *usual[USUAL], **functions = usual;
	if (count < 1)
		return TSR_OK;
	if (count > USUAL && !(functions = calloc((size_t)count, sizeof *functions)))
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for %d launches; free some",
				 count);
	pthread_mutex_lock(&gpu->lock);
	const tsr_status_t status = launch_all(gpu, device, launches, functions, count, together);
	pthread_mutex_unlock(&gpu->lock);
	if (functions != usual)
		free(functions);
	return status;
}

tsr_status_t tsr_gpu_launch(tsr_device_t *device, const tsr_device_launch_t *launches, int count,
			    bool together)
{
	int before;
	tsr_status_t status = check_all(tsr_gpu_of(device), launches, count);
	if (status == TSR_OK)
		status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = launch_here(device, launches, count, together);
	tsr_gpu_leave(device, before);
	return status;
}
