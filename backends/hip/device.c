/* The HIP device: opening, properties, and the table of the backend. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hip/device.h"
#include "src/base/error.h"
#include "src/base/options.h"

tsr_status_t tsr_hip_enter(const tsr_device_t *device, int *before_out)
{
	const tsr_hip_runtime_t *hip = &device->hip;
	unsigned flags;
	int before = device->id, in_use = 0;
	if (hip->device_get(&before) == TSR_HIP_SUCCESS && before != device->id)
		(void)hip->device_in_use(before, &flags, &in_use);
	*before_out = in_use ? before : device->id;
	return tsr_hip_check(hip, hip->device_set(device->id), "use the device while its world lives",
			     "making rank %d's GPU this thread's", device->gpu.host->rank);
}

void tsr_hip_leave(const tsr_device_t *device, int before)
{
	if (before != device->id)
		(void)device->hip.device_set(before);
}

static tsr_status_t read_properties(tsr_device_t *device)
{
	const tsr_hip_runtime_t *hip = &device->hip;
	tsr_gpu_t *gpu = &device->gpu;
	char name[64] = "";
	int block_shared = 0;
	tsr_hip_code_t code = tsr_hip_arch(hip, device->id, gpu->arch);
	if (code == TSR_HIP_SUCCESS)
		code = hip->device_attribute(&gpu->sms, TSR_HIP_MULTIPROCESSORS, device->id);
	if (code == TSR_HIP_SUCCESS)
		code = hip->device_attribute(&block_shared, TSR_HIP_SHARED_BYTES, device->id);
	if (code == TSR_HIP_SUCCESS)
		code = hip->device_name(name, (int)sizeof name, device->id);
	if (code != TSR_HIP_SUCCESS)
		return tsr_hip_check(hip, code, "see " TSR_HIP_INFO, "asking GPU %d what it is", device->id);
	snprintf(gpu->props.name, sizeof gpu->props.name, "%.40s (%.16s)", name, gpu->arch);
	if (!tsr_hip_check_image(gpu->arch))
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "GPU %d of rank %d is %s, and this library has no code for it: leave it out of "
				 "HIP_VISIBLE_DEVICES",
				 device->id, gpu->host->rank, gpu->props.name);
	gpu->block_shared_bytes = (size_t)block_shared;
	tsr_gpu_props_fill(gpu);
	gpu->props.ordinal = device->id;
	return TSR_OK;
}

/** Ranks take the visible GPUs in turn, so that several may share one. */
static tsr_status_t take_device(tsr_device_t *device)
{
	int count = 0;
	const tsr_hip_code_t code = device->hip.device_count(&count);
	if (code != TSR_HIP_SUCCESS || count < 1)
		return tsr_hip_no_device(&device->hip, code);
	device->id = device->gpu.host->rank % count;
	return read_properties(device);
}

/** Ticks a millisecond of the clock that kernels read. HIP 5.2 does not tell: on the GPUs that it knows they are these. */
static uint32_t clock_khz(const tsr_device_t *device)
{
	int khz = 0;
	if (device->hip.device_attribute(&khz, TSR_HIP_WALL_CLOCK_KHZ, device->id) != TSR_HIP_SUCCESS || khz <= 0)
		khz = 100000;
	return (uint32_t)khz;
}

