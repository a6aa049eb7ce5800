/* The heap: shared in one of two ways. */
#include "cuda/device.h"
#include "src/base/error.h"

tsr_status_t tsr_cuda_heap_make(tsr_device_t *device, tsr_heap_export_t *export)
{
	const int rank = device->gpu.host->rank;
	tsr_cuda_mapping_t *mapping = &device->heap[rank];
	*mapping = (tsr_cuda_mapping_t){.bytes = tsr_gpu_whole_bytes((size_t) export->size_bytes),
					.mine = true};
	const tsr_status_t status = device->sharing->create(device, mapping, export);
	device->gpu.base[rank] = (void *)(uintptr_t)mapping->base;
	export->window_begin = device->slice_bytes > 0 ? mapping->bytes : 0;
	export->window_end = device->slice_bytes;
	return status;
}

tsr_status_t tsr_cuda_heap_open(tsr_device_t *device, const tsr_heap_export_t *peer, int rank)
{
	tsr_cuda_mapping_t *mapping = &device->heap[rank];
	*mapping = (tsr_cuda_mapping_t){.bytes = device->heap[device->gpu.host->rank].bytes};
	const tsr_status_t status = device->sharing->open(device, mapping, peer, rank);
	device->gpu.base[rank] = (void *)(uintptr_t)mapping->base;
	return status;
}

void tsr_cuda_heap_close(tsr_device_t *device, int rank)
{
	device->sharing->close(device, &device->heap[rank]);
	device->gpu.base[rank] = NULL;
}

tsr_status_t tsr_cuda_heap_is_broken(const tsr_device_t *device, int rank, const char *fault)
{
	return tsr_error(TSR_ERR_SYSTEM,
			 "rank %d's heap, mapped by %s on the GPU of rank %d (%s), %s: set "
			 "TESSERA_CUDA_HEAP=%s, or look whether "
			 "the GPUs reach each other (nvidia-smi topo -p2p rw; PCIe ACS and the "
			 "IOMMU must let them)",
			 rank, device->sharing->name, device->gpu.host->rank,
			 device->gpu.props.name, fault,
			 device->sharing == &tsr_cuda_vmm ? "ipc" : "vmm");
}
