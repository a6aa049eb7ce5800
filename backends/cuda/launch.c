/* Launches, one or several together. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device.h"
#include "src/base/error.h"

static tsr_status_t launch_check(const tsr_device_launch_t *l)
{
	const tsr_kernel_t *k = l->kernel;
	if (!k || !l->stream || l->blocks < 1 || (k->args_bytes > 0 && !l->args))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "a launch of %d blocks of %s; it takes a stream, a kernel, its arguments and at least one block",
				 l->blocks, k ? k->name : "no kernel");
	if (k->abi != TSR_KERNEL_ABI || !k->unit)
		return tsr_error(TSR_ERR_UNSUPPORTED, "kernel %s was built for another version of the library: build it anew",
				 k->name);
	if (k->workers > TSR_GPU_MAX_WORKERS)
		return tsr_error(TSR_ERR_UNSUPPORTED, "kernel %s splits a block into %u workers, a GPU's has %d at most", k->name,
				 (unsigned)k->workers, TSR_GPU_MAX_WORKERS);
	return TSR_OK;
}

/**
 * Whether all blocks of a group fit the device together, in whatever order it places them. A block of any of the kernels takes at
 * most 1/least of a multiprocessor, so that one with fewer than `least` blocks always has room.
 */
static tsr_status_t group_check(const tsr_device_t *device, const tsr_device_launch_t *launches,
				const tsr_cuda_function_t *const *functions, int count)
{
	long blocks = 0;
	int least = functions[0]->blocks_per_sm;
	for (int i = 0; i < count; i++) {
		blocks += launches[i].blocks;
		if (functions[i]->blocks_per_sm < least)
			least = functions[i]->blocks_per_sm;
		for (int j = 0; j < i; j++)
			if (launches[j].stream == launches[i].stream)
				return tsr_error(
					TSR_ERR_ARGUMENT,
					"kernels %s and %s of one group are on the same stream, where one waits for the end of "
					"the other; give each a stream",
					launches[j].kernel->name, launches[i].kernel->name);
	}
	if (blocks > (long)device->sms * least)
		return tsr_error(
			TSR_ERR_RESIDENCY,
			"the group has %ld blocks, and %ld can be resident together: %d on each of the %d multiprocessors; "
			"launch fewer blocks",
			blocks, (long)device->sms * least, least, device->sms);
	return TSR_OK;
}

/** With the lock: one launch. Its number is remembered for the notes. */
static tsr_status_t start(tsr_device_t *device, const tsr_device_launch_t *l, const tsr_cuda_function_t *f)
{
	uint64_t nothing = 0; /* a struct without members has a byte in C++ */
	tsr_gpu_context_t context = device->launch;
	void *parameters[] = {&context, l->kernel->args_bytes > 0 ? (void *)(uintptr_t)l->args : &nothing};
	const uint32_t number = ++device->launches;
	context.blocks = l->blocks;
	context.launch = number;
	context.shared_bytes = (uint32_t)l->kernel->shared_bytes;
	device->launched[number % TSR_CUDA_LAUNCHES_KEPT] = (tsr_cuda_launched_t){number, l->stream->serial, l->kernel};
	CUresult code = device->cu.launch(f->function, (unsigned)l->blocks, 1, 1, (unsigned)f->threads, 1, 1,
					  (unsigned)f->dynamic_bytes, l->stream->stream, parameters, NULL);
	if (code == CUDA_SUCCESS)
		l->stream->last = l->kernel;
	return tsr_cuda_check(&device->cu, code, "a kernel may have crashed before: see what was said first",
			      "launching %d blocks of kernel %s on rank %d", l->blocks, l->kernel->name, device->host->rank);
}

/**
 * With the lock: starts a group. What needs the most local memory goes first: where a launch makes that memory grow, the driver
 * waits for the kernels that run, and these may wait for the launch.
 */
static tsr_status_t start_group(tsr_device_t *device, const tsr_device_launch_t *launches,
				const tsr_cuda_function_t *const *functions, int count)
{
	bool started[count];
	memset(started, 0, sizeof started);
	for (int n = 0; n < count; n++) {
		int next = -1;
		for (int i = 0; i < count; i++)
			if (!started[i] && (next < 0 || functions[i]->local_bytes > functions[next]->local_bytes))
				next = i;
		started[next] = true;
		const tsr_status_t status = start(device, &launches[next], functions[next]);
		if (status != TSR_OK && n > 0) /* the others wait for it in vain */
			device->host->abort_world(device->host->ctx, status, tsr_last_error());
		if (status != TSR_OK)
			return status;
	}
	return TSR_OK;
}

/** With the lock and the context: all or nothing where `together`. */
static tsr_status_t launch_all(tsr_device_t *device, const tsr_device_launch_t *launches, const tsr_cuda_function_t **functions,
			       int count, bool together)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; i < count && status == TSR_OK; i++)
		status = tsr_cuda_function(device, launches[i].kernel, &functions[i]);
	if (status == TSR_OK && together)
		status = group_check(device, launches, functions, count);
	if (status == TSR_OK && together)
		return start_group(device, launches, functions, count);
	for (int i = 0; i < count && status == TSR_OK; i++)
		status = start(device, &launches[i], functions[i]);
	return status;
}

tsr_status_t tsr_cuda_launch(tsr_device_t *device, const tsr_device_launch_t *launches, int count, bool together)
{
	enum { USUAL = 8 };
	const tsr_cuda_function_t *usual[USUAL], **functions = usual;
	tsr_status_t status = tsr_cuda_world_status(device);
	for (int i = 0; status == TSR_OK && i < count; i++)
		status = launch_check(&launches[i]);
	if (status != TSR_OK || count < 1)
		return status;
	if (count > USUAL && !(functions = calloc((size_t)count, sizeof *functions)))
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for %d launches; free some", count);
	status = tsr_cuda_enter(device);
	if (status == TSR_OK) {
		pthread_mutex_lock(&device->lock);
		status = launch_all(device, launches, functions, count, together);
		pthread_mutex_unlock(&device->lock);
		tsr_cuda_leave(device);
	}
	if (functions != usual)
		free(functions);
	return status;
}
