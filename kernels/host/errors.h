/* Errors of plans: the first of several, and a sentence that outlives a release. */
#ifndef KERNELS_HOST_ERRORS_H
#define KERNELS_HOST_ERRORS_H

#include "tessera/tessera.h"

static inline tsr_status_t error_first(tsr_status_t earlier, tsr_status_t later)
{
	return earlier != TSR_OK ? earlier : later;
}

/** An error and its sentence, which later calls could overwrite. */
typedef struct kept_error {
	tsr_status_t status;
	char sentence[1024];
} kept_error_t;

/** Keeps the calling thread's last error. */
kept_error_t error_keep(tsr_status_t status);

/** Makes it the last error again, and returns its status. */
tsr_status_t error_again(const kept_error_t *kept);

#endif
