/* The inside of a HIP device: the host half's parts share it. */
#ifndef TESSERA_HIP_DEVICE_H
#define TESSERA_HIP_DEVICE_H

#include "gpu/gpu.h"
#include "hip/runtime.h"

/* The tool that lists the GPUs. */
#if defined(TSR_HIP_NVIDIA)
#define TSR_HIP_INFO "nvidia-smi -L"
#else
#define TSR_HIP_INFO "rocminfo"
#endif

struct tsr_device_stream {
	tsr_device_t *device;
	tsr_gpu_track_t track;
	tsr_hip_stream_t stream;
};

struct tsr_device_event {
	tsr_device_t *device;
	tsr_hip_event_t event;
	bool recorded;
	uint64_t serial; /* of the stream that it was recorded in last */
};

struct tsr_device {
	tsr_gpu_t gpu;
	tsr_hip_runtime_t hip;
	int id;
	bool opened;
	bool uncached;         /* what kind of memory the heap is */
	tsr_hip_stream_t side; /* copies, fills and checks */
	void *page_on_device, *notes_taken;
	void *heap[TSR_MAX_RANKS]; /* as mapped here; null: not */
};

/* ------------------------------------------------------------------ the runtime (runtime.c, arch.c) */

/** Whether some runtime is loaded in this process: then it may run already. */
bool tsr_hip_loaded(void);

/** Whether the kernel has a driver of AMD GPUs; on NVIDIA's platform the runtime is asked. Errors: TSR_ERR_NO_DEVICE. */
tsr_status_t tsr_hip_driver_check(void);

/** Finds the runtime's entries. Any thread. Errors: TSR_ERR_NO_DEVICE (no runtime, or one that is too old), TSR_ERR_UNSUPPORTED. */
tsr_status_t tsr_hip_find(tsr_hip_runtime_t *runtime_out);

/** Writes "hipErrorOutOfMemory: out of memory" to text; returns it. */
const char *tsr_hip_text(const tsr_hip_runtime_t *hip, tsr_hip_code_t code, char text[128]);

/**
 * TSR_OK for success. Else TSR_ERR_SYSTEM (TSR_ERR_NO_MEMORY where that is what lacks) and the sentence: what was tried, the
 * runtime's own words, the cure.
 */
tsr_status_t tsr_hip_check(const tsr_hip_runtime_t *hip, tsr_hip_code_t code, const char *cure, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/** Says why there is no GPU: none, a variable that hides them, or what the runtime says. TSR_ERR_NO_DEVICE. */
tsr_status_t tsr_hip_no_device(const tsr_hip_runtime_t *hip, tsr_hip_code_t code);

/**
 * The architecture among a device's properties: "gfx942", "sm_90". The struct is another one in HIP 6 than in HIP 5; in both the
 * name of the device comes first, and what is looked for is the only other text. False: there is none.
 */
bool tsr_hip_arch_find(const tsr_hip_properties_t *properties, char arch_out[64]);

/** Whether code for `image`, such as "gfx942" or "sm_90a", runs on a GPU of that architecture. */
bool tsr_hip_arch_runs(const char *image, const char *arch);

/** The architecture of a GPU; "" where it has none that images are named by. */
tsr_hip_code_t tsr_hip_arch(const tsr_hip_runtime_t *hip, int ordinal, char arch_out[64]);

/** The library's own code for an architecture; null where there is none. */
const tsr_image_t *tsr_hip_check_image(const char *arch);

/** tsr_device_ops_t.probe: looks in a child process, because a process in which HIP runs cannot fork ranks any more. */
tsr_status_t tsr_hip_probe(int *count_out);

/* ------------------------------------------------------------------ the device */

/**
 * Makes the device this thread's, until tsr_hip_leave gives it back the one that it had: what the program or a framework had chosen
 * stays so. A device in which nothing runs yet is not given back, for on some platforms that would start it.
 */
tsr_status_t tsr_hip_enter(const tsr_device_t *device, int *before_out);
void tsr_hip_leave(const tsr_device_t *device, int before);

/* All below between the two. */

/** Copies and fills on the side stream; return when done. */
tsr_status_t tsr_hip_copy_to(tsr_device_t *device, void *to, const void *from, size_t size_bytes);
tsr_status_t tsr_hip_copy_from(tsr_device_t *device, void *to, const void *from, size_t size_bytes);
tsr_status_t tsr_hip_fill(tsr_device_t *device, void *to, int byte, size_t size_bytes);

/** Writes who I am behind my heap, before any peer maps it. */
tsr_status_t tsr_hip_tail_write(tsr_device_t *device, size_t heap_bytes);

/** Checks that `rank`'s heap is what its owner says, and that this device's stores, loads and atomics reach it. */
tsr_status_t tsr_hip_tail_check(tsr_device_t *device, const tsr_heap_export_t *peer, int rank);

/** How the shared code reaches HIP. */
bool tsr_hip_runs(const tsr_device_t *device, const tsr_image_t *image);
tsr_status_t tsr_hip_load(tsr_device_t *device, tsr_gpu_module_t *m);
void tsr_hip_unload(tsr_device_t *device, tsr_gpu_module_t *m);
tsr_status_t tsr_hip_make_table(tsr_device_t *device, size_t size_bytes, void **table_out);
tsr_status_t tsr_hip_fill_table(tsr_device_t *device, void *table, const void *bytes, size_t size_bytes);
void tsr_hip_drop_table(tsr_device_t *device, void *table);
tsr_status_t tsr_hip_start(tsr_device_t *device, const tsr_device_launch_t *launch, const tsr_gpu_function_t *function);

/** tsr_gpu_await and tsr_gpu_verdict for `stream`, or for `event` where it is not null; `serial` is the stream's. Enters by itself.
 */
tsr_status_t tsr_hip_wait(tsr_device_t *device, tsr_hip_stream_t stream, tsr_hip_event_t event, uint64_t serial);

extern const tsr_heap_ops_t tsr_hip_heap_ops;
extern const tsr_team_ops_t tsr_hip_team_ops;
extern const tsr_stream_ops_t tsr_hip_stream_ops;
extern const tsr_event_ops_t tsr_hip_event_ops;

#endif
