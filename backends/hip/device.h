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

struct tsr_device {
	tsr_gpu_t gpu; /* first: tsr_gpu_of */
	tsr_hip_runtime_t hip;
	int id;
	bool uncached; /* what kind of memory the heap is */
};

/* -------------------------------------------------------------- the runtime (runtime.c, arch.c) */

/** Whether some runtime is loaded in this process: then it may run already. */
bool tsr_hip_loaded(void);

/**
 * Whether the kernel has a driver of AMD GPUs; on NVIDIA's platform the runtime
 * is asked. Errors: TSR_ERR_NO_DEVICE.
 */
tsr_status_t tsr_hip_driver_check(void);

/**
 * Finds the runtime's entries. Any thread. Errors: TSR_ERR_NO_DEVICE (no
 * runtime, or one that is too old), TSR_ERR_UNSUPPORTED.
 */
tsr_status_t tsr_hip_find(tsr_hip_runtime_t *runtime_out);

/** Writes "hipErrorOutOfMemory: out of memory" to text; returns it. */
const char *tsr_hip_text(const tsr_hip_runtime_t *hip, tsr_hip_code_t code, char text[128]);

/**
 * TSR_OK for success. Else TSR_ERR_SYSTEM (TSR_ERR_NO_MEMORY where that is what
 * lacks) and the sentence: what was tried, the runtime's own words, the cure.
 */
tsr_status_t tsr_hip_check(const tsr_hip_runtime_t *hip, tsr_hip_code_t code, const char *cure,
			   const char *format, ...) __attribute__((format(printf, 4, 5)));

/**
 * Says why there is no GPU: none, a variable that hides them, or what the
 * runtime says. TSR_ERR_NO_DEVICE.
 */
tsr_status_t tsr_hip_no_device(const tsr_hip_runtime_t *hip, tsr_hip_code_t code);

/**
 * The architecture among a device's properties: "gfx942", "sm_90". The struct
 * is another one in HIP 6 than in HIP 5; in both the name of the device comes
 * first, and what is looked for is the only other text. False: there is none.
 */
bool tsr_hip_arch_find(const tsr_hip_properties_t *properties, char arch_out[64]);

/** Whether code for `image`, such as "gfx942" or "sm_90a", runs on a GPU of that architecture. */
bool tsr_hip_arch_runs(const char *image, const char *arch);

/** The architecture of a GPU; "" where it has none that images are named by. */
tsr_hip_code_t tsr_hip_arch(const tsr_hip_runtime_t *hip, int ordinal, char arch_out[64]);

/** The library's own code for an architecture; null where there is none. */
const tsr_image_t *tsr_hip_check_image(const char *arch);

/**
 * tsr_device_ops_t.probe: looks in a child process, because a process in which
 * HIP runs cannot fork ranks any more.
 */
tsr_status_t tsr_hip_probe(int *count_out);

/* ------------------------------------------------------------------ the device */

extern const tsr_gpu_calls_t tsr_hip_calls;

/* tsr_gpu_vendor_t */
bool tsr_hip_runs(const tsr_device_t *device, const tsr_image_t *image);
tsr_status_t tsr_hip_load(tsr_device_t *device, tsr_gpu_module_t *m);
tsr_status_t tsr_hip_heap_make(tsr_device_t *device, tsr_heap_export_t *export);
tsr_status_t tsr_hip_heap_open(tsr_device_t *device, const tsr_heap_export_t *peer, int rank);
void tsr_hip_heap_close(tsr_device_t *device, int rank);
tsr_status_t tsr_hip_heap_is_broken(const tsr_device_t *device, int rank, const char *fault);

#endif
