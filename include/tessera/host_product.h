/*
 * Products of matrices in the host's memory, by OpenBLAS: what a result is
 * compared with. Row-major.
 */
#ifndef TESSERA_HOST_PRODUCT_H
#define TESSERA_HOST_PRODUCT_H

#include "tessera/status.h"
#include "tessera/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * c = a * b + beta * c: a is rows x depth, b depth x cols, c rows x cols; their
 * rows lie `lda`, `ldb` and `ldc` elements apart. Where beta is 0, c need not
 * hold anything. Computed by the calling thread. OpenBLAS is loaded when the
 * first product of a process is asked for, so that programs that need none do
 * not start its threads.
 * Called by: any thread. Errors: TSR_ERR_SYSTEM where OpenBLAS is not there; c
 * is as before.
 */
TSR_API tsr_status_t tsr_host_product_f32(int rows, int cols, int depth, const float *a, int lda,
					  const float *b, int ldb, float beta, float *c, int ldc);
TSR_API tsr_status_t tsr_host_product_f64(int rows, int cols, int depth, const double *a, int lda,
					  const double *b, int ldb, double beta, double *c,
					  int ldc);

#ifdef __cplusplus
}
#endif
#endif
