/* Lines of device code of a pattern: what its kernels reach, each function once. */
#include <string.h>

#include "kernels/lines.h"

static void mark(const char *kernel, bool reached[DEVICE_FUNCTIONS_MOST])
{
	for (const device_kernel_t *known = device_kernels; known->name; known++)
		if (strcmp(known->name, kernel) == 0)
			for (const short *at = known->functions; *at >= 0; at++)
				reached[*at] = true;
}

device_lines_t device_lines(const workload_t *workload, int64_t pattern)
{
	bool reached[DEVICE_FUNCTIONS_MOST] = {false};
	device_lines_t lines = {0, 0};
	const char *kernel;
	for (int i = 0; (kernel = workload->kernel(pattern, i)) != NULL; i++)
		mark(kernel, reached);
	for (int i = 0; i < DEVICE_FUNCTIONS_MOST; i++) {
		lines.code += reached[i] ? device_functions[i].code : 0;
		lines.communication += reached[i] ? device_functions[i].communication : 0;
	}
	return lines;
}
