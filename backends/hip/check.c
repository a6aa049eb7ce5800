/* The check of a mapping: what of it is HIP's. */
#include <stdlib.h>
#include <string.h>

#include "hip/device.h"
#include "src/base/error.h"

static void *at(void *base, size_t offset)
{
	return (char *)base + offset;
}

tsr_status_t tsr_hip_tail_write(tsr_device_t *device, size_t heap_bytes)
{
	const tsr_gpu_tail_t tail = tsr_gpu_tail_of(&device->gpu, heap_bytes);
	return tsr_hip_copy_to(device, at(device->heap[device->gpu.host->rank], tsr_gpu_tail_offset(heap_bytes)), &tail,
			       sizeof tail);
}

/** Words for a failure: whose heap, seen from where. */
static tsr_status_t broken(const tsr_device_t *device, int rank, const char *cause)
{
	return tsr_error(TSR_ERR_SYSTEM,
			 "rank %d's heap, mapped on the GPU of rank %d (%s), %s: set TESSERA_HIP_HEAP=%s, or look whether the GPUs "
			 "reach each other (PCIe ACS and the IOMMU must let them)",
			 rank, device->gpu.host->rank, device->gpu.props.name, cause, device->uncached ? "fine" : "uncached");
}

static tsr_status_t check_owner(tsr_device_t *device, const tsr_heap_export_t *peer, int rank)
{
	tsr_gpu_tail_t *seen = malloc(sizeof *seen);
	if (!seen)
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory to check a heap; free some");
	tsr_status_t status = tsr_hip_copy_from(device, seen, at(device->heap[rank], tsr_gpu_tail_offset((size_t)peer->size_bytes)),
						sizeof *seen);
	if (status == TSR_OK && !tsr_gpu_tail_is(seen, peer, rank))
		status = broken(device, rank, "is not that heap");
	free(seen);
	return status;
}

/** Runs the kernel on `words`, which are this rank's in the peer's tail. */
static tsr_hip_code_t run_check(tsr_device_t *device, tsr_hip_function_t function, void *words, uint64_t pattern)
{
	const tsr_hip_runtime_t *hip = &device->hip;
	void *seen = at(device->page_on_device, offsetof(tsr_gpu_page_t, seen));
	void *parameters[] = {&words, &pattern, &seen};
	memset(device->gpu.page->seen, 0, sizeof device->gpu.page->seen);
	tsr_hip_code_t code = hip->launch(function, 1, 1, 1, 1, 1, 1, 0, device->side, parameters, NULL);
	return code == TSR_HIP_SUCCESS ? hip->stream_sync(device->side) : code;
}

static tsr_status_t check_access(tsr_device_t *device, tsr_hip_function_t function, void *words, int rank)
{
	const uint64_t pattern = tsr_gpu_check_pattern(&device->gpu, rank);
	char text[128];
	const tsr_hip_code_t code = run_check(device, function, words, pattern);
	const char *fault =
		code == TSR_HIP_SUCCESS ? tsr_gpu_check_fault(&device->gpu, pattern) : tsr_hip_text(&device->hip, code, text);
	return fault ? broken(device, rank, fault) : TSR_OK;
}

tsr_status_t tsr_hip_tail_check(tsr_device_t *device, const tsr_heap_export_t *peer, int rank)
{
	const tsr_hip_runtime_t *hip = &device->hip;
	tsr_hip_module_t module = NULL;
	tsr_hip_function_t function = NULL;
	tsr_status_t status = check_owner(device, peer, rank);
	if (status != TSR_OK)
		return status;
	tsr_hip_code_t code = hip->module_load(&module, tsr_hip_check_image(device->gpu.arch)->bytes);
	if (code == TSR_HIP_SUCCESS)
		code = hip->module_function(&function, module, TSR_GPU_CHECK_ENTRY);
	status = tsr_hip_check(hip, code, "install a newer driver and runtime", "loading the kernel that checks heaps");
	if (status == TSR_OK)
		status = check_access(device, function,
				      at(device->heap[rank], tsr_gpu_check_offset(&device->gpu, (size_t)peer->size_bytes)), rank);
	if (module)
		(void)hip->module_unload(module);
	return status;
}
