/*
 * AMD's part of the baseline: HIP, and hipBLASLt as a framework calls it, with
 * f32 sums and the algorithm that it recommends.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/gpu/amd/libraries.h"
#include "bench/gpu/gpu.h"

/* What AMD's samples of hipBLASLt allow. */
static const uint64_t workspace_bytes = 32 << 20;

/**
 * How a step's product is run: chosen once, because to choose takes the host
 * longer than a small product takes the GPU.
 */
typedef struct plan {
	void *desc, *a, *b, *c; /* null: not made */
	bench_algorithm_t algorithm;
} plan_t;

typedef struct own {
	bench_hip_t hip;
	bench_hipblaslt_t blas;
	int device, before; /* the rank's GPU, and the thread's while ours is current */
	void *handle;       /* of hipBLASLt; null: not made */
	void *workspace;    /* the same */
	plan_t plans[WORKLOAD_STEPS];
} own_t;

/* ------------------------------------------------------------ the runtime */

static bool find(bench_gpu_t *gpu, char sentence[BENCH_SENTENCE])
{
	own_t *own = gpu->own;
	const bool found = bench_library_find(&bench_hip_library, &own->hip, sentence);
	gpu->run = own->hip.run;
	return found;
}

static bool open_device(bench_gpu_t *gpu, int ordinal, char sentence[BENCH_SENTENCE])
{
	own_t *own = gpu->own;
	own->device = ordinal;
	return bench_gpu_ok(gpu, gpu->run.device_bus(gpu->bus, BENCH_BUS_ID, ordinal),
			    "say where the GPU is", sentence);
}

static void close_device(bench_gpu_t *gpu)
{
	(void)gpu;
}

static int enter(bench_gpu_t *gpu)
{
	own_t *own = gpu->own;
	if (own->hip.device_get(&own->before) != 0)
		own->before = own->device;
	return own->hip.device_set(own->device);
}

static void leave(bench_gpu_t *gpu)
{
	own_t *own = gpu->own;
	if (own->before != own->device)
		(void)own->hip.device_set(own->before);
}

static const char *text(const bench_gpu_t *gpu, int code)
{
	const own_t *own = gpu->own;
	return own->hip.error_string(code);
}

static int copy_rows(const bench_gpu_t *gpu, const bench_rows_t *rows)
{
	const own_t *own = gpu->own;
	return own->hip.copy_2d(rows->to, rows->to_pitch, rows->from, rows->from_pitch,
				rows->row_bytes, rows->rows, BENCH_HIP_COPY_BY_ADDRESS,
				gpu->stream);
}

/* ------------------------------------------------------------ kernels of our own */

static bool hiprtc_ok(const bench_hiprtc_t *rtc, const bench_kernels_t *kernels, int code,
		      const char *what, char sentence[BENCH_SENTENCE])
{
	if (code != 0)
		(void)snprintf(sentence, BENCH_SENTENCE, "%s failed on %s (%s); install ROCm anew",
			       what, kernels->what, rtc->error_string(code));
	return code == 0;
}

/**
 * The code of a compiled program; null, with a sentence, where there is none.
 */
static char *code_of(const bench_hiprtc_t *rtc, const bench_kernels_t *kernels, void *program,
		     char sentence[BENCH_SENTENCE])
{
	size_t bytes = 0;
	if (!hiprtc_ok(rtc, kernels, rtc->compile(program, 0, NULL), "hiprtcCompileProgram",
		       sentence) ||
	    !hiprtc_ok(rtc, kernels, rtc->code_bytes(program, &bytes), "hiprtcGetCodeSize",
		       sentence))
		return NULL;
	char *code = malloc(bytes);
	if (!code)
		(void)snprintf(sentence, BENCH_SENTENCE,
			       "the host has no memory for a kernel; free some");
	else if (hiprtc_ok(rtc, kernels, rtc->code(program, code), "hiprtcGetCode", sentence))
		return code;
	free(code);
	return NULL;
}

