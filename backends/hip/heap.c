/*
 * The heap, by handles that name an allocation of another process.
 *
 * System scope means something on AMD only for fine-grained or uncached memory
 * (TESSERA_HIP_HEAP): in any other a peer's store may lie in a cache that no
 * fence of the reader's reaches.
 */
#include <string.h>

#include "hip/device.h"
#include "src/base/error.h"

_Static_assert(sizeof(tsr_hip_ipc_t) <= sizeof((tsr_heap_export_t){0}).bytes,
	       "an export carries the handle");

void tsr_hip_heap_close(tsr_device_t *device, int rank)
{
	void *base = device->gpu.base[rank];
	device->gpu.base[rank] = NULL;
	if (base)
		(void)(rank == device->gpu.host->rank ? device->hip.mem_free(base)
						      : device->hip.ipc_close(base));
}

tsr_status_t tsr_hip_heap_make(tsr_device_t *device, tsr_heap_export_t *export)
{
	const tsr_hip_runtime_t *hip = &device->hip;
	const int rank = device->gpu.host->rank;
	const size_t whole_bytes = tsr_gpu_whole_bytes((size_t) export->size_bytes);
	tsr_hip_ipc_t handle;
	void *base = NULL;
	tsr_hip_code_t code = hip->mem_alloc_kind(&base, whole_bytes,
						  device->uncached ? TSR_HIP_MEMORY_UNCACHED
								   : TSR_HIP_MEMORY_FINE);
	if (code == TSR_HIP_SUCCESS) {
		device->gpu.base[rank] = base;
		code = hip->ipc_get(&handle, base);
	}
	if (code != TSR_HIP_SUCCESS)
		return tsr_hip_check(
			hip, code,
			device->uncached ? "set TESSERA_HEAP_SIZE lower, free memory of the GPU, "
					   "or set TESSERA_HIP_HEAP=fine"
					 : "set TESSERA_HEAP_SIZE lower, or free memory of the GPU",
			"making rank %d's heap of %zu bytes on its GPU", rank, whole_bytes);
	memcpy(export->bytes, &handle, sizeof handle);
	return TSR_OK;
}

tsr_status_t tsr_hip_heap_open(tsr_device_t *device, const tsr_heap_export_t *peer, int rank)
{
	const tsr_hip_runtime_t *hip = &device->hip;
	tsr_hip_ipc_t handle;
	void *base = NULL;
	memcpy(&handle, peer->bytes, sizeof handle);
	tsr_hip_code_t code = hip->ipc_open(&base, handle, TSR_HIP_IPC_LAZY_PEERS);
	if (code == TSR_HIP_ERROR_INVALID_VALUE)
		/* the flag's value in HIP 5, which takes no other */
		code = hip->ipc_open(&base, handle, 0);
	if (code == TSR_HIP_SUCCESS)
		device->gpu.base[rank] = base;
	return tsr_hip_check(
		hip, code, "run on GPUs that reach each other, and let all ranks see the same GPUs",
		"mapping rank %d's heap on the GPU of rank %d (%s)", rank, device->gpu.host->rank,
		device->gpu.props.name);
}

tsr_status_t tsr_hip_heap_is_broken(const tsr_device_t *device, int rank, const char *fault)
{
	return tsr_error(TSR_ERR_SYSTEM,
			 "rank %d's heap, mapped on the GPU of rank %d (%s), %s: set "
			 "TESSERA_HIP_HEAP=%s, or look whether the GPUs "
			 "reach each other (PCIe ACS and the IOMMU must let them)",
			 rank, device->gpu.host->rank, device->gpu.props.name, fault,
			 device->uncached ? "fine" : "uncached");
}
