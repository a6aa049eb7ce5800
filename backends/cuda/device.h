/* The inside of a CUDA device: the host half's parts share it. */
#ifndef TESSERA_CUDA_DEVICE_H
#define TESSERA_CUDA_DEVICE_H

#include "cuda/driver.h"
#include "gpu/gpu.h"

/*
 * A CUDA context is current on a thread only while a call runs there: what the
 * program or a framework had current stays so.
 */

/** A heap as this process has it mapped. */
typedef struct tsr_cuda_mapping {
	CUdeviceptr base; /* 0: not mapped */
	size_t bytes;     /* heap and tail, rounded up */
	CUmemGenericAllocationHandle handle;
	bool mine;                      /* made here, not opened */
	bool created, reserved, mapped; /* VMM: what there is to undo */
} tsr_cuda_mapping_t;

/**
 * One of the two ways by which heaps are shared. Fill `mapping` as far as they
 * come; `close` undoes that much.
 */
typedef struct tsr_cuda_sharing {
	const char *name; /* value of TESSERA_CUDA_HEAP */
	tsr_status_t (*create)(tsr_device_t *device, tsr_cuda_mapping_t *mapping,
			       tsr_heap_export_t *export_out);
	tsr_status_t (*open)(tsr_device_t *device, tsr_cuda_mapping_t *mapping,
			     const tsr_heap_export_t *peer, int rank);
	void (*close)(tsr_device_t *device, tsr_cuda_mapping_t *mapping);
} tsr_cuda_sharing_t;

extern const tsr_cuda_sharing_t tsr_cuda_vmm, tsr_cuda_ipc;

struct tsr_device {
	tsr_gpu_t gpu; /* first: tsr_gpu_of */
	tsr_cuda_driver_t cu;
	CUdevice id;
	CUcontext context;     /* the device's primary one */
	int major, minor;      /* compute capability */
	CUdeviceptr workspace; /* a tsr_cuda_workspace_t */

	const tsr_cuda_sharing_t *sharing;
	tsr_cuda_mapping_t heap[TSR_MAX_RANKS];
};

extern const tsr_gpu_calls_t tsr_cuda_calls;

/**
 * Compute capability of the `ordinal`-th visible GPU; needs no context. Whether
 * the library's own code runs on one.
 */
CUresult tsr_cuda_capability(const tsr_cuda_driver_t *driver, int ordinal, int *major_out,
			     int *minor_out);
bool tsr_cuda_has_code(int major, int minor);

/** The library's own code for CUDA. */
const tsr_image_t *tsr_cuda_check_image(void);

/**
 * Makes the device's workspace, on which main loops depend, and names it in
 * `device->gpu.launch`. Errors: TSR_ERR_NO_MEMORY, _SYSTEM.
 */
tsr_status_t tsr_cuda_workspace_make(tsr_device_t *device);
void tsr_cuda_workspace_drop(tsr_device_t *device);

/** Whether code for `arch`, such as "sm_90a", runs on a device of this compute capability. */
bool tsr_cuda_arch_runs(const char *arch, int major, int minor);

/* tsr_gpu_vendor_t: its kernels are CUfunction, its modules CUmodule. */
bool tsr_cuda_runs(const tsr_device_t *device, const tsr_image_t *image);
tsr_status_t tsr_cuda_load(tsr_device_t *device, tsr_gpu_module_t *m);
tsr_status_t tsr_cuda_heap_make(tsr_device_t *device, tsr_heap_export_t *export);
tsr_status_t tsr_cuda_heap_open(tsr_device_t *device, const tsr_heap_export_t *peer, int rank);
void tsr_cuda_heap_close(tsr_device_t *device, int rank);
tsr_status_t tsr_cuda_heap_is_broken(const tsr_device_t *device, int rank, const char *fault);

#endif
