/*
 * The HIP runtime, loaded when the program runs. Nothing here is linked with
 * it, so the executable also starts without it.
 */
#ifndef TESSERA_HIP_RUNTIME_H
#define TESSERA_HIP_RUNTIME_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What of HIP's C interface is used is declared here, under names of our own,
 * so that no header of a vendor's is needed to build. The values and the
 * entries are the same in HIP 5, 6 and 7;
 * tests/unit/backends/test_hip_header.c compares them with the vendor's where
 * it is installed, and nvidia/platform.cpp with the one of HIP's NVIDIA
 * platform.
 */

/** hipError_t. */
typedef int tsr_hip_code_t;

enum {
	TSR_HIP_SUCCESS = 0,
	TSR_HIP_ERROR_INVALID_VALUE = 1,
	TSR_HIP_ERROR_OUT_OF_MEMORY = 2,
	TSR_HIP_ERROR_NO_DEVICE = 100,
	TSR_HIP_ERROR_INVALID_DEVICE = 101,
	TSR_HIP_ERROR_NOT_FOUND = 500,
	TSR_HIP_ERROR_NOT_READY = 600
};

/** hipDeviceAttribute_t. */
enum {
	TSR_HIP_MULTIPROCESSORS = 63,
	TSR_HIP_SHARED_BYTES = 74,      /* most shared memory of a block */
	TSR_HIP_WALL_CLOCK_KHZ = 10017, /* not in HIP 5.2 */
};

/** hipFunction_attribute. */
enum {
	TSR_HIP_FUNCTION_THREADS = 0,
	TSR_HIP_FUNCTION_SHARED_BYTES = 1,
	TSR_HIP_FUNCTION_LOCAL_BYTES = 3
};

/** hipMemcpyKind. */
enum { TSR_HIP_TO_DEVICE = 1, TSR_HIP_TO_HOST = 2, TSR_HIP_BY_ADDRESS = 4 };

/**
 * Flags of hipHostMalloc, hipExtMallocWithFlags, hipStreamCreateWithFlags and
 * hipIpcOpenMemHandle.
 */
enum { TSR_HIP_HOST_PORTABLE = 1, TSR_HIP_HOST_MAPPED = 2, TSR_HIP_HOST_COHERENT = 0x40000000 };
enum { TSR_HIP_MEMORY_FINE = 1, TSR_HIP_MEMORY_UNCACHED = 3 /* since HIP 5.7 */ };
enum { TSR_HIP_STREAM_NON_BLOCKING = 1 };
enum { TSR_HIP_IPC_LAZY_PEERS = 1 }; /* HIP 5 has 0 for it */

typedef struct tsr_hip_stream *tsr_hip_stream_t;
typedef struct tsr_hip_event *tsr_hip_event_t;
typedef struct tsr_hip_module *tsr_hip_module_t;
typedef struct tsr_hip_function *tsr_hip_function_t;

/** hipIpcMemHandle_t. */
typedef struct tsr_hip_ipc {
	char bytes[64];
} tsr_hip_ipc_t;

/** Larger than any version's hipDeviceProp_t. */
typedef struct tsr_hip_properties {
	char bytes[8192];
} tsr_hip_properties_t;

/*
 * Every entry that is used: field and function, result and parameters. Since
 * HIP 6, hipGetDeviceProperties fills another struct, and has another name,
 * which is tried first.
 */
