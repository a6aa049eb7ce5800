/*
 * The CUDA driver, reached when the program runs: nothing here links it, so the
 * executable starts where there is none.
 */
#ifndef TESSERA_CUDA_DRIVER_H
#define TESSERA_CUDA_DRIVER_H

#include <cuda.h>

#include "tessera/status.h"

/*
 * Every entry that is used: field and function. cuda.h renames functions to
 * their newest version (cuMemAlloc to cuMemAlloc_v2); fields keep the plain
 * name, and the symbol that is looked up is the renamed one.
 */
#define TSR_CUDA_ENTRIES(X)                                       \
	X(error_name, cuGetErrorName)                             \
	X(error_string, cuGetErrorString)                         \
	X(init, cuInit)                                           \
	X(device_count, cuDeviceGetCount)                         \
	X(device_get, cuDeviceGet)                                \
	X(device_name, cuDeviceGetName)                           \
	X(device_attribute, cuDeviceGetAttribute)                 \
	X(primary_retain, cuDevicePrimaryCtxRetain)               \
	X(primary_release, cuDevicePrimaryCtxRelease)             \
	X(primary_set_flags, cuDevicePrimaryCtxSetFlags)          \
	X(ctx_push, cuCtxPushCurrent)                             \
	X(ctx_pop, cuCtxPopCurrent)                               \
	X(module_load, cuModuleLoadData)                          \
	X(module_unload, cuModuleUnload)                          \
	X(module_function, cuModuleGetFunction)                   \
	X(func_load, cuFuncLoad)                                  \
	X(func_attribute, cuFuncGetAttribute)                     \
	X(func_set_attribute, cuFuncSetAttribute)                 \
	X(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor) \
	X(launch, cuLaunchKernel)                                 \
	X(mem_alloc, cuMemAlloc)                                  \
	X(mem_free, cuMemFree)                                    \
	X(mem_info, cuMemGetInfo)                                 \
	X(host_alloc, cuMemHostAlloc)                             \
	X(host_pointer, cuMemHostGetDevicePointer)                \
	X(host_free, cuMemFreeHost)                               \
	X(copy_to, cuMemcpyHtoDAsync)                             \
	X(copy_from, cuMemcpyDtoHAsync)                           \
	X(copy_2d, cuMemcpy2DAsync)                               \
	X(fill, cuMemsetD8Async)                                  \
	X(ipc_get, cuIpcGetMemHandle)                             \
	X(ipc_open, cuIpcOpenMemHandle)                           \
	X(ipc_close, cuIpcCloseMemHandle)                         \
	X(granularity, cuMemGetAllocationGranularity)             \
	X(vmm_create, cuMemCreate)                                \
	X(vmm_release, cuMemRelease)                              \
	X(vmm_export, cuMemExportToShareableHandle)               \
	X(vmm_import, cuMemImportFromShareableHandle)             \
	X(vmm_reserve, cuMemAddressReserve)                       \
	X(vmm_unreserve, cuMemAddressFree)                        \
	X(vmm_map, cuMemMap)                                      \
	X(vmm_unmap, cuMemUnmap)                                  \
	X(vmm_access, cuMemSetAccess)                             \
	X(vmm_retain, cuMemRetainAllocationHandle)                \
	X(vmm_properties, cuMemGetAllocationPropertiesFromHandle) \
	X(address_range, cuMemGetAddressRange)                    \
	X(pointer_attribute, cuPointerGetAttribute)               \
	X(stream_create, cuStreamCreate)                          \
	X(stream_create_at, cuStreamCreateWithPriority)           \
	X(stream_priorities, cuCtxGetStreamPriorityRange)         \
	X(stream_destroy, cuStreamDestroy)                        \
	X(stream_query, cuStreamQuery)                            \
	X(stream_sync, cuStreamSynchronize)                       \
	X(stream_wait, cuStreamWaitEvent)                         \
	X(event_create, cuEventCreate)                            \
	X(event_destroy, cuEventDestroy)                          \
	X(event_record, cuEventRecord)                            \
	X(event_query, cuEventQuery)                              \
	X(event_elapsed, cuEventElapsedTime)                      \
	X(tensor_map, cuTensorMapEncodeTiled)

typedef struct tsr_cuda_driver {
#define TSR_CUDA_FIELD(field_, function_) __typeof__(function_) *field_;
	TSR_CUDA_ENTRIES(TSR_CUDA_FIELD)
#undef TSR_CUDA_FIELD
} tsr_cuda_driver_t;

/**
 * Finds the driver's entries; initialises nothing. Any thread. Errors:
 * TSR_ERR_NO_DEVICE (no driver, or one that is too old).
 */
tsr_status_t tsr_cuda_driver_find(tsr_cuda_driver_t *driver_out);

/**
 * Initialises the driver for this process. Errors: TSR_ERR_NO_DEVICE, with the
 * sentence of tsr_cuda_no_device.
 */
tsr_status_t tsr_cuda_driver_start(const tsr_cuda_driver_t *driver);

/**
 * Says why the driver's initialisation failed with `code`: no GPU,
 * CUDA_VISIBLE_DEVICES, or what the driver says.
 */
tsr_status_t tsr_cuda_no_device(const tsr_cuda_driver_t *driver, CUresult code);

/**
 * Refuses a CUDA_VISIBLE_DEVICES of which the driver, which shows `count` GPUs,
 * has not taken every entry.
 */
tsr_status_t tsr_cuda_check_visible(int count);

/** Writes "CUDA_ERROR_OUT_OF_MEMORY: out of memory" to text; returns it. */
const char *tsr_cuda_text(const tsr_cuda_driver_t *driver, CUresult code, char text[128]);

/**
 * TSR_OK for CUDA_SUCCESS. Else TSR_ERR_SYSTEM (TSR_ERR_NO_MEMORY where that is
 * what lacks) and the sentence: what was tried, the driver's own words, the
 * cure.
 */
tsr_status_t tsr_cuda_check(const tsr_cuda_driver_t *driver, CUresult code, const char *cure,
			    const char *format, ...) __attribute__((format(printf, 4, 5)));

/**
 * tsr_device_ops_t.probe: looks in a child process, because a process that has
 * initialised CUDA cannot fork ranks any more.
 */
tsr_status_t tsr_cuda_probe(int *count_out);

#endif
