/*
 * The calls of a GPU's runtime that NVIDIA's driver and AMD's HIP share. Both
 * vendors have them with the same arguments, under different names. The calls
 * are declared here, so that no build needs a vendor's headers. Tests compare
 * the declarations with those headers where they are installed.
 */
#ifndef TESSERA_BENCH_RUNTIME_H
#define TESSERA_BENCH_RUNTIME_H

#include <stddef.h>

/* Values that are the same for both vendors. */
enum {
	BENCH_NOT_READY = 600, /* CUDA_ERROR_NOT_READY, hipErrorNotReady */
	BENCH_STREAM_NON_BLOCKING = 1,
	BENCH_EVENT_DEFAULT = 0,
	BENCH_R_32F = 0, /* cudaDataType, hipDataType */
	BENCH_R_16F = 2,
	BENCH_R_16BF = 14,
};

/*
 * Each entry: field, NVIDIA's symbol, AMD's symbol, arguments. All return 0
 * where they succeed. Handles and addresses in device memory are pointers here,
 * and enumerations are ints. NVIDIA declares such an address as an integer of
 * 64 bits, which is passed as a pointer is.
 */
/* clang-format off */
#define BENCH_RUNTIME_ENTRIES(X) \
	X(device_bus, cuDeviceGetPCIBusId, hipDeviceGetPCIBusId, \
	  (char *out, int size, int device)) \
	X(stream_create, cuStreamCreate, hipStreamCreateWithFlags, \
	  (void **out, unsigned flags)) \
	X(stream_destroy, cuStreamDestroy_v2, hipStreamDestroy, (void *stream)) \
	X(stream_sync, cuStreamSynchronize, hipStreamSynchronize, (void *stream)) \
	X(event_create, cuEventCreate, hipEventCreateWithFlags, \
	  (void **out, unsigned flags)) \
	X(event_destroy, cuEventDestroy_v2, hipEventDestroy, (void *event)) \
	X(event_record, cuEventRecord, hipEventRecord, (void *event, void *stream)) \
	X(event_query, cuEventQuery, hipEventQuery, (void *event)) \
	X(event_elapsed, cuEventElapsedTime, hipEventElapsedTime, \
	  (float *ms_out, void *begin, void *end)) \
	X(alloc, cuMemAlloc_v2, hipMalloc, (void **out, size_t bytes)) \
	X(free, cuMemFree_v2, hipFree, (void *memory)) \
	X(fill, cuMemsetD8Async, hipMemsetD8Async, \
	  (void *memory, unsigned char byte, size_t bytes, void *stream)) \
	X(copy_to_host, cuMemcpyDtoH_v2, hipMemcpyDtoH, \
	  (void *to, void *from, size_t bytes)) \
	X(module_load, cuModuleLoadData, hipModuleLoadData, \
	  (void **out, const void *image)) \
	X(module_unload, cuModuleUnload, hipModuleUnload, (void *module)) \
	X(module_function, cuModuleGetFunction, hipModuleGetFunction, \
	  (void **out, void *module, const char *name)) \
	X(launch, cuLaunchKernel, hipModuleLaunchKernel, \
	  (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
	   unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, \
	   void **arguments, void **extra))
/* clang-format on */

typedef struct bench_runtime {
#define BENCH_FIELD(field_, nvidia_, amd_, arguments_) int(*field_) arguments_;
	BENCH_RUNTIME_ENTRIES(BENCH_FIELD)
#undef BENCH_FIELD
} bench_runtime_t;

#endif
