/*
 * Windows: memory of the program's that was made by virtual memory management
 * gets a second address, behind this rank's heap, and one behind that heap in
 * every peer's process, at the same offset everywhere. So kernels find it by the
 * heap's arithmetic. The program's own address stays as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device.h"
#include "src/base/error.h"
#include "src/base/os/descriptor.h"

static size_t unit_bytes(const tsr_device_t *device)
{
	return device->gpu.window_end > 0 ? TSR_GPU_WINDOW_UNIT : 0;
}

static tsr_status_t no_room(const tsr_device_t *device)
{
	if (device->sharing != &tsr_cuda_vmm)
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "tsr_window_register: heaps that are shared by "
				 "TESSERA_CUDA_HEAP=%s have no windows; set TESSERA_CUDA_HEAP=vmm",
				 device->sharing->name);
	if (tsr_gpu_spans_nodes(&device->gpu))
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "tsr_window_register: worlds of GPUs over several nodes have no "
				 "windows; copy to the heap");
	return tsr_error(TSR_ERR_UNSUPPORTED,
			 "tsr_window_register: the driver gave some rank no addresses for windows "
			 "behind its heap; raise the limit of address space (ulimit -v)");
}

/** Where the window at `heap` begins, from any heap's base. */
static size_t offset_of(const tsr_device_t *device, const void *heap)
{
	return (size_t)((const char *)heap -
			(const char *)device->gpu.base[device->gpu.host->rank]);
}

/* ------------------------------------------------------------------ parts */

/**
 * Maps an object, which the program or a peer has made, for the window at this
 * offset. The mapping keeps the memory; the handle is free to go.
 */
static tsr_status_t map_part(tsr_device_t *device, size_t window, CUdeviceptr at, size_t bytes,
			     CUmemGenericAllocationHandle handle, int rank)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	tsr_cuda_part_t *part = malloc(sizeof *part);
	if (!part)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for the books of a window; free some");
	CUresult code = cu->vmm_map(at, bytes, 0, handle, 0);
	if (code == CUDA_SUCCESS) {
		code = tsr_cuda_allow(cu, device->id, at, bytes);
		if (code != CUDA_SUCCESS)
			(void)cu->vmm_unmap(at, bytes);
	}
	if (code != CUDA_SUCCESS) {
		free(part);
		return tsr_cuda_check(
			cu, code,
			"allocate the memory by tsr_window_alloc, and see whether the "
			"GPUs reach each other (nvidia-smi topo -p2p rw)",
			"mapping %s of a window of rank %d for rank %d", TSR_SIZE(bytes), rank,
			device->gpu.host->rank);
	}
	*part = (tsr_cuda_part_t){
		.next = device->parts, .window = window, .at = at, .bytes = bytes};
	device->parts = part;
	return TSR_OK;
}

/** Unmaps all parts of a window, mine and the peers'. */
static CUresult unmap_parts(tsr_device_t *device, size_t window)
{
	CUresult first = CUDA_SUCCESS;
	for (tsr_cuda_part_t **at = &device->parts; *at;) {
		tsr_cuda_part_t *part = *at;
		if (part->window != window) {
			at = &part->next;
			continue;
		}
		const CUresult code = device->cu.vmm_unmap(part->at, part->bytes);
		first = first == CUDA_SUCCESS ? code : first;
		*at = part->next;
		free(part);
	}
	return first;
}

static const tsr_cuda_part_t *find_part(const tsr_device_t *device, CUdeviceptr at)
{
	const tsr_cuda_part_t *part = device->parts;
	while (part && part->at != at)
		part = part->next;
	return part;
}

/* ------------------------------------------------------------------ the table's calls */

static tsr_status_t check_parts(tsr_device_t *device, const char *memory, size_t size_bytes,
				size_t *room_bytes_out)
{
	tsr_status_t status = TSR_OK;
	size_t bytes = 0, at = 0;
	for (; status == TSR_OK && at < size_bytes; at += bytes)
		status = tsr_cuda_window_part(device, memory + at, &bytes);
	*room_bytes_out = at;
	return status;
}

static tsr_status_t check(tsr_device_t *device, const void *memory, size_t size_bytes,
			  size_t *room_bytes_out)
{
	int before;
	tsr_status_t status =
		unit_bytes(device) > 0 ? tsr_gpu_enter(device, &before) : no_room(device);
	if (status != TSR_OK)
		return status;
	status = check_parts(device, memory, size_bytes, room_bytes_out);
	tsr_gpu_leave(device, before);
	return status;
}

