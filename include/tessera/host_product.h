/* Matrix products in host memory, by OpenBLAS: reference results. Row-major. */
#ifndef TESSERA_HOST_PRODUCT_H
#define TESSERA_HOST_PRODUCT_H

#include "tessera/status.h"
#include "tessera/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * c = a * b + beta * c. a is rows x depth, b is depth x cols, c is rows x cols.
 * `lda`, `ldb` and `ldc` are the distances between consecutive rows, in
 * elements. Where beta is 0, c is not read. The calling thread computes the
 * product. The first call in a process loads OpenBLAS, so that programs that
 * need no product do not start its threads.
 *
 * Called by:  any thread.
 * Errors:     TSR_ERR_SYSTEM (OpenBLAS is not installed); c is unchanged.
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
