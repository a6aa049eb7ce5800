/* The heap: made, mapped and checked in one of two ways; and the host's copies. */
#include <unistd.h>

#include "cuda/device.h"
#include "src/base/error.h"

static tsr_status_t check_base(const tsr_device_t *device, const tsr_cuda_mapping_t *mapping, int rank)
{
	if (mapping->base % TSR_GPU_ALIGN == 0)
		return TSR_OK;
	return tsr_error(TSR_ERR_SYSTEM,
			 "the driver maps rank %d's heap for rank %d at %#llx, which is not a multiple of 2 MiB: set "
			 "TESSERA_CUDA_HEAP=vmm",
			 rank, device->gpu.host->rank, (unsigned long long)mapping->base);
}

static tsr_status_t create_here(tsr_device_t *device, size_t size_bytes, tsr_heap_export_t *export_out)
{
	const int rank = device->gpu.host->rank;
	tsr_cuda_mapping_t *mapping = &device->heap[rank];
	tsr_heap_export_t export = {.fd = -1, .process = device->gpu.host->process, .size_bytes = size_bytes};
	*mapping = (tsr_cuda_mapping_t){.bytes = tsr_gpu_whole_bytes(size_bytes), .mine = true};
	tsr_status_t status = device->sharing->create(device, mapping, &export);
	if (status == TSR_OK)
		status = check_base(device, mapping, rank);
	if (status == TSR_OK)
		status = tsr_cuda_tail_write(device, size_bytes);
	if (status != TSR_OK) {
		if (export.fd >= 0)
			close(export.fd);
		device->sharing->close(device, mapping);
		return status;
	}
	export.address = mapping->base;
	device->gpu.launch.heap_bytes = size_bytes;
	*export_out = export;
	return TSR_OK;
}

static tsr_status_t heap_create(tsr_device_t *device, size_t size_bytes, tsr_heap_export_t *export_out)
{
	tsr_status_t status = tsr_cuda_enter(device);
	if (status != TSR_OK)
		return status;
	status = create_here(device, size_bytes, export_out);
	tsr_cuda_leave(device);
	return status;
}

static tsr_status_t map_rank(tsr_device_t *device, const tsr_heap_export_t *peer, int rank)
{
	const int me = device->gpu.host->rank;
	tsr_cuda_mapping_t *mapping = &device->heap[rank];
	tsr_status_t status = tsr_gpu_heap_agrees(&device->gpu, peer, rank);
	if (status != TSR_OK)
		return status;
	if (rank == me)
		return TSR_OK;
	*mapping = (tsr_cuda_mapping_t){.bytes = device->heap[me].bytes};
	status = device->sharing->open(device, mapping, peer, rank);
	return status == TSR_OK ? check_base(device, mapping, rank) : status;
}

static tsr_status_t map_all(tsr_device_t *device, const tsr_heap_export_t *exports, int count)
{
	tsr_status_t status = TSR_OK;
	for (int r = 0; r < count && status == TSR_OK; r++) {
		status = map_rank(device, &exports[r], r);
		if (status == TSR_OK)
			status = tsr_cuda_tail_check(device, &exports[r], r);
	}
	return status;
}

static tsr_status_t heap_map(tsr_device_t *device, const tsr_heap_export_t *exports, int count, void **bases_out)
{
	tsr_status_t status = tsr_cuda_enter(device);
	if (status != TSR_OK)
		return status;
	status = map_all(device, exports, count);
	tsr_cuda_leave(device);
	if (status != TSR_OK)
		return status;
	for (int r = 0; r < count; r++)
		bases_out[r] = (void *)(uintptr_t)device->heap[r].base;
	tsr_gpu_context_map(&device->gpu, bases_out, count);
	return TSR_OK;
}

static void heap_unmap(tsr_device_t *device)
{
	if (tsr_cuda_enter(device) != TSR_OK)
		return;
	for (int r = 0; r < TSR_MAX_RANKS; r++)
		device->sharing->close(device, &device->heap[r]);
	tsr_cuda_leave(device);
	tsr_gpu_context_map(&device->gpu, NULL, 0);
	device->gpu.launch.heap_bytes = 0;
}

/* ------------------------------------------------------------------ the host's copies */

static tsr_status_t finish(tsr_device_t *device, CUresult code, const char *what)
{
	if (code == CUDA_SUCCESS)
		code = device->cu.stream_sync(device->side);
	return tsr_cuda_check(&device->cu, code, "a kernel may have crashed before: see what was said first", "%s rank %d's heap",
			      what, device->gpu.host->rank);
}

tsr_status_t tsr_cuda_copy_to(tsr_device_t *device, CUdeviceptr to, const void *from, size_t size_bytes)
{
	return finish(device, device->cu.copy_to(to, from, size_bytes, device->side), "writing to");
}

tsr_status_t tsr_cuda_copy_from(tsr_device_t *device, void *to, CUdeviceptr from, size_t size_bytes)
{
	return finish(device, device->cu.copy_from(to, from, size_bytes, device->side), "reading from");
}

tsr_status_t tsr_cuda_fill(tsr_device_t *device, CUdeviceptr to, int byte, size_t size_bytes)
{
	return finish(device, device->cu.fill(to, (unsigned char)byte, size_bytes, device->side), "filling");
}

static tsr_status_t heap_write(tsr_device_t *device, void *heap, const void *host, size_t size_bytes)
{
	tsr_status_t status = tsr_cuda_enter(device);
	if (status != TSR_OK)
		return status;
	status = tsr_cuda_copy_to(device, (CUdeviceptr)(uintptr_t)heap, host, size_bytes);
	tsr_cuda_leave(device);
	return status;
}

static tsr_status_t heap_read(tsr_device_t *device, void *host, const void *heap, size_t size_bytes)
{
	tsr_status_t status = tsr_cuda_enter(device);
	if (status != TSR_OK)
		return status;
	status = tsr_cuda_copy_from(device, host, (CUdeviceptr)(uintptr_t)heap, size_bytes);
	tsr_cuda_leave(device);
	return status;
}

static tsr_status_t heap_fill(tsr_device_t *device, void *heap, int byte, size_t size_bytes)
{
	tsr_status_t status = tsr_cuda_enter(device);
	if (status != TSR_OK)
		return status;
	status = tsr_cuda_fill(device, (CUdeviceptr)(uintptr_t)heap, byte, size_bytes);
	tsr_cuda_leave(device);
	return status;
}

const tsr_heap_ops_t tsr_cuda_heap_ops = {
	.size = sizeof(tsr_heap_ops_t),
	.create = heap_create,
	.map = heap_map,
	.unmap = heap_unmap,
	.write = heap_write,
	.read = heap_read,
	.fill = heap_fill,
};
