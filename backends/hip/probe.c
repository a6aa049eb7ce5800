/*
 * Looking for devices. HIP does not survive fork(), and a program that asks
 * what is here may well start ranks afterwards: so a child process looks, and
 * does not even load the runtime in this one.
 */
#include <string.h>

#include "hip/device.h"
#include "src/base/error.h"

tsr_hip_code_t tsr_hip_arch(const tsr_hip_runtime_t *hip, int ordinal, char arch_out[64])
{
	tsr_hip_properties_t properties;
	memset(&properties, 0, sizeof properties);
	const tsr_hip_code_t code = hip->device_properties(&properties, ordinal);
	arch_out[0] = '\0';
	if (code == TSR_HIP_SUCCESS)
		(void)tsr_hip_arch_find(&properties, arch_out);
	return code;
}

const tsr_image_t *tsr_hip_check_image(const char *arch)
{
	const tsr_image_t *image;
	for (int i = 0; (image = tsr_gpu_check_image_at(i)) != NULL; i++)
		if (tsr_hip_arch_runs(image->arch, arch))
			return image;
	return NULL;
}

/** Starts the runtime, and counts the GPUs where the library has code for any of them. */
static tsr_status_t look(const void *ctx, int *count_out)
{
	(void)ctx;
	tsr_hip_runtime_t hip;
	char arch[64], first[64] = "";
	int count = 0, usable = 0;
	const tsr_status_t status = tsr_hip_find(&hip);
	if (status != TSR_OK)
		return status;
	tsr_hip_code_t code = hip.device_count(&count);
	for (int i = 0; i < count && code == TSR_HIP_SUCCESS; i++) {
		code = tsr_hip_arch(&hip, i, arch);
		usable += tsr_hip_check_image(arch) != NULL;
		if (i == 0)
			memcpy(first, arch, sizeof first);
	}
	if (code != TSR_HIP_SUCCESS || count == 0)
		return tsr_hip_no_device(&hip, code);
	if (usable == 0)
		return tsr_error(TSR_ERR_NO_DEVICE,
				 "the GPU here is %s, and this library has no code for it: build "
				 "it with its toolkit, or use "
				 "TESSERA_BACKEND=cpuemu",
				 first[0] != '\0' ? first : "of no known architecture");
	*count_out = count;
	return TSR_OK;
}

tsr_status_t tsr_hip_probe(int *count_out)
{
	if (tsr_hip_loaded())
		return look(NULL, count_out); /* HIP runs in this process already */
	const tsr_status_t status = tsr_hip_driver_check();
	if (status != TSR_OK) /* without loading a runtime of many megabytes */
		return status;
	return tsr_gpu_look_in_child(look, NULL, "the HIP runtime", TSR_HIP_INFO, count_out);
}
