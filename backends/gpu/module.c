/* Device code: the image of a unit is loaded once, with all its kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/far/kernels.h"
#include "gpu/gpu.h"
#include "src/base/error.h"

void tsr_gpu_entry_name(const tsr_kernel_t *kernel, char name_out[TSR_GPU_ENTRY_CHARS])
{
	const bool variant = kernel->variant[0] != '\0';
	snprintf(name_out, TSR_GPU_ENTRY_CHARS, TSR_GPU_ENTRY_PREFIX "%s%s%s", kernel->name,
		 variant ? "__" : "", kernel->variant);
}

/** Whether the image is of the kernel's unit, in this form. */
static bool is_of_unit(const tsr_image_t *image, const tsr_kernel_t *kernel, tsr_gpu_form_t form)
{
	static const char *const names[] = {[TSR_GPU_PLAIN] = "",
					    [TSR_GPU_RECORDED] = TSR_IMAGE_RECORDED,
					    [TSR_GPU_NODES] = TSR_IMAGE_NODES};
	const size_t length = strlen(kernel->unit);
	return strncmp(image->unit, kernel->unit, length) == 0 &&
	       strcmp(image->unit + length, names[form]) == 0;
}

/** The image of the kernel's unit in this form that runs here; null: there is none. */
static const tsr_image_t *image_of(const tsr_gpu_t *gpu, const tsr_device_t *device,
				   const tsr_kernel_t *kernel, tsr_gpu_form_t form)
{
	const tsr_image_t *image;
	for (int i = 0; (image = tsr_image_at(i)) != NULL; i++)
		if (is_of_unit(image, kernel, form) && gpu->vendor->runs(device, image))
			return image;
	return NULL;
}

bool tsr_gpu_keeps_record(const tsr_gpu_t *gpu, const tsr_device_t *device,
			  const tsr_kernel_t *kernel)
{
	return image_of(gpu, device, kernel, TSR_GPU_RECORDED) != NULL;
}

/** Why there is no image: what is there instead. */
static tsr_status_t no_image(const tsr_gpu_t *gpu, const tsr_device_t *device,
			     const tsr_kernel_t *kernel, tsr_gpu_form_t form)
{
	const char *backend = gpu->vendor->name;
	const tsr_image_t *image, *other = NULL;
	for (int i = 0; (image = tsr_image_at(i)) != NULL; i++)
		if (is_of_unit(image, kernel, TSR_GPU_PLAIN) &&
		    strcmp(image->backend, backend) == 0)
			other = image;
	if (form == TSR_GPU_NODES && other && image_of(gpu, device, kernel, TSR_GPU_PLAIN))
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "kernel %s has no code for worlds over several nodes: build %s by "
				 "tessera cc --nodes, or the library by scons nodes=yes",
				 kernel->name, kernel->unit);
	if (other)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "kernel %s has code for %s, and the GPU is %s: build %s for it",
				 kernel->name, other->arch, gpu->arch, kernel->unit);
	return tsr_error(TSR_ERR_UNSUPPORTED,
			 "kernel %s has no code for %s in this executable: build %s with %s "
			 "present, or by tessera cc --backends "
			 "cpuemu,%s",
			 kernel->name, backend, kernel->unit, gpu->vendor->toolkit, backend);
}

static int count_kernels(const char *unit)
{
	const tsr_kernel_t *kernel;
	int count = 0;
	for (int i = 0; (kernel = tsr_kernel_at(i)) != NULL; i++)
		count += strcmp(kernel->unit, unit) == 0;
	return count;
}

static tsr_status_t load(tsr_gpu_t *gpu, tsr_device_t *device, const tsr_image_t *image,
			 const char *unit, tsr_gpu_form_t form, tsr_gpu_module_t **module_out)
{
	const tsr_kernel_t *kernel;
	tsr_gpu_module_t *m =
		calloc(1, sizeof *m + (size_t)count_kernels(unit) * sizeof m->function[0]);
	if (!m)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "no host memory for the kernels of %s; free some", image->unit);
	m->image = image;
	m->form = form;
	for (int i = 0; (kernel = tsr_kernel_at(i)) != NULL; i++)
		if (strcmp(kernel->unit, unit) == 0)
			m->function[m->count++] =
				(tsr_gpu_function_t){.kernel = kernel, .form = form};
	const tsr_status_t status = gpu->vendor->load(device, m);
	if (status != TSR_OK) {
		free(m);
		return status;
	}
	m->next = gpu->modules;
	gpu->modules = m;
	*module_out = m;
	return TSR_OK;
}

void tsr_gpu_modules_unload(tsr_gpu_t *gpu, tsr_device_t *device)
{
	while (gpu->modules) {
		tsr_gpu_module_t *m = gpu->modules;
		gpu->modules = m->next;
		(void)gpu->vendor->calls->module_unload(device, m->module);
		free(m);
	}
}

