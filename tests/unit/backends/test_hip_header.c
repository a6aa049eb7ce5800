/* What hip/runtime.h declares of HIP is what the vendor's header says, where that is installed. */
#include <criterion/criterion.h>

#include "hip/runtime.h"

#if __has_include(<hip/hip_runtime_api.h>)

#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>
#include <hip/hip_version.h>

#define SAME(ours_, theirs_) _Static_assert((int)(ours_) == (int)(theirs_), #theirs_)
SAME(TSR_HIP_SUCCESS, hipSuccess);
SAME(TSR_HIP_ERROR_INVALID_VALUE, hipErrorInvalidValue);
SAME(TSR_HIP_ERROR_OUT_OF_MEMORY, hipErrorOutOfMemory);
SAME(TSR_HIP_ERROR_NO_DEVICE, hipErrorNoDevice);
SAME(TSR_HIP_ERROR_INVALID_DEVICE, hipErrorInvalidDevice);
SAME(TSR_HIP_ERROR_NOT_FOUND, hipErrorNotFound);
SAME(TSR_HIP_ERROR_NOT_READY, hipErrorNotReady);
SAME(TSR_HIP_MULTIPROCESSORS, hipDeviceAttributeMultiprocessorCount);
SAME(TSR_HIP_SHARED_BYTES, hipDeviceAttributeMaxSharedMemoryPerBlock);
SAME(TSR_HIP_FUNCTION_THREADS, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(TSR_HIP_FUNCTION_SHARED_BYTES, HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(TSR_HIP_FUNCTION_LOCAL_BYTES, HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(TSR_HIP_TO_DEVICE, hipMemcpyHostToDevice);
SAME(TSR_HIP_TO_HOST, hipMemcpyDeviceToHost);
SAME(TSR_HIP_BY_ADDRESS, hipMemcpyDefault);
SAME(TSR_HIP_HOST_PORTABLE, hipHostMallocPortable);
SAME(TSR_HIP_HOST_MAPPED, hipHostMallocMapped);
SAME(TSR_HIP_HOST_COHERENT, hipHostMallocCoherent);
SAME(TSR_HIP_MEMORY_FINE, hipDeviceMallocFinegrained);
SAME(TSR_HIP_STREAM_NON_BLOCKING, hipStreamNonBlocking);
#if HIP_VERSION >= 50700000
SAME(TSR_HIP_MEMORY_UNCACHED, hipDeviceMallocUncached);
SAME(TSR_HIP_WALL_CLOCK_KHZ, hipDeviceAttributeWallClockRate);
#endif
_Static_assert(sizeof(tsr_hip_ipc_t) == sizeof(hipIpcMemHandle_t), "the handle");
_Static_assert(sizeof(tsr_hip_properties_t) >= sizeof(hipDeviceProp_t), "room for the properties");

/** Every function that is looked up is one of the header's. */
typedef struct theirs {
#define THEIRS(field_, function_, result_, parameters_) __typeof__(function_) *field_;
	TSR_HIP_ENTRIES(THEIRS)
} theirs_t;

Test(hip_header, the_vendors_header_says_the_same)
{
	cr_expect_eq(sizeof(theirs_t), sizeof(tsr_hip_runtime_t));
}

#else

Test(hip_header, the_vendors_header_says_the_same)
{
	cr_skip_test("no HIP headers here: ci/install-deps installs libamdhip64-dev");
}

#endif
