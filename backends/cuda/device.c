/* The CUDA device: opening, properties, and the table of the backend. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device.h"
#include "src/base/error.h"
#include "src/base/options.h"

/* Static shared memory of the port: scratch and words of each worker (tessera/dev/gpu/port.h), rounded up. */
enum { PORT_SHARED_BYTES = TSR_GPU_MAX_WORKERS * 8192 + 1024 };

tsr_status_t tsr_cuda_enter(const tsr_device_t *device)
{
	return tsr_cuda_check(&device->cu, device->cu.ctx_push(device->context), "use the device while its world lives",
			      "making rank %d's CUDA context current", device->host->rank);
}

void tsr_cuda_leave(const tsr_device_t *device)
{
	CUcontext context;
	(void)device->cu.ctx_pop(&context);
}

CUresult tsr_cuda_capability(const tsr_cuda_driver_t *driver, int ordinal, int *major_out, int *minor_out)
{
	CUdevice id;
	CUresult code = driver->device_get(&id, ordinal);
	if (code == CUDA_SUCCESS)
		code = driver->device_attribute(major_out, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, id);
	if (code == CUDA_SUCCESS)
		code = driver->device_attribute(minor_out, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, id);
	return code;
}

bool tsr_cuda_has_code(int major, int minor)
{
	return tsr_cuda_arch_runs(tsr_cuda_check_image.arch, major, minor);
}

static tsr_status_t read_properties(tsr_device_t *device, int ordinal)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	tsr_device_props_t *props = &device->props;
	int block_shared = 0;
	CUresult code = tsr_cuda_capability(cu, ordinal, &device->major, &device->minor);
	if (code == CUDA_SUCCESS)
		code = cu->device_attribute(&device->sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device->id);
	if (code == CUDA_SUCCESS)
		code = cu->device_attribute(&block_shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device->id);
	if (code == CUDA_SUCCESS)
		code = cu->device_name(props->name, sizeof props->name, device->id);
	if (code != CUDA_SUCCESS)
		return tsr_cuda_check(cu, code, "see nvidia-smi", "asking GPU %d what it is", ordinal);
	if (!tsr_cuda_has_code(device->major, device->minor))
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "GPU %d (%s) of rank %d has compute capability %d.%d, and this library has code for %s: leave it "
				 "out of CUDA_VISIBLE_DEVICES",
				 ordinal, props->name, device->host->rank, device->major, device->minor, tsr_cuda_check_image.arch);
	device->block_shared_bytes = (size_t)block_shared;
	props->ordinal = ordinal;
	/* One block a multiprocessor is what every kernel that can be launched at all has. */
	props->resident_blocks = device->sms;
	props->workers_per_block = TSR_GPU_MAX_WORKERS;
	props->shared_bytes = (size_t)block_shared - PORT_SHARED_BYTES;
	return TSR_OK;
}

/** Ranks take the visible GPUs in turn, so that several may share one. */
static tsr_status_t take_device(tsr_device_t *device)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	int count = 0;
	CUresult code = cu->device_count(&count);
	if (code != CUDA_SUCCESS || count < 1)
		return tsr_cuda_no_device(cu, code != CUDA_SUCCESS ? code : CUDA_ERROR_NO_DEVICE);
	const int ordinal = device->host->rank % count;
	tsr_status_t status = tsr_cuda_check_visible(count);
	if (status == TSR_OK)
		status = tsr_cuda_check(cu, cu->device_get(&device->id, ordinal), "see nvidia-smi", "taking GPU %d", ordinal);
	if (status == TSR_OK)
		status = read_properties(device, ordinal);
	if (status != TSR_OK)
		return status;
	/* Local memory that has grown stays: to let it shrink and grow waits for running kernels. It is a hint, so it may fail. */
	(void)cu->primary_set_flags(device->id, CU_CTX_SCHED_AUTO | CU_CTX_LMEM_RESIZE_TO_MAX);
	CUcontext context;
	status = tsr_cuda_check(cu, cu->primary_retain(&context, device->id),
				"see nvidia-smi whether the GPU is in exclusive mode or its memory is full",
				"making a context on GPU %d (%s) for rank %d", ordinal, device->props.name, device->host->rank);
	if (status == TSR_OK)
		device->context = context;
	return status;
}

