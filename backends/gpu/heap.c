/* The heap: made, mapped and checked; and the host's copies. */
#include <unistd.h>

#include "gpu/far/nodes.h"
#include "gpu/gpu.h"
#include "src/base/error.h"

static tsr_status_t check_base(const tsr_gpu_t *gpu, int rank)
{
	const uintptr_t base = (uintptr_t)gpu->base[rank];
	if (base % TSR_GPU_ALIGN == 0)
		return TSR_OK;
	return tsr_error(TSR_ERR_SYSTEM,
			 "the driver maps rank %d's heap for rank %d at %#llx, which is not a "
			 "multiple of 2 MiB: %s",
			 rank, gpu->host->rank, (unsigned long long)base,
			 gpu->vendor->base_is_not_aligned);
}

static tsr_status_t create_here(tsr_device_t *device, size_t size_bytes,
				tsr_heap_export_t *export_out)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	const int rank = gpu->host->rank;
	tsr_heap_export_t export = {
		.fd = -1, .process = gpu->host->process, .size_bytes = size_bytes};
	tsr_status_t status = gpu->vendor->heap_make(device, &export);
	if (status == TSR_OK)
		status = check_base(gpu, rank);
	if (status == TSR_OK)
		status = tsr_gpu_tail_write(device, size_bytes);
	if (status != TSR_OK) {
		if (export.fd >= 0)
			close(export.fd);
		gpu->vendor->heap_close(device, rank);
		return status;
	}
	export.address = (uint64_t)(uintptr_t)gpu->base[rank];
	gpu->launch.heap_bytes = size_bytes;
	*export_out = export;
	return TSR_OK;
}

static tsr_status_t heap_create(tsr_device_t *device, size_t size_bytes,
				tsr_heap_export_t *export_out)
{
	int before;
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = create_here(device, size_bytes, export_out);
	tsr_gpu_leave(device, before);
	return status;
}

/** That rank's heap is as large as mine. */
static tsr_status_t check_agrees(const tsr_gpu_t *gpu, const tsr_heap_export_t *peer, int rank)
{
	if (peer->size_bytes == gpu->launch.heap_bytes)
		return TSR_OK;
	return tsr_error(TSR_ERR_MISMATCH,
			 "rank %d has a heap of %s, rank %d one of %s; set TESSERA_HEAP_SIZE alike",
			 rank, TSR_SIZE((size_t)peer->size_bytes), gpu->host->rank,
			 TSR_SIZE((size_t)gpu->launch.heap_bytes));
}

static tsr_status_t map_rank(tsr_device_t *device, const tsr_heap_export_t *peer, int rank)
{
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	tsr_status_t status = check_agrees(gpu, peer, rank);
	if (status == TSR_OK && tsr_host_is_far(gpu->host, rank))
		return tsr_gpu_far_reserve(device, rank);
	if (status == TSR_OK && rank != gpu->host->rank)
		status = gpu->vendor->heap_open(device, peer, rank);
	if (status == TSR_OK)
		status = check_base(gpu, rank);
	return status == TSR_OK ? tsr_gpu_tail_check(device, peer, rank) : status;
}

static tsr_status_t heap_map(tsr_device_t *device, const tsr_heap_export_t *exports, int count,
			     void **bases_out)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	int before;
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	for (int r = 0; r < count && status == TSR_OK; r++)
		status = map_rank(device, &exports[r], r);
	if (status == TSR_OK && !tsr_gpu_spans_nodes(gpu)) /* else windows have no room */
		status = tsr_gpu_windows_make(device, exports, count);
	tsr_gpu_leave(device, before);
	if (status != TSR_OK)
		return status;
	for (int r = 0; r < count; r++)
		bases_out[r] = gpu->base[r];
	tsr_gpu_context_map(gpu, count);
	return TSR_OK;
}

static void heap_unmap(tsr_device_t *device)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	int before;
	if (tsr_gpu_enter(device, &before) != TSR_OK)
		return;
	tsr_gpu_windows_drop(device);
	tsr_gpu_nodes_drop(device);
	for (int r = 0; r < TSR_MAX_RANKS; r++)
		if (r < gpu->host->size && tsr_host_is_far(gpu->host, r))
			tsr_gpu_far_release(device, r);
		else
			gpu->vendor->heap_close(device, r);
	tsr_gpu_leave(device, before);
	tsr_gpu_context_map(gpu, 0);
	gpu->launch.heap_bytes = 0;
}

/* ------------------------------------------------------------------ the host's copies */

static tsr_status_t heap_write(tsr_device_t *device, void *heap, const void *host,
			       size_t size_bytes)
{
	int before;
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = tsr_gpu_copy_to(device, heap, host, size_bytes);
	tsr_gpu_leave(device, before);
	return status;
}

static tsr_status_t heap_read(tsr_device_t *device, void *host, const void *heap, size_t size_bytes)
{
	int before;
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = tsr_gpu_copy_from(device, host, heap, size_bytes);
	tsr_gpu_leave(device, before);
	return status;
}

static tsr_status_t heap_fill(tsr_device_t *device, void *heap, int byte, size_t size_bytes)
{
	int before;
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = tsr_gpu_fill(device, heap, byte, size_bytes);
	tsr_gpu_leave(device, before);
	return status;
}

const tsr_heap_ops_t tsr_gpu_heap_ops = {
	.size = sizeof(tsr_heap_ops_t),
	.create = heap_create,
	.map = heap_map,
	.unmap = heap_unmap,
	.write = heap_write,
	.read = heap_read,
	.fill = heap_fill,
	.serve = tsr_gpu_nodes_serve,
	.leave_net = tsr_gpu_couriers_stop,
};
