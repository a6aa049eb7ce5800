/* Device code for `tessera cc`: an image of a source's kernels. */
#ifndef TESSERA_TOOLS_CC_DEVICE_H
#define TESSERA_TOOLS_CC_DEVICE_H

#include <stdio.h>

#include "tools/cc/toolkit.h"

/** A source with kernels, and what its author has said about it. */
typedef struct cc_device {
	const cc_place_t *place;
	const char *source, *unit; /* the unit ties kernels and images */
	bool cxx;                  /* a source in C++ */
	const char *half;          /* the file that its device half is written to */
	const char *define;        /* for device code alone, such as TSR_NODES; null: none */
	const char *temp;          /* a folder for other files in between */
	pid_t group;               /* that compilers run in */
	/* for the C compiler; those that say what the source is reach the device compilers too */
	char *const *flags;
	int flag_count;
	cc_say_t say;
} cc_device_t;

/**
 * Makes the file `image` with a toolkit. The compiler reads the source's device
 * half (tools/device_half), so that the host half is C's alone; where that does
 * not compile it reads the whole source, which may still. Of C++, which device
 * compilers take, it reads the whole first. Where neither does, a sentence says
 * what device compilers take, before the compiler's messages on what it read
 * first. Returns an exit code.
 */
int cc_device_compile(const cc_device_t *device, const cc_toolkit_t *toolkit, const char *image);

/**
 * Writes what device compilers read of the source. False, and `*why_out` says
 * in words why, where it does not come apart.
 */
bool cc_device_write_half(const cc_device_t *device, FILE *out, const char **why_out);

/** With --show, for C: prints the command that writes the half to its file. */
void cc_device_show_half(const cc_device_t *device);

#endif
