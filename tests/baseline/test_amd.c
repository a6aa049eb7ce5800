/*
 * What the baseline declares of AMD's libraries against HIP's headers and HIP's
 * own library, where they are. They need no GPU. hipblaslt.h is for C++ alone,
 * and rccl.h is compared where ROCm is installed.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu/amd/libraries.h"
#include "bench/gpu/nccl.h"
#include "bench/gpu/rows.h"
#include "bench/gpu/stores.h"

#define SAME(mine_, theirs_) _Static_assert((int)(mine_) == (int)(theirs_), #theirs_)

#if __has_include(<hip/hip_runtime_api.h>) && __has_include(<hip/hiprtc.h>)
#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>
#include <hip/hip_version.h>
#include <hip/hiprtc.h>
#include <hip/library_types.h>

SAME(0, hipSuccess);
SAME(0, HIPRTC_SUCCESS);
SAME(BENCH_NOT_READY, hipErrorNotReady);
SAME(BENCH_STREAM_NON_BLOCKING, hipStreamNonBlocking);
SAME(BENCH_EVENT_DEFAULT, hipEventDefault);
SAME(BENCH_HIP_COPY_BY_ADDRESS, hipMemcpyDefault);
SAME(BENCH_R_32F, HIP_R_32F);
SAME(BENCH_R_16F, HIP_R_16F);
#if HIP_VERSION >= 60000000
SAME(BENCH_R_16BF, HIP_R_16BF);
#endif
SAME(sizeof(int), sizeof(hipError_t));
SAME(sizeof(int), sizeof(hipDataType));
SAME(sizeof(int), sizeof(hiprtcResult));
SAME(sizeof(void *), sizeof(hipDeviceptr_t));

/*
 * A call with the baseline's arguments compiles against the vendor's prototype:
 * their number and kinds are right.
 */
static int number;
static unsigned flags;
static size_t bytes;
static void *handle;
static float ms;
#define COMPILES(call_) _Static_assert(sizeof(call_) == sizeof(int), #call_)
COMPILES(hipDeviceGetPCIBusId((char *)handle, number, number));
COMPILES(hipStreamCreateWithFlags((hipStream_t *)handle, flags));
COMPILES(hipStreamDestroy(handle));
COMPILES(hipStreamSynchronize(handle));
COMPILES(hipEventCreateWithFlags((hipEvent_t *)handle, flags));
COMPILES(hipEventDestroy(handle));
COMPILES(hipEventRecord(handle, handle));
COMPILES(hipEventQuery(handle));
COMPILES(hipEventElapsedTime(&ms, handle, handle));
COMPILES(hipMalloc((void **)handle, bytes));
COMPILES(hipFree(handle));
COMPILES(hipMemsetD8Async(handle, (unsigned char)0, bytes, handle));
COMPILES(hipMemcpyDtoH(handle, handle, bytes));
COMPILES(hipMemcpy2DAsync(handle, bytes, handle, bytes, bytes, bytes, (hipMemcpyKind)0, handle));
COMPILES(hipModuleLoadData((hipModule_t *)handle, handle));
COMPILES(hipModuleUnload(handle));
COMPILES(hipModuleGetFunction((hipFunction_t *)handle, handle, (const char *)handle));
COMPILES(hipModuleLaunchKernel(handle, flags, flags, flags, flags, flags, flags, flags, handle,
			       (void **)handle, (void **)handle));
COMPILES(hipGetDevice(&number));
COMPILES(hipSetDevice(number));
COMPILES(hiprtcCreateProgram((hiprtcProgram *)handle, (const char *)handle, (const char *)handle,
			     number, (const char **)handle, (const char **)handle));
COMPILES(hiprtcCompileProgram(handle, number, (const char **)handle));
COMPILES(hiprtcGetCodeSize(handle, &bytes));
COMPILES(hiprtcGetCode(handle, (char *)handle));
COMPILES(hiprtcDestroyProgram((hiprtcProgram *)handle));

/** Every function that is looked up is one of the headers'. */
typedef struct theirs {
#define SHARED(field_, nvidia_, amd_, arguments_) __typeof__(amd_) *field_;
#define OWN(type_, field_, symbol_, arguments_) __typeof__(symbol_) *field_;
	BENCH_RUNTIME_ENTRIES(SHARED)
	BENCH_HIP_ENTRIES(OWN)
} theirs_t;

Test(amd, headers_of_hip_say_the_same)
{
	cr_expect_eq(sizeof(theirs_t), sizeof(bench_hip_t));
}
#else
Test(amd, headers_of_hip_say_the_same)
{
	cr_skip_test("no headers of HIP here: ci/install-deps installs libamdhip64-dev");
}
#endif

#if __has_include(<rccl/rccl.h>)
#include <rccl/rccl.h>

SAME(BENCH_NCCL_F16, ncclFloat16);
SAME(BENCH_NCCL_F32, ncclFloat32);
SAME(BENCH_NCCL_BF16, ncclBfloat16);
SAME(BENCH_NCCL_SUM, ncclSum);
SAME(sizeof(bench_nccl_id_t), sizeof(ncclUniqueId));
SAME(0, ncclSuccess);
#endif

/*
 * hipblasLtMatmulHeuristicResult_t: 24 bytes of algorithm, a size, a state, a
 * float, four numbers.
 */
SAME(offsetof(bench_algorithm_t, workspace_bytes), 24);
SAME(offsetof(bench_algorithm_t, state), 32);
SAME(sizeof(bench_algorithm_t), 56);

Test(amd, hip_itself_has_every_entry)
{
	char sentence[BENCH_SENTENCE];
	bench_hip_t hip;
	if (!bench_library_find(&bench_hip_library, &hip, sentence)) {
		cr_assert(strstr(sentence, "there is no HIP runtime here"), "%s", sentence);
		cr_skip_test("no HIP runtime here");
	}
	cr_expect(strstr(hip.error_string(BENCH_NOT_READY), "eady"), "%s",
		  hip.error_string(BENCH_NOT_READY));
}

/**
 * Kernels are compiled when the program runs: here for the GPUs that HIP 5.2
 * knows already.
 */
static void expect_compiles(const bench_hiprtc_t *rtc, const char *text, const char *kernel)
{
	static const char *options[] = {"--offload-arch=gfx90a"};
	void *program = NULL;
	size_t code_bytes = 0;
	cr_assert_eq(rtc->create(&program, text, "baseline.hip", 0, NULL, NULL), 0);
	const int status = rtc->compile(program, 1, options);
	cr_assert_eq(status, 0, "%s: %s", kernel, rtc->error_string(status));
	cr_assert(rtc->code_bytes(program, &code_bytes) == 0 && code_bytes > 0);
	char *code = malloc(code_bytes);
	cr_assert(code && rtc->code(program, code) == 0);
	cr_expect(memmem(code, code_bytes, kernel, strlen(kernel)), "%s", kernel);
	free(code);
	cr_expect_eq(rtc->destroy(&program), 0);
}

Test(amd, hip_compiles_the_kernels_of_the_baseline)
{
	char sentence[BENCH_SENTENCE];
	bench_hiprtc_t rtc;
	if (!bench_library_find(&bench_hiprtc_library, &rtc, sentence)) {
		cr_assert(strstr(sentence, "there is no "), "%s", sentence);
		cr_skip_test("no compiler of HIP here");
	}
	expect_compiles(&rtc, bench_stores_hip, BENCH_STORES_KERNEL);
	for (int i = 0; i < BENCH_ROWS_UNITS; i++)
		expect_compiles(&rtc, bench_rows_hip, bench_rows_unit(i).kernel);
}