int tsr_gpu_dynamic_bytes(const tsr_gpu_t *gpu, const tsr_gpu_function_t *function)
{
	if (TSR_GPU_TAKES_ALL_SHARED(function->static_bytes))
		return (int)gpu->block_shared_bytes - function->static_bytes;
	return (int)function->kernel->shared_bytes;
}

static const tsr_gpu_function_t *function_in(const tsr_gpu_module_t *m, const tsr_kernel_t *kernel)
{
	for (int i = 0; i < m->count; i++)
		if (m->function[i].kernel == kernel)
			return &m->function[i];
	return NULL;
}

/*
 * Of the dynamic shared memory a main loop needs at least what a coop exchanges
 * elements through, aligned to a KiB.
 */
enum { LOOP_LEAST_BYTES = TSR_GPU_SCRATCH_BYTES + 1023 };

/** What of the kernel's needs the device or its image does not meet. */
static tsr_status_t check_function(const tsr_gpu_t *gpu, const tsr_gpu_function_t *f,
				   const tsr_kernel_t *kernel)
{
	if (!f || !f->entry)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "the device code of %s has no kernel %s%s%s: build host and "
				 "device code anew",
				 kernel->unit, kernel->name,
				 kernel->variant[0] != '\0' ? " for " : "", kernel->variant);
	if (kernel->shared_bytes + (size_t)f->static_bytes > gpu->block_shared_bytes)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "kernel %s uses %s of shared memory a block and the library %s "
				 "more, the device has %s; use smaller tiles",
				 kernel->name, TSR_SIZE(kernel->shared_bytes),
				 TSR_SIZE((size_t)f->static_bytes),
				 TSR_SIZE(gpu->block_shared_bytes));
	if (TSR_GPU_TAKES_ALL_SHARED(f->static_bytes) &&
	    kernel->shared_bytes + (size_t)f->static_bytes + LOOP_LEAST_BYTES >
		    gpu->block_shared_bytes)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "kernel %s uses %s of shared memory a block, which leaves its "
				 "main loop less than %s of %s; use "
				 "smaller tiles",
				 kernel->name, TSR_SIZE(kernel->shared_bytes),
				 TSR_SIZE((size_t)LOOP_LEAST_BYTES),
				 TSR_SIZE(gpu->block_shared_bytes));
	if (f->form == TSR_GPU_NODES && f->local_bytes > TSR_GPU_STACK_BYTES)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "kernel %s has %d bytes of local memory a thread, and kernels of "
				 "worlds over several nodes have at most %d: use smaller tiles or "
				 "locals",
				 kernel->name, f->local_bytes, (int)TSR_GPU_STACK_BYTES);
	if (f->blocks_per_sm < 1)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "a block of kernel %s (%d threads) does not fit a multiprocessor "
				 "of %s: use fewer workers or smaller tiles",
				 kernel->name, f->threads, gpu->props.name);
	return TSR_OK;
}

/** The kernel in a module that has been loaded; null: its unit has not. */
static const tsr_gpu_function_t *loaded(const tsr_gpu_t *gpu, const tsr_kernel_t *kernel,
					tsr_gpu_form_t form)
{
	const tsr_gpu_function_t *f = NULL;
	for (const tsr_gpu_module_t *m = gpu->modules; m && !f; m = m->next)
		f = m->form == form ? function_in(m, kernel) : NULL;
	return f;
}

tsr_status_t tsr_gpu_modules_load(tsr_gpu_t *gpu, tsr_device_t *device, tsr_gpu_form_t form)
{
	const tsr_kernel_t *kernel;
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && (kernel = tsr_kernel_at(i)) != NULL; i++) {
		tsr_gpu_module_t *m;
		const tsr_image_t *image =
			loaded(gpu, kernel, form) ? NULL : image_of(gpu, device, kernel, form);
		if (image)
			status = load(gpu, device, image, kernel->unit, form, &m);
	}
	return status;
}

tsr_status_t tsr_gpu_function(tsr_gpu_t *gpu, tsr_device_t *device, const tsr_kernel_t *kernel,
			      tsr_gpu_form_t form, const tsr_gpu_function_t **function_out)
{
	const tsr_gpu_function_t *f = loaded(gpu, kernel, form);
	if (!f) {
		const tsr_image_t *image = image_of(gpu, device, kernel, form);
		tsr_gpu_module_t *m = NULL;
		const tsr_status_t status = image ? load(gpu, device, image, kernel->unit, form, &m)
						  : no_image(gpu, device, kernel, form);
		if (status != TSR_OK)
			return status;
		f = function_in(m, kernel);
	}
	const tsr_status_t status = check_function(gpu, f, kernel);
	if (status == TSR_OK)
		*function_out = f;
	return status;
}
