/*
 * A vendor's driver in one form: the entries that the shared host half calls.
 */
#ifndef TESSERA_GPU_CALLS_H
#define TESSERA_GPU_CALLS_H

#include "backend.h"

/** Codes that drivers return. CUDA and HIP have the same numbers for these. */
enum { TSR_GPU_SUCCESS = 0, TSR_GPU_OUT_OF_MEMORY = 2, TSR_GPU_NOT_READY = 600 };

/**
 * Each slot is one entry of the driver, or a small function around one. It
 * takes and returns the vendor's own handles, and returns the driver's code.
 * None is null. All but `enter` are called with the device current.
 */
typedef struct tsr_gpu_calls {
	/**
	 * Makes the device current on this thread, until `leave` restores the earlier one. So the
	 * choice of the program or of a framework stays valid.
	 */
	int (*enter)(const tsr_device_t *device, int *before_out);
	void (*leave)(const tsr_device_t *device, int before);
	/** Writes a code's name and meaning to `text`; returns it. */
	const char *(*text)(const tsr_device_t *device, int code, char text[128]);

	int (*alloc)(tsr_device_t *device, void **memory_out, size_t size_bytes);
	int (*release)(tsr_device_t *device, void *memory);
	/**
	 * Allocates host memory that the device can access, and returns its address on the
	 * device.
	 */
	int (*host_alloc)(tsr_device_t *device, void **memory_out, size_t size_bytes,
			  uint64_t *on_device_out);
	int (*host_release)(tsr_device_t *device, void *memory);
	/* Copies and fills are ordered after the stream's work. */
	int (*copy_to)(tsr_device_t *device, void *to, const void *from, size_t size_bytes,
		       void *stream);
	int (*copy_from)(tsr_device_t *device, void *to, const void *from, size_t size_bytes,
			 void *stream);
	int (*copy_rows)(tsr_device_t *device, const tsr_device_copy_t *copy, void *stream);
	int (*fill)(tsr_device_t *device, void *to, int byte, size_t size_bytes, void *stream);

	int (*module_load)(tsr_device_t *device, void **module_out, const void *bytes);
	int (*module_unload)(tsr_device_t *device, void *module);
	int (*module_function)(tsr_device_t *device, void **function_out, void *module,
			       const char *name);
	int (*launch)(tsr_device_t *device, void *function, int blocks, int threads,
		      int shared_bytes, void *stream, void **parameters);

	int (*stream_create)(tsr_device_t *device, void **stream_out);
	/** The same; its kernels begin before those of other streams that wait for room. */
	int (*stream_create_first)(tsr_device_t *device, void **stream_out);
	int (*stream_destroy)(tsr_device_t *device, void *stream);
	/**
	 * Whether the stream's work has ended; all that it has stored is then visible to
	 * everybody.
	 */
	int (*stream_query)(tsr_device_t *device, void *stream);
	int (*stream_sync)(tsr_device_t *device, void *stream);
	int (*stream_wait)(tsr_device_t *device, void *stream, void *event);
	int (*event_create)(tsr_device_t *device, void **event_out);
	int (*event_destroy)(tsr_device_t *device, void *event);
	int (*event_record)(tsr_device_t *device, void *event, void *stream);
	int (*event_query)(tsr_device_t *device, void *event);
	int (*event_elapsed)(tsr_device_t *device, float *ms_out, void *begin, void *end);
} tsr_gpu_calls_t;

/** enter, with a sentence if it fails. Errors: TSR_ERR_SYSTEM. */
tsr_status_t tsr_gpu_enter(const tsr_device_t *device, int *before_out);
void tsr_gpu_leave(const tsr_device_t *device, int before);

/**
 * Returns TSR_OK for success. Otherwise TSR_ERR_SYSTEM (TSR_ERR_NO_MEMORY if
 * memory is missing) with a sentence: what failed, the driver's own words, the
 * cure.
 */
tsr_status_t tsr_gpu_check(const tsr_device_t *device, int code, const char *cure,
			   const char *format, ...) __attribute__((format(printf, 4, 5)));

/** The cure for a call that cannot fail by itself. */
#define TSR_GPU_SEE_FIRST "a kernel may have crashed before: see what was said first"

/* Use the side stream, with the device current; return when done. */
tsr_status_t tsr_gpu_copy_to(tsr_device_t *device, void *to, const void *from, size_t size_bytes);
tsr_status_t tsr_gpu_copy_from(tsr_device_t *device, void *to, const void *from, size_t size_bytes);
tsr_status_t tsr_gpu_fill(tsr_device_t *device, void *to, int byte, size_t size_bytes);

#endif
