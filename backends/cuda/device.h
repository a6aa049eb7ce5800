/* The inside of a CUDA device: the host half's parts share it. */
#ifndef TESSERA_CUDA_DEVICE_H
#define TESSERA_CUDA_DEVICE_H

#include <pthread.h>

#include "backend.h"
#include "cuda/driver.h"
#include "tessera/dev/gpu/context.h"

/*
 * One lock a device guards its streams, its modules, the numbers of launches and the reading of notes. A CUDA context is current on
 * a thread only while one of these calls runs there: what the program or a framework had current stays so.
 */

/** Host memory that the device sees: the abort word, the notes, and what the check of a mapping has seen. */
typedef struct tsr_cuda_page {
	_Alignas(128) uint32_t abort; /* 1: the world has ended. Set by a kernel whose note is fatal, or by the host */
	_Alignas(128) uint64_t seen[4];
	_Alignas(128) tsr_gpu_note_t notes[TSR_GPU_NOTES];
} tsr_cuda_page_t;

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

/** A kernel as the device has it. */
typedef struct tsr_cuda_function {
	const tsr_kernel_t *kernel;
	CUfunction function; /* null: the image of its unit has no such entry */
	int threads;         /* of a block: what the device half was compiled for */
	int static_bytes;    /* shared memory of the port's own */
	int dynamic_bytes;   /* the kernel's own part, or all that there is where it has a main loop */
	int local_bytes;     /* a thread */
	int blocks_per_sm;   /* that can be resident; 0 where a block does not fit */
} tsr_cuda_function_t;

/** The device code of one translation unit. */
typedef struct tsr_cuda_module {
	struct tsr_cuda_module *next;
	const tsr_image_t *image;
	CUmodule module;
	int count;
	tsr_cuda_function_t function[];
} tsr_cuda_module_t;

/** The first failure of a stream's kernels since somebody asked. */
typedef struct tsr_cuda_failure {
	tsr_status_t status;
	char sentence[640];
} tsr_cuda_failure_t;

struct tsr_device_stream {
	tsr_device_t *device;
	struct tsr_device_stream *next;
	uint64_t serial; /* no other stream of this device had or will have it */
	CUstream stream;
	const tsr_kernel_t *last; /* launched last */
	tsr_cuda_failure_t failure;
};

struct tsr_device_event {
	tsr_device_t *device;
	CUevent event;
	bool recorded;
	uint64_t serial; /* of the stream that it was recorded in last */
};

/** Which kernel a launch number was, for the notes that carry it. */
typedef struct tsr_cuda_launched {
	uint32_t number;
	uint64_t serial; /* of its stream */
	const tsr_kernel_t *kernel;
} tsr_cuda_launched_t;

enum { TSR_CUDA_LAUNCHES_KEPT = 4096 }; /* more than a stream's queue in the driver holds */

struct tsr_device {
	const tsr_host_t *host;
	tsr_cuda_driver_t cu;
	CUdevice id;
	CUcontext context; /* the device's primary one */
	int major, minor;  /* compute capability */
	int sms;
	size_t block_shared_bytes; /* the most a block may have, static and dynamic */
	tsr_device_props_t props;
	CUstream side; /* copies, fills and checks */

	tsr_cuda_page_t *page;
	CUdeviceptr page_on_device, notes_taken;
	CUdeviceptr workspace;    /* a tsr_cuda_workspace_t */
	tsr_gpu_context_t launch; /* what launches have in common; the heaps' bases once they are mapped */

	const tsr_cuda_sharing_t *sharing;
	tsr_cuda_mapping_t heap[TSR_MAX_RANKS];

	pthread_mutex_t lock;
	tsr_device_stream_t *streams;
	uint64_t serials;
	tsr_cuda_module_t *modules;
	tsr_cuda_launched_t *launched; /* ring, by number */
	uint32_t launches;
	bool reported[TSR_GPU_NOTES];
	bool dead; /* a kernel has crashed: the driver refuses everything from then on */
};

