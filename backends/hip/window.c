/*
 * Windows on the program's memory: HIP has none yet. docs/design.md says what
 * they need.
 */
#include "hip/device.h"
#include "src/base/error.h"

static size_t no_unit(const tsr_device_t *device)
{
	(void)device;
	return 0;
}

static tsr_status_t refuse(const char *call)
{
	return tsr_error(TSR_ERR_UNSUPPORTED,
			 "%s: the backend hip has no windows on memory of the program's, so GPUs "
			 "of AMD have none yet; allocate it by tsr_heap_alloc, whose address "
			 "tsr_native_pointer gives to other libraries, or copy it",
			 call);
}

static tsr_status_t refuse_check(tsr_device_t *device, const void *memory, size_t size_bytes,
				 size_t *room_bytes_out)
{
	(void)device, (void)memory, (void)size_bytes, (void)room_bytes_out;
	return refuse("tsr_window_register");
}

static tsr_status_t refuse_change(tsr_device_t *device, void *heap, void *memory, size_t size_bytes)
{
	(void)device, (void)heap, (void)memory, (void)size_bytes;
	return refuse("tsr_window_register");
}

static tsr_status_t refuse_alloc(int ordinal, size_t size_bytes, void **memory_out)
{
	(void)ordinal, (void)size_bytes, (void)memory_out;
	return refuse("tsr_window_alloc");
}

static tsr_status_t refuse_release(int ordinal, void *memory, size_t size_bytes)
{
	(void)ordinal, (void)memory, (void)size_bytes;
	return refuse("tsr_window_free");
}

const tsr_window_ops_t tsr_hip_window_ops = {
	.size = sizeof(tsr_window_ops_t),
	.unit_bytes = no_unit,
	.room = tsr_gpu_window_room,
	.check = refuse_check,
	.open = refuse_change,
	.close = refuse_change,
	.alloc = refuse_alloc,
	.release = refuse_release,
};
