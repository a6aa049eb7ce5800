/*
 * NVIDIA's driver for tests of the baseline's calls, and of litmus tests on
 * GPUs. FAKE_KERNEL=none: it compiles no kernel of a litmus test.
 */
#include "bench/gpu/nvidia/libraries.h"

#include "tests/fakes/runtime.h"

BENCH_RUNTIME_ENTRIES(FAKE_NVIDIA)
BENCH_CUDA_ENTRIES(FAKE_DECLARE)

static bool is_made_of(const void *image, const char *kernel)
{
	char entry[64];
	(void)snprintf(entry, sizeof entry, ".entry %s(", kernel);
	return strstr(image, entry);
}

int cuInit(unsigned flags)
{
	return flags == 0 ? 0 : REFUSED;
}

int cuGetErrorString(int code, const char **out)
{
	*out = code == OUT_OF_MEMORY ? "out of memory" : "refused by the fake";
	return 0;
}

int cuDeviceGet(int *out, int ordinal)
{
	*out = ordinal;
	return 0;
}

int cuDevicePrimaryCtxRetain(void **out, int device)
{
	(void)device;
	*out = &thing;
	return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	(void)device;
	wait_for_kernels();
	return 0;
}

int cuCtxPushCurrent_v2(void *context)
{
	is_current = context == &thing;
	return is_current ? 0 : REFUSED;
}

int cuCtxPopCurrent_v2(void **out)
{
	is_current = false;
	*out = &thing;
	return 0;
}

int cuMemcpy2DAsync_v2(const bench_copy_2d_t *copy, void *stream)
{
	bool device = copy->src_type == BENCH_CU_MEMORY_DEVICE &&
		      copy->dst_type == BENCH_CU_MEMORY_DEVICE;
	bool plain = !copy->src_x_bytes && !copy->src_y && !copy->dst_x_bytes && !copy->dst_y &&
		     stream == &thing;
	if (!device || !plain)
		return REFUSED;
	return copy_rows((char *)(uintptr_t)copy->dst_device, copy->dst_pitch,
			 (const char *)(uintptr_t)copy->src_device, copy->src_pitch,
			 copy->width_bytes, copy->height);
}

/** The one kernel of a test, which has a handle of its own. */
int cuModuleLoadDataEx(void **out, const void *image, unsigned count, int *options, void **values)
{
	*out = &litmus;
	if (strstr(image, ".entry " LITMUS_PTX_KERNEL "(") && strcmp(fake_kernel(), "none") != 0)
		return 0;
	for (unsigned i = 0; i < count; i++)
		if (options[i] == BENCH_CU_JIT_ERROR_LOG)
			(void)strcpy(values[i], "fake.ptx, line 1; error: no compiler\nand more\n");
	return REFUSED;
}
