/*
 * The kernels and device images of this executable. Each translation unit that defines some puts pointers to their descriptors into
 * a section, which the linker gathers into one array and bounds with two symbols. No constructors, no registration, no order.
 */
#include <stdbool.h>
#include <string.h>

#include "tessera/kernel.h"

/* Weak: where no translation unit defines any, there is no section and the symbols are null. */
#define SECTION_BOUND extern __attribute__((weak, visibility("hidden")))
SECTION_BOUND const tsr_kernel_t *const __start_tsr_kernels[];
SECTION_BOUND const tsr_kernel_t *const __stop_tsr_kernels[];
SECTION_BOUND const tsr_image_t *const __start_tsr_images[];
SECTION_BOUND const tsr_image_t *const __stop_tsr_images[];

const tsr_kernel_t *tsr_kernel_at(int index)
{
	const ptrdiff_t count = __stop_tsr_kernels - __start_tsr_kernels;
	return index >= 0 && index < count ? __start_tsr_kernels[index] : NULL;
}

const tsr_image_t *tsr_image_at(int index)
{
	const ptrdiff_t count = __stop_tsr_images - __start_tsr_images;
	return index >= 0 && index < count ? __start_tsr_images[index] : NULL;
}

const tsr_kernel_t *tsr_kernel_find(const char *name, const char *variant)
{
	if (name == NULL)
		return NULL;
	const tsr_kernel_t *kernel, *only = NULL;
	int named = 0;
	for (int i = 0; (kernel = tsr_kernel_at(i)) != NULL; i++) {
		if (strcmp(kernel->name, name) != 0)
			continue;
		if (strcmp(kernel->variant, variant != NULL ? variant : "") == 0)
			return kernel;
		only = kernel;
		named++;
	}
	const bool any_variant = variant == NULL || *variant == '\0';
	return any_variant && named == 1 ? only : NULL;
}
