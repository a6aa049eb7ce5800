/* Device code: the image of a unit is loaded once, with all its kernels. */
#include <string.h>

#include "cuda/device.h"

bool tsr_cuda_runs(const tsr_device_t *device, const tsr_image_t *image)
{
	return strcmp(image->backend, "cuda") == 0 &&
	       tsr_gpu_number_runs(image->arch, device->major, device->minor);
}

/**
 * What a launch needs to know of a kernel, which is thereby on the device: the
 * driver would load it at its first launch, and might then wait for a kernel
 * that runs, which may wait for this one.
 */
static CUresult prepare(const tsr_device_t *device, CUmodule module, tsr_gpu_function_t *f)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	const tsr_kernel_t *kernel = f->kernel;
	char symbol[TSR_GPU_ENTRY_CHARS];
	CUfunction function;
	tsr_gpu_entry_name(kernel, symbol);
	CUresult code = cu->module_function(&function, module, symbol);
	if (code != CUDA_SUCCESS)
		/* said when it is launched */
		return code == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : code;
	f->entry = function;
	code = cu->func_load(function);
	if (code == CUDA_SUCCESS) /* its launch bounds, which the device half decides */
		code = cu->func_attribute(&f->threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
					  function);
	if (code == CUDA_SUCCESS)
		code = cu->func_attribute(&f->static_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
					  function);
	if (code == CUDA_SUCCESS)
		code = cu->func_attribute(&f->local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES,
					  function);
	if (code != CUDA_SUCCESS ||
	    (size_t)f->static_bytes + kernel->shared_bytes > device->gpu.block_shared_bytes)
		return code; /* too large a block is said when it is launched, too */
	f->dynamic_bytes = tsr_gpu_dynamic_bytes(&device->gpu, f);
	if (f->dynamic_bytes > 0)
		code = cu->func_set_attribute(function,
					      CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
					      f->dynamic_bytes);
	if (code == CUDA_SUCCESS)
		code = cu->occupancy(&f->blocks_per_sm, function, f->threads,
				     (size_t)f->dynamic_bytes);
	return code;
}

tsr_status_t tsr_cuda_load(tsr_device_t *device, tsr_gpu_module_t *m)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	CUmodule module;
	CUresult code = cu->module_load(&module, m->image->bytes);
	const bool loaded = code == CUDA_SUCCESS;
	for (int i = 0; code == CUDA_SUCCESS && i < m->count; i++)
		code = prepare(device, module, &m->function[i]);
	if (code == CUDA_SUCCESS)
		m->module = module;
	else if (loaded)
		(void)cu->module_unload(module);
	return tsr_cuda_check(
		cu, code, "install the driver of the CUDA toolkit that built it, or a newer one",
		"loading the code of %s for %s", m->image->unit, m->image->arch);
}
