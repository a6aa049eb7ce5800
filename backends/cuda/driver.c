/* Finding the driver, starting it, and saying what it says. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda/driver.h"
#include "src/base/error.h"
#include "src/base/settings/visible.h"

#define LIBRARY "libcuda.so.1"

tsr_status_t tsr_cuda_driver_find(tsr_cuda_driver_t *driver_out)
{
/* Two steps: cuda.h's new name of the function is what the library has. */
#define SYMBOL_(function_) #function_
#define SYMBOL(function_) SYMBOL_(function_)
#define ENTRY(field_, function_) {SYMBOL(function_), offsetof(tsr_cuda_driver_t, field_)},
	static const struct {
		const char *symbol;
		size_t offset;
	} entries[] = {TSR_CUDA_ENTRIES(ENTRY)};
	/* The library stays: it cannot be unloaded once it has been started, and finding it again
	 * costs nothing. */
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!library)
		return tsr_error(TSR_ERR_NO_DEVICE,
				 "there is no NVIDIA driver here (%.120s): install it, or use "
				 "TESSERA_BACKEND=cpuemu",
				 dlerror());
	tsr_cuda_driver_t driver;
	tsr_status_t status = TSR_OK;
	for (size_t i = 0; i < sizeof entries / sizeof *entries && status == TSR_OK; i++) {
		void *address = dlsym(library, entries[i].symbol);
		if (!address)
			status = tsr_error(TSR_ERR_NO_DEVICE,
					   "the NVIDIA driver here is too old: " LIBRARY
					   " has no %s; install one for CUDA 12.8 "
					   "or later, or use TESSERA_BACKEND=cpuemu",
					   entries[i].symbol);
		*(void **)(void *)((char *)&driver + entries[i].offset) = address;
	}
	if (status == TSR_OK)
		*driver_out = driver;
	dlclose(library);
	return status;
}

const char *tsr_cuda_text(const tsr_cuda_driver_t *driver, CUresult code, char text[128])
{
	const char *name = NULL, *meaning = NULL;
	if (driver->error_name(code, &name) != CUDA_SUCCESS ||
	    driver->error_string(code, &meaning) != CUDA_SUCCESS)
		snprintf(text, 128, "CUDA error %d", (int)code);
	else
		snprintf(text, 128, "%s: %s", name, meaning);
	return text;
}

tsr_status_t tsr_cuda_check(const tsr_cuda_driver_t *driver, CUresult code, const char *cure,
			    const char *format, ...)
{
	char what[256], text[128];
	va_list arguments;
	if (code == CUDA_SUCCESS)
		return TSR_OK;
	va_start(arguments, format);
	vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	return tsr_error(code == CUDA_ERROR_OUT_OF_MEMORY ? TSR_ERR_NO_MEMORY : TSR_ERR_SYSTEM,
			 "%s failed (%s): %s", what, tsr_cuda_text(driver, code, text), cure);
}

tsr_status_t tsr_cuda_no_device(const tsr_cuda_driver_t *driver, CUresult code)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	char text[128];
	if (code == CUDA_ERROR_NOT_INITIALIZED)
		return tsr_error(TSR_ERR_NO_DEVICE, "CUDA was initialised before this process was "
						    "forked, so it has no device here: "
						    "start ranks before using CUDA");
	if (code != CUDA_ERROR_NO_DEVICE && code != CUDA_ERROR_INVALID_DEVICE)
		return tsr_error(TSR_ERR_NO_DEVICE,
				 "the NVIDIA driver does not start (%s): see nvidia-smi, or use "
				 "TESSERA_BACKEND=cpuemu",
				 tsr_cuda_text(driver, code, text));
	if (visible)
		return tsr_error(TSR_ERR_NO_DEVICE,
				 "CUDA_VISIBLE_DEVICES is '%.64s' and leaves no GPU: unset it, or "
				 "name GPUs of nvidia-smi -L",
				 visible);
	return tsr_error(TSR_ERR_NO_DEVICE, "the NVIDIA driver finds no GPU here: see nvidia-smi, "
					    "or use TESSERA_BACKEND=cpuemu");
}

/*
 * Fewer GPUs than were named would be shared by more ranks than was meant, and
 * only the times would tell.
 */
tsr_status_t tsr_cuda_check_visible(int count)
{
	const char *list = getenv("CUDA_VISIBLE_DEVICES");
	char entry[TSR_VISIBLE_ENTRY_BYTES];
	if (!tsr_visible_refused(list, count, entry))
		return TSR_OK;
	return tsr_error(TSR_ERR_NO_DEVICE,
			 "CUDA_VISIBLE_DEVICES is '%.64s', and the driver shows %d of that: '%s' "
			 "is no GPU that it can add; name GPUs "
			 "of nvidia-smi -L, each once, and one MIG instance at most",
			 list, count, entry);
}

tsr_status_t tsr_cuda_driver_start(const tsr_cuda_driver_t *driver)
{
	CUresult code = driver->init(0);
	return code == CUDA_SUCCESS ? TSR_OK : tsr_cuda_no_device(driver, code);
}
