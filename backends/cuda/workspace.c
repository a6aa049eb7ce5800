/*
 * Device memory in which kernels with a main loop keep the tensor maps of their
 * operands and the sums that they send, and the map that all are made from.
 */
#include <string.h>

#include "cuda/dev/shared.h"
#include "cuda/device.h"
#include "src/base/error.h"

/**
 * One of the first maps, of two or three dimensions: 64 by 64 elements of 16
 * bits at the workspace's own beginning, which nobody reads. Blocks change
 * address, extents and distances; type, box and swizzle stay.
 */
static CUresult make_first(const tsr_device_t *device, cuuint32_t dimensions, CUtensorMap *map_out)
{
	const cuuint64_t extents[] = {64, 64, 2}, distances[] = {128, 64 * 128};
	const cuuint32_t box[] = {64, 64, 1}, each[] = {1, 1, 1};
	return device->cu.tensor_map(map_out, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, dimensions,
				     (void *)(uintptr_t)device->workspace, extents, distances, box,
				     each, CU_TENSOR_MAP_INTERLEAVE_NONE,
				     CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
				     CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

tsr_status_t tsr_cuda_workspace_make(tsr_device_t *device)
{
	_Static_assert(sizeof(CUtensorMap) == TSR_CUDA_MAP_BYTES, "a tensor map has another size");
	const size_t places =
		2 + (size_t)device->gpu.sms * (size_t)device->gpu.host->size * TSR_CUDA_PLACES_EACH;
	const size_t bytes =
		places * sizeof(tsr_cuda_place_t) + (size_t)device->gpu.sms * TSR_CUDA_STAGED_BYTES;
	tsr_cuda_workspace_t begin = {0};
	CUtensorMap first, stack;
	CUresult code = device->cu.mem_alloc(&device->workspace, bytes);
	if (code == CUDA_SUCCESS)
		code = make_first(device, 2, &first);
	if (code == CUDA_SUCCESS)
		code = make_first(device, 3, &stack);
	if (code != CUDA_SUCCESS)
		return tsr_cuda_check(&device->cu, code,
				      "see nvidia-smi whether the GPU's memory is full",
				      "making rank %d's workspace of %zu bytes",
				      device->gpu.host->rank, bytes);
	void *const workspace = (void *)(uintptr_t)device->workspace;
	device->gpu.launch.workspace = workspace;
	device->gpu.launch.workspace_parts = (uint32_t)device->gpu.sms;
	device->gpu.launch.workspace_each = (uint32_t)device->gpu.host->size * TSR_CUDA_PLACES_EACH;
	tsr_status_t status = tsr_gpu_fill(device, workspace, 0, bytes);
	memcpy(begin.first.map, &first, sizeof first);
	memcpy(begin.stack.map, &stack, sizeof stack);
	return status == TSR_OK ? tsr_gpu_copy_to(device, workspace, &begin, sizeof begin) : status;
}

void tsr_cuda_workspace_drop(tsr_device_t *device)
{
	if (device->workspace)
		(void)device->cu.mem_free(device->workspace);
}
