/*
 * Heaps by virtual memory management: memory is an object with a descriptor,
 * which travels and is mapped (the default). Addresses for all ranks' heaps are
 * reserved at once, with room for windows behind each.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cuda/device.h"
#include "src/base/error.h"
#include "src/base/os/descriptor.h"

enum { ALIGN = 2 << 20 };

/*
 * Of addresses for windows a rank wants twice as many as its GPU has memory: a
 * window is memory of the GPU, and twice as much leaves room beside windows of
 * other sizes that were released. All ranks together take a quarter of the 128
 * TiB that a process has, at most. Addresses take no memory. Where the driver or
 * a limit of the process gives fewer (ulimit -v), half as many will do; below the
 * least there are no windows.
 */
#define ROOM_OF_ALL ((size_t)32 << 40)
#define ROOM_LEAST ((size_t)64 << 20)

static const char other_way[] =
	"set TESSERA_CUDA_HEAP=ipc, or run on GPUs that reach each other (nvidia-smi topo -p2p rw)";

CUmemAllocationProp tsr_cuda_exported(CUdevice id)
{
	CUmemAllocationProp prop;
	memset(&prop, 0, sizeof prop);
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	prop.location.id = id;
	return prop;
}

CUresult tsr_cuda_allow(const tsr_cuda_driver_t *driver, CUdevice id, CUdeviceptr at, size_t bytes)
{
	const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = id},
					.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	return driver->vmm_access(at, bytes, &access, 1);
}

/** The room for windows that a rank wants; 0: none. */
static size_t wanted_room(const tsr_device_t *device)
{
	const size_t most = ROOM_OF_ALL / (size_t)device->gpu.host->size;
	size_t unused = 0, total = 0;
	if (device->cu.mem_info(&unused, &total) != CUDA_SUCCESS)
		return 0;
	return 2 * total < most ? 2 * total : most;
}

static CUresult reserve_slices(tsr_device_t *device, size_t heap_bytes)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	size_t room = wanted_room(device);
	for (;; room /= 2) {
		room = room < ROOM_LEAST ? 0 : room / ALIGN * ALIGN;
		device->slice_bytes = heap_bytes + room;
		const CUresult code =
			cu->vmm_reserve(&device->slices,
					(size_t)device->gpu.host->size * device->slice_bytes, ALIGN,
					0, 0);
		if (code == CUDA_SUCCESS || room == 0) {
			device->slices = code == CUDA_SUCCESS ? device->slices : 0;
			return code;
		}
	}
}

/** Gives the object its rank's address, and this device access to it. */
static CUresult map_object(tsr_device_t *device, tsr_cuda_mapping_t *mapping, int rank)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	mapping->base = device->slices + (CUdeviceptr)rank * device->slice_bytes;
	const CUresult code = cu->vmm_map(mapping->base, mapping->bytes, 0, mapping->handle, 0);
	mapping->mapped = code == CUDA_SUCCESS;
	return code == CUDA_SUCCESS ? tsr_cuda_allow(cu, device->id, mapping->base, mapping->bytes)
				    : code;
}

static tsr_status_t check_support(const tsr_device_t *device)
{
	int can_map = 0, can_export = 0;
	(void)device->cu.device_attribute(&can_map,
					  CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
					  device->id);
	(void)device->cu
		.device_attribute(&can_export,
				  CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
				  device->id);
	if (can_map && can_export)
		return TSR_OK;
	return tsr_error(
		TSR_ERR_UNSUPPORTED,
		"rank %d's GPU (%s) cannot export memory by descriptors: set TESSERA_CUDA_HEAP=ipc",
		device->gpu.host->rank, device->gpu.props.name);
}

static tsr_status_t vmm_create(tsr_device_t *device, tsr_cuda_mapping_t *mapping,
			       tsr_heap_export_t *export_out)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	const CUmemAllocationProp prop = tsr_cuda_exported(device->id);
	size_t granularity = ALIGN;
	int fd = -1;
	tsr_status_t status = check_support(device);
	if (status != TSR_OK)
		return status;
	CUresult code = cu->granularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
	mapping->bytes = (mapping->bytes + granularity - 1) / granularity * granularity;
	if (code == CUDA_SUCCESS)
		code = cu->vmm_create(&mapping->handle, mapping->bytes, &prop, 0);
	mapping->created = code == CUDA_SUCCESS;
	if (code == CUDA_SUCCESS)
		code = reserve_slices(device, mapping->bytes);
	if (code == CUDA_SUCCESS)
		code = map_object(device, mapping, device->gpu.host->rank);
	if (code == CUDA_SUCCESS)
		code = cu->vmm_export(&fd, mapping->handle,
				      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
	if (code != CUDA_SUCCESS)
		return tsr_cuda_check(cu, code,
				      "set TESSERA_HEAP_SIZE lower, free memory of the GPU, or set "
				      "TESSERA_CUDA_HEAP=ipc",
				      "making rank %d's heap of %zu bytes on its GPU",
				      device->gpu.host->rank, mapping->bytes);
	export_out->fd = tsr_fd_keep(fd);
	if (export_out->fd < 0)
		return tsr_error(TSR_ERR_SYSTEM,
				 "rank %d cannot keep the descriptor of its heap: %s; raise the "
				 "limit of open files (ulimit -n)",
				 device->gpu.host->rank, strerror(errno));
	(void)fcntl(export_out->fd, F_SETFD, FD_CLOEXEC);
	return TSR_OK;
}

static tsr_status_t vmm_open(tsr_device_t *device, tsr_cuda_mapping_t *mapping,
			     const tsr_heap_export_t *peer, int rank)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	if (peer->fd < 0)
		return tsr_error(TSR_ERR_MISMATCH,
				 "rank %d shares its heap in another way than rank %d; set "
				 "TESSERA_CUDA_HEAP alike",
				 rank, device->gpu.host->rank);
	CUresult code = cu->vmm_import(&mapping->handle, (void *)(uintptr_t)peer->fd,
				       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	mapping->created = code == CUDA_SUCCESS;
	if (code == CUDA_SUCCESS)
		code = map_object(device, mapping, rank);
	return tsr_cuda_check(cu, code, other_way,
			      "mapping rank %d's heap on the GPU of rank %d (%s)", rank,
			      device->gpu.host->rank, device->gpu.props.name);
}

/** The addresses are given back with the last heap. */
static void release_slices(tsr_device_t *device)
{
	for (int r = 0; r < device->gpu.host->size; r++)
		if (device->heap[r].mapped)
			return;
	if (device->slices)
		(void)device->cu.vmm_unreserve(device->slices, (size_t)device->gpu.host->size *
								       device->slice_bytes);
	device->slices = 0;
	device->slice_bytes = 0;
}

static void vmm_close(tsr_device_t *device, tsr_cuda_mapping_t *mapping)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	if (mapping->mapped)
		(void)cu->vmm_unmap(mapping->base, mapping->bytes);
	if (mapping->created)
		(void)cu->vmm_release(mapping->handle);
	memset(mapping, 0, sizeof *mapping);
	release_slices(device);
}

const tsr_cuda_sharing_t tsr_cuda_vmm = {
	.name = "vmm",
	.create = vmm_create,
	.open = vmm_open,
	.close = vmm_close,
};
