/* Device code: the image of a unit is loaded once, with all its kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/dev/shared.h"
#include "cuda/device.h"
#include "src/base/error.h"

bool tsr_cuda_arch_runs(const char *arch, int major, int minor)
{
	int number = 0;
	char kind = '\0';
	if (sscanf(arch, "sm_%d%c", &number, &kind) < 1)
		return false;
	if (kind != '\0') /* "a": this one alone */
		return number == major * 10 + minor;
	return number / 10 == major && number % 10 <= minor;
}

/** The image of the kernel's unit that runs here. */
static tsr_status_t find_image(const tsr_device_t *device, const tsr_kernel_t *kernel, const tsr_image_t **image_out)
{
	const tsr_image_t *image, *other = NULL;
	for (int i = 0; (image = tsr_image_at(i)) != NULL; i++) {
		if (strcmp(image->backend, "cuda") != 0 || strcmp(image->unit, kernel->unit) != 0)
			continue;
		if (tsr_cuda_arch_runs(image->arch, device->major, device->minor)) {
			*image_out = image;
			return TSR_OK;
		}
		other = image;
	}
	if (other)
		return tsr_error(TSR_ERR_UNSUPPORTED, "kernel %s has code for %s, and the GPU is %d.%d: build %s for it",
				 kernel->name, other->arch, device->major, device->minor, kernel->unit);
	return tsr_error(
		TSR_ERR_UNSUPPORTED,
		"kernel %s has no code for cuda in this executable: build %s with the CUDA toolkit present, or by tessera cc "
		"--backends cpuemu,cuda",
		kernel->name, kernel->unit);
}

/**
 * What a launch needs to know of a kernel, which is thereby on the device: the driver would load it at its first launch, and might
 * then wait for a kernel that runs, which may wait for this one.
 */
static CUresult prepare(const tsr_device_t *device, CUmodule module, tsr_cuda_function_t *f)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	const tsr_kernel_t *kernel = f->kernel;
	const bool variant = kernel->variant[0] != '\0';
	char symbol[256];
	snprintf(symbol, sizeof symbol, TSR_GPU_ENTRY_PREFIX "%s%s%s", kernel->name, variant ? "__" : "", kernel->variant);
	CUresult code = cu->module_function(&f->function, module, symbol);
	if (code != CUDA_SUCCESS) {
		f->function = NULL;
		return code == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : code; /* said when it is launched */
	}
	code = cu->func_load(f->function);
	if (code == CUDA_SUCCESS) /* its launch bounds, which the device half decides */
		code = cu->func_attribute(&f->threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f->function);
	if (code == CUDA_SUCCESS)
		code = cu->func_attribute(&f->static_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f->function);
	if (code == CUDA_SUCCESS)
		code = cu->func_attribute(&f->local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, f->function);
	if (code != CUDA_SUCCESS || (size_t)f->static_bytes + kernel->shared_bytes > device->block_shared_bytes)
		return code; /* too large a block is said when it is launched, too */
	f->dynamic_bytes = (int)(TSR_CUDA_HAS_PIPELINE(f->static_bytes) ? device->block_shared_bytes - (size_t)f->static_bytes
									: kernel->shared_bytes);
	if (f->dynamic_bytes > 0)
		code = cu->func_set_attribute(f->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f->dynamic_bytes);
	if (code == CUDA_SUCCESS)
		code = cu->occupancy(&f->blocks_per_sm, f->function, f->threads, (size_t)f->dynamic_bytes);
	return code;
}

static int count_kernels(const char *unit)
{
	const tsr_kernel_t *kernel;
	int count = 0;
	for (int i = 0; (kernel = tsr_kernel_at(i)) != NULL; i++)
		count += strcmp(kernel->unit, unit) == 0;
	return count;
}

static tsr_status_t load(tsr_device_t *device, const tsr_image_t *image, tsr_cuda_module_t **module_out)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	const tsr_kernel_t *kernel;
	tsr_cuda_module_t *m = calloc(1, sizeof *m + (size_t)count_kernels(image->unit) * sizeof m->function[0]);
	if (!m)
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for the kernels of %s; free some", image->unit);
	m->image = image;
	CUresult code = cu->module_load(&m->module, image->bytes);
	const bool loaded = code == CUDA_SUCCESS;
	for (int i = 0; code == CUDA_SUCCESS && (kernel = tsr_kernel_at(i)) != NULL; i++)
		if (strcmp(kernel->unit, image->unit) == 0) {
			m->function[m->count].kernel = kernel;
			code = prepare(device, m->module, &m->function[m->count++]);
		}
	if (code != CUDA_SUCCESS) {
		if (loaded)
			(void)cu->module_unload(m->module);
		free(m);
		return tsr_cuda_check(cu, code, "install the driver of the CUDA toolkit that built it, or a newer one",
				      "loading the code of %s for %s", image->unit, image->arch);
	}
	m->next = device->modules;
	device->modules = m;
	*module_out = m;
	return TSR_OK;
}

void tsr_cuda_modules_unload(tsr_device_t *device)
{
	while (device->modules) {
		tsr_cuda_module_t *m = device->modules;
		device->modules = m->next;
		(void)device->cu.module_unload(m->module);
		free(m);
	}
}

static const tsr_cuda_function_t *function_in(const tsr_cuda_module_t *m, const tsr_kernel_t *kernel)
{
	for (int i = 0; i < m->count; i++)
		if (m->function[i].kernel == kernel)
			return &m->function[i];
	return NULL;
}

/** What of the kernel's needs the device or its image does not meet. */
static tsr_status_t check_function(const tsr_device_t *device, const tsr_cuda_function_t *f, const tsr_kernel_t *kernel)
{
	if (!f || !f->function)
		return tsr_error(TSR_ERR_UNSUPPORTED, "the device code of %s has no kernel %s%s%s: build host and device code anew",
				 kernel->unit, kernel->name, kernel->variant[0] != '\0' ? " for " : "", kernel->variant);
	if (kernel->shared_bytes + (size_t)f->static_bytes > device->block_shared_bytes)
		return tsr_error(
			TSR_ERR_UNSUPPORTED,
			"kernel %s uses %zu bytes of shared memory a block and the library %d more, the device has %zu; use "
			"smaller tiles",
			kernel->name, kernel->shared_bytes, f->static_bytes, device->block_shared_bytes);
	if (f->blocks_per_sm < 1)
		return tsr_error(TSR_ERR_UNSUPPORTED, "a block of kernel %s (%d threads) does not fit a multiprocessor of %s",
				 kernel->name, f->threads, device->props.name);
	return TSR_OK;
}

tsr_status_t tsr_cuda_function(tsr_device_t *device, const tsr_kernel_t *kernel, const tsr_cuda_function_t **function_out)
{
	const tsr_cuda_function_t *f = NULL;
	for (const tsr_cuda_module_t *m = device->modules; m && !f; m = m->next)
		f = function_in(m, kernel);
	if (!f) {
		const tsr_image_t *image = NULL;
		tsr_cuda_module_t *m = NULL;
		tsr_status_t status = find_image(device, kernel, &image);
		if (status == TSR_OK)
			status = load(device, image, &m);
		if (status != TSR_OK)
			return status;
		f = function_in(m, kernel);
	}
	tsr_status_t status = check_function(device, f, kernel);
	if (status == TSR_OK)
		*function_out = f;
	return status;
}
