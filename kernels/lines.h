/* How long the device code of a pattern is: counted by the build (site_scons/lines.py). */
#ifndef KERNELS_LINES_H
#define KERNELS_LINES_H

#include <stdint.h>

#include "kernels/workload.h"

typedef struct device_lines {
	int code;
	/* of these, in statements that move data to or from another rank, signal, or wait */
	int communication;
} device_lines_t;

/**
 * The device code of all kernels of a pattern: their bodies and the functions
 * below kernels/ that they call, each counted once, without comments and blank
 * lines. All zero where the pattern's kernels are not known. Any thread.
 */
device_lines_t device_lines(const workload_t *workload, int64_t pattern);

/* ------------------------------------------------- what the build writes, for lines.c alone */

enum { DEVICE_FUNCTIONS_MOST = 1024 };

/** A kernel, and the functions that it reaches by their numbers; ends with -1. */
typedef struct device_kernel {
	const char *name;
	const short *functions;
} device_kernel_t;

extern const device_lines_t device_functions[DEVICE_FUNCTIONS_MOST];
extern const device_kernel_t device_kernels[]; /* ends with a null name */

#endif
