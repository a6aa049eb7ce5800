/* Products of private arrays, all row-major: c += a * b. */
#ifndef TESSERA_CPUEMU_BLAS_H
#define TESSERA_CPUEMU_BLAS_H

#include <stdint.h>

#include "cpuemu/block.h"

/**
 * `held` is TSR_F32, TSR_F64 or TSR_I32, of all three arrays; integers wrap
 * around. c is rows x cols with rows `ldc` apart. Ends the world where floats
 * cannot be multiplied, for lack of OpenBLAS.
 */
void tsr_blas_add_product(tsr_coop_t *coop, int32_t held, int rows, int cols, int depth,
			  const void *a, int lda, const void *b, int ldb, void *c, int ldc);

#endif
