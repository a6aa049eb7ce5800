/* Windows on the program's memory: GPUs have none yet (docs/design.md says what they need). */
#include "gpu/gpu.h"
#include "src/base/error.h"

static size_t no_unit(const tsr_device_t *device)
{
	(void)device;
	return 0;
}

static tsr_status_t refuse(void)
{
	return tsr_error(
		TSR_ERR_UNSUPPORTED,
		"tsr_window_register: memory of the program's cannot be registered on "
		"GPUs yet; allocate it by tsr_heap_alloc, whose address tsr_native_pointer "
		"gives to other libraries, or copy it");
}

static tsr_status_t refuse_check(tsr_device_t *device, const void *memory, size_t size_bytes)
{
	(void)device, (void)memory, (void)size_bytes;
	return refuse();
}

static tsr_status_t refuse_change(tsr_device_t *device, void *heap, void *memory, size_t size_bytes)
{
	(void)device, (void)heap, (void)memory, (void)size_bytes;
	return refuse();
}

const tsr_window_ops_t tsr_gpu_window_ops = {
	.size = sizeof(tsr_window_ops_t),
	.unit_bytes = no_unit,
	.check = refuse_check,
	.open = refuse_change,
	.close = refuse_change,
};
