/* OpenBLAS, loaded when it is first needed. */
#ifndef TESSERA_BASE_OPENBLAS_H
#define TESSERA_BASE_OPENBLAS_H

#include "tessera/status.h"

/**
 * Loads OpenBLAS and makes it compute on the calling thread alone. The first
 * product loads it too. But a process that forks must call this before:
 * otherwise each child starts OpenBLAS threads of its own, which spin without
 * work. Errors: TSR_ERR_SYSTEM (OpenBLAS is not installed).
 */
tsr_status_t tsr_openblas_prepare(void);

#endif
