/* The CUDA device: opening, properties, and the table of the backend. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/dev/threads.h"
#include "cuda/device.h"
#include "src/base/error.h"

CUresult tsr_cuda_capability(const tsr_cuda_driver_t *driver, int ordinal, int *major_out,
			     int *minor_out)
{
	CUdevice id;
	CUresult code = driver->device_get(&id, ordinal);
	if (code == CUDA_SUCCESS)
		code = driver->device_attribute(major_out,
						CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, id);
	if (code == CUDA_SUCCESS)
		code = driver->device_attribute(minor_out,
						CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, id);
	return code;
}

const tsr_image_t *tsr_cuda_check_image(void)
{
	const tsr_image_t *image;
	for (int i = 0; (image = tsr_gpu_check_image_at(i)) != NULL; i++)
		if (strcmp(image->backend, "cuda") == 0)
			return image;
	return NULL; /* no build: this file is compiled where that image is */
}

bool tsr_cuda_has_code(int major, int minor)
{
	return tsr_gpu_number_runs(tsr_cuda_check_image()->arch, major, minor);
}

static tsr_status_t read_properties(tsr_device_t *device, int ordinal)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	tsr_device_props_t *props = &device->gpu.props;
	int block_shared = 0;
	CUresult code = tsr_cuda_capability(cu, ordinal, &device->major, &device->minor);
	if (code == CUDA_SUCCESS)
		code = cu->device_attribute(&device->gpu.sms,
					    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device->id);
	if (code == CUDA_SUCCESS)
		code = cu->device_attribute(&block_shared,
					    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
					    device->id);
	if (code == CUDA_SUCCESS)
		code = cu->device_name(props->name, sizeof props->name, device->id);
	if (code != CUDA_SUCCESS)
		return tsr_cuda_check(cu, code, "see nvidia-smi", "asking GPU %d what it is",
				      ordinal);
	if (!tsr_cuda_has_code(device->major, device->minor))
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "GPU %d (%s) of rank %d has compute capability %d.%d, and this "
				 "library has code for %s: leave it "
				 "out of CUDA_VISIBLE_DEVICES",
				 ordinal, props->name, device->gpu.host->rank, device->major,
				 device->minor, tsr_cuda_check_image()->arch);
	snprintf(device->gpu.arch, sizeof device->gpu.arch, "%d.%d", device->major, device->minor);
	device->gpu.block_shared_bytes = (size_t)block_shared;
	tsr_gpu_props_fill(&device->gpu);
	props->ordinal = ordinal;
	props->tile_depth = TSR_CUDA_TILE_DEPTH;
	return TSR_OK;
}

/** Ranks take the visible GPUs in turn, so that several may share one. */
static tsr_status_t take_gpu(tsr_device_t *device)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	int count = 0;
	CUresult code = cu->device_count(&count);
	if (code != CUDA_SUCCESS || count < 1)
		return tsr_cuda_no_device(cu, code != CUDA_SUCCESS ? code : CUDA_ERROR_NO_DEVICE);
	const int ordinal = device->gpu.host->rank % count;
	tsr_status_t status = tsr_cuda_check_visible(count);
	if (status == TSR_OK)
		status = tsr_cuda_check(cu, cu->device_get(&device->id, ordinal), "see nvidia-smi",
					"taking GPU %d", ordinal);
	if (status == TSR_OK)
		status = read_properties(device, ordinal);
	if (status != TSR_OK)
		return status;
	/* Local memory that has grown stays: to let it shrink and grow waits for running kernels.
	 * It is a hint, so it may fail. */
	(void)cu->primary_set_flags(device->id, CU_CTX_SCHED_AUTO | CU_CTX_LMEM_RESIZE_TO_MAX);
	CUcontext context;
	status = tsr_cuda_check(
		cu, cu->primary_retain(&context, device->id),
		"see nvidia-smi whether the GPU is in exclusive mode or its memory is full",
		"making a context on GPU %d (%s) for rank %d", ordinal, device->gpu.props.name,
		device->gpu.host->rank);
	if (status == TSR_OK)
		device->context = context;
	return status;
}

static tsr_status_t take(tsr_device_t *device)
{
	tsr_status_t status = tsr_cuda_driver_find(&device->cu);
	if (status == TSR_OK)
		status = tsr_cuda_driver_start(&device->cu);
	return status == TSR_OK ? take_gpu(device) : status;
}

static void give_back(tsr_device_t *device)
{
	if (device->context)
		(void)device->cu.primary_release(device->id);
}

/** %globaltimer counts nanoseconds. */
static uint32_t clock_khz(const tsr_device_t *device)
{
	(void)device;
	return 1000000;
}

static const tsr_image_t *check_image(const tsr_device_t *device)
{
	(void)device;
	return tsr_cuda_check_image();
}

static const tsr_gpu_vendor_t vendor = {
	.name = "cuda",
	.toolkit = "the CUDA toolkit",
	.debugger = "compute-sanitizer",
	.memory_is_full = "see nvidia-smi whether the GPU's or the host's memory is full",
	.code_is_refused =
		"install the driver of the CUDA toolkit that built the library, or a newer one",
	.base_is_not_aligned = "set TESSERA_CUDA_HEAP=vmm",
	.calls = &tsr_cuda_calls,
	.take = take,
	.give_back = give_back,
	.make = tsr_cuda_workspace_make,
	.drop = tsr_cuda_workspace_drop,
	.clock_khz = clock_khz,
	.check_image = check_image,
	.runs = tsr_cuda_runs,
	.load = tsr_cuda_load,
	.heap_make = tsr_cuda_heap_make,
	.heap_open = tsr_cuda_heap_open,
	.heap_close = tsr_cuda_heap_close,
	.heap_is_broken = tsr_cuda_heap_is_broken,
};

static tsr_status_t device_open(const tsr_host_t *host, tsr_device_t **device_out)
{
	tsr_device_t *device = calloc(1, sizeof *device);
	if (!device)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory for rank %d's CUDA device; free some", host->rank);
	device->sharing = host->cuda_ipc ? &tsr_cuda_ipc : &tsr_cuda_vmm;
	const tsr_status_t status = tsr_gpu_device_open(device, &vendor, host);
	if (status == TSR_OK)
		*device_out = device;
	return status;
}

static const tsr_device_ops_t device_ops = {
	.size = sizeof(tsr_device_ops_t),
	.probe = tsr_cuda_probe,
	.open = device_open,
	.close = tsr_gpu_device_close,
	.properties = tsr_gpu_device_properties,
};

/*
 * Ranks are processes. As threads that share a GPU they would share one context
 * too, where kernels of two ranks that wait for each other are not sure to be
 * resident together, and where the driver makes one rank wait for another's
 * kernels.
 */
const tsr_backend_t tsr_backend_cuda = {
	.abi = TSR_BACKEND_ABI,
	.name = "cuda",
	.thread_ranks = false,
	.gates = false,
	.device = &device_ops,
	.heap = &tsr_gpu_heap_ops,
	.window = &tsr_cuda_window_ops,
	.team = &tsr_gpu_team_ops,
	.stream = &tsr_gpu_stream_ops,
	.event = &tsr_gpu_event_ops,
	.record = &tsr_gpu_record_ops,
};
