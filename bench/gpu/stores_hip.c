/*
 * Plain stores on AMD's GPUs: a kernel in HIP, which HIP compiles when the
 * program runs, so that no build needs its compiler. bench/gpu/stores.c has the
 * same kernel for NVIDIA's.
 */
#include "bench/gpu/stores.h"

/*
 * Each thread copies every so many-th piece of 16 bytes, four of them in
 * flight, as bandwidth tests do.
 */
const char bench_stores_hip[] =
	"extern \"C\" __global__ void " BENCH_STORES_KERNEL
	"(uint4 *dst, const uint4 *src, unsigned long long count)\n"
	"{\n"
	"	const unsigned long long all = (unsigned long long)gridDim.x * blockDim.x;\n"
	"	unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	for (; i + 3 * all < count; i += 4 * all) {\n"
	"		const uint4 a = src[i], b = src[i + all];\n"
	"		const uint4 c = src[i + 2 * all], d = src[i + 3 * all];\n"
	"		dst[i] = a;\n"
	"		dst[i + all] = b;\n"
	"		dst[i + 2 * all] = c;\n"
	"		dst[i + 3 * all] = d;\n"
	"	}\n"
	"	for (; i < count; i += all)\n"
	"		dst[i] = src[i];\n"
	"}\n";
