/*
 * The calls of NVIDIA's driver and of cuBLAS that the baseline makes, beside
 * those that both vendors share (bench/gpu/runtime.h). They are declared here, so
 * that no build needs the vendor's headers. tests/baseline/test_nvidia.c
 * compares them with those headers where a toolkit is installed.
 */
#ifndef TESSERA_BENCH_NVIDIA_LIBRARIES_H
#define TESSERA_BENCH_NVIDIA_LIBRARIES_H

#include <stdint.h>

#include "bench/gpu/library.h"
#include "bench/gpu/runtime.h"
#include "bench/internal.h"

/* Constants under the vendor's values. */
enum {
	BENCH_CU_MEMORY_DEVICE = 2,
	BENCH_CU_JIT_ERROR_LOG = 5,
	BENCH_CU_JIT_ERROR_LOG_BYTES = 6,
	BENCH_CUBLAS_OP_N = 0,
	BENCH_CUBLAS_COMPUTE_32F = 68,
	BENCH_CUBLAS_GEMM_DEFAULT = -1,
};

/** CUDA_MEMCPY2D. */
typedef struct bench_copy_2d {
	size_t src_x_bytes, src_y;
	int src_type;
	const void *src_host;
	uint64_t src_device;
	void *src_array;
	size_t src_pitch;
	size_t dst_x_bytes, dst_y;
	int dst_type;
	void *dst_host;
	uint64_t dst_device;
	void *dst_array;
	size_t dst_pitch;
	size_t width_bytes, height;
} bench_copy_2d_t;

/*
 * Each entry: what it returns, field, symbol, arguments. All that return an int
 * return 0 where they succeed.
 */
/* clang-format off */
#define BENCH_CUDA_ENTRIES(X) \
	X(int, init, cuInit, (unsigned flags)) \
	X(int, error_string, cuGetErrorString, (int code, const char **out)) \
	X(int, device_get, cuDeviceGet, (int *out, int ordinal)) \
	X(int, retain, cuDevicePrimaryCtxRetain, (void **out, int device)) \
	X(int, release, cuDevicePrimaryCtxRelease_v2, (int device)) \
	X(int, push, cuCtxPushCurrent_v2, (void *context)) \
	X(int, pop, cuCtxPopCurrent_v2, (void **out)) \
	X(int, copy_2d, cuMemcpy2DAsync_v2, (const bench_copy_2d_t *copy, void *stream)) \
	X(int, module_compile, cuModuleLoadDataEx, \
	  (void **out, const void *image, unsigned count, int *options, void **values))

#define BENCH_CUBLAS_ENTRIES(X) \
	X(int, create, cublasCreate_v2, (void **out)) \
	X(int, destroy, cublasDestroy_v2, (void *handle)) \
	X(int, version, cublasGetVersion_v2, (void *handle, int *out)) \
	X(int, set_stream, cublasSetStream_v2, (void *handle, void *stream)) \
	X(const char *, status_string, cublasGetStatusString, (int status)) \
	X(int, gemm, cublasGemmEx, \
	  (void *handle, int trans_a, int trans_b, int m, int n, int k, const void *alpha, \
	   const void *a, int a_type, int lda, const void *b, int b_type, int ldb, \
	   const void *beta, void *c, int c_type, int ldc, int compute_type, int algorithm))
/* clang-format on */

typedef struct bench_cuda {
	bench_runtime_t run;
	BENCH_CUDA_ENTRIES(BENCH_TABLE_FIELD)
} bench_cuda_t;
typedef struct bench_cublas {
	BENCH_CUBLAS_ENTRIES(BENCH_TABLE_FIELD)
} bench_cublas_t;

/**
 * For bench_library_find: they fill in a bench_cuda_t, a bench_cublas_t and a
 * bench_nccl_t.
 */
extern const bench_library_t bench_cuda_library, bench_cublas_library, bench_nccl_library;

#endif
