/*
 * The few entries of NVIDIA's driver, cuBLAS and NCCL that the baseline calls.
 * They are declared here, so that no build needs the vendor's headers;
 * tests/baseline/test_vendor.c compares them with those headers where a toolkit
 * is.
 */
#ifndef TESSERA_BENCH_VENDOR_H
#define TESSERA_BENCH_VENDOR_H

#include <stddef.h>
#include <stdint.h>

#include "bench/internal.h"

/* Constants under the vendor's values. Handles are pointers, and enumerations ints. */
enum {
	BENCH_CU_NOT_READY = 600,
	BENCH_CU_STREAM_NON_BLOCKING = 1,
	BENCH_CU_EVENT_DEFAULT = 0,
	BENCH_CU_MEMORY_DEVICE = 2,
	BENCH_CU_JIT_ERROR_LOG = 5,
	BENCH_CU_JIT_ERROR_LOG_BYTES = 6,
	BENCH_R_32F = 0,
	BENCH_R_16F = 2,
	BENCH_R_16BF = 14,
	BENCH_CUBLAS_OP_N = 0,
	BENCH_CUBLAS_COMPUTE_32F = 68,
	BENCH_CUBLAS_GEMM_DEFAULT = -1,
	BENCH_NCCL_F16 = 6,
	BENCH_NCCL_F32 = 7,
	BENCH_NCCL_BF16 = 9,
	BENCH_NCCL_SUM = 0, /* ncclRedOp_t */
	BENCH_NCCL_ID_BYTES = 128
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

/** ncclUniqueId, which goes by value. */
typedef struct bench_nccl_id {
	char bytes[BENCH_NCCL_ID_BYTES];
} bench_nccl_id_t;

/*
 * Each entry: what it returns, field, symbol, arguments. All that return an int
 * return 0 where they succeed.
 */
#define BENCH_CUDA_ENTRIES(X)                                                                      \
	X(int, init, cuInit, (unsigned flags))                                                     \
	X(int, error_string, cuGetErrorString, (int code, const char **out))                       \
	X(int, device_get, cuDeviceGet, (int *out, int ordinal))                                   \
	X(int, device_bus, cuDeviceGetPCIBusId, (char *out, int size, int device))                 \
	X(int, retain, cuDevicePrimaryCtxRetain, (void **out, int device))                         \
	X(int, release, cuDevicePrimaryCtxRelease_v2, (int device))                                \
	X(int, push, cuCtxPushCurrent_v2, (void *context))                                         \
	X(int, pop, cuCtxPopCurrent_v2, (void **out))                                              \
	X(int, stream_create, cuStreamCreate, (void **out, unsigned flags))                        \
	X(int, stream_destroy, cuStreamDestroy_v2, (void *stream))                                 \
	X(int, stream_sync, cuStreamSynchronize, (void *stream))                                   \
	X(int, event_create, cuEventCreate, (void **out, unsigned flags))                          \
	X(int, event_destroy, cuEventDestroy_v2, (void *event))                                    \
	X(int, event_record, cuEventRecord, (void *event, void *stream))                           \
	X(int, event_query, cuEventQuery, (void *event))                                           \
	X(int, event_elapsed, cuEventElapsedTime, (float *ms_out, void *begin, void *end))         \
	X(int, alloc, cuMemAlloc_v2, (uint64_t * out, size_t bytes))                               \
	X(int, free, cuMemFree_v2, (uint64_t pointer))                                             \
	X(int, fill, cuMemsetD8Async,                                                              \
	  (uint64_t pointer, unsigned char byte, size_t bytes, void *stream))                      \
	X(int, copy_to_host, cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes))             \
	X(int, copy_2d, cuMemcpy2DAsync_v2, (const bench_copy_2d_t *copy, void *stream))           \
	X(int, module_load, cuModuleLoadData, (void **out, const void *image))                     \
	X(int, module_compile, cuModuleLoadDataEx,                                                 \
	  (void **out, const void *image, unsigned count, int *options, void **values))            \
	X(int, module_unload, cuModuleUnload, (void *module))                                      \
	X(int, module_function, cuModuleGetFunction, (void **out, void *module, const char *name)) \
	X(int, launch, cuLaunchKernel,                                                             \
	  (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,    \
	   unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream,                \
	   void **arguments, void **extra))

#define BENCH_CUBLAS_ENTRIES(X)                                                            \
	X(int, create, cublasCreate_v2, (void **out))                                      \
	X(int, destroy, cublasDestroy_v2, (void *handle))                                  \
	X(int, version, cublasGetVersion_v2, (void *handle, int *out))                     \
	X(int, set_stream, cublasSetStream_v2, (void *handle, void *stream))               \
	X(const char *, status_string, cublasGetStatusString, (int status))                \
	X(int, gemm, cublasGemmEx,                                                         \
	  (void *handle, int trans_a, int trans_b, int m, int n, int k, const void *alpha, \
	   const void *a, int a_type, int lda, const void *b, int b_type, int ldb,         \
	   const void *beta, void *c, int c_type, int ldc, int compute_type, int algorithm))

#define BENCH_NCCL_ENTRIES(X)                                                                     \
	X(int, version, ncclGetVersion, (int *out))                                               \
	X(int, unique_id, ncclGetUniqueId, (bench_nccl_id_t * out))                               \
	X(int, join, ncclCommInitRank, (void **out, int ranks, bench_nccl_id_t id, int rank))     \
	X(int, destroy, ncclCommDestroy, (void *comm))                                            \
	X(int, abort, ncclCommAbort, (void *comm))                                                \
	X(const char *, error_string, ncclGetErrorString, (int code))                             \
	X(int, group_start, ncclGroupStart, (void))                                               \
	X(int, group_end, ncclGroupEnd, (void))                                                   \
	X(int, all_gather, ncclAllGather,                                                         \
	  (const void *send, void *receive, size_t count, int type, void *comm, void *stream))    \
	X(int, reduce_scatter, ncclReduceScatter,                                                 \
	  (const void *send, void *receive, size_t count, int type, int op, void *comm,           \
	   void *stream))                                                                         \
	X(int, reduce, ncclReduce,                                                                \
	  (const void *send, void *receive, size_t count, int type, int op, int root, void *comm, \
	   void *stream))                                                                         \
	X(int, broadcast, ncclBroadcast,                                                          \
	  (const void *send, void *receive, size_t count, int type, int root, void *comm,         \
	   void *stream))

#define BENCH_FIELD(type_, field_, symbol_, arguments_) type_(*field_) arguments_;
typedef struct bench_cuda {
	BENCH_CUDA_ENTRIES(BENCH_FIELD)
} bench_cuda_t;
typedef struct bench_cublas {
	BENCH_CUBLAS_ENTRIES(BENCH_FIELD)
} bench_cublas_t;
typedef struct bench_nccl {
	BENCH_NCCL_ENTRIES(BENCH_FIELD)
} bench_nccl_t;
#undef BENCH_FIELD

/** Find them, as bench_library_find does. */
bool bench_cuda_find(bench_cuda_t *cuda_out, char sentence[BENCH_SENTENCE]);
bool bench_cublas_find(bench_cublas_t *cublas_out, char sentence[BENCH_SENTENCE]);
bool bench_nccl_find(bench_nccl_t *nccl_out, char sentence[BENCH_SENTENCE]);

#endif
