/*
 * Heaps by virtual memory management: memory is an object with a descriptor,
 * which travels and is mapped (the default).
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cuda/device.h"
#include "src/base/error.h"
#include "src/base/os/descriptor.h"

enum { ALIGN = 2 << 20 };

static const char other_way[] =
	"set TESSERA_CUDA_HEAP=ipc, or run on GPUs that reach each other (nvidia-smi topo -p2p rw)";

static CUmemAllocationProp properties_of(const tsr_device_t *device)
{
	CUmemAllocationProp prop;
	memset(&prop, 0, sizeof prop);
	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	prop.location.id = device->id;
	return prop;
}

/** Gives the object an address, and this device access to it. */
static CUresult map_object(tsr_device_t *device, tsr_cuda_mapping_t *mapping)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	const CUmemAccessDesc access = {
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->id},
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUresult code = cu->vmm_reserve(&mapping->base, mapping->bytes, ALIGN, 0, 0);
	mapping->reserved = code == CUDA_SUCCESS;
	if (code == CUDA_SUCCESS)
		code = cu->vmm_map(mapping->base, mapping->bytes, 0, mapping->handle, 0);
	mapping->mapped = code == CUDA_SUCCESS;
	return code == CUDA_SUCCESS ? cu->vmm_access(mapping->base, mapping->bytes, &access, 1)
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
	const CUmemAllocationProp prop = properties_of(device);
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
		code = map_object(device, mapping);
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
		code = map_object(device, mapping);
	return tsr_cuda_check(cu, code, other_way,
			      "mapping rank %d's heap on the GPU of rank %d (%s)", rank,
			      device->gpu.host->rank, device->gpu.props.name);
}

static void vmm_close(tsr_device_t *device, tsr_cuda_mapping_t *mapping)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	if (mapping->mapped)
		(void)cu->vmm_unmap(mapping->base, mapping->bytes);
	if (mapping->reserved)
		(void)cu->vmm_unreserve(mapping->base, mapping->bytes);
	if (mapping->created)
		(void)cu->vmm_release(mapping->handle);
	memset(mapping, 0, sizeof *mapping);
}

const tsr_cuda_sharing_t tsr_cuda_vmm = {
	.name = "vmm",
	.create = vmm_create,
	.open = vmm_open,
	.close = vmm_close,
};
