/* Finding the runtime, and saying what it says. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hip/device.h"
#include "src/base/error.h"

#define STRING_(name_) #name_
#define STRING(name_) STRING_(name_)

/*
 * The build says which platform's. The name without a number is what a
 * framework's own copy and the administrator's choice have.
 */
#if defined(TSR_HIP_NVIDIA)
static const char *const libraries[] = {"libtessera-hip-nvidia.so"};
static const char missing[] = "HIP's NVIDIA platform cannot be loaded here (%.160s): install the "
			      "NVIDIA driver, put the library where "
			      "LD_LIBRARY_PATH says, or use TESSERA_BACKEND=cpuemu";
#else
static const char *const libraries[] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6",
					"libamdhip64.so.5"};
static const char missing[] =
	"there is no HIP runtime here (%.160s): install ROCm, or use TESSERA_BACKEND=cpuemu";
static const char driver[] = "/dev/kfd"; /* of the kernel: what the runtime opens first */
#endif
enum { LIBRARIES = sizeof libraries / sizeof *libraries };

tsr_status_t tsr_hip_driver_check(void)
{
#if !defined(TSR_HIP_NVIDIA)
	if (access(driver, F_OK) != 0)
		return tsr_error(TSR_ERR_NO_DEVICE,
				 "there is no driver of AMD GPUs here (no %s): install ROCm's, or "
				 "use TESSERA_BACKEND=cpuemu",
				 driver);
#endif
	return TSR_OK;
}

bool tsr_hip_loaded(void)
{
	for (int i = 0; i < LIBRARIES; i++) {
		void *library = dlopen(libraries[i], RTLD_NOW | RTLD_NOLOAD);
		if (library) {
			dlclose(library);
			return true;
		}
	}
	return false;
}

/**
 * What is loaded already, for two copies of a runtime do not go together; else
 * the first that can be. It stays.
 */
static void *open_library(char why[160])
{
	void *library = NULL;
	for (int i = 0; i < LIBRARIES && !library; i++)
		library = dlopen(libraries[i], RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
	why[0] = '\0';
	for (int i = 0; i < LIBRARIES && !library; i++) {
		library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
		const char *error = library ? "" : dlerror();
		/* That what is there lacks something says more than that another is not there. */
		if (why[0] == '\0' || strncmp(error, libraries[i], strlen(libraries[i])) != 0)
			snprintf(why, 160, "%s", error);
	}
	return library;
}

static tsr_status_t find_entries(void *library, tsr_hip_runtime_t *runtime)
{
#define ENTRY(field_, function_, result_, parameters_) \
	{#function_, offsetof(tsr_hip_runtime_t, field_)},
	static const struct {
		const char *symbol;
		size_t offset;
	} entries[] = {TSR_HIP_ENTRIES(ENTRY)};
	for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
		/* the entry that fills HIP 6's structs: hipGetDeviceProperties alone has one */
		char newer[64];
		snprintf(newer, sizeof newer, "%sR0600", entries[i].symbol);
		void *address = dlsym(library, newer);
		if (!address)
			address = dlsym(library, entries[i].symbol);
		if (!address)
			return tsr_error(TSR_ERR_NO_DEVICE,
					 "the HIP runtime here is too old: it has no %s; install "
					 "ROCm 5.2 or later, or use "
					 "TESSERA_BACKEND=cpuemu",
					 entries[i].symbol);
		*(void **)(void *)((char *)runtime + entries[i].offset) = address;
	}
	return TSR_OK;
}

tsr_status_t tsr_hip_find(tsr_hip_runtime_t *runtime_out)
{
	char why[160];
	tsr_hip_runtime_t runtime;
	tsr_hip_platform_fn platform;
	void *library = open_library(why);
	if (!library)
		return tsr_error(TSR_ERR_NO_DEVICE, missing, why);
	*(void **)(void *)&platform = dlsym(library, STRING(TSR_HIP_PLATFORM));
	tsr_status_t status = TSR_OK;
	if (!platform)
		status = find_entries(library, &runtime);
	else if (platform(&runtime) != (int)sizeof runtime)
		status = tsr_error(TSR_ERR_UNSUPPORTED,
				   "%s was built for another version of the library: build it anew",
				   libraries[0]);
	dlclose(library);
	if (status == TSR_OK)
		*runtime_out = runtime;
	return status;
}

const char *tsr_hip_text(const tsr_hip_runtime_t *hip, tsr_hip_code_t code, char text[128])
{
	const char *name = hip->error_name(code), *meaning = hip->error_string(code);
	if (!name || !meaning)
		snprintf(text, 128, "HIP error %d", code);
	else if (strcmp(name, meaning) == 0) /* as in HIP 5 */
		snprintf(text, 128, "%s", name);
	else
		snprintf(text, 128, "%s: %s", name, meaning);
	return text;
}

tsr_status_t tsr_hip_check(const tsr_hip_runtime_t *hip, tsr_hip_code_t code, const char *cure,
			   const char *format, ...)
{
	char what[256], text[128];
	va_list arguments;
	if (code == TSR_HIP_SUCCESS)
		return TSR_OK;
	va_start(arguments, format);
	vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	return tsr_error(code == TSR_HIP_ERROR_OUT_OF_MEMORY ? TSR_ERR_NO_MEMORY : TSR_ERR_SYSTEM,
			 "%s failed (%s): %s", what, tsr_hip_text(hip, code, text), cure);
}

tsr_status_t tsr_hip_no_device(const tsr_hip_runtime_t *hip, tsr_hip_code_t code)
{
	static const char *const limits[] = {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
					     "CUDA_VISIBLE_DEVICES"};
	char text[128];
	if (code != TSR_HIP_SUCCESS && code != TSR_HIP_ERROR_NO_DEVICE &&
	    code != TSR_HIP_ERROR_INVALID_DEVICE)
		return tsr_error(TSR_ERR_NO_DEVICE,
				 "the HIP runtime does not start (%s): see " TSR_HIP_INFO
				 ", or use TESSERA_BACKEND=cpuemu",
				 tsr_hip_text(hip, code, text));
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		if (getenv(limits[i]))
			return tsr_error(TSR_ERR_NO_DEVICE,
					 "%s is '%.64s' and leaves no GPU: unset it, or name GPUs "
					 "of " TSR_HIP_INFO,
					 limits[i], getenv(limits[i]));
	return tsr_error(TSR_ERR_NO_DEVICE, "the HIP runtime finds no GPU here: see " TSR_HIP_INFO
					    ", or use TESSERA_BACKEND=cpuemu");
}
