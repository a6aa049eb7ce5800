/* Device code for `tessera cc`: an image of a source's kernels. */
#ifndef TESSERA_TOOLS_CC_DEVICE_H
#define TESSERA_TOOLS_CC_DEVICE_H

#include "tools/cc/toolkit.h"

/** A source with kernels, and what its author has said about it. */
typedef struct cc_device {
	const cc_place_t *place;
	const char *source, *temp; /* a folder for files in between */
	pid_t group;               /* that compilers run in */
	/* for the C compiler; those that say what the source is reach the device compilers too */
	char *const *flags;
	int flag_count;
	bool verbose;
} cc_device_t;

/**
 * Makes the file `image` with a toolkit. The compiler reads the source's device
 * half (tools/device_half), so that the host half is C's alone; where that does
 * not compile it reads the whole source, which may still. Where neither does, a
 * sentence says what device compilers take, before the compiler's messages on
 * the half. Returns an exit code.
 */
int cc_device_compile(const cc_device_t *device, const cc_toolkit_t *toolkit, const char *image);

#endif
