/*
 * The kernels and device images of the program. Each translation unit that
 * defines some puts pointers to their descriptors into a section, which the
 * linker of a module (an executable, a shared library) gathers into one array
 * and bounds with two symbols. The module that holds this file finds its own
 * so; where that is a shared library, the program's kernels are in others,
 * which register.
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

/*
 * What is loaded, in the order of loading: a fact of the process, and of no
 * rank. Written under the loader's lock alone; a thread may look while another
 * one loads a module. Release, and acquire in next_of: who finds a module sees
 * what it says of itself.
 */
static tsr_module_t *modules;

static tsr_module_t *next_of(tsr_module_t *const *link)
{
	/* partner: the stores in tsr_module_register and tsr_module_forget */
	return __atomic_load_n(link, __ATOMIC_ACQUIRE);
}

static bool is_known(const tsr_module_t *module)
{
	if (module->kernels == module->kernels_end || module->kernels == __start_tsr_kernels)
		return true;
	const tsr_module_t *known = next_of(&modules);
	while (known != NULL && known->kernels != module->kernels)
		known = next_of(&known->next);
	return known != NULL;
}

void tsr_module_register(tsr_module_t *module)
{
	if (is_known(module))
		return;
	tsr_module_t **last = &modules;
	while (*last != NULL)
		last = &(*last)->next;
	module->next = NULL;
	__atomic_store_n(last, module, __ATOMIC_RELEASE); /* partner: next_of */
}

void tsr_module_forget(tsr_module_t *module)
{
	for (tsr_module_t **link = &modules; *link != NULL; link = &(*link)->next)
		if (*link == module) {
			/* partner: next_of */
			__atomic_store_n(link, module->next, __ATOMIC_RELEASE);
			return;
		}
}

const tsr_kernel_t *tsr_kernel_at(int index)
{
	ptrdiff_t left = index, count = __stop_tsr_kernels - __start_tsr_kernels;
	if (index < 0)
		return NULL;
	if (left < count)
		return __start_tsr_kernels[left];
	for (const tsr_module_t *module = next_of(&modules); module != NULL;
	     module = next_of(&module->next)) {
		left -= count;
		count = module->kernels_end - module->kernels;
		if (left < count)
			return module->kernels[left];
	}
	return NULL;
}

const tsr_image_t *tsr_image_at(int index)
{
	ptrdiff_t left = index, count = __stop_tsr_images - __start_tsr_images;
	if (index < 0)
		return NULL;
	if (left < count)
		return __start_tsr_images[left];
	for (const tsr_module_t *module = next_of(&modules); module != NULL;
	     module = next_of(&module->next)) {
		left -= count;
		count = module->images_end - module->images;
		if (left < count)
			return module->images[left];
	}
	return NULL;
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
