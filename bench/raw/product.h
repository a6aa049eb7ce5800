/*
 * A cuBLAS product on random data: what runs beside the moves that are
 * measured. cuBLAS is found when the program runs.
 */
#ifndef TESSERA_BENCH_RAW_PRODUCT_H
#define TESSERA_BENCH_RAW_PRODUCT_H

#include <cuda_bf16.h>
#include <dlfcn.h>

#include "raw.h"

enum { CUDA_R_16BF_ = 14, COMPUTE_32F = 68 };

static void *find(const char *const *names, const char *symbol)
{
	for (; *names; names++)
		if (void *library = dlopen(*names, RTLD_NOW))
			return dlsym(library, symbol);
	return nullptr;
}

static void *cublas(const char *symbol)
{
	static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
					    nullptr};
	void *found = find(names, symbol);
	if (!found) {
		fprintf(stderr, "there is no cuBLAS; name its folder in LD_LIBRARY_PATH\n");
		exit(77);
	}
	return found;
}

typedef struct product {
	void *handle;
	cudaStream_t stream;
	cudaEvent_t begin, end;
	__nv_bfloat16 *a, *b, *c;
	int m, n, k;
} product_t;

__global__ void fill(__nv_bfloat16 *p, size_t count, uint32_t seed)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
	     i += (size_t)gridDim.x * blockDim.x) {
		uint32_t x = (uint32_t)i * 2654435761u ^ seed;
		x ^= x >> 15, x *= 2246822519u, x ^= x >> 13, x *= 3266489917u, x ^= x >> 16;
		p[i] = __float2bfloat16((float)x / 4294967296.0f * 2 - 1);
	}
}

static product_t product_create(int gpu, int m, int n, int k)
{
	product_t p = {};
	p.m = m, p.n = n, p.k = k;
	TRY(cudaSetDevice(gpu));
	TRY(cudaStreamCreateWithFlags(&p.stream, cudaStreamNonBlocking));
	TRY(cudaEventCreate(&p.begin));
	TRY(cudaEventCreate(&p.end));
	TRY(cudaMalloc(&p.a, (size_t)m * k * 2));
	TRY(cudaMalloc(&p.b, (size_t)k * n * 2));
	TRY(cudaMalloc(&p.c, (size_t)m * n * 2));
	fill<<<1024, 256, 0, p.stream>>>(p.a, (size_t)m * k, 1);
	fill<<<1024, 256, 0, p.stream>>>(p.b, (size_t)k * n, 2);
	((int (*)(void **))cublas("cublasCreate_v2"))(&p.handle);
	((int (*)(void *, cudaStream_t))cublas("cublasSetStream_v2"))(p.handle, p.stream);
	return p;
}

/** Row-major C = A B: by columns, its transpose. */
static void product_start(const product_t *p)
{
	typedef int (*gemm_t)(void *, int, int, int, int, int, const void *, const void *, int, int,
			      const void *, int, int, const void *, void *, int, int, int, int);
	static gemm_t gemm = (gemm_t)cublas("cublasGemmEx");
	const float one = 1, none = 0;
	int code = gemm(p->handle, 0, 0, p->n, p->m, p->k, &one, p->b, CUDA_R_16BF_, p->n, p->a,
			CUDA_R_16BF_, p->k, &none, p->c, CUDA_R_16BF_, p->n, COMPUTE_32F, -1);
	if (code != 0) {
		fprintf(stderr, "cublasGemmEx failed with %d\n", code);
		exit(1);
	}
}

#endif
