/* What this build and this machine offer, asked without joining a world. */
#ifndef TESSERA_BACKENDS_H
#define TESSERA_BACKENDS_H

#include <stddef.h>
#include <stdio.h>

#include "tessera/status.h"
#include "tessera/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A backend that TESSERA_BACKEND may name, and whether it could be used here.
 * Made by `tsr_backend_info_t info = {.size = sizeof info};`.
 */
typedef struct tsr_backend_info {
	size_t size;      /* sizeof this struct: set by the caller */
	const char *name; /* lives as long as the program */
	int devices;      /* present here; 0 where there is none, and `reason` says why */
	char reason[256]; /* one sentence; "" where there are devices */
} tsr_backend_info_t;

/**
 * The `index`-th backend that TESSERA_BACKEND may name, best first. Probes for
 * its devices, which may load a vendor's runtime. Any thread. Errors:
 * TSR_ERR_NOT_FOUND past the last one, TSR_ERR_ARGUMENT (null, or a size that
 * is none).
 */
TSR_API tsr_status_t tsr_backend_at(int index, tsr_backend_info_t *info_out);

/**
 * Prints name, value, default and meaning of every variable that the library
 * reads from the environment. Any thread.
 */
TSR_API void tsr_environment_print(FILE *out);

#ifdef __cplusplus
}
#endif
#endif
