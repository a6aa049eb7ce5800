/*
 * Looking for devices. CUDA does not survive fork(), and a program that asks
 * what is here may well start ranks afterwards: so a child process looks, and
 * nothing is left in this one.
 */
#include "cuda/device.h"
#include "src/base/error.h"

/** Starts the driver, and counts the GPUs where the library has code for any of them. */
static tsr_status_t look(const void *ctx, int *count_out)
{
	const tsr_cuda_driver_t *driver = ctx;
	int count = 0, usable = 0, first[2] = {0, 0};
	CUresult code = driver->init(0);
	if (code == CUDA_SUCCESS)
		code = driver->device_count(&count);
	for (int i = 0; i < count && code == CUDA_SUCCESS; i++) {
		int major = 0, minor = 0;
		code = tsr_cuda_capability(driver, i, &major, &minor);
		usable += tsr_cuda_has_code(major, minor);
		if (i == 0) {
			first[0] = major;
			first[1] = minor;
		}
	}
	if (code != CUDA_SUCCESS || count == 0)
		return tsr_cuda_no_device(driver,
					  code != CUDA_SUCCESS ? code : CUDA_ERROR_NO_DEVICE);
	const tsr_status_t status = tsr_cuda_check_visible(count);
	if (status != TSR_OK)
		return status;
	if (usable == 0)
		return tsr_error(TSR_ERR_NO_DEVICE,
				 "the GPU here has compute capability %d.%d, and this library has "
				 "code for %s: use "
				 "TESSERA_BACKEND=cpuemu",
				 first[0], first[1], tsr_cuda_check_image()->arch);
	*count_out = count;
	return TSR_OK;
}

tsr_status_t tsr_cuda_probe(int *count_out)
{
	tsr_cuda_driver_t driver;
	int count;
	const tsr_status_t status = tsr_cuda_driver_find(&driver);
	if (status != TSR_OK)
		return status;
	if (driver.device_count(&count) == CUDA_SUCCESS)
		return look(&driver, count_out); /* CUDA runs in this process already */
	return tsr_gpu_look_in_child(look, &driver, "the NVIDIA driver", "nvidia-smi", count_out);
}
