/*
 * The calls of AMD's HIP, of its compiler at run time and of hipBLASLt that the
 * baseline makes, beside those that both vendors share (bench/gpu/runtime.h). They
 * are declared here, so that no build needs the vendor's headers.
 * tests/baseline/test_amd.c compares those of HIP with its headers where they
 * are installed. Those of hipBLASLt are as in hipblaslt.h, hipblas-common.h
 * and library_types.h of ROCm 6 and 7, which only C++ can read.
 */
#ifndef TESSERA_BENCH_AMD_LIBRARIES_H
#define TESSERA_BENCH_AMD_LIBRARIES_H

#include <stdint.h>

#include "bench/gpu/library.h"
#include "bench/gpu/runtime.h"
#include "bench/internal.h"

/* Constants under the vendor's values. */
enum {
	BENCH_HIP_COPY_BY_ADDRESS = 4, /* hipMemcpyDefault */
	BENCH_HIPBLAS_OP_N = 111,
	BENCH_HIPBLAS_COMPUTE_32F = 2,
	BENCH_HIPBLASLT_DESC_TRANS_A = 0, /* hipblasLtMatmulDescAttributes_t */
	BENCH_HIPBLASLT_DESC_TRANS_B = 1,
	BENCH_HIPBLASLT_PREF_WORKSPACE = 1, /* hipblasLtMatmulPreferenceAttributes_t */
	/* Before 0.6.0, of ROCm 6.0, the types of numbers had other values. */
	BENCH_HIPBLASLT_OLDEST = 600,
};

/** hipblasLtMatmulHeuristicResult_t: an algorithm, and what is known of it. */
typedef struct bench_algorithm {
	unsigned char algorithm[16]; /* hipblasLtMatmulAlgo_t is this and the next */
	size_t most_workspace_bytes;
	size_t workspace_bytes;
	int state; /* 0: the rest is valid */
	float waves;
	int reserved[4];
} bench_algorithm_t;

/*
 * Each entry: what it returns, field, symbol, arguments. All that return an int
 * return 0 where they succeed.
 */
/* clang-format off */
#define BENCH_HIP_ENTRIES(X) \
	X(const char *, error_string, hipGetErrorString, (int code)) \
	X(int, device_get, hipGetDevice, (int *out)) \
	X(int, device_set, hipSetDevice, (int device)) \
	X(int, copy_2d, hipMemcpy2DAsync, \
	  (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width_bytes, \
	   size_t height, int kind, void *stream))

#define BENCH_HIPRTC_ENTRIES(X) \
	X(const char *, error_string, hiprtcGetErrorString, (int code)) \
	X(int, create, hiprtcCreateProgram, \
	  (void **out, const char *text, const char *name, int headers, const char **header_texts, \
	   const char **header_names)) \
	X(int, compile, hiprtcCompileProgram, (void *program, int count, const char **options)) \
	X(int, code_bytes, hiprtcGetCodeSize, (void *program, size_t *out)) \
	X(int, code, hiprtcGetCode, (void *program, char *out)) \
	X(int, destroy, hiprtcDestroyProgram, (void **program))

#define BENCH_HIPBLASLT_ENTRIES(X) \
	X(int, create, hipblasLtCreate, (void **out)) \
	X(int, destroy, hipblasLtDestroy, (void *handle)) \
	X(int, version, hipblasLtGetVersion, (void *handle, int *out)) \
	X(int, desc_create, hipblasLtMatmulDescCreate, \
	  (void **out, int compute_type, int scale_type)) \
	X(int, desc_set, hipblasLtMatmulDescSetAttribute, \
	  (void *desc, int attribute, const void *value, size_t bytes)) \
	X(int, desc_destroy, hipblasLtMatmulDescDestroy, (void *desc)) \
	X(int, layout_create, hipblasLtMatrixLayoutCreate, \
	  (void **out, int type, uint64_t rows, uint64_t cols, int64_t ld)) \
	X(int, layout_destroy, hipblasLtMatrixLayoutDestroy, (void *layout)) \
	X(int, preference_create, hipblasLtMatmulPreferenceCreate, (void **out)) \
	X(int, preference_set, hipblasLtMatmulPreferenceSetAttribute, \
	  (void *preference, int attribute, const void *value, size_t bytes)) \
	X(int, preference_destroy, hipblasLtMatmulPreferenceDestroy, (void *preference)) \
	X(int, algorithms, hipblasLtMatmulAlgoGetHeuristic, \
	  (void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, \
	   int wanted, bench_algorithm_t *out, int *count_out)) \
	X(int, matmul, hipblasLtMatmul, \
	  (void *handle, void *desc, const void *alpha, const void *a, void *a_layout, \
	   const void *b, void *b_layout, const void *beta, const void *c, void *c_layout, void *d, \
	   void *d_layout, const bench_algorithm_t *algorithm, void *workspace, \
	   size_t workspace_bytes, void *stream))
/* clang-format on */

typedef struct bench_hip {
	bench_runtime_t run;
	BENCH_HIP_ENTRIES(BENCH_TABLE_FIELD)
} bench_hip_t;
typedef struct bench_hiprtc {
	BENCH_HIPRTC_ENTRIES(BENCH_TABLE_FIELD)
} bench_hiprtc_t;
typedef struct bench_hipblaslt {
	BENCH_HIPBLASLT_ENTRIES(BENCH_TABLE_FIELD)
} bench_hipblaslt_t;

/**
 * For bench_library_find: they fill in a bench_hip_t, a bench_hiprtc_t, a
 * bench_hipblaslt_t and a bench_nccl_t. HIP is the copy that the process has
 * loaded already, if there is one.
 */
extern const bench_library_t bench_hip_library, bench_hiprtc_library, bench_hipblaslt_library,
	bench_rccl_library;

/** What a status of hipBLASLt means: the library has no call that says it. */
const char *bench_hipblaslt_status(int status);

#endif
