/* The HIP device: opening, properties, and the table of the backend. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hip/device.h"
#include "src/base/error.h"

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
		return tsr_hip_check(hip, code, "see " TSR_HIP_INFO, "asking GPU %d what it is",
				     device->id);
	snprintf(gpu->props.name, sizeof gpu->props.name, "%.40s (%.16s)", name, gpu->arch);
	if (!tsr_hip_check_image(gpu->arch))
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "GPU %d of rank %d is %s, and this library has no code for it: "
				 "leave it out of "
				 "HIP_VISIBLE_DEVICES",
				 device->id, gpu->host->rank, gpu->props.name);
	gpu->block_shared_bytes = (size_t)block_shared;
	tsr_gpu_props_fill(gpu);
	gpu->props.ordinal = device->id;
	return TSR_OK;
}

/** Ranks take the visible GPUs in turn, so that several may share one. */
static tsr_status_t take(tsr_device_t *device)
{
	int count = 0;
	const tsr_status_t status = tsr_hip_find(&device->hip);
	if (status != TSR_OK)
		return status;
	const tsr_hip_code_t code = device->hip.device_count(&count);
	if (code != TSR_HIP_SUCCESS || count < 1)
		return tsr_hip_no_device(&device->hip, code);
	device->id = device->gpu.host->rank % count;
	return read_properties(device);
}

/**
 * Ticks a millisecond of the clock that kernels read. HIP 5.2 does not tell: on
 * the GPUs that it knows they are these.
 */
static uint32_t clock_khz(const tsr_device_t *device)
{
	int khz = 0;
	if (device->hip.device_attribute(&khz, TSR_HIP_WALL_CLOCK_KHZ, device->id) !=
		    TSR_HIP_SUCCESS ||
	    khz <= 0)
		khz = 100000;
	return (uint32_t)khz;
}

static const tsr_image_t *check_image(const tsr_device_t *device)
{
	return tsr_hip_check_image(device->gpu.arch);
}

/** The port has no parts of its own, and the runtime takes devices back by itself. */
static tsr_status_t make_nothing(tsr_device_t *device)
{
	(void)device;
	return TSR_OK;
}

static void drop_nothing(tsr_device_t *device)
{
	(void)device;
}

static const tsr_gpu_vendor_t vendor = {
	.name = "hip",
	.toolkit = "clang 19 and its lld",
	.debugger = "rocgdb",
	.memory_is_full = "see whether the GPU's or the host's memory is full",
	.code_is_refused = "install a newer driver and runtime",
	.base_is_not_aligned = "set TESSERA_HEAP_SIZE to 2M or more, or install a newer driver",
	.calls = &tsr_hip_calls,
	.take = take,
	.give_back = drop_nothing,
	.make = make_nothing,
	.drop = drop_nothing,
	.clock_khz = clock_khz,
	.check_image = check_image,
	.runs = tsr_hip_runs,
	.load = tsr_hip_load,
	.heap_make = tsr_hip_heap_make,
	.heap_open = tsr_hip_heap_open,
	.heap_close = tsr_hip_heap_close,
	.heap_is_broken = tsr_hip_heap_is_broken,
};

static tsr_status_t device_open(const tsr_host_t *host, tsr_device_t **device_out)
{
	tsr_device_t *device = calloc(1, sizeof *device);
	if (!device)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory for rank %d's HIP device; free some", host->rank);
	device->uncached = host->hip_uncached;
	const tsr_status_t status = tsr_gpu_device_open(device, &vendor, host);
	if (status == TSR_OK)
		*device_out = device;
	return status;
}

static const tsr_device_ops_t device_ops = {
	.size = sizeof(tsr_device_ops_t),
	.probe = tsr_hip_probe,
	.open = device_open,
	.close = tsr_gpu_device_close,
	.properties = tsr_gpu_device_properties,
};

/*
 * Ranks are processes: as threads that share a GPU they would share its queues,
 * where one rank's kernels may wait behind another's.
 */
const tsr_backend_t tsr_backend_hip = {
	.abi = TSR_BACKEND_ABI,
	.name = "hip",
	.thread_ranks = false,
	.gates = false,
	.device = &device_ops,
	.heap = &tsr_gpu_heap_ops,
	.window = &tsr_hip_window_ops,
	.team = &tsr_gpu_team_ops,
	.stream = &tsr_gpu_stream_ops,
	.event = &tsr_gpu_event_ops,
	.record = &tsr_gpu_record_ops,
};