/* clang-format off */
#define TSR_HIP_ENTRIES(X) \
	X(error_name, hipGetErrorName, const char *, (tsr_hip_code_t)) \
	X(error_string, hipGetErrorString, const char *, (tsr_hip_code_t)) \
	X(device_count, hipGetDeviceCount, tsr_hip_code_t, (int *)) \
	X(device_get, hipGetDevice, tsr_hip_code_t, (int *)) \
	X(device_set, hipSetDevice, tsr_hip_code_t, (int)) \
	X(device_in_use, hipDevicePrimaryCtxGetState, tsr_hip_code_t, (int, unsigned *, int *)) \
	X(device_name, hipDeviceGetName, tsr_hip_code_t, (char *, int, int)) \
	X(device_attribute, hipDeviceGetAttribute, tsr_hip_code_t, (int *, int, int)) \
	X(device_properties, hipGetDeviceProperties, tsr_hip_code_t, (tsr_hip_properties_t *, int)) \
	X(module_load, hipModuleLoadData, tsr_hip_code_t, (tsr_hip_module_t *, const void *)) \
	X(module_unload, hipModuleUnload, tsr_hip_code_t, (tsr_hip_module_t)) \
	X(module_function, hipModuleGetFunction, tsr_hip_code_t, (tsr_hip_function_t *, tsr_hip_module_t, const char *)) \
	X(function_attribute, hipFuncGetAttribute, tsr_hip_code_t, (int *, int, tsr_hip_function_t)) \
	X(occupancy, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, tsr_hip_code_t, (int *, tsr_hip_function_t, int, size_t)) \
	X(launch, hipModuleLaunchKernel, tsr_hip_code_t, (tsr_hip_function_t, unsigned, unsigned, unsigned, unsigned, unsigned, \
	  unsigned, unsigned, tsr_hip_stream_t, void **, void **)) \
	X(mem_alloc, hipMalloc, tsr_hip_code_t, (void **, size_t)) \
	X(mem_alloc_kind, hipExtMallocWithFlags, tsr_hip_code_t, (void **, size_t, unsigned)) \
	X(mem_free, hipFree, tsr_hip_code_t, (void *)) \
	X(host_alloc, hipHostMalloc, tsr_hip_code_t, (void **, size_t, unsigned)) \
	X(host_pointer, hipHostGetDevicePointer, tsr_hip_code_t, (void **, void *, unsigned)) \
	X(host_free, hipHostFree, tsr_hip_code_t, (void *)) \
	X(copy, hipMemcpyAsync, tsr_hip_code_t, (void *, const void *, size_t, int, tsr_hip_stream_t)) \
	X(copy_2d, hipMemcpy2DAsync, tsr_hip_code_t, (void *, size_t, const void *, size_t, size_t, size_t, int, tsr_hip_stream_t)) \
	X(fill, hipMemsetAsync, tsr_hip_code_t, (void *, int, size_t, tsr_hip_stream_t)) \
	X(ipc_get, hipIpcGetMemHandle, tsr_hip_code_t, (tsr_hip_ipc_t *, void *)) \
	X(ipc_open, hipIpcOpenMemHandle, tsr_hip_code_t, (void **, tsr_hip_ipc_t, unsigned)) \
	X(ipc_close, hipIpcCloseMemHandle, tsr_hip_code_t, (void *)) \
	X(stream_create, hipStreamCreateWithFlags, tsr_hip_code_t, (tsr_hip_stream_t *, unsigned)) \
	X(stream_create_at, hipStreamCreateWithPriority, tsr_hip_code_t, (tsr_hip_stream_t *, unsigned, int)) \
	X(stream_priorities, hipDeviceGetStreamPriorityRange, tsr_hip_code_t, (int *, int *)) \
	X(stream_destroy, hipStreamDestroy, tsr_hip_code_t, (tsr_hip_stream_t)) \
	X(stream_query, hipStreamQuery, tsr_hip_code_t, (tsr_hip_stream_t)) \
	X(stream_sync, hipStreamSynchronize, tsr_hip_code_t, (tsr_hip_stream_t)) \
	X(stream_wait, hipStreamWaitEvent, tsr_hip_code_t, (tsr_hip_stream_t, tsr_hip_event_t, unsigned)) \
	X(event_create, hipEventCreateWithFlags, tsr_hip_code_t, (tsr_hip_event_t *, unsigned)) \
	X(event_destroy, hipEventDestroy, tsr_hip_code_t, (tsr_hip_event_t)) \
	X(event_record, hipEventRecord, tsr_hip_code_t, (tsr_hip_event_t, tsr_hip_stream_t)) \
	X(event_query, hipEventQuery, tsr_hip_code_t, (tsr_hip_event_t)) \
	X(event_elapsed, hipEventElapsedTime, tsr_hip_code_t, (float *, tsr_hip_event_t, tsr_hip_event_t))
/* clang-format on */

typedef struct tsr_hip_runtime {
#define TSR_HIP_FIELD(field_, function_, result_, parameters_) result_(*field_) parameters_;
	TSR_HIP_ENTRIES(TSR_HIP_FIELD)
#undef TSR_HIP_FIELD
} tsr_hip_runtime_t;

/**
 * HIP on another vendor's GPU is a library with this function, which fills in
 * the table and returns its size. Without it, the library is AMD's own and has
 * the functions themselves.
 */
typedef int (*tsr_hip_platform_fn)(tsr_hip_runtime_t *runtime_out);
#define TSR_HIP_PLATFORM tsr_hip_platform

#ifdef __cplusplus
}
#endif
#endif
