/* Products of the emulator's blocks. */
#include "cpuemu/dev/arithmetic/blas.h"
#include "tessera/host_product.h"
#include "tessera/program.h"
#include "tessera/types.h"

/** Sums wrap around, so they are unsigned. */
static void add_product_i32(int rows, int cols, int depth, const uint32_t *a, int lda,
			    const uint32_t *b, int ldb, uint32_t *c, int ldc)
{
	for (int i = 0; i < rows; i++)
		for (int k = 0; k < depth; k++) {
			uint32_t x = a[i * lda + k];
			for (int j = 0; j < cols; j++)
				c[i * ldc + j] += x * b[k * ldb + j];
		}
}

void tsr_blas_add_product(tsr_coop_t *coop, int32_t held, int rows, int cols, int depth,
			  const void *a, int lda, const void *b, int ldb, void *c, int ldc)
{
	tsr_status_t status = TSR_OK;
	if (held == TSR_I32)
		add_product_i32(rows, cols, depth, a, lda, b, ldb, c, ldc);
	else if (held == TSR_F64)
		status = tsr_host_product_f64(rows, cols, depth, a, lda, b, ldb, 1, c, ldc);
	else
		status = tsr_host_product_f32(rows, cols, depth, a, lda, b, ldb, 1, c, ldc);
	if (status != TSR_OK)
		tsr_cpu_launch_fail(coop->block->launch, status, tsr_last_error());
}
