/* cublasGemmEx on the host, by its definition: column-major, f32 sums. */
#include <string.h>

#include "bench/vendor.h"

#define DECLARE(type_, field_, symbol_, arguments_) type_ symbol_ arguments_;
BENCH_CUBLAS_ENTRIES(DECLARE)

__extension__ typedef _Float16 half_t;

enum { INVALID_VALUE = 7 };

static char thing;

static float get(int type, const void *data, size_t index)
{
	float value = 0.0F;
	if (type == BENCH_R_32F)
		return ((const float *)data)[index];
	if (type == BENCH_R_16F)
		return (float)((const half_t *)data)[index];
	uint32_t bits = (uint32_t)((const uint16_t *)data)[index] << 16;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static void set(int type, void *data, size_t index, float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	if (type == BENCH_R_32F)
		((float *)data)[index] = value;
	else if (type == BENCH_R_16F)
		((half_t *)data)[index] = (half_t)value;
	else /* to nearest even */
		((uint16_t *)data)[index] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

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
	for (int col = 0; col < n; col++)
		for (int row = 0; row < m; row++) {
			float sum = 0.0F;
			for (int i = 0; i < k; i++)
				sum += get(a_type, a, (size_t)i * (size_t)lda + (size_t)row) *
				       get(b_type, b, (size_t)col * (size_t)ldb + (size_t)i);
			set(c_type, c, (size_t)col * (size_t)ldc + (size_t)row, sum);
		}
	return 0;
}
