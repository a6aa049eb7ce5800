/* Device code: what of it is HIP's. */
#include "hip/device.h"

/*
 * Whatever backend it was compiled for: the architecture says where it runs,
 * and that on NVIDIA's platform is CUDA's.
 */
bool tsr_hip_runs(const tsr_device_t *device, const tsr_image_t *image)
{
	return tsr_hip_arch_runs(image->arch, device->gpu.arch);
}

/** What a launch needs to know of a kernel. */
static tsr_hip_code_t prepare(const tsr_device_t *device, tsr_hip_module_t module,
			      tsr_gpu_function_t *f)
{
	const tsr_hip_runtime_t *hip = &device->hip;
	char symbol[TSR_GPU_ENTRY_CHARS];
	tsr_hip_function_t function;
	tsr_gpu_entry_name(f->kernel, symbol);
	tsr_hip_code_t code = hip->module_function(&function, module, symbol);
	if (code != TSR_HIP_SUCCESS)
		/* said when it is launched */
		return code == TSR_HIP_ERROR_NOT_FOUND ? TSR_HIP_SUCCESS : code;
	f->entry = function;
	/* which the device half decides */
	code = hip->function_attribute(&f->threads, TSR_HIP_FUNCTION_THREADS, function);
	if (code == TSR_HIP_SUCCESS)
		code = hip->function_attribute(&f->static_bytes, TSR_HIP_FUNCTION_SHARED_BYTES,
					       function);
	if (code == TSR_HIP_SUCCESS)
		code = hip->function_attribute(&f->local_bytes, TSR_HIP_FUNCTION_LOCAL_BYTES,
					       function);
	if (code != TSR_HIP_SUCCESS ||
	    (size_t)f->static_bytes + f->kernel->shared_bytes > device->gpu.block_shared_bytes)
		return code; /* too large a block is said when it is launched, too */
	f->dynamic_bytes = tsr_gpu_dynamic_bytes(&device->gpu, f);
	return hip->occupancy(&f->blocks_per_sm, function, f->threads, (size_t)f->dynamic_bytes);
}

tsr_status_t tsr_hip_load(tsr_device_t *device, tsr_gpu_module_t *m)
{
	const tsr_hip_runtime_t *hip = &device->hip;
	tsr_hip_module_t module;
	tsr_hip_code_t code = hip->module_load(&module, m->image->bytes);
	const bool loaded = code == TSR_HIP_SUCCESS;
	for (int i = 0; code == TSR_HIP_SUCCESS && i < m->count; i++)
		code = prepare(device, module, &m->function[i]);
	if (code == TSR_HIP_SUCCESS)
		m->module = module;
	else if (loaded)
		(void)hip->module_unload(module);
	return tsr_hip_check(hip, code, "install a newer driver and runtime",
			     "loading the code of %s for %s", m->image->unit, m->image->arch);
}
