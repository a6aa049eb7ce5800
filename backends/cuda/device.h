/* The inside of a CUDA device: the host half's parts share it. */
#ifndef TESSERA_CUDA_DEVICE_H
#define TESSERA_CUDA_DEVICE_H

#include "cuda/driver.h"
#include "gpu/gpu.h"

/*
 * A CUDA context is current on a thread only while a call runs there: what the
 * program or a framework had current stays so.
 */

/** A part of a window as it is mapped behind a heap: of my memory, or of a peer's. */
typedef struct tsr_cuda_part {
	struct tsr_cuda_part *next;
	size_t window; /* offset of the window that it is part of, from a heap's base */
	CUdeviceptr at;
	size_t bytes;
} tsr_cuda_part_t;

/** A heap as this process has it mapped. */
typedef struct tsr_cuda_mapping {
	CUdeviceptr base; /* 0: not mapped */
	size_t bytes;     /* heap and tail, rounded up */
	CUmemGenericAllocationHandle handle;
	bool mine;            /* made here, not opened */
	bool created, mapped; /* VMM: what there is to undo */
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
	/* VMM: addresses for every rank's heap and its windows, rank r's at slices + r *
	 * slice_bytes; 0: none are reserved */
	CUdeviceptr slices;
	size_t slice_bytes;
	tsr_cuda_part_t *parts; /* of all windows */
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
 * The VMM's properties of memory of this GPU that peers can map. So is that of
 * heaps, and that of tsr_window_alloc.
 */
CUmemAllocationProp tsr_cuda_exported(CUdevice id);

/** Lets a GPU read and write what is mapped at these addresses. */
CUresult tsr_cuda_allow(const tsr_cuda_driver_t *driver, CUdevice id, CUdeviceptr at, size_t bytes);

/**
 * What windows are made of: the size of the part that begins at this address of
 * the program's. A part is what the program has created at once. With the device
 * current. Errors: TSR_ERR_ARGUMENT, with a sentence that says why this memory
 * can be no window.
 */
tsr_status_t tsr_cuda_window_part(const tsr_device_t *device, const void *memory,
				  size_t *bytes_out);

extern const tsr_window_ops_t tsr_cuda_window_ops;

/* tsr_window_ops_t */
tsr_status_t tsr_cuda_window_alloc(int ordinal, size_t size_bytes, void **memory_out);
tsr_status_t tsr_cuda_window_release(int ordinal, void *memory, size_t size_bytes);

/**
 * Makes the device's workspace, on which main loops depend, and names it in
 * `device->gpu.launch`. Errors: TSR_ERR_NO_MEMORY, _SYSTEM.
 */
tsr_status_t tsr_cuda_workspace_make(tsr_device_t *device);
void tsr_cuda_workspace_drop(tsr_device_t *device);

/* tsr_gpu_vendor_t: its kernels are CUfunction, its modules CUmodule. */
bool tsr_cuda_runs(const tsr_device_t *device, const tsr_image_t *image);
tsr_status_t tsr_cuda_load(tsr_device_t *device, tsr_gpu_module_t *m);
tsr_status_t tsr_cuda_heap_make(tsr_device_t *device, tsr_heap_export_t *export);
tsr_status_t tsr_cuda_heap_open(tsr_device_t *device, const tsr_heap_export_t *peer, int rank);
void tsr_cuda_heap_close(tsr_device_t *device, int rank);
tsr_status_t tsr_cuda_heap_is_broken(const tsr_device_t *device, int rank, const char *fault);

#endif
