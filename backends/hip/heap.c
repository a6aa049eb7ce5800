/*
 * The heap, by handles that name an allocation of another process; and the host's copies.
 *
 * System scope means something on AMD only for fine-grained or uncached memory (TESSERA_HIP_HEAP): in any other a peer's store may
 * lie in a cache that no fence of the reader's reaches.
 */
#include <string.h>

#include "hip/device.h"
#include "src/base/error.h"

_Static_assert(sizeof(tsr_hip_ipc_t) <= sizeof((tsr_heap_export_t){0}).bytes, "an export carries the handle");

static tsr_status_t check_base(const tsr_device_t *device, int rank)
{
	const uintptr_t base = (uintptr_t)device->heap[rank];
	if (base % TSR_GPU_ALIGN == 0)
		return TSR_OK;
	return tsr_error(TSR_ERR_SYSTEM,
			 "the HIP runtime maps rank %d's heap for rank %d at %#llx, which is not a multiple of 2 MiB: set "
			 "TESSERA_HEAP_SIZE to 2M or more, or install a newer driver",
			 rank, device->gpu.host->rank, (unsigned long long)base);
}

static void close_heap(tsr_device_t *device, int rank)
{
	void *base = device->heap[rank];
	device->heap[rank] = NULL;
	if (base)
		(void)(rank == device->gpu.host->rank ? device->hip.mem_free(base) : device->hip.ipc_close(base));
}

static tsr_status_t create_here(tsr_device_t *device, size_t size_bytes, tsr_heap_export_t *export_out)
{
	const tsr_hip_runtime_t *hip = &device->hip;
	const int rank = device->gpu.host->rank;
	const size_t whole_bytes = tsr_gpu_whole_bytes(size_bytes);
	tsr_heap_export_t export = {.fd = -1, .process = device->gpu.host->process, .size_bytes = size_bytes};
	tsr_hip_ipc_t handle;
	void *base = NULL;
	tsr_hip_code_t code =
		hip->mem_alloc_kind(&base, whole_bytes, device->uncached ? TSR_HIP_MEMORY_UNCACHED : TSR_HIP_MEMORY_FINE);
	if (code == TSR_HIP_SUCCESS) {
		device->heap[rank] = base;
		code = hip->ipc_get(&handle, base);
	}
	if (code != TSR_HIP_SUCCESS)
		return tsr_hip_check(hip, code,
				     device->uncached
					     ? "set TESSERA_HEAP_SIZE lower, free memory of the GPU, or set TESSERA_HIP_HEAP=fine"
					     : "set TESSERA_HEAP_SIZE lower, or free memory of the GPU",
				     "making rank %d's heap of %zu bytes on its GPU", rank, whole_bytes);
	memcpy(export.bytes, &handle, sizeof handle);
	export.address = (uint64_t)(uintptr_t)base;
	tsr_status_t status = check_base(device, rank);
	if (status == TSR_OK)
		status = tsr_hip_tail_write(device, size_bytes);
	if (status != TSR_OK)
		return status;
	device->gpu.launch.heap_bytes = size_bytes;
	*export_out = export;
	return TSR_OK;
}

static tsr_status_t heap_create(tsr_device_t *device, size_t size_bytes, tsr_heap_export_t *export_out)
{
	int before;
	tsr_status_t status = tsr_hip_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = create_here(device, size_bytes, export_out);
	if (status != TSR_OK)
		close_heap(device, device->gpu.host->rank);
	tsr_hip_leave(device, before);
	return status;
}

static tsr_status_t open_peer(tsr_device_t *device, const tsr_heap_export_t *peer, int rank)
{
	const tsr_hip_runtime_t *hip = &device->hip;
	tsr_hip_ipc_t handle;
	void *base = NULL;
	memcpy(&handle, peer->bytes, sizeof handle);
	tsr_hip_code_t code = hip->ipc_open(&base, handle, TSR_HIP_IPC_LAZY_PEERS);
	if (code == TSR_HIP_ERROR_INVALID_VALUE)
		code = hip->ipc_open(&base, handle, 0); /* the flag's value in HIP 5, which takes no other */
	if (code == TSR_HIP_SUCCESS)
		device->heap[rank] = base;
	return tsr_hip_check(hip, code, "run on GPUs that reach each other, and let all ranks see the same GPUs",
			     "mapping rank %d's heap on the GPU of rank %d (%s)", rank, device->gpu.host->rank,
			     device->gpu.props.name);
}

