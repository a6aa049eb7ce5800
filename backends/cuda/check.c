/* The check of a mapping, when a world starts: the heap is the one it claims to be, and what kernels do reaches it. */
#include <stdlib.h>
#include <string.h>

#include "cuda/device.h"
#include "src/base/error.h"

tsr_status_t tsr_cuda_tail_write(tsr_device_t *device, size_t heap_bytes)
{
	const tsr_gpu_tail_t tail = tsr_gpu_tail_of(&device->gpu, heap_bytes);
	return tsr_cuda_copy_to(device, device->heap[device->gpu.host->rank].base + tsr_gpu_tail_offset(heap_bytes), &tail,
				sizeof tail);
}

/** Words for a failure: whose heap, seen from where. */
static tsr_status_t broken(const tsr_device_t *device, int rank, const char *cause)
{
	return tsr_error(TSR_ERR_SYSTEM,
			 "rank %d's heap, mapped by %s on the GPU of rank %d (%s), %s: set TESSERA_CUDA_HEAP=%s, or look whether "
			 "the GPUs reach each other (nvidia-smi topo -p2p rw; PCIe ACS and the IOMMU must let them)",
			 rank, device->sharing->name, device->gpu.host->rank, device->gpu.props.name, cause,
			 device->sharing == &tsr_cuda_vmm ? "ipc" : "vmm");
}

static tsr_status_t check_owner(tsr_device_t *device, CUdeviceptr base, const tsr_heap_export_t *peer, int rank)
{
	tsr_gpu_tail_t *seen = malloc(sizeof *seen);
	if (!seen)
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory to check a heap; free some");
	tsr_status_t status = tsr_cuda_copy_from(device, seen, base + tsr_gpu_tail_offset((size_t)peer->size_bytes), sizeof *seen);
	if (status == TSR_OK && !tsr_gpu_tail_is(seen, peer, rank))
		status = broken(device, rank, "is not that heap");
	free(seen);
	return status;
}

/** Runs the kernel on `words`, which are this rank's in the peer's tail. */
static CUresult run_check(tsr_device_t *device, CUfunction function, CUdeviceptr words, uint64_t pattern)
{
	CUdeviceptr seen = device->page_on_device + offsetof(tsr_gpu_page_t, seen);
	void *parameters[] = {&words, &pattern, &seen};
	memset(device->gpu.page->seen, 0, sizeof device->gpu.page->seen);
	CUresult code = device->cu.launch(function, 1, 1, 1, 1, 1, 1, 0, device->side, parameters, NULL);
	return code == CUDA_SUCCESS ? device->cu.stream_sync(device->side) : code;
}

static tsr_status_t check_access(tsr_device_t *device, CUfunction function, CUdeviceptr words, int rank)
{
	const uint64_t pattern = tsr_gpu_check_pattern(&device->gpu, rank);
	char text[128];
	CUresult code = run_check(device, function, words, pattern);
	const char *fault =
		code == CUDA_SUCCESS ? tsr_gpu_check_fault(&device->gpu, pattern) : tsr_cuda_text(&device->cu, code, text);
	return fault ? broken(device, rank, fault) : TSR_OK;
}

tsr_status_t tsr_cuda_tail_check(tsr_device_t *device, const tsr_heap_export_t *peer, int rank)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	const CUdeviceptr base = device->heap[rank].base;
	CUmodule module = NULL;
	CUfunction function = NULL;
	tsr_status_t status = check_owner(device, base, peer, rank);
	if (status != TSR_OK)
		return status;
	CUresult code = cu->module_load(&module, tsr_cuda_check_image()->bytes);
	if (code == CUDA_SUCCESS)
		code = cu->module_function(&function, module, TSR_GPU_CHECK_ENTRY);
	status = tsr_cuda_check(cu, code, "install the driver of the CUDA toolkit that built the library, or a newer one",
				"loading the kernel that checks heaps");
	if (status == TSR_OK)
		status = check_access(device, function, base + tsr_gpu_check_offset(&device->gpu, (size_t)peer->size_bytes), rank);
	if (module)
		(void)cu->module_unload(module);
	return status;
}
