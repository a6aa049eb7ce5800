/*
 * What the windows of GPUs have in common: their room behind the heaps, and the
 * table by which kernels of debug builds know what is mapped there.
 */
#include "gpu/gpu.h"
#include "src/base/error.h"

/** Where the byte of the unit at this address is, in device memory. */
static unsigned char *unit_at(const tsr_gpu_t *gpu, const void *heap)
{
	const size_t offset = (size_t)((const char *)heap - gpu->launch.heap) - gpu->window_begin;
	unsigned char *const units = (unsigned char *)(uintptr_t)(gpu->launch.windows + 1);
	return units + offset / TSR_GPU_WINDOW_UNIT;
}

/** What all ranks keep behind their heaps: the part that all have in common. */
static void find_room(tsr_gpu_t *gpu, const tsr_heap_export_t *exports, int count)
{
	uint64_t begin = 0, end = UINT64_MAX;
	for (int r = 0; r < count; r++) {
		begin = exports[r].window_begin > begin ? exports[r].window_begin : begin;
		end = exports[r].window_end < end ? exports[r].window_end : end;
	}
	gpu->window_begin = begin < end ? (size_t)begin : 0;
	gpu->window_end = begin < end ? (size_t)end : 0;
}

tsr_status_t tsr_gpu_windows_make(tsr_device_t *device, const tsr_heap_export_t *exports, int count)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	find_room(gpu, exports, count);
	if (gpu->window_end == 0)
		return TSR_OK;
	const tsr_gpu_windows_t windows = {.begin = gpu->window_begin, .end = gpu->window_end};
	const size_t bytes =
		sizeof windows + (gpu->window_end - gpu->window_begin) / TSR_GPU_WINDOW_UNIT;
	void *table = NULL;
	tsr_status_t status =
		tsr_gpu_check(device, gpu->vendor->calls->alloc(device, &table, bytes),
			      gpu->vendor->memory_is_full, "making the table of windows of rank %d",
			      gpu->host->rank);
	if (status != TSR_OK)
		return status;
	gpu->launch.windows = (const tsr_gpu_windows_t *)table;
	status = tsr_gpu_fill(device, table, 0, bytes);
	return status == TSR_OK ? tsr_gpu_copy_to(device, table, &windows, sizeof windows) : status;
}

void tsr_gpu_windows_drop(tsr_device_t *device)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	if (gpu->launch.windows)
		(void)gpu->vendor->calls->release(device, (void *)(uintptr_t)gpu->launch.windows);
	gpu->launch.windows = NULL;
	gpu->window_begin = gpu->window_end = 0;
}

tsr_status_t tsr_gpu_window_opened(tsr_device_t *device, const void *heap, size_t size_bytes)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	/* so neighbours differ, unless 254 other windows were opened between them */
	gpu->window_mark = (unsigned char)(gpu->window_mark % UINT8_MAX + 1);
	return tsr_gpu_fill(device, unit_at(gpu, heap), gpu->window_mark,
			    size_bytes / TSR_GPU_WINDOW_UNIT);
}

tsr_status_t tsr_gpu_window_closed(tsr_device_t *device, const void *heap, size_t size_bytes)
{
	return tsr_gpu_fill(device, unit_at(tsr_gpu_of(device), heap), 0,
			    size_bytes / TSR_GPU_WINDOW_UNIT);
}

void tsr_gpu_window_room(const tsr_device_t *device, size_t *begin_out, size_t *end_out)
{
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	*begin_out = gpu->window_begin;
	*end_out = gpu->window_end;
}

bool tsr_gpu_offset(const tsr_gpu_t *gpu, uint64_t address, size_t *offset_out)
{
	const uint64_t offset = address - (uint64_t)(uintptr_t)gpu->launch.heap;
	if (offset >= gpu->launch.heap_bytes &&
	    (offset < gpu->window_begin || offset >= gpu->window_end))
		return false;
	*offset_out = (size_t)offset;
	return true;
}