static tsr_status_t map_rank(tsr_device_t *device, const tsr_heap_export_t *peer, int rank)
{
	tsr_status_t status = tsr_gpu_heap_agrees(&device->gpu, peer, rank);
	if (status == TSR_OK && rank != device->gpu.host->rank)
		status = open_peer(device, peer, rank);
	if (status == TSR_OK)
		status = check_base(device, rank);
	return status == TSR_OK ? tsr_hip_tail_check(device, peer, rank) : status;
}

static tsr_status_t heap_map(tsr_device_t *device, const tsr_heap_export_t *exports, int count, void **bases_out)
{
	int before;
	tsr_status_t status = tsr_hip_enter(device, &before);
	if (status != TSR_OK)
		return status;
	for (int r = 0; r < count && status == TSR_OK; r++)
		status = map_rank(device, &exports[r], r);
	tsr_hip_leave(device, before);
	if (status != TSR_OK)
		return status;
	for (int r = 0; r < count; r++)
		bases_out[r] = device->heap[r];
	tsr_gpu_context_map(&device->gpu, bases_out, count);
	return TSR_OK;
}

static void heap_unmap(tsr_device_t *device)
{
	int before;
	if (tsr_hip_enter(device, &before) != TSR_OK)
		return;
	for (int r = 0; r < TSR_MAX_RANKS; r++)
		close_heap(device, r);
	tsr_hip_leave(device, before);
	tsr_gpu_context_map(&device->gpu, NULL, 0);
	device->gpu.launch.heap_bytes = 0;
}

/* ------------------------------------------------------------------ the host's copies */

static tsr_status_t finish(tsr_device_t *device, tsr_hip_code_t code, const char *what)
{
	if (code == TSR_HIP_SUCCESS)
		code = device->hip.stream_sync(device->side);
	return tsr_hip_check(&device->hip, code, "a kernel may have crashed before: see what was said first", "%s rank %d's heap",
			     what, device->gpu.host->rank);
}

tsr_status_t tsr_hip_copy_to(tsr_device_t *device, void *to, const void *from, size_t size_bytes)
{
	return finish(device, device->hip.copy(to, from, size_bytes, TSR_HIP_TO_DEVICE, device->side), "writing to");
}

tsr_status_t tsr_hip_copy_from(tsr_device_t *device, void *to, const void *from, size_t size_bytes)
{
	return finish(device, device->hip.copy(to, from, size_bytes, TSR_HIP_TO_HOST, device->side), "reading from");
}

tsr_status_t tsr_hip_fill(tsr_device_t *device, void *to, int byte, size_t size_bytes)
{
	return finish(device, device->hip.fill(to, byte, size_bytes, device->side), "filling");
}

static tsr_status_t heap_write(tsr_device_t *device, void *heap, const void *host, size_t size_bytes)
{
	int before;
	tsr_status_t status = tsr_hip_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = tsr_hip_copy_to(device, heap, host, size_bytes);
	tsr_hip_leave(device, before);
	return status;
}

static tsr_status_t heap_read(tsr_device_t *device, void *host, const void *heap, size_t size_bytes)
{
	int before;
	tsr_status_t status = tsr_hip_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = tsr_hip_copy_from(device, host, heap, size_bytes);
	tsr_hip_leave(device, before);
	return status;
}

static tsr_status_t heap_fill(tsr_device_t *device, void *heap, int byte, size_t size_bytes)
{
	int before;
	tsr_status_t status = tsr_hip_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = tsr_hip_fill(device, heap, byte, size_bytes);
	tsr_hip_leave(device, before);
	return status;
}

const tsr_heap_ops_t tsr_hip_heap_ops = {
	.size = sizeof(tsr_heap_ops_t),
	.create = heap_create,
	.map = heap_map,
	.unmap = heap_unmap,
	.write = heap_write,
	.read = heap_read,
	.fill = heap_fill,
};
