/* cublasGemmEx on the host. */
#include "bench/gpu/nvidia/libraries.h"
#include "tests/fakes/product.h"

#define DECLARE(type_, field_, symbol_, arguments_) type_ symbol_ arguments_;
BENCH_CUBLAS_ENTRIES(DECLARE)

enum { INVALID_VALUE = 7 };

static char thing;

int cublasCreate_v2(void **out)
{
	*out = &thing;
	return 0;
}

int cublasDestroy_v2(void *handle)
{
	return handle == &thing ? 0 : INVALID_VALUE;
}

int cublasGetVersion_v2(void *handle, int *out)
{
	*out = 130102;
	return handle == &thing ? 0 : INVALID_VALUE;
}

int cublasSetStream_v2(void *handle, void *stream)
{
	return handle == &thing && stream ? 0 : INVALID_VALUE;
}

const char *cublasGetStatusString(int status)
{
	return status == INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE" : "unknown";
}

int cublasGemmEx(void *handle, int trans_a, int trans_b, int m, int n, int k, const void *alpha,
		 const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
		 const void *beta, void *c, int c_type, int ldc, int compute_type, int algorithm)
{
	bool plain =
		handle == &thing && trans_a == BENCH_CUBLAS_OP_N && trans_b == BENCH_CUBLAS_OP_N;
	bool fits = m > 0 && n > 0 && k > 0 && lda >= m && ldb >= k && ldc >= m &&
		    a_type == b_type && b_type == c_type;
	if (!plain || !fits || compute_type != BENCH_CUBLAS_COMPUTE_32F ||
	    algorithm != BENCH_CUBLAS_GEMM_DEFAULT || *(const float *)alpha != 1.0F ||
	    *(const float *)beta != 0.0F)
		return INVALID_VALUE;
	multiply(a_type, (size_t)m, (size_t)n, (size_t)k, (operand_t){a, (size_t)lda},
		 (operand_t){b, (size_t)ldb}, c, (size_t)ldc);
	return 0;
}