/** HIP's compiler takes the architecture of the current GPU. */
static bool load(const bench_gpu_t *gpu, const bench_kernels_t *kernels, void **module_out,
		 char sentence[BENCH_SENTENCE])
{
	bench_hiprtc_t rtc;
	void *program = NULL;
	char what[64];
	(void)snprintf(what, sizeof what, "load %s", kernels->what);
	if (!bench_library_find(&bench_hiprtc_library, &rtc, sentence) ||
	    !hiprtc_ok(&rtc, kernels,
		       rtc.create(&program, kernels->hip, "baseline.hip", 0, NULL, NULL),
		       "hiprtcCreateProgram", sentence))
		return false;
	char *code = code_of(&rtc, kernels, program, sentence);
	const bool good =
		code && bench_gpu_ok(gpu, gpu->run.module_load(module_out, code), what, sentence);
	free(code);
	(void)rtc.destroy(&program);
	return good;
}

/* ------------------------------------------------------------ products */

static bool blas_ok(int code, const char *what, char sentence[BENCH_SENTENCE])
{
	if (code != 0)
		(void)snprintf(sentence, BENCH_SENTENCE,
			       "%s failed (%s); does hipBLASLt fit HIP and the GPU?", what,
			       bench_hipblaslt_status(code));
	return code == 0;
}

enum { MAJOR = 100000 };

static bool version(const bench_gpu_t *gpu, int *number_out)
{
	const own_t *own = gpu->own;
	return own->blas.version(own->handle, number_out) == 0;
}

static bool check_version(const bench_gpu_t *gpu, char sentence[BENCH_SENTENCE])
{
	int number = 0;
	if (version(gpu, &number) && number >= BENCH_HIPBLASLT_OLDEST)
		return true;
	const bench_version_t v = bench_version_of(number, MAJOR);
	(void)snprintf(sentence, BENCH_SENTENCE,
		       "the hipBLASLt here is version %d.%d.%d, which names types otherwise: "
		       "install ROCm 6.0 or later",
		       v.major, v.minor, v.patch);
	return false;
}

static bool open_products(bench_gpu_t *gpu, char sentence[BENCH_SENTENCE])
{
	own_t *own = gpu->own;
	return bench_library_find(&bench_hipblaslt_library, &own->blas, sentence) &&
	       blas_ok(own->blas.create(&own->handle), "hipblasLtCreate", sentence) &&
	       check_version(gpu, sentence) &&
	       bench_gpu_ok(gpu, gpu->run.alloc(&own->workspace, workspace_bytes),
			    "allocate a workspace", sentence);
}

static bool describe(own_t *own, plan_t *plan, const bench_product_t *p,
		     char sentence[BENCH_SENTENCE])
{
	static const int32_t plain = BENCH_HIPBLAS_OP_N;
	const bench_hipblaslt_t *blas = &own->blas;
	const uint64_t m = (uint64_t)p->m, n = (uint64_t)p->n, k = (uint64_t)p->k;
	return blas_ok(blas->desc_create(&plan->desc, BENCH_HIPBLAS_COMPUTE_32F, BENCH_R_32F),
		       "hipblasLtMatmulDescCreate", sentence) &&
	       blas_ok(blas->desc_set(plan->desc, BENCH_HIPBLASLT_DESC_TRANS_A, &plain,
				      sizeof plain),
		       "hipblasLtMatmulDescSetAttribute", sentence) &&
	       blas_ok(blas->desc_set(plan->desc, BENCH_HIPBLASLT_DESC_TRANS_B, &plain,
				      sizeof plain),
		       "hipblasLtMatmulDescSetAttribute", sentence) &&
	       blas_ok(blas->layout_create(&plan->a, p->type, m, k, p->m),
		       "hipblasLtMatrixLayoutCreate", sentence) &&
	       blas_ok(blas->layout_create(&plan->b, p->type, k, n, p->k),
		       "hipblasLtMatrixLayoutCreate", sentence) &&
	       blas_ok(blas->layout_create(&plan->c, p->type, m, n, p->m),
		       "hipblasLtMatrixLayoutCreate", sentence);
}

