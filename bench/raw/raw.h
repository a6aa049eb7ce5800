/* What the programs of this folder share: by bare CUDA, without the library. */
#ifndef TESSERA_BENCH_RAW_H
#define TESSERA_BENCH_RAW_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

/** Ends the program with one sentence where a call of the runtime fails. */
#define TRY(call_)                                                         \
	do {                                                               \
		cudaError_t code_ = (call_);                               \
		if (code_ != cudaSuccess) {                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				cudaGetErrorString(code_));                \
			exit(1);                                           \
		}                                                          \
	} while (0)

__device__ static inline uint64_t now_ns()
{
	uint64_t ns;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

#endif
