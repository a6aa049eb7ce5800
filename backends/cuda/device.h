/* The inside of a CUDA device: the host half's parts share it. */
#ifndef TESSERA_CUDA_DEVICE_H
#define TESSERA_CUDA_DEVICE_H

#include "cuda/driver.h"
#include "gpu/gpu.h"

/* A CUDA context is current on a thread only while a call runs there: what the program or a framework had current stays so. */

/** A heap as this process has it mapped. */
typedef struct tsr_cuda_mapping {
	CUdeviceptr base; /* 0: not mapped */
	size_t bytes;     /* heap and tail, rounded up */
	CUmemGenericAllocationHandle handle;
	bool mine;                      /* made here, not opened */
	bool created, reserved, mapped; /* VMM: what there is to undo */
} tsr_cuda_mapping_t;

/** One of the two ways by which heaps are shared. Fill `mapping` as far as they come; `close` undoes that much. */
typedef struct tsr_cuda_sharing {
	const char *name; /* value of TESSERA_CUDA_HEAP */
	tsr_status_t (*create)(tsr_device_t *device, tsr_cuda_mapping_t *mapping, tsr_heap_export_t *export_out);
	tsr_status_t (*open)(tsr_device_t *device, tsr_cuda_mapping_t *mapping, const tsr_heap_export_t *peer, int rank);
	void (*close)(tsr_device_t *device, tsr_cuda_mapping_t *mapping);
} tsr_cuda_sharing_t;

extern const tsr_cuda_sharing_t tsr_cuda_vmm, tsr_cuda_ipc;

struct tsr_device_stream {
	tsr_device_t *device;
	tsr_gpu_track_t track;
	CUstream stream;
};

struct tsr_device_event {
	tsr_device_t *device;
	CUevent event;
	bool recorded;
	uint64_t serial; /* of the stream that it was recorded in last */
};

struct tsr_device {
	tsr_gpu_t gpu;
	tsr_cuda_driver_t cu;
	CUdevice id;
	CUcontext context; /* the device's primary one */
	int major, minor;  /* compute capability */
	CUstream side;     /* copies, fills and checks */
	CUdeviceptr page_on_device, notes_taken;
	CUdeviceptr workspace; /* a tsr_cuda_workspace_t */

	const tsr_cuda_sharing_t *sharing;
	tsr_cuda_mapping_t heap[TSR_MAX_RANKS];
};

/** Makes the device's context current on this thread, until tsr_cuda_leave. Errors: TSR_ERR_SYSTEM. */
tsr_status_t tsr_cuda_enter(const tsr_device_t *device);
void tsr_cuda_leave(const tsr_device_t *device);

/* All below with the context current. */

/** Compute capability of the `ordinal`-th visible GPU; needs no context. Whether the library's own code runs on one. */
CUresult tsr_cuda_capability(const tsr_cuda_driver_t *driver, int ordinal, int *major_out, int *minor_out);
bool tsr_cuda_has_code(int major, int minor);

/** The library's own code for CUDA. */
const tsr_image_t *tsr_cuda_check_image(void);

/** Makes the device's workspace, on which main loops depend, and names it in `device->gpu.launch`. Errors: TSR_ERR_NO_MEMORY,
 * _SYSTEM.
 */
tsr_status_t tsr_cuda_workspace_make(tsr_device_t *device);

/** Whether code for `arch`, such as "sm_90a", runs on a device of this compute capability. */
bool tsr_cuda_arch_runs(const char *arch, int major, int minor);

/** Writes who I am behind my heap, before any peer maps it. */
tsr_status_t tsr_cuda_tail_write(tsr_device_t *device, size_t heap_bytes);

/** Checks that `rank`'s heap is what its owner says, and that this device's stores, loads and atomics reach it. */
tsr_status_t tsr_cuda_tail_check(tsr_device_t *device, const tsr_heap_export_t *peer, int rank);

/** Copies and fills on the side stream; return when done. */
tsr_status_t tsr_cuda_copy_to(tsr_device_t *device, CUdeviceptr to, const void *from, size_t size_bytes);
tsr_status_t tsr_cuda_copy_from(tsr_device_t *device, void *to, CUdeviceptr from, size_t size_bytes);
tsr_status_t tsr_cuda_fill(tsr_device_t *device, CUdeviceptr to, int byte, size_t size_bytes);

/** How the shared code reaches CUDA: its kernels are CUfunction, its modules CUmodule. */
bool tsr_cuda_runs(const tsr_device_t *device, const tsr_image_t *image);
tsr_status_t tsr_cuda_load(tsr_device_t *device, tsr_gpu_module_t *m);
void tsr_cuda_unload(tsr_device_t *device, tsr_gpu_module_t *m);
tsr_status_t tsr_cuda_make_table(tsr_device_t *device, size_t size_bytes, void **table_out);
tsr_status_t tsr_cuda_fill_table(tsr_device_t *device, void *table, const void *bytes, size_t size_bytes);
void tsr_cuda_drop_table(tsr_device_t *device, void *table);
tsr_status_t tsr_cuda_start(tsr_device_t *device, const tsr_device_launch_t *launch, const tsr_gpu_function_t *function);

/** tsr_gpu_await and tsr_gpu_verdict for `stream`, or for `event` where it is not null; `serial` is the stream's. */
tsr_status_t tsr_cuda_wait(tsr_device_t *device, CUstream stream, CUevent event, uint64_t serial);

/** tsr_stream_ops_t.launch. */
tsr_status_t tsr_cuda_launch(tsr_device_t *device, const tsr_device_launch_t *launches, int count, bool together);

extern const tsr_heap_ops_t tsr_cuda_heap_ops;
extern const tsr_team_ops_t tsr_cuda_team_ops;
extern const tsr_stream_ops_t tsr_cuda_stream_ops;
extern const tsr_event_ops_t tsr_cuda_event_ops;

#endif
