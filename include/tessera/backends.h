/* Which backends this build and this machine offer. Needs no world. */
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
 * A backend that TESSERA_BACKEND may name, and whether this machine can use it.
 * Initialise it with `tsr_backend_info_t info = {.size = sizeof info};`.
 */
typedef struct tsr_backend_info {
	size_t size;      /* set by the caller: sizeof this struct */
	const char *name; /* valid until the program ends */
	int devices;      /* how many are present; where 0, `reason` says why */
	char reason[256]; /* one sentence; "" if there are devices */
} tsr_backend_info_t;

/**
 * Describes the `index`-th backend that TESSERA_BACKEND may name; the best
 * comes first. Looks for the backend's devices, which may load a vendor's
 * runtime.
 *
 * Called by:  any thread.
 * Errors:     TSR_ERR_NOT_FOUND (`index` is past the last backend),
 *             TSR_ERR_ARGUMENT (a null pointer, or an invalid `size`).
 */
TSR_API tsr_status_t tsr_backend_at(int index, tsr_backend_info_t *info_out);

/**
 * Prints every environment variable that the library reads: its name, value,
 * default and meaning.
 *
 * Called by:  any thread.
 */
TSR_API void tsr_environment_print(FILE *out);

#ifdef __cplusplus
}
#endif
#endif
