/* The tables of NVIDIA's libraries. */
#include "bench/vendor.h"
#include "bench/library.h"

#define ENTRY(type_, field_, symbol_, arguments_) {#symbol_, offsetof(TABLE, field_)},
#define COUNT(array_) (sizeof(array_) / sizeof *(array_))

bool bench_cuda_find(bench_cuda_t *cuda_out, char sentence[BENCH_SENTENCE])
{
#define TABLE bench_cuda_t
	static const bench_entry_t entries[] = {BENCH_CUDA_ENTRIES(ENTRY)};
#undef TABLE
	static const char *const names[] = {"libcuda.so.1", NULL};
	const bench_library_t library = {"NVIDIA driver", "install one", names, entries,
					 COUNT(entries)};
	return bench_library_find(&library, cuda_out, sentence);
}

bool bench_cublas_find(bench_cublas_t *cublas_out, char sentence[BENCH_SENTENCE])
{
#define TABLE bench_cublas_t
	static const bench_entry_t entries[] = {BENCH_CUBLAS_ENTRIES(ENTRY)};
#undef TABLE
	static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
					    NULL};
	const bench_library_t library = {"cuBLAS",
					 "install the CUDA toolkit or the wheel nvidia-cublas",
					 names, entries, COUNT(entries)};
	return bench_library_find(&library, cublas_out, sentence);
}

bool bench_nccl_find(bench_nccl_t *nccl_out, char sentence[BENCH_SENTENCE])
{
#define TABLE bench_nccl_t
	static const bench_entry_t entries[] = {BENCH_NCCL_ENTRIES(ENTRY)};
#undef TABLE
	static const char *const names[] = {"libnccl.so.2", "libnccl.so", NULL};
	const bench_library_t library = {"NCCL", "install it or the wheel nvidia-nccl-cu13", names,
					 entries, COUNT(entries)};
	return bench_library_find(&library, nccl_out, sentence);
}
