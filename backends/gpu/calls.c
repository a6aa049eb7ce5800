/*
 * What goes with every call of a vendor's driver: whose device is current, and
 * what is said of a failure.
 */
#include <stdarg.h>
#include <stdio.h>

#include "gpu/gpu.h"
#include "src/base/error.h"

static const tsr_gpu_calls_t *calls_of(const tsr_device_t *device)
{
	return tsr_gpu_of(device)->vendor->calls;
}

tsr_status_t tsr_gpu_enter(const tsr_device_t *device, int *before_out)
{
	return tsr_gpu_check(device, calls_of(device)->enter(device, before_out),
			     "use the device while its world lives",
			     "making rank %d's GPU this thread's", tsr_gpu_of(device)->host->rank);
}

void tsr_gpu_leave(const tsr_device_t *device, int before)
{
	calls_of(device)->leave(device, before);
}

tsr_status_t tsr_gpu_check(const tsr_device_t *device, int code, const char *cure,
			   const char *format, ...)
{
	char what[256], text[128];
	va_list arguments;
	if (code == TSR_GPU_SUCCESS)
		return TSR_OK;
	va_start(arguments, format);
	vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	return tsr_error(code == TSR_GPU_OUT_OF_MEMORY ? TSR_ERR_NO_MEMORY : TSR_ERR_SYSTEM,
			 "%s failed (%s): %s", what, calls_of(device)->text(device, code, text),
			 cure);
}

static tsr_status_t finish(tsr_device_t *device, int code, const char *what)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	if (code == TSR_GPU_SUCCESS)
		code = calls_of(device)->stream_sync(device, gpu->side);
	return tsr_gpu_check(device, code, TSR_GPU_SEE_FIRST, "%s memory of rank %d's GPU", what,
			     gpu->host->rank);
}

tsr_status_t tsr_gpu_copy_to(tsr_device_t *device, void *to, const void *from, size_t size_bytes)
{
	return finish(device,
		      calls_of(device)->copy_to(device, to, from, size_bytes,
						tsr_gpu_of(device)->side),
		      "writing to");
}

tsr_status_t tsr_gpu_copy_from(tsr_device_t *device, void *to, const void *from, size_t size_bytes)
{
	return finish(device,
		      calls_of(device)->copy_from(device, to, from, size_bytes,
						  tsr_gpu_of(device)->side),
		      "reading from");
}

tsr_status_t tsr_gpu_fill(tsr_device_t *device, void *to, int byte, size_t size_bytes)
{
	return finish(device,
		      calls_of(device)->fill(device, to, byte, size_bytes,
					     tsr_gpu_of(device)->side),
		      "filling");
}
