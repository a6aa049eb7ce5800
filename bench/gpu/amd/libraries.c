/* AMD's libraries: under which names, and where. */
#include "bench/gpu/amd/libraries.h"

#include "bench/gpu/nccl.h"

/*
 * A framework's wheel brings a HIP runtime of its own, and two runtimes do not
 * go together in one process: only ROCm's own wheels are looked into.
 */
static const bench_places_t places = {
	.home = "ROCM_PATH",
	.toolkits = "/opt/rocm:/opt/rocm-*",
	.wheels = "_rocm_sdk_*",
};

#define SHARED(field_, nvidia_, amd_, arguments_) {#amd_, offsetof(bench_hip_t, run.field_)},
#define TABLE bench_hip_t
static const bench_entry_t hip_entries[] = {
	BENCH_RUNTIME_ENTRIES(SHARED) BENCH_HIP_ENTRIES(BENCH_TABLE_ENTRY) BENCH_LAST_ENTRY};
#undef TABLE

#define TABLE bench_hiprtc_t
static const bench_entry_t hiprtc_entries[] = {BENCH_HIPRTC_ENTRIES(BENCH_TABLE_ENTRY)
						       BENCH_LAST_ENTRY};
#undef TABLE

#define TABLE bench_hipblaslt_t
static const bench_entry_t hipblaslt_entries[] = {BENCH_HIPBLASLT_ENTRIES(BENCH_TABLE_ENTRY)
							  BENCH_LAST_ENTRY};
#undef TABLE

const bench_library_t bench_hip_library = {
	.what = "HIP runtime",
	.cure = "install ROCm",
	.names = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"},
	.places = &places,
	.entries = hip_entries,
	.prefer_loaded = true,
};

/* Up to ROCm 6 the runtime itself has the compiler's entries too. */
const bench_library_t bench_hiprtc_library = {
	.what = "HIP compiler at run time",
	.cure = "install ROCm",
	.names = {"libhiprtc.so", "libhiprtc.so.7", "libhiprtc.so.6", "libamdhip64.so",
		  "libamdhip64.so.5"},
	.places = &places,
	.entries = hiprtc_entries,
};

const bench_library_t bench_hipblaslt_library = {
	.what = "hipBLASLt",
	.cure = "install ROCm 6.0 or later, with hipblaslt",
	.names = {"libhipblaslt.so", "libhipblaslt.so.1", "libhipblaslt.so.0"},
	.places = &places,
	.entries = hipblaslt_entries,
};

const bench_library_t bench_rccl_library = {
	.what = "RCCL",
	.cure = "install ROCm, with rccl",
	.names = {"librccl.so", "librccl.so.1"},
	.places = &places,
	.entries = bench_nccl_entries,
};

const char *bench_hipblaslt_status(int status)
{
	static const char *const names[] = {
		"HIPBLAS_STATUS_SUCCESS",        "HIPBLAS_STATUS_NOT_INITIALIZED",
		"HIPBLAS_STATUS_ALLOC_FAILED",   "HIPBLAS_STATUS_INVALID_VALUE",
		"HIPBLAS_STATUS_MAPPING_ERROR",  "HIPBLAS_STATUS_EXECUTION_FAILED",
		"HIPBLAS_STATUS_INTERNAL_ERROR", "HIPBLAS_STATUS_NOT_SUPPORTED",
		"HIPBLAS_STATUS_ARCH_MISMATCH",  "HIPBLAS_STATUS_HANDLE_IS_NULLPTR",
		"HIPBLAS_STATUS_INVALID_ENUM",   "HIPBLAS_STATUS_UNKNOWN",
	};
	return status >= 0 && status < (int)(sizeof names / sizeof *names) ? names[status]
									   : "unknown";
}
