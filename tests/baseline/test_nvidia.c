/*
 * What the baseline declares of NVIDIA's libraries against the toolkit's
 * headers, where they are: values, sizes, places, and that each call compiles.
 */
#include <criterion/criterion.h>

#include "bench/gpu/nccl.h"
#include "bench/gpu/nvidia/libraries.h"

#if __has_include(<cuda.h>) && __has_include(<cublas_v2.h>) && __has_include(<nccl.h>)
#include <cublas_v2.h>
#include <cuda.h>
#include <nccl.h>

#define SAME(mine_, theirs_) _Static_assert((int)(mine_) == (int)(theirs_), #theirs_)
SAME(BENCH_NOT_READY, CUDA_ERROR_NOT_READY);
SAME(BENCH_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME(BENCH_EVENT_DEFAULT, CU_EVENT_DEFAULT);
SAME(BENCH_CU_MEMORY_DEVICE, CU_MEMORYTYPE_DEVICE);
SAME(BENCH_CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BUFFER);
SAME(BENCH_CU_JIT_ERROR_LOG_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(BENCH_R_32F, CUDA_R_32F);
SAME(BENCH_R_16F, CUDA_R_16F);
SAME(BENCH_R_16BF, CUDA_R_16BF);
SAME(BENCH_CUBLAS_OP_N, CUBLAS_OP_N);
SAME(BENCH_CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F);
SAME(BENCH_CUBLAS_GEMM_DEFAULT, CUBLAS_GEMM_DEFAULT);
SAME(BENCH_NCCL_F16, ncclFloat16);
SAME(BENCH_NCCL_F32, ncclFloat32);
SAME(BENCH_NCCL_BF16, ncclBfloat16);
SAME(BENCH_NCCL_SUM, ncclSum);
SAME(sizeof(bench_nccl_id_t), sizeof(ncclUniqueId));
SAME(0, CUDA_SUCCESS);
SAME(0, CUBLAS_STATUS_SUCCESS);
SAME(0, ncclSuccess);

/*
 * Enumerations are passed as ints, pointers to device memory as 64 bits, a
 * device as an int.
 */
SAME(sizeof(int), sizeof(cublasOperation_t));
SAME(sizeof(int), sizeof(cudaDataType));
SAME(sizeof(int), sizeof(cublasComputeType_t));
SAME(sizeof(int), sizeof(cublasGemmAlgo_t));
SAME(sizeof(int), sizeof(cublasStatus_t));
SAME(sizeof(int), sizeof(ncclDataType_t));
SAME(sizeof(int), sizeof(ncclResult_t));
SAME(sizeof(int), sizeof(CUresult));
SAME(sizeof(int), sizeof(CUdevice));
SAME(sizeof(int), sizeof(CUjit_option));
SAME(sizeof(uint64_t), sizeof(CUdeviceptr));
SAME(sizeof(void *), sizeof(CUdeviceptr));

#define PLACE(mine_, theirs_) \
	SAME(offsetof(bench_copy_2d_t, mine_), offsetof(CUDA_MEMCPY2D, theirs_))
SAME(sizeof(bench_copy_2d_t), sizeof(CUDA_MEMCPY2D));
PLACE(src_x_bytes, srcXInBytes);
PLACE(src_y, srcY);
PLACE(src_type, srcMemoryType);
PLACE(src_host, srcHost);
PLACE(src_device, srcDevice);
PLACE(src_array, srcArray);
PLACE(src_pitch, srcPitch);
PLACE(dst_x_bytes, dstXInBytes);
PLACE(dst_y, dstY);
PLACE(dst_type, dstMemoryType);
PLACE(dst_host, dstHost);
PLACE(dst_device, dstDevice);
PLACE(dst_array, dstArray);
PLACE(dst_pitch, dstPitch);
PLACE(width_bytes, WidthInBytes);
PLACE(height, Height);

/*
 * A call with the baseline's arguments compiles against the vendor's prototype:
 * their number and kinds are right.
 */
static int number;
static unsigned flags;
static size_t bytes;
static void *handle;
static float ms;
static CUdeviceptr memory;
static ncclUniqueId unique;
#define COMPILES(call_) _Static_assert(sizeof(call_) == sizeof(int), #call_)
COMPILES(cuDeviceGetPCIBusId((char *)handle, number, number));
COMPILES(cuDevicePrimaryCtxRetain((CUcontext *)handle, number));
COMPILES(cuDevicePrimaryCtxRelease(number));
COMPILES(cuStreamCreate((CUstream *)handle, flags));
COMPILES(cuStreamSynchronize(handle));
COMPILES(cuEventCreate((CUevent *)handle, flags));
COMPILES(cuEventRecord(handle, handle));
COMPILES(cuEventElapsedTime(&ms, handle, handle));
COMPILES(cuMemAlloc(&memory, bytes));
COMPILES(cuMemFree(memory));
COMPILES(cuMemsetD8Async(memory, (unsigned char)0, bytes, handle));
COMPILES(cuMemcpyDtoH(handle, memory, bytes));
COMPILES(cuMemcpy2DAsync((const CUDA_MEMCPY2D *)handle, handle));
COMPILES(cuModuleLoadData((CUmodule *)handle, handle));
COMPILES(cuModuleLoadDataEx((CUmodule *)handle, handle, flags, (CUjit_option *)handle,
			    (void **)handle));
COMPILES(cuModuleGetFunction((CUfunction *)handle, handle, (const char *)handle));
COMPILES(cuLaunchKernel(handle, flags, flags, flags, flags, flags, flags, flags, handle,
			(void **)handle, (void **)handle));
COMPILES(cublasCreate((cublasHandle_t *)handle));
COMPILES(cublasGetVersion(handle, &number));
COMPILES(cublasSetStream(handle, handle));
COMPILES(cublasGemmEx(handle, (cublasOperation_t)0, (cublasOperation_t)0, number, number, number,
		      handle, handle, (cudaDataType)0, number, handle, (cudaDataType)0, number,
		      handle, handle, (cudaDataType)0, number, (cublasComputeType_t)0,
		      (cublasGemmAlgo_t)0));
COMPILES(ncclGetUniqueId(&unique));
COMPILES(ncclCommInitRank((ncclComm_t *)handle, number, unique, number));
COMPILES(ncclAllGather(handle, handle, bytes, (ncclDataType_t)0, handle, handle));
COMPILES(ncclAllReduce(handle, handle, bytes, (ncclDataType_t)0, ncclSum, handle, handle));
COMPILES(ncclReduceScatter(handle, handle, bytes, (ncclDataType_t)0, ncclSum, handle, handle));
COMPILES(ncclReduce(handle, handle, bytes, (ncclDataType_t)0, ncclSum, number, handle, handle));
COMPILES(ncclSend(handle, bytes, (ncclDataType_t)0, number, handle, handle));
COMPILES(ncclRecv(handle, bytes, (ncclDataType_t)0, number, handle, handle));
COMPILES(ncclBroadcast(handle, handle, bytes, (ncclDataType_t)0, number, handle, handle));

/**
 * The vendor's headers rename some functions to their newest version; the
 * symbols that are looked up are those names.
 */
#define TEXT_(name_) #name_
#define TEXT(name_) TEXT_(name_)
Test(nvidia, symbols_are_those_of_the_headers)
{
	static const struct {
		const char *theirs, *mine;
	} names[] = {
		{TEXT(cuDevicePrimaryCtxRelease), "cuDevicePrimaryCtxRelease_v2"},
		{TEXT(cuCtxPushCurrent), "cuCtxPushCurrent_v2"},
		{TEXT(cuCtxPopCurrent), "cuCtxPopCurrent_v2"},
		{TEXT(cuStreamDestroy), "cuStreamDestroy_v2"},
		{TEXT(cuEventDestroy), "cuEventDestroy_v2"},
		{TEXT(cuMemAlloc), "cuMemAlloc_v2"},
		{TEXT(cuMemFree), "cuMemFree_v2"},
		{TEXT(cuMemcpyDtoH), "cuMemcpyDtoH_v2"},
		{TEXT(cuMemcpy2DAsync), "cuMemcpy2DAsync_v2"},
		{TEXT(cublasCreate), "cublasCreate_v2"},
		{TEXT(cublasDestroy), "cublasDestroy_v2"},
		{TEXT(cublasGetVersion), "cublasGetVersion_v2"},
		{TEXT(cublasSetStream), "cublasSetStream_v2"},
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		cr_expect_eq(strcmp(names[i].theirs, names[i].mine), 0, "%s is %s in the headers",
			     names[i].mine, names[i].theirs);
}
#else
Test(nvidia, symbols_are_those_of_the_headers)
{
	cr_skip_test("no headers of the CUDA toolkit, cuBLAS and NCCL here");
}
#endif

Test(nvidia, real_libraries_have_every_entry)
{
	char sentence[BENCH_SENTENCE];
	bench_cublas_t cublas;
	bench_nccl_t nccl;
	if (!bench_library_find(&bench_cublas_library, &cublas, sentence) ||
	    !bench_library_find(&bench_nccl_library, &nccl, sentence)) {
		cr_assert(strstr(sentence, "there is no "), "%s", sentence);
		cr_skip_test("no cuBLAS or no NCCL here");
	}
	int version = 0;
	cr_assert(nccl.version(&version) == 0 && version >= 20000);
}
