/*
 * hipBLASLt on the host. An algorithm is good for the product that it was
 * chosen for, and needs a workspace. FAKE_OLD_BLAS: the library is of ROCm 5.7.
 * FAKE_NO_ALGORITHM: none is known.
 */
#include <stdlib.h>

#include "bench/gpu/amd/libraries.h"
#include "tests/fakes/product.h"

#define DECLARE(type_, field_, symbol_, arguments_) type_ symbol_ arguments_;
BENCH_HIPBLASLT_ENTRIES(DECLARE)

enum { NOT_INITIALIZED = 1, INVALID_VALUE = 3, WORKSPACE_BYTES = 4096 };

typedef struct desc {
	int compute_type, scale_type;
	int32_t trans_a, trans_b;
} desc_t;

typedef struct layout {
	int type;
	uint64_t rows, cols;
	int64_t ld;
} layout_t;

/** What `algorithm` has of a product. */
typedef struct shape {
	uint32_t type, m, n, k;
} shape_t;

_Static_assert(sizeof(shape_t) == sizeof((bench_algorithm_t){0}.algorithm), "it has room for one");

static char thing;

int hipblasLtCreate(void **out)
{
	*out = &thing;
	return 0;
}

int hipblasLtDestroy(void *handle)
{
	return handle == &thing ? 0 : NOT_INITIALIZED;
}

int hipblasLtGetVersion(void *handle, int *out)
{
	*out = getenv("FAKE_OLD_BLAS") ? 300 : 100203;
	return handle == &thing ? 0 : NOT_INITIALIZED;
}

int hipblasLtMatmulDescCreate(void **out, int compute_type, int scale_type)
{
	desc_t *desc = malloc(sizeof *desc);
	*desc = (desc_t){compute_type, scale_type, BENCH_HIPBLAS_OP_N, BENCH_HIPBLAS_OP_N};
	*out = desc;
	return 0;
}

int hipblasLtMatmulDescSetAttribute(void *desc, int attribute, const void *value, size_t bytes)
{
	desc_t *d = desc;
	if (bytes != sizeof(int32_t) || (attribute != BENCH_HIPBLASLT_DESC_TRANS_A &&
					 attribute != BENCH_HIPBLASLT_DESC_TRANS_B))
		return INVALID_VALUE;
	memcpy(attribute == BENCH_HIPBLASLT_DESC_TRANS_A ? &d->trans_a : &d->trans_b, value, bytes);
	return 0;
}

int hipblasLtMatmulDescDestroy(void *desc)
{
	free(desc);
	return 0;
}

int hipblasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
	layout_t *layout = malloc(sizeof *layout);
	*layout = (layout_t){type, rows, cols, ld};
	*out = layout;
	return 0;
}

int hipblasLtMatrixLayoutDestroy(void *layout)
{
	free(layout);
	return 0;
}

/** A preference is the workspace that it allows. */
int hipblasLtMatmulPreferenceCreate(void **out)
{
	*out = calloc(1, sizeof(uint64_t));
	return 0;
}

int hipblasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value,
					  size_t bytes)
{
	if (attribute != BENCH_HIPBLASLT_PREF_WORKSPACE || bytes != sizeof(uint64_t))
		return INVALID_VALUE;
	memcpy(preference, value, bytes);
	return 0;
}

int hipblasLtMatmulPreferenceDestroy(void *preference)
{
	free(preference);
	return 0;
}

static bool fits(const desc_t *desc, const layout_t *a, const layout_t *b, const layout_t *c)
{
	const bool f32_sums =
		desc->compute_type == BENCH_HIPBLAS_COMPUTE_32F && desc->scale_type == BENCH_R_32F;
	const bool plain =
		desc->trans_a == BENCH_HIPBLAS_OP_N && desc->trans_b == BENCH_HIPBLAS_OP_N;
	return f32_sums && plain && a->type == b->type && b->type == c->type &&
	       a->cols == b->rows && a->rows == c->rows && b->cols == c->cols && a->rows > 0 &&
	       a->cols > 0 && b->cols > 0 && a->ld >= (int64_t)a->rows &&
	       b->ld >= (int64_t)b->rows && c->ld >= (int64_t)c->rows;
}

static shape_t shape_of(const layout_t *a, const layout_t *c)
{
	return (shape_t){(uint32_t)a->type, (uint32_t)c->rows, (uint32_t)c->cols,
			 (uint32_t)a->cols};
}

int hipblasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c, void *d,
				    void *preference, int wanted, bench_algorithm_t *out,
				    int *count_out)
{
	if (handle != &thing || wanted < 1 || d != c || !fits(desc, a, b, c))
		return INVALID_VALUE;
	*count_out = !getenv("FAKE_NO_ALGORITHM") && *(uint64_t *)preference >= WORKSPACE_BYTES;
	const shape_t shape = shape_of(a, c);
	*out = (bench_algorithm_t){.workspace_bytes = WORKSPACE_BYTES};
	memcpy(out->algorithm, &shape, sizeof shape);
	return 0;
}

int hipblasLtMatmul(void *handle, void *desc, const void *alpha, const void *a, void *a_layout,
		    const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
		    void *d, void *d_layout, const bench_algorithm_t *algorithm, void *workspace,
		    size_t workspace_bytes, void *stream)
{
	const layout_t *la = a_layout, *lb = b_layout, *ld = d_layout;
	if (handle != &thing || !stream || c != d || c_layout != d_layout ||
	    !fits(desc, la, lb, ld) || *(const float *)alpha != 1.0F ||
	    *(const float *)beta != 0.0F)
		return INVALID_VALUE;
	const shape_t shape = shape_of(la, ld);
	if (memcmp(algorithm->algorithm, &shape, sizeof shape) != 0 || !workspace ||
	    workspace_bytes < algorithm->workspace_bytes)
		return INVALID_VALUE;
	memset(workspace, 0x77, WORKSPACE_BYTES);
	multiply(la->type, ld->rows, ld->cols, la->cols, (operand_t){a, (size_t)la->ld},
		 (operand_t){b, (size_t)lb->ld}, d, (size_t)ld->ld);
	return 0;
}
