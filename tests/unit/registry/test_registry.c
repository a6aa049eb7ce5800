/* Kernels are found by name and variant, backends by name. */
#include <criterion/criterion.h>

#include "backend.h"
#include "clean_environment.h"
#include "src/registry/registry.h"
#include "tessera/backends.h"

#define KERNEL(object_, name_, variant_)                                                  \
	static const tsr_kernel_t object_ = {                                             \
		.abi = TSR_KERNEL_ABI, .workers = 1, .name = name_, .variant = variant_}; \
	static const tsr_kernel_t *const object_##_entry                                  \
		__attribute__((used, section("tsr_kernels"))) = &object_

KERNEL(registry_test_one, "registry_test_one", "");
KERNEL(registry_test_only, "registry_test_only", "f32_16x16x16");
KERNEL(registry_test_a, "registry_test_many", "a");
KERNEL(registry_test_b, "registry_test_many", "b");

Test(registry, kernels_by_name_and_variant)
{
	cr_expect(tsr_kernel_find("registry_test_one", NULL) == &registry_test_one);
	cr_expect(tsr_kernel_find("registry_test_one", "") == &registry_test_one);
	cr_expect(tsr_kernel_find("registry_test_one", "a") == NULL);
	cr_expect(tsr_kernel_find("registry_test_only", "f32_16x16x16") == &registry_test_only);
	/* the only one */
	cr_expect(tsr_kernel_find("registry_test_only", "") == &registry_test_only);
	cr_expect(tsr_kernel_find("registry_test_only", "f32") == NULL);
	cr_expect(tsr_kernel_find("registry_test_many", "a") == &registry_test_a);
	cr_expect(tsr_kernel_find("registry_test_many", "b") == &registry_test_b);
	cr_expect(tsr_kernel_find("registry_test_many", "c") == NULL);
	cr_expect(tsr_kernel_find("registry_test_many", NULL) == NULL); /* which one? */
	cr_expect(tsr_kernel_find("registry_test", NULL) == NULL);
	cr_expect(tsr_kernel_find(NULL, NULL) == NULL);
}

Test(registry, every_kernel_is_listed_once)
{
	const tsr_kernel_t *kernel;
	int mine = 0, count = 0;
	for (; (kernel = tsr_kernel_at(count)) != NULL; count++) {
		cr_expect(kernel->abi == TSR_KERNEL_ABI && kernel->name != NULL &&
			  kernel->variant != NULL);
		mine += strncmp(kernel->name, "registry_test_", 14) == 0;
	}
	cr_expect_eq(mine, 4);
	cr_expect(tsr_kernel_at(-1) == NULL && tsr_kernel_at(count + 1) == NULL);
	cr_expect(tsr_image_at(-1) == NULL);
}

Test(registry, backends)
{
	const tsr_backend_t *backend = NULL;
	const char *why = NULL;
	cr_assert_eq(tsr_backend_choose("cpuemu", &backend, &why), TSR_OK);
	cr_expect(backend == &tsr_backend_cpuemu && strstr(why, "TESSERA_BACKEND") != NULL);
	backend = NULL;
	cr_assert_eq(tsr_backend_choose(NULL, &backend, &why), TSR_OK);
	cr_expect(backend != NULL && backend->device->size >= sizeof(size_t));
	backend = NULL;
	cr_expect_eq(tsr_backend_choose("cpu", &backend, &why), TSR_ERR_NOT_FOUND);
	cr_expect(strstr(tsr_last_error(), "'cpu'") &&
			  strstr(tsr_last_error(), "cuda, hip and cpuemu"),
		  "%s", tsr_last_error());
	cr_expect(backend == NULL);
}

Test(registry, a_backend_that_is_not_built_in_is_known_but_has_no_device)
{
	const tsr_backend_t *built_in, *backend = NULL;
	const char *name, *why = NULL;
	for (int i = 0; (name = tsr_backend_name_at(i, &built_in)) != NULL; i++) {
		if (built_in != NULL)
			continue;
		cr_expect_eq(tsr_backend_choose(name, &backend, &why), TSR_ERR_NO_DEVICE);
		cr_expect(strstr(tsr_last_error(), name) &&
				  strstr(tsr_last_error(), "not part of this build") &&
				  strstr(tsr_last_error(), ": build it with `scons backends="),
			  "%s", tsr_last_error());
	}
	cr_expect(backend == NULL);
}
