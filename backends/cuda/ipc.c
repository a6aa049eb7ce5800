/*
 * Heaps by the older handles, which name an allocation of another process: for
 * drivers and containers without descriptors.
 */
#include <string.h>

#include "cuda/device.h"
#include "src/base/error.h"

_Static_assert(sizeof(CUipcMemHandle) <= sizeof((tsr_heap_export_t){0}).bytes,
	       "an export carries the handle");

static tsr_status_t ipc_create(tsr_device_t *device, tsr_cuda_mapping_t *mapping,
			       tsr_heap_export_t *export_out)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	CUipcMemHandle handle;
	CUdeviceptr base = 0;
	CUresult code = cu->mem_alloc(&base, mapping->bytes);
	if (code == CUDA_SUCCESS) {
		mapping->base = base;
		code = cu->ipc_get(&handle, base);
	}
	if (code != CUDA_SUCCESS)
		return tsr_cuda_check(cu, code,
				      "set TESSERA_HEAP_SIZE lower, free memory of the GPU, or set "
				      "TESSERA_CUDA_HEAP=vmm",
				      "making rank %d's heap of %zu bytes on its GPU",
				      device->gpu.host->rank, mapping->bytes);
	memcpy(export_out->bytes, &handle, sizeof handle);
	return TSR_OK;
}

static tsr_status_t ipc_open(tsr_device_t *device, tsr_cuda_mapping_t *mapping,
			     const tsr_heap_export_t *peer, int rank)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	CUipcMemHandle handle;
	CUdeviceptr base = 0;
	if (peer->fd >= 0)
		return tsr_error(TSR_ERR_MISMATCH,
				 "rank %d shares its heap in another way than rank %d; set "
				 "TESSERA_CUDA_HEAP alike",
				 rank, device->gpu.host->rank);
	memcpy(&handle, peer->bytes, sizeof handle);
	CUresult code = cu->ipc_open(&base, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
	if (code == CUDA_SUCCESS)
		mapping->base = base;
	return tsr_cuda_check(cu, code,
			      "set TESSERA_CUDA_HEAP=vmm, or run on GPUs that reach each other "
			      "(nvidia-smi topo -p2p rw)",
			      "mapping rank %d's heap on the GPU of rank %d (%s)", rank,
			      device->gpu.host->rank, device->gpu.props.name);
}

static void ipc_close(tsr_device_t *device, tsr_cuda_mapping_t *mapping)
{
	if (mapping->base)
		(void)(mapping->mine ? device->cu.mem_free(mapping->base)
				     : device->cu.ipc_close(mapping->base));
	memset(mapping, 0, sizeof *mapping);
}

const tsr_cuda_sharing_t tsr_cuda_ipc = {
	.name = "ipc",
	.create = ipc_create,
	.open = ipc_open,
	.close = ipc_close,
};