/** With the context current: the page, the notes' counter, the side stream and the workspace. */
static tsr_status_t make_parts(tsr_device_t *device)
{
	static const char cure[] = "see nvidia-smi whether the GPU's or the host's memory is full";
	const tsr_cuda_driver_t *cu = &device->cu;
	const tsr_host_t *host = device->host;
	void *page = NULL;
	CUresult code = cu->host_alloc(&page, sizeof *device->page, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
	if (code == CUDA_SUCCESS) {
		memset(page, 0, sizeof *device->page);
		device->page = page;
		code = cu->host_pointer(&device->page_on_device, page, 0);
	}
	if (code == CUDA_SUCCESS)
		code = cu->stream_create(&device->side, CU_STREAM_NON_BLOCKING);
	if (code == CUDA_SUCCESS)
		code = cu->mem_alloc(&device->notes_taken, sizeof(uint32_t));
	if (code != CUDA_SUCCESS)
		return tsr_cuda_check(cu, code, cure, "setting rank %d's device up", host->rank);
	device->launch = (tsr_gpu_context_t){
		.rank = host->rank,
		.size = host->size,
		.deadline_ns = host->deadline_ns,
		.clock_khz = 1000000, /* %globaltimer counts nanoseconds */
		.abort = (uint32_t *)(uintptr_t)TSR_CUDA_ON_DEVICE(device, abort),
		.notes = (tsr_gpu_note_t *)(uintptr_t)TSR_CUDA_ON_DEVICE(device, notes),
		.notes_taken = (uint32_t *)(uintptr_t)device->notes_taken,
	};
	const tsr_status_t status = tsr_cuda_fill(device, device->notes_taken, 0, sizeof(uint32_t));
	return status == TSR_OK ? tsr_cuda_workspace_make(device) : status;
}

static void device_close(tsr_device_t *device)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	if (device->context && tsr_cuda_enter(device) == TSR_OK) {
		tsr_cuda_modules_unload(device);
		if (device->notes_taken)
			(void)cu->mem_free(device->notes_taken);
		if (device->workspace)
			(void)cu->mem_free(device->workspace);
		if (device->side)
			(void)cu->stream_destroy(device->side);
		if (device->page)
			(void)cu->host_free(device->page);
		tsr_cuda_leave(device);
	}
	if (device->context)
		(void)cu->primary_release(device->id);
	pthread_mutex_destroy(&device->lock);
	free(device->launched);
	free(device);
}

static tsr_status_t open_parts(tsr_device_t *device)
{
	tsr_status_t status = tsr_cuda_driver_find(&device->cu);
	if (status == TSR_OK)
		status = tsr_cuda_driver_start(&device->cu);
	if (status == TSR_OK)
		status = take_device(device);
	if (status == TSR_OK)
		status = tsr_cuda_enter(device);
	if (status != TSR_OK)
		return status;
	status = make_parts(device);
	tsr_cuda_leave(device);
	return status;
}

static tsr_status_t device_open(const tsr_host_t *host, tsr_device_t **device_out)
{
	tsr_options_t options;
	tsr_status_t status = tsr_options_read(&options);
	if (status != TSR_OK)
		return status;
	tsr_device_t *device = calloc(1, sizeof *device);
	tsr_cuda_launched_t *launched = calloc(TSR_CUDA_LAUNCHES_KEPT, sizeof *launched);
	if (!device || !launched) {
		free(device);
		free(launched);
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for rank %d's CUDA device; free some", host->rank);
	}
	device->host = host;
	device->launched = launched;
	device->sharing = options.cuda_ipc ? &tsr_cuda_ipc : &tsr_cuda_vmm;
	pthread_mutex_init(&device->lock, NULL);
	status = open_parts(device);
	if (status != TSR_OK) {
		device_close(device);
		return status;
	}
	*device_out = device;
	return TSR_OK;
}

static tsr_status_t device_properties(tsr_device_t *device, tsr_device_props_t *props_out)
{
	*props_out = device->props;
	return TSR_OK;
}

static const tsr_device_ops_t device_ops = {
	.size = sizeof(tsr_device_ops_t),
	.probe = tsr_cuda_probe,
	.open = device_open,
	.close = device_close,
	.properties = device_properties,
};

/*
 * Ranks are processes. As threads that share a GPU they would share one context too, where kernels of two ranks that wait for each
 * other are not sure to be resident together, and where the driver makes one rank wait for another's kernels.
 */
const tsr_backend_t tsr_backend_cuda = {
	.abi = TSR_BACKEND_ABI,
	.name = "cuda",
	.thread_ranks = false,
	.device = &device_ops,
	.heap = &tsr_cuda_heap_ops,
	.stream = &tsr_cuda_stream_ops,
	.event = &tsr_cuda_event_ops,
	.record = NULL, /* kernels count nothing on a GPU */
};
