/* OpenBLAS, loaded when it is first needed. */
#ifndef TESSERA_BASE_OPENBLAS_H
#define TESSERA_BASE_OPENBLAS_H

#include "tessera/status.h"

/**
 * Loads OpenBLAS, which computes on the calling threads alone from now on. The
 * first product does it as well, but whoever forks does before: else each child
 * starts threads of OpenBLAS anew, which find nothing to do and spin.
 * TSR_ERR_SYSTEM: it is not there.
 */
tsr_status_t tsr_openblas_prepare(void);

#endif