/** Makes the device's context current on this thread, until tsr_cuda_leave. Errors: TSR_ERR_SYSTEM. */
tsr_status_t tsr_cuda_enter(const tsr_device_t *device);
void tsr_cuda_leave(const tsr_device_t *device);

/* All below with the context current. */

/** The page's field as the device sees it. */
#define TSR_CUDA_ON_DEVICE(device_, field_) ((device_)->page_on_device + offsetof(tsr_cuda_page_t, field_))

/** Compute capability of the `ordinal`-th visible GPU; needs no context. Whether the library's own code runs on one. */
CUresult tsr_cuda_capability(const tsr_cuda_driver_t *driver, int ordinal, int *major_out, int *minor_out);
bool tsr_cuda_has_code(int major, int minor);

/** The device code that checks mappings, part of the library. */
extern const tsr_image_t tsr_cuda_check_image;

/** Makes the device's workspace, on which main loops depend, and names it in `device->launch`. Errors: TSR_ERR_NO_MEMORY, _SYSTEM.
 */
tsr_status_t tsr_cuda_workspace_make(tsr_device_t *device);

/** Whether code for `arch`, such as "sm_90a", runs on a device of this compute capability. */
bool tsr_cuda_arch_runs(const char *arch, int major, int minor);

/** The bytes that lie behind a heap, for the check; and where they begin. */
size_t tsr_cuda_tail_bytes(void);
size_t tsr_cuda_tail_offset(size_t heap_bytes);

/** Writes who I am behind my heap, before any peer maps it. */
tsr_status_t tsr_cuda_tail_write(tsr_device_t *device, size_t heap_bytes);

/** Checks that `rank`'s heap is what its owner says, and that this device's stores, loads and atomics reach it. */
tsr_status_t tsr_cuda_tail_check(tsr_device_t *device, const tsr_heap_export_t *peer, int rank);

/** Copies and fills on the side stream; return when done. */
tsr_status_t tsr_cuda_copy_to(tsr_device_t *device, CUdeviceptr to, const void *from, size_t size_bytes);
tsr_status_t tsr_cuda_copy_from(tsr_device_t *device, void *to, CUdeviceptr from, size_t size_bytes);
tsr_status_t tsr_cuda_fill(tsr_device_t *device, CUdeviceptr to, int byte, size_t size_bytes);

/** With the lock: finds a kernel, loading its unit where it is the first of it. Errors: TSR_ERR_UNSUPPORTED, TSR_ERR_SYSTEM. */
tsr_status_t tsr_cuda_function(tsr_device_t *device, const tsr_kernel_t *kernel, const tsr_cuda_function_t **function_out);
void tsr_cuda_modules_unload(tsr_device_t *device);

/**
 * Waits until `stream`, or `event` where it is not null, has been reached. Meanwhile hands an end of the world on to the kernels,
 * and looks for lost ranks and for notes. Returns what the driver said at the end.
 */
CUresult tsr_cuda_await(tsr_device_t *device, CUstream stream, CUevent event);

/** Reads the notes that kernels have left: wait records are kept, fatal ones end the world and fail their stream. */
void tsr_cuda_notes_read(tsr_device_t *device);

/**
 * After tsr_cuda_await: the first failure of stream `serial`, which is taken; else that the driver has lost the device, or that the
 * world has ended; else TSR_OK.
 */
tsr_status_t tsr_cuda_verdict(tsr_device_t *device, uint64_t serial, CUresult code);

/** TSR_ERR_ABORTED where the world has ended. */
tsr_status_t tsr_cuda_world_status(const tsr_device_t *device);

/** tsr_stream_ops_t.launch. */
tsr_status_t tsr_cuda_launch(tsr_device_t *device, const tsr_device_launch_t *launches, int count, bool together);

extern const tsr_heap_ops_t tsr_cuda_heap_ops;
extern const tsr_stream_ops_t tsr_cuda_stream_ops;
extern const tsr_event_ops_t tsr_cuda_event_ops;

#endif
