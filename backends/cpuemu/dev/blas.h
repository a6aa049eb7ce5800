/* Products of private arrays, all row-major: c += a * b. */
#ifndef TESSERA_CPUEMU_BLAS_H
#define TESSERA_CPUEMU_BLAS_H

#include <stdint.h>

/** `held` is TSR_F32, TSR_F64 or TSR_I32, of all three arrays; integers wrap around. c is rows x cols with rows `ldc` apart. */
void tsr_blas_add_product(int32_t held, int rows, int cols, int depth, const void *a, int lda, const void *b, int ldb, void *c,
			  int ldc);

/**
 * From now on OpenBLAS computes on the calling thread alone. The first product sees to it as well, but whoever forks does before:
 * else each child starts threads of OpenBLAS anew, which find nothing to do and spin.
 */
void tsr_blas_prepare(void);

#endif
