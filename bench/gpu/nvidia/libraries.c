/* NVIDIA's libraries: under which names, and where. */
#include "bench/gpu/nvidia/libraries.h"

#include "bench/gpu/nccl.h"

static const bench_places_t places = {
	.home = "CUDA_HOME",
	.toolkits = "/usr/local/cuda:/usr/local/cuda-*:/opt/cuda",
	.wheels = "nvidia/*",
};

#define SHARED(field_, nvidia_, amd_, arguments_) {#nvidia_, offsetof(bench_cuda_t, run.field_)},
#define TABLE bench_cuda_t
static const bench_entry_t cuda_entries[] = {
	BENCH_RUNTIME_ENTRIES(SHARED) BENCH_CUDA_ENTRIES(BENCH_TABLE_ENTRY) BENCH_LAST_ENTRY};
#undef TABLE

#define TABLE bench_cublas_t
static const bench_entry_t cublas_entries[] = {BENCH_CUBLAS_ENTRIES(BENCH_TABLE_ENTRY)
						       BENCH_LAST_ENTRY};
#undef TABLE

const bench_library_t bench_cuda_library = {
	.what = "NVIDIA driver",
	.cure = "install one",
	.names = {"libcuda.so.1"},
	.places = &places,
	.entries = cuda_entries,
};

const bench_library_t bench_cublas_library = {
	.what = "cuBLAS",
	.cure = "install the CUDA toolkit or the wheel nvidia-cublas",
	.names = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"},
	.places = &places,
	.entries = cublas_entries,
};

const bench_library_t bench_nccl_library = {
	.what = "NCCL",
	.cure = "install it or the wheel nvidia-nccl-cu13",
	.names = {"libnccl.so.2", "libnccl.so"},
	.places = &places,
	.entries = bench_nccl_entries,
};
