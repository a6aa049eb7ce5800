/*
 * A plug-in that is wrong in one way: WRONG_ABI, WRONG_VERSION, WRONG_NAME; or
 * right, with seven devices.
 */
#include "backend.h"

static tsr_status_t probe(int *count_out)
{
	*count_out = 7;
	return TSR_OK;
}

static const tsr_device_ops_t device = {.size = sizeof device, .probe = probe};

#if defined(WRONG_NAME)
#define NAME "hip"
#else
#define NAME "cuda"
#endif
static const tsr_backend_t backend = {.abi = TSR_BACKEND_ABI, .name = NAME, .device = &device};

const tsr_plugin_t tsr_backend_plugin = {
#if defined(WRONG_ABI)
	.abi = 1,
#else
	.abi = TSR_BACKEND_ABI,
#endif
#if defined(WRONG_VERSION)
	.version = "0.0.9",
#else
	.version = PLUGIN_VERSION,
#endif
	.backend = &backend,
};