/**
 * The first of those that hipBLASLt recommends: it is the fastest by its own
 * estimate.
 */
static bool choose(own_t *own, plan_t *plan, const bench_product_t *p, void *preference,
		   char sentence[BENCH_SENTENCE])
{
	const bench_hipblaslt_t *blas = &own->blas;
	int count = 0;
	if (!blas_ok(blas->preference_set(preference, BENCH_HIPBLASLT_PREF_WORKSPACE,
					  &workspace_bytes, sizeof workspace_bytes),
		     "hipblasLtMatmulPreferenceSetAttribute", sentence) ||
	    !blas_ok(blas->algorithms(own->handle, plan->desc, plan->a, plan->b, plan->c, plan->c,
				      preference, 1, &plan->algorithm, &count),
		     "hipblasLtMatmulAlgoGetHeuristic", sentence))
		return false;
	if (count > 0 && plan->algorithm.state == 0)
		return true;
	(void)snprintf(sentence, BENCH_SENTENCE,
		       "hipBLASLt has no algorithm for %lld x %lld x %lld here; use another shape "
		       "or dtype, or install a newer ROCm",
		       (long long)p->n, (long long)p->m, (long long)p->k);
	return false;
}

static bool prepare(bench_gpu_t *gpu, int step, const bench_product_t *product,
		    char sentence[BENCH_SENTENCE])
{
	own_t *own = gpu->own;
	plan_t *plan = &own->plans[step];
	void *preference = NULL;
	if (!describe(own, plan, product, sentence) ||
	    !blas_ok(own->blas.preference_create(&preference), "hipblasLtMatmulPreferenceCreate",
		     sentence))
		return false;
	const bool chosen = choose(own, plan, product, preference, sentence);
	(void)own->blas.preference_destroy(preference);
	return chosen;
}

static bool multiply(const bench_gpu_t *gpu, int step, const bench_product_t *p,
		     char sentence[BENCH_SENTENCE])
{
	static const float one = 1.0F, zero = 0.0F;
	const own_t *own = gpu->own;
	const plan_t *plan = &own->plans[step];
	return blas_ok(own->blas.matmul(own->handle, plan->desc, &one, p->a, plan->a, p->b, plan->b,
					&zero, p->c, plan->c, p->c, plan->c, &plan->algorithm,
					own->workspace, workspace_bytes, gpu->stream),
		       "hipblasLtMatmul", sentence);
}

static void close_products(bench_gpu_t *gpu)
{
	own_t *own = gpu->own;
	for (int i = 0; i < WORKLOAD_STEPS; i++) {
		void *const layouts[] = {own->plans[i].a, own->plans[i].b, own->plans[i].c};
		for (int j = 0; j < 3; j++)
			if (layouts[j])
				(void)own->blas.layout_destroy(layouts[j]);
		if (own->plans[i].desc)
			(void)own->blas.desc_destroy(own->plans[i].desc);
	}
	if (own->workspace)
		(void)gpu->run.free(own->workspace);
	if (own->handle)
		(void)own->blas.destroy(own->handle);
}

/* ------------------------------------------------------------ the table */

static const bench_vendor_t amd = {
	.product = "hipBLASLt",
	.runtime = "HIP",
	.cure = "see rocm-smi whether the GPU is full or lost",
	.collectives = &bench_rccl_library,
	.own_bytes = sizeof(own_t),
	.major = MAJOR,
	/* The heap is fine-grained memory, which caches keep less of. */
	.copies_inputs = true,
	.find = find,
	.open = open_device,
	.close = close_device,
	.enter = enter,
	.leave = leave,
	.text = text,
	.copy_rows = copy_rows,
	.load = load,
	.open_products = open_products,
	.prepare = prepare,
	.multiply = multiply,
	.version = version,
	.close_products = close_products,
};

const bench_engine_t bench_hipblaslt_rccl = {&bench_gpu_ops, &amd};
