/* Finding AMD's libraries. */
#include "bench/gpu/amd/libraries.h"

/*
 * A framework's wheel brings a HIP runtime of its own, and two runtimes do not
 * go together in one process: only ROCm's own wheels are looked into.
 */
const bench_places_t bench_rocm_places = {
	.home = "ROCM_PATH",
	.toolkits = "/opt/rocm:/opt/rocm-*",
	.wheels = "_rocm_sdk_*",
};

bool bench_hip_find(bench_hip_t *hip_out, char sentence[BENCH_SENTENCE])
{
#define SHARED(field_, nvidia_, amd_, arguments_) {#amd_, offsetof(bench_hip_t, run.field_)},
#define TABLE bench_hip_t
	static const bench_entry_t entries[] = {BENCH_RUNTIME_ENTRIES(SHARED)
							BENCH_HIP_ENTRIES(BENCH_TABLE_ENTRY)};
#undef TABLE
	static const char *const names[] = {"libamdhip64.so", "libamdhip64.so.7",
					    "libamdhip64.so.6", "libamdhip64.so.5", NULL};
	const bench_library_t library = {.what = "HIP runtime",
					 .cure = "install ROCm",
					 .names = names,
					 .places = &bench_rocm_places,
					 .entries = entries,
					 .count = BENCH_COUNT(entries),
					 .prefer_loaded = true};
	return bench_library_find(&library, hip_out, sentence);
}

/* Up to ROCm 6 the runtime itself has the compiler's entries too. */
bool bench_hiprtc_find(bench_hiprtc_t *hiprtc_out, char sentence[BENCH_SENTENCE])
{
#define TABLE bench_hiprtc_t
	static const bench_entry_t entries[] = {BENCH_HIPRTC_ENTRIES(BENCH_TABLE_ENTRY)};
#undef TABLE
	static const char *const names[] = {"libhiprtc.so",   "libhiprtc.so.7",   "libhiprtc.so.6",
					    "libamdhip64.so", "libamdhip64.so.5", NULL};
	const bench_library_t library = {.what = "HIP compiler at run time",
					 .cure = "install ROCm",
					 .names = names,
					 .places = &bench_rocm_places,
					 .entries = entries,
					 .count = BENCH_COUNT(entries)};
	return bench_library_find(&library, hiprtc_out, sentence);
}

bool bench_hipblaslt_find(bench_hipblaslt_t *hipblaslt_out, char sentence[BENCH_SENTENCE])
{
#define TABLE bench_hipblaslt_t
	static const bench_entry_t entries[] = {BENCH_HIPBLASLT_ENTRIES(BENCH_TABLE_ENTRY)};
#undef TABLE
	static const char *const names[] = {"libhipblaslt.so", "libhipblaslt.so.1",
					    "libhipblaslt.so.0", NULL};
	const bench_library_t library = {.what = "hipBLASLt",
					 .cure = "install ROCm 6.0 or later, with hipblaslt",
					 .names = names,
					 .places = &bench_rocm_places,
					 .entries = entries,
					 .count = BENCH_COUNT(entries)};
	return bench_library_find(&library, hipblaslt_out, sentence);
}

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
	return status >= 0 && status < (int)BENCH_COUNT(names) ? names[status] : "unknown";
}
