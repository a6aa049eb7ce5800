/* Architectures that are numbers, as NVIDIA's are: which images run on which. */
#include <stdio.h>

#include "gpu/gpu.h"

bool tsr_gpu_number_runs(const char *image, int major, int minor)
{
	int number = 0, length = 0;
	if (sscanf(image, "sm_%d%n", &number, &length) != 1)
		return false;
	const char *kind = image + length;
	const bool later = number / 10 == major && number % 10 <= minor;
	if (kind[0] == '\0' || (kind[0] == 'f' && kind[1] == '\0'))
		return later;
	return kind[0] == 'a' && kind[1] == '\0' && number == major * 10 + minor;
}
