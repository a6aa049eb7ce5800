/* Architectures: which one a GPU has, and which images run on it. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "hip/device.h"

bool tsr_hip_arch_find(const tsr_hip_properties_t *properties, char arch_out[64])
{
	enum { NAME = 256, ARCH = 64 };
	const char *end = properties->bytes + sizeof properties->bytes - ARCH;
	for (const char *p = properties->bytes + NAME; p < end; p++) {
		size_t length = 3;
		if ((memcmp(p, "gfx", 3) != 0 && memcmp(p, "sm_", 3) != 0) ||
		    !isxdigit((unsigned char)p[3]))
			continue;
		while (length < ARCH - 1 && isxdigit((unsigned char)p[length]))
			length++;
		memcpy(arch_out, p, length);
		arch_out[length] = '\0';
		return true;
	}
	return false;
}

bool tsr_hip_arch_runs(const char *image, const char *arch)
{
	int number = 0;
	if (sscanf(arch, "sm_%d", &number) == 1)
		return tsr_gpu_number_runs(image, number / 10, number % 10);
	return strcmp(image, arch) == 0;
}
