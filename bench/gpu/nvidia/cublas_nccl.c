/*
 * NVIDIA's part of the baseline: its driver, and cuBLAS as a framework calls
 * it, by cublasGemmEx with f32 sums.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/gpu/gpu.h"
#include "bench/gpu/nvidia/libraries.h"

typedef struct own {
	bench_cuda_t cuda;
	bench_cublas_t cublas;
	int device; /* the driver's handle */
	void *context;
	void *handle; /* of cuBLAS; null: not made */
} own_t;

/* ------------------------------------------------------------ the driver */

/** Multicast over NVLink only where somebody asks for it. */
static void leave_multicast_off(void)
{
	(void)setenv("NCCL_NVLS_ENABLE", "0", 0);
}

static bool find(bench_gpu_t *gpu, char sentence[BENCH_SENTENCE])
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	own_t *own = gpu->own;
	/* before any rank looks for libraries, which reads the environment: ranks may be threads */
	(void)pthread_once(&once, leave_multicast_off);
	const bool found = bench_library_find(&bench_cuda_library, &own->cuda, sentence);
	gpu->run = own->cuda.run;
	return found;
}

/** The context is the one that the backend uses. */
static bool open_device(bench_gpu_t *gpu, int ordinal, char sentence[BENCH_SENTENCE])
{
	own_t *own = gpu->own;
	const bench_cuda_t *cu = &own->cuda;
	return bench_gpu_ok(gpu, cu->init(0), "start", sentence) &&
	       bench_gpu_ok(gpu, cu->device_get(&own->device, ordinal), "find the rank's GPU",
			    sentence) &&
	       bench_gpu_ok(gpu, cu->run.device_bus(gpu->bus, BENCH_BUS_ID, own->device),
			    "say where the GPU is", sentence) &&
	       bench_gpu_ok(gpu, cu->retain(&own->context, own->device), "give the GPU's context",
			    sentence);
}

static void close_device(bench_gpu_t *gpu)
{
	own_t *own = gpu->own;
	(void)own->cuda.release(own->device);
}

static int enter(bench_gpu_t *gpu)
{
	own_t *own = gpu->own;
	return own->cuda.push(own->context);
}

static void leave(bench_gpu_t *gpu)
{
	own_t *own = gpu->own;
	void *popped;
	(void)own->cuda.pop(&popped);
}

static const char *text(const bench_gpu_t *gpu, int code)
{
	const own_t *own = gpu->own;
	const char *meaning = NULL;
	return own->cuda.error_string(code, &meaning) == 0 ? meaning : "unknown error";
}

static int copy_rows(const bench_gpu_t *gpu, const bench_rows_t *rows)
{
	const own_t *own = gpu->own;
	const bench_copy_2d_t copy = {
		.src_type = BENCH_CU_MEMORY_DEVICE,
		.src_device = (uint64_t)(uintptr_t)rows->from,
		.src_pitch = rows->from_pitch,
		.dst_type = BENCH_CU_MEMORY_DEVICE,
		.dst_device = (uint64_t)(uintptr_t)rows->to,
		.dst_pitch = rows->to_pitch,
		.width_bytes = rows->row_bytes,
		.height = rows->rows,
	};
	return own->cuda.copy_2d(&copy, gpu->stream);
}

/** The driver compiles them. */
static bool load(const bench_gpu_t *gpu, const bench_kernels_t *kernels, void **module_out,
		 char sentence[BENCH_SENTENCE])
{
	char what[64];
	(void)snprintf(what, sizeof what, "compile %s", kernels->what);
	return bench_gpu_ok(gpu, gpu->run.module_load(module_out, kernels->ptx), what, sentence);
}

/* ------------------------------------------------------------ products */

static bool cublas_ok(const own_t *own, int code, const char *what, char sentence[BENCH_SENTENCE])
{
	if (code != 0)
		(void)snprintf(sentence, BENCH_SENTENCE,
			       "%s failed (%s); does cuBLAS fit the driver and the GPU?", what,
			       own->cublas.status_string(code));
	return code == 0;
}

static bool open_products(bench_gpu_t *gpu, char sentence[BENCH_SENTENCE])
{
	own_t *own = gpu->own;
	return bench_library_find(&bench_cublas_library, &own->cublas, sentence) &&
	       cublas_ok(own, own->cublas.create(&own->handle), "cublasCreate", sentence) &&
	       cublas_ok(own, own->cublas.set_stream(own->handle, gpu->stream), "cublasSetStream",
			 sentence);
}

static bool multiply(const bench_gpu_t *gpu, int step, const bench_product_t *p,
		     char sentence[BENCH_SENTENCE])
{
	static const float one = 1.0F, zero = 0.0F;
	const own_t *own = gpu->own;
	const int m = (int)p->m, n = (int)p->n, k = (int)p->k;
	(void)step;
	return cublas_ok(own,
			 own->cublas.gemm(own->handle, BENCH_CUBLAS_OP_N, BENCH_CUBLAS_OP_N, m, n,
					  k, &one, p->a, p->type, m, p->b, p->type, k, &zero, p->c,
					  p->type, m, BENCH_CUBLAS_COMPUTE_32F,
					  BENCH_CUBLAS_GEMM_DEFAULT),
			 "cublasGemmEx", sentence);
}

static bool version(const bench_gpu_t *gpu, int *number_out)
{
	const own_t *own = gpu->own;
	return own->cublas.version(own->handle, number_out) == 0;
}

static void close_products(bench_gpu_t *gpu)
{
	own_t *own = gpu->own;
	if (own->handle)
		(void)own->cublas.destroy(own->handle);
}

/* ------------------------------------------------------------ the table */

static const bench_vendor_t nvidia = {
	.product = "cuBLAS",
	.runtime = "the driver",
	.cure = "see nvidia-smi whether the GPU is full or lost",
	.collectives = &bench_nccl_library,
	.own_bytes = sizeof(own_t),
	.major = 10000,
	.find = find,
	.open = open_device,
	.close = close_device,
	.enter = enter,
	.leave = leave,
	.text = text,
	.copy_rows = copy_rows,
	.load = load,
	.open_products = open_products,
	.multiply = multiply,
	.version = version,
	.close_products = close_products,
};

const bench_engine_t bench_cublas_nccl = {&bench_gpu_ops, &nvidia};