static tsr_status_t open_parts(tsr_device_t *device, void *heap, const char *memory,
			       size_t size_bytes)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	tsr_status_t status = TSR_OK;
	size_t bytes = 0;
	for (size_t at = 0; status == TSR_OK && at < size_bytes; at += bytes) {
		CUmemGenericAllocationHandle handle;
		status = tsr_cuda_window_part(device, memory + at, &bytes);
		if (status != TSR_OK)
			break;
		status = tsr_cuda_check(cu,
					cu->vmm_retain(&handle, (void *)(uintptr_t)(memory + at)),
					TSR_GPU_SEE_FIRST,
					"holding the memory of a window of rank %d",
					device->gpu.host->rank);
		if (status != TSR_OK)
			break;
		status =
			map_part(device, offset_of(device, heap), (CUdeviceptr)(uintptr_t)heap + at,
				 bytes, handle, device->gpu.host->rank);
		(void)cu->vmm_release(handle);
	}
	return status;
}

static tsr_status_t open_window(tsr_device_t *device, void *heap, void *memory, size_t size_bytes)
{
	int before;
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = open_parts(device, heap, memory, size_bytes);
	if (status == TSR_OK)
		status = tsr_gpu_window_opened(device, heap, size_bytes);
	if (status != TSR_OK)
		(void)unmap_parts(device, offset_of(device, heap));
	tsr_gpu_leave(device, before);
	return status;
}

static tsr_status_t close_window(tsr_device_t *device, void *heap, void *memory, size_t size_bytes)
{
	int before;
	(void)memory;
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = tsr_gpu_window_closed(device, heap, size_bytes);
	const CUresult code = unmap_parts(device, offset_of(device, heap));
	if (status == TSR_OK)
		status = tsr_cuda_check(&device->cu, code, TSR_GPU_SEE_FIRST,
					"unmapping a window of rank %d", device->gpu.host->rank);
	tsr_gpu_leave(device, before);
	return status;
}

static tsr_status_t export_here(tsr_device_t *device, const tsr_cuda_part_t *part, int *fd_out)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	CUmemGenericAllocationHandle handle;
	int fd = -1;
	CUresult code = cu->vmm_retain(&handle, (void *)(uintptr_t)part->at);
	if (code == CUDA_SUCCESS) {
		code = cu->vmm_export(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
		(void)cu->vmm_release(handle);
	}
	if (code != CUDA_SUCCESS)
		return tsr_cuda_check(cu, code, "allocate the memory by tsr_window_alloc",
				      "exporting the memory of a window of rank %d",
				      device->gpu.host->rank);
	*fd_out = tsr_fd_keep(fd);
	if (*fd_out < 0)
		return tsr_error(TSR_ERR_SYSTEM,
				 "rank %d cannot keep the descriptor of a window: %s; raise the "
				 "limit of open files (ulimit -n)",
				 device->gpu.host->rank, strerror(errno));
	(void)fcntl(*fd_out, F_SETFD, FD_CLOEXEC);
	return TSR_OK;
}

static tsr_status_t export_part(tsr_device_t *device, void *heap, size_t begin,
				tsr_window_part_t *part_out)
{
	const tsr_cuda_part_t *part =
		find_part(device, (CUdeviceptr)(uintptr_t)heap + (CUdeviceptr)begin);
	int before, fd = -1;
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = export_here(device, part, &fd);
	tsr_gpu_leave(device, before);
	if (status == TSR_OK)
		*part_out =
			(tsr_window_part_t){.fd = fd, .begin = begin, .size_bytes = part->bytes};
	return status;
}

static tsr_status_t import_here(tsr_device_t *device, size_t window, int rank,
				const tsr_window_part_t *part)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	CUmemGenericAllocationHandle handle;
	tsr_status_t status =
		tsr_cuda_check(cu,
			       cu->vmm_import(&handle, (void *)(uintptr_t)part->fd,
					      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
			       "run on GPUs that reach each other (nvidia-smi topo -p2p rw)",
			       "taking a window of rank %d on rank %d", rank,
			       device->gpu.host->rank);
	if (status != TSR_OK)
		return status;
	const CUdeviceptr at =
		(CUdeviceptr)(uintptr_t)device->gpu.base[rank] + window + part->begin;
	status = map_part(device, window, at, (size_t)part->size_bytes, handle, rank);
	(void)cu->vmm_release(handle);
	return status;
}

static tsr_status_t import_part(tsr_device_t *device, void *heap, int rank,
				const tsr_window_part_t *part)
{
	int before;
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = import_here(device, offset_of(device, heap), rank, part);
	tsr_gpu_leave(device, before);
	return status;
}

const tsr_window_ops_t tsr_cuda_window_ops = {
	.size = sizeof(tsr_window_ops_t),
	.unit_bytes = unit_bytes,
	.room = tsr_gpu_window_room,
	.check = check,
	.open = open_window,
	.close = close_window,
	.export_part = export_part,
	.import_part = import_part,
	.alloc = tsr_cuda_window_alloc,
	.release = tsr_cuda_window_release,
};