/** Between enter and leave: the page, the notes' counter and the side stream. */
static tsr_status_t make_parts(tsr_device_t *device)
{
	const tsr_hip_runtime_t *hip = &device->hip;
	tsr_gpu_t *gpu = &device->gpu;
	void *page = NULL;
	tsr_hip_code_t code =
		hip->host_alloc(&page, sizeof *gpu->page, TSR_HIP_HOST_PORTABLE | TSR_HIP_HOST_MAPPED | TSR_HIP_HOST_COHERENT);
	if (code == TSR_HIP_SUCCESS) {
		memset(page, 0, sizeof *gpu->page);
		gpu->page = page;
		code = hip->host_pointer(&device->page_on_device, page, 0);
	}
	if (code == TSR_HIP_SUCCESS)
		code = hip->stream_create(&device->side, TSR_HIP_STREAM_NON_BLOCKING);
	if (code == TSR_HIP_SUCCESS)
		code = hip->mem_alloc(&device->notes_taken, sizeof(uint32_t));
	if (code != TSR_HIP_SUCCESS)
		return tsr_hip_check(hip, code, "see whether the GPU's or the host's memory is full", "setting rank %d's device up",
				     gpu->host->rank);
	tsr_gpu_context_fill(gpu, (uint64_t)(uintptr_t)device->page_on_device, (uint64_t)(uintptr_t)device->notes_taken,
			     clock_khz(device));
	return tsr_hip_fill(device, device->notes_taken, 0, sizeof(uint32_t));
}

static void device_close(tsr_device_t *device)
{
	const tsr_hip_runtime_t *hip = &device->hip;
	int before;
	if (device->opened && tsr_hip_enter(device, &before) == TSR_OK) {
		tsr_gpu_modules_unload(&device->gpu, device);
		tsr_gpu_teams_drop(&device->gpu, device);
		if (device->notes_taken)
			(void)hip->mem_free(device->notes_taken);
		if (device->side)
			(void)hip->stream_destroy(device->side);
		if (device->gpu.page)
			(void)hip->host_free(device->gpu.page);
		tsr_hip_leave(device, before);
	}
	tsr_gpu_close(&device->gpu);
	free(device);
}

static const tsr_gpu_vendor_t vendor = {
	.name = "hip",
	.toolkit = "clang 19 and its lld",
	.debugger = "rocgdb",
	.runs = tsr_hip_runs,
	.load = tsr_hip_load,
	.unload = tsr_hip_unload,
	.make_table = tsr_hip_make_table,
	.fill_table = tsr_hip_fill_table,
	.drop_table = tsr_hip_drop_table,
	.start = tsr_hip_start,
};

static tsr_status_t open_parts(tsr_device_t *device, const tsr_host_t *host)
{
	int before;
	tsr_status_t status = tsr_gpu_open(&device->gpu, &vendor, host);
	if (status == TSR_OK)
		status = tsr_hip_find(&device->hip);
	if (status == TSR_OK)
		status = take_device(device);
	if (status == TSR_OK)
		status = tsr_hip_enter(device, &before);
	if (status != TSR_OK)
		return status;
	device->opened = true;
	status = make_parts(device);
	tsr_hip_leave(device, before);
	return status;
}

static tsr_status_t device_open(const tsr_host_t *host, tsr_device_t **device_out)
{
	tsr_options_t options;
	tsr_status_t status = tsr_options_read(&options);
	if (status != TSR_OK)
		return status;
	tsr_device_t *device = calloc(1, sizeof *device);
	if (!device)
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for rank %d's HIP device; free some", host->rank);
	device->uncached = options.hip_uncached;
	status = open_parts(device, host);
	if (status != TSR_OK) {
		device_close(device);
		return status;
	}
	*device_out = device;
	return TSR_OK;
}

static tsr_status_t device_properties(tsr_device_t *device, tsr_device_props_t *props_out)
{
	*props_out = device->gpu.props;
	return TSR_OK;
}

static const tsr_device_ops_t device_ops = {
	.size = sizeof(tsr_device_ops_t),
	.probe = tsr_hip_probe,
	.open = device_open,
	.close = device_close,
	.properties = device_properties,
};

/* Ranks are processes: as threads that share a GPU they would share its queues, where one rank's kernels may wait behind another's.
 */
const tsr_backend_t tsr_backend_hip = {
	.abi = TSR_BACKEND_ABI,
	.name = "hip",
	.thread_ranks = false,
	.device = &device_ops,
	.heap = &tsr_hip_heap_ops,
	.team = &tsr_hip_team_ops,
	.stream = &tsr_hip_stream_ops,
	.event = &tsr_hip_event_ops,
	.record = NULL, /* kernels count nothing on a GPU */
};
