/* Launches: what of them is CUDA's. */
#include "cuda/device.h"
#include "src/base/error.h"

tsr_status_t tsr_cuda_start(tsr_device_t *device, const tsr_device_launch_t *l, const tsr_gpu_function_t *f)
{
	uint64_t nothing = 0; /* a struct without members has a byte in C++ */
	tsr_gpu_context_t context = tsr_gpu_launch_number(&device->gpu, &l->stream->track, l);
	void *parameters[] = {&context, l->kernel->args_bytes > 0 ? (void *)(uintptr_t)l->args : &nothing};
	CUresult code = device->cu.launch(f->entry, (unsigned)l->blocks, 1, 1, (unsigned)f->threads, 1, 1,
					  (unsigned)f->dynamic_bytes, l->stream->stream, parameters, NULL);
	if (code == CUDA_SUCCESS)
		l->stream->track.last = l->kernel;
	return tsr_cuda_check(&device->cu, code, "a kernel may have crashed before: see what was said first",
			      "launching %d blocks of kernel %s on rank %d", l->blocks, l->kernel->name, device->gpu.host->rank);
}

tsr_status_t tsr_cuda_launch(tsr_device_t *device, const tsr_device_launch_t *launches, int count, bool together)
{
	tsr_status_t status = tsr_gpu_launch_check(&device->gpu, launches, count);
	if (status == TSR_OK)
		status = tsr_cuda_enter(device);
	if (status != TSR_OK)
		return status;
	status = tsr_gpu_launch(&device->gpu, device, launches, count, together);
	tsr_cuda_leave(device);
	return status;
}
