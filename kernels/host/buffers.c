#include "kernels/host/buffers.h"

#include "kernels/host/errors.h"

/*
 * The default alignment of tsr_heap_alloc; sizes of allocations are rounded up
 * to it.
 */
enum { HEAP_ALIGN_BYTES = 256 };

/** The sum of the sizes, rounded up; SIZE_MAX if that overflows. */
static size_t total_bytes(const buffer_t *buffers, int count)
{
	size_t total = 0;
	for (int i = 0; i < count; i++) {
		const size_t rounded = (buffers[i].size_bytes + HEAP_ALIGN_BYTES - 1) /
				       HEAP_ALIGN_BYTES * HEAP_ALIGN_BYTES;
		if (__builtin_add_overflow(total, rounded, &total))
			return SIZE_MAX;
	}
	return total;
}

tsr_status_t buffers_check(tsr_world_t *world, const buffer_t *buffers, int count, const char *what)
{
	const size_t total = total_bytes(buffers, count);
	tsr_heap_usage_t usage = {.size = sizeof usage};
	tsr_status_t status = tsr_heap_usage(world, &usage);
	if (status != TSR_OK || total <= usage.free_bytes)
		return status;
	return tsr_error(TSR_ERR_NO_MEMORY,
			 "%s needs %s of each rank's heap, and of its %s %s are free (largest "
			 "piece %s); set TESSERA_HEAP_SIZE higher, or use a smaller shape",
			 what, TSR_SIZE(total), TSR_SIZE(usage.heap_bytes),
			 TSR_SIZE(usage.free_bytes), TSR_SIZE(usage.largest_bytes));
}

static tsr_status_t allocate(tsr_world_t *world, buffer_t *buffer)
{
	if (buffer->size_bytes == 0)
		return TSR_OK;
	tsr_status_t status =
		tsr_heap_alloc(world, buffer->size_bytes, 0, buffer->name, &buffer->data);
	if (status == TSR_OK && buffer->is_cleared)
		status = tsr_memset_heap(world, buffer->data, 0, buffer->size_bytes);
	return status;
}

tsr_status_t buffers_allocate(tsr_world_t *world, buffer_t *buffers, int count)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; status == TSR_OK && i < count; i++)
		status = allocate(world, &buffers[i]);
	if (status == TSR_OK)
		return TSR_OK;
	const kept_error_t error = error_keep(status);
	(void)buffers_free(world, buffers, count);
	return error_again(&error);
}

tsr_status_t buffers_free(tsr_world_t *world, buffer_t *buffers, int count)
{
	tsr_status_t status = TSR_OK;
	for (int i = 0; i < count; i++) {
		if (buffers[i].data)
			status = error_first(status, tsr_heap_free(world, buffers[i].data));
		buffers[i].data = NULL;
	}
	return status;
}
