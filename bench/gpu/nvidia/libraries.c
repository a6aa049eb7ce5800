/* Finding NVIDIA's libraries. */
#include "bench/gpu/nvidia/libraries.h"

const bench_places_t bench_cuda_places = {
	.home = "CUDA_HOME",
	.toolkits = "/usr/local/cuda:/usr/local/cuda-*:/opt/cuda",
	.wheels = "nvidia/*",
};

bool bench_cuda_find(bench_cuda_t *cuda_out, char sentence[BENCH_SENTENCE])
{
#define SHARED(field_, nvidia_, amd_, arguments_) {#nvidia_, offsetof(bench_cuda_t, run.field_)},
#define TABLE bench_cuda_t
	static const bench_entry_t entries[] = {BENCH_RUNTIME_ENTRIES(SHARED)
							BENCH_CUDA_ENTRIES(BENCH_TABLE_ENTRY)};
#undef TABLE
	static const char *const names[] = {"libcuda.so.1", NULL};
	const bench_library_t library = {.what = "NVIDIA driver",
					 .cure = "install one",
					 .names = names,
					 .places = &bench_cuda_places,
					 .entries = entries,
					 .count = BENCH_COUNT(entries)};
	return bench_library_find(&library, cuda_out, sentence);
}

bool bench_cublas_find(bench_cublas_t *cublas_out, char sentence[BENCH_SENTENCE])
{
#define TABLE bench_cublas_t
	static const bench_entry_t entries[] = {BENCH_CUBLAS_ENTRIES(BENCH_TABLE_ENTRY)};
#undef TABLE
	static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
					    NULL};
	const bench_library_t library = {.what = "cuBLAS",
					 .cure = "install the CUDA toolkit or the wheel "
						 "nvidia-cublas",
					 .names = names,
					 .places = &bench_cuda_places,
					 .entries = entries,
					 .count = BENCH_COUNT(entries)};
	return bench_library_find(&library, cublas_out, sentence);
}
