/* The inside of a HIP device, shared by the files of its host half. */
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
	tsr_gpu_t gpu; /* must be first: tsr_gpu_of */
	tsr_hip_runtime_t hip;
	int id;
	bool uncached; /* the heap is uncached memory, not fine-grained memory */
};

/* ------------------------------------------ the runtime (runtime.c, arch.c) */

/**
 * Whether a HIP runtime is loaded in this process, and so may be running
 * already.
 */
bool tsr_hip_loaded(void);

/**
 * Whether the kernel has a driver for AMD GPUs; on NVIDIA's platform the
 * runtime is asked. Errors: TSR_ERR_NO_DEVICE.
 */
tsr_status_t tsr_hip_driver_check(void);

/**
 * Finds the runtime's entries. Any thread. Errors: TSR_ERR_NO_DEVICE (no
 * runtime, or one that is too old), TSR_ERR_UNSUPPORTED.
 */
tsr_status_t tsr_hip_find(tsr_hip_runtime_t *runtime_out);

/** Writes "hipErrorOutOfMemory: out of memory" to `text`; returns it. */
const char *tsr_hip_text(const tsr_hip_runtime_t *hip, tsr_hip_code_t code, char text[128]);

/**
 * Returns TSR_OK for success. Otherwise TSR_ERR_SYSTEM (TSR_ERR_NO_MEMORY if
 * memory is missing) with a sentence: what failed, the runtime's own words, the
 * cure.
 */
tsr_status_t tsr_hip_check(const tsr_hip_runtime_t *hip, tsr_hip_code_t code, const char *cure,
			   const char *format, ...) __attribute__((format(printf, 4, 5)));

/**
 * Reports why there is no GPU: there is none, a variable hides them, or what
 * the runtime says. Returns TSR_ERR_NO_DEVICE.
 */
tsr_status_t tsr_hip_no_device(const tsr_hip_runtime_t *hip, tsr_hip_code_t code);

/**
 * Finds the architecture in a device's properties: "gfx942", "sm_90". The
 * struct differs between HIP 5 and HIP 6. In both the device's name comes
 * first, and the architecture is the only other text. Returns false if there is
 * none.
 */
bool tsr_hip_arch_find(const tsr_hip_properties_t *properties, char arch_out[64]);

/**
 * Whether code for `image`, such as "gfx942" or "sm_90a", runs on a GPU of that
 * architecture.
 */
bool tsr_hip_arch_runs(const char *image, const char *arch);

/** The architecture of a GPU; "" if it is none for which images are made. */
tsr_hip_code_t tsr_hip_arch(const tsr_hip_runtime_t *hip, int ordinal, char arch_out[64]);

/** The library's own code for an architecture; null if there is none. */
const tsr_image_t *tsr_hip_check_image(const char *arch);

/**
 * tsr_device_ops_t.probe. Looks in a child process, because a process in which
 * HIP runs cannot fork ranks any more.
 */
tsr_status_t tsr_hip_probe(int *count_out);

/* ------------------------------------------------------------------ the device */

extern const tsr_gpu_calls_t tsr_hip_calls;
extern const tsr_window_ops_t tsr_hip_window_ops;

/* tsr_gpu_vendor_t */
bool tsr_hip_runs(const tsr_device_t *device, const tsr_image_t *image);
tsr_status_t tsr_hip_load(tsr_device_t *device, tsr_gpu_module_t *m);
tsr_status_t tsr_hip_heap_make(tsr_device_t *device, tsr_heap_export_t *export);
tsr_status_t tsr_hip_heap_open(tsr_device_t *device, const tsr_heap_export_t *peer, int rank);
void tsr_hip_heap_close(tsr_device_t *device, int rank);
tsr_status_t tsr_hip_heap_is_broken(const tsr_device_t *device, int rank, const char *fault);

#endif
