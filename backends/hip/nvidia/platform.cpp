/*
 * HIP's NVIDIA platform as a library of its own, which the backend opens in the place of AMD's: HIP's calls are inline functions of
 * the vendor's headers there, and end in the CUDA runtime and driver. So the host half runs for real on an NVIDIA GPU.
 */
#include "hip/nvidia/cuda13.h"

#include <hip/hip_runtime_api.h>

#include <cstdio>

#include "hip/runtime.h"

/* ---- what is declared in hip/runtime.h is what the headers say */

static_assert((int)hipSuccess == TSR_HIP_SUCCESS && (int)hipErrorInvalidValue == TSR_HIP_ERROR_INVALID_VALUE);
static_assert((int)hipErrorOutOfMemory == TSR_HIP_ERROR_OUT_OF_MEMORY && (int)hipErrorNotFound == TSR_HIP_ERROR_NOT_FOUND);
static_assert((int)hipErrorNoDevice == TSR_HIP_ERROR_NO_DEVICE && (int)hipErrorInvalidDevice == TSR_HIP_ERROR_INVALID_DEVICE);
static_assert((int)hipErrorNotReady == TSR_HIP_ERROR_NOT_READY);
static_assert((int)hipDeviceAttributeMultiprocessorCount == TSR_HIP_MULTIPROCESSORS);
static_assert((int)hipDeviceAttributeMaxSharedMemoryPerBlock == TSR_HIP_SHARED_BYTES);
static_assert((int)HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK == TSR_HIP_FUNCTION_THREADS);
static_assert((int)HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES == TSR_HIP_FUNCTION_SHARED_BYTES);
static_assert((int)HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES == TSR_HIP_FUNCTION_LOCAL_BYTES);
static_assert((int)hipMemcpyHostToDevice == TSR_HIP_TO_DEVICE && (int)hipMemcpyDeviceToHost == TSR_HIP_TO_HOST);
static_assert((int)hipMemcpyDefault == TSR_HIP_BY_ADDRESS);
static_assert(hipHostMallocPortable == TSR_HIP_HOST_PORTABLE && hipHostMallocMapped == TSR_HIP_HOST_MAPPED);
static_assert(hipStreamNonBlocking == TSR_HIP_STREAM_NON_BLOCKING && hipIpcMemLazyEnablePeerAccess == TSR_HIP_IPC_LAZY_PEERS);
static_assert(sizeof(hipDeviceProp_t) <= sizeof(tsr_hip_properties_t) && sizeof(hipIpcMemHandle_t) == sizeof(tsr_hip_ipc_t));

/* ---- what the headers lack */

/** The architecture has a place in the struct, which the headers leave empty. */
static hipError_t properties(hipDeviceProp_t *out, int device)
{
	const hipError_t code = hipGetDeviceProperties(out, device);
	if (code == hipSuccess)
		snprintf(out->gcnArchName, sizeof out->gcnArchName, "sm_%d%d", out->major, out->minor);
	return code;
}

/** A block may have as much shared memory as it opts in to: see function(). The clock of the device code counts nanoseconds. */
static hipError_t attribute(int *out, hipDeviceAttribute_t which, int device)
{
	if ((int)which == TSR_HIP_WALL_CLOCK_KHZ) {
		*out = 1000000;
		return hipSuccess;
	}
	if (which == hipDeviceAttributeMaxSharedMemoryPerBlock)
		return hipCUDAErrorTohipError(cudaDeviceGetAttribute(out, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
	return hipDeviceGetAttribute(out, which, device);
}

/**
 * Loads the function now, because at its first launch that might wait for a kernel that waits for it; and opts it in to all the
 * shared memory that a block may have.
 */
static hipError_t function(hipFunction_t *out, hipModule_t module, const char *name)
{
	int fixed = 0, most = 0;
	CUdevice device;
	const hipError_t found = hipModuleGetFunction(out, module, name);
	if (found != hipSuccess)
		return found;
	CUresult code = cuFuncLoad(*out);
	if (code == CUDA_SUCCESS)
		code = cuCtxGetDevice(&device);
	if (code == CUDA_SUCCESS)
		code = cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);
	if (code == CUDA_SUCCESS)
		code = cuFuncGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, *out);
	if (code == CUDA_SUCCESS && fixed < most)
		code = cuFuncSetAttribute(*out, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most - fixed);
	return hipCUResultTohipError(code);
}

/** Memory of a GPU is as coherent as it gets. */
static hipError_t alloc_kind(void **out, size_t size_bytes, unsigned)
{
	return hipMalloc(out, size_bytes);
}

static hipError_t host_alloc(void **out, size_t size_bytes, unsigned flags)
{
	return hipHostMalloc(out, size_bytes, flags & ~(unsigned)TSR_HIP_HOST_COHERENT);
}

/** Local memory that has grown stays: to let it shrink and grow waits for running kernels. It is a hint, so it may fail. */
static hipError_t set_device(int device)
{
	int active = 0;
	unsigned flags = 0;
	CUdevice id;
	if (cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&id, device) == CUDA_SUCCESS &&
	    cuDevicePrimaryCtxGetState(id, &flags, &active) == CUDA_SUCCESS && !active)
		(void)cuDevicePrimaryCtxSetFlags(id, flags | CU_CTX_LMEM_RESIZE_TO_MAX);
	return hipSetDevice(device);
}

/* ---- the table */

/* What the plug-in calls by these names is the above, and of the forms of hipMalloc the plain one. */
#define hipGetDeviceProperties properties
#define hipDeviceGetAttribute attribute
#define hipModuleGetFunction function
#define hipExtMallocWithFlags alloc_kind
#define hipHostMalloc host_alloc
#define hipSetDevice set_device
#define hipMalloc static_cast<hipError_t (*)(void **, size_t)>(hipMalloc)

/** The same calling convention: as many parameters, each of the same size. Enumerations and handles are ours by another name. */
template <typename R, typename... P, typename R2, typename... P2>
static auto same(R (*theirs)(P...), R2 (*)(P2...)) -> R2 (*)(P2...)
{
	static_assert(sizeof...(P) == sizeof...(P2));
	static_assert(sizeof(R) == sizeof(R2) && ((sizeof(P) == sizeof(P2)) && ...));
	return reinterpret_cast<R2 (*)(P2...)>(theirs);
}

#define FILL(field_, function_, result_, parameters_) \
	runtime_out->field_ = same(function_, static_cast<result_(*) parameters_>(nullptr));

extern "C" __attribute__((visibility("default"))) int TSR_HIP_PLATFORM(tsr_hip_runtime_t *runtime_out)
{
	TSR_HIP_ENTRIES(FILL)
	return (int)sizeof *runtime_out;
}
