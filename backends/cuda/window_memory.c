/*
 * Memory of windows: what the program's memory is, and memory that fits.
 */
#include <stdio.h>

#include "cuda/device.h"
#include "src/base/error.h"

#define CURE "allocate it by tsr_window_alloc (tessera.torch_pool in Python)"

static tsr_status_t refuse(const void *memory, const char *what)
{
	return tsr_error(TSR_ERR_ARGUMENT, "tsr_window_register: the memory at %p %s: " CURE,
			 memory, what);
}

/** Why memory at this address is nothing that can be mapped a second time. */
static tsr_status_t refuse_unmapped(const tsr_device_t *device, const void *memory)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	const CUdeviceptr at = (CUdeviceptr)(uintptr_t)memory;
	unsigned type = 0, managed = 0;
	if (cu->pointer_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at) != CUDA_SUCCESS)
		return refuse(memory, "is no memory of a GPU, or is not all there");
	if (cu->pointer_attribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at) == CUDA_SUCCESS &&
	    managed)
		return refuse(memory, "is managed memory, which moves between host and GPUs and "
				      "has no descriptor");
	if (type != CU_MEMORYTYPE_DEVICE)
		return refuse(memory, "is memory of the host");
	return refuse(memory, "is of cudaMalloc, which peers cannot map at an address of their "
			      "choice");
}

static tsr_status_t check_properties(const tsr_device_t *device, const void *memory,
				     const CUmemAllocationProp *prop)
{
	if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return refuse(memory, "is memory of the host");
	if (prop->location.id != device->id)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_window_register: the memory at %p is of GPU %d, and rank %d "
				 "has GPU %d: allocate it on that one (tsr_device_props_t.ordinal)",
				 memory, prop->location.id, device->gpu.host->rank,
				 device->gpu.props.ordinal);
	if (!(prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
		return refuse(memory, "was made by cuMemCreate without a descriptor "
				      "(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)");
	return TSR_OK;
}

tsr_status_t tsr_cuda_window_part(const tsr_device_t *device, const void *memory, size_t *bytes_out)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	const CUdeviceptr here = (CUdeviceptr)(uintptr_t)memory;
	CUmemGenericAllocationHandle handle;
	CUmemAllocationProp prop;
	CUdeviceptr base = 0;
	size_t bytes = 0;
	if (cu->vmm_retain(&handle, (void *)(uintptr_t)memory) != CUDA_SUCCESS)
		return refuse_unmapped(device, memory);
	CUresult code = cu->vmm_properties(&prop, handle);
	(void)cu->vmm_release(handle);
	if (code == CUDA_SUCCESS)
		code = cu->address_range(&base, &bytes, here);
	if (code != CUDA_SUCCESS)
		return tsr_cuda_check(cu, code, CURE, "asking what the memory at %p is", memory);
	const tsr_status_t status = check_properties(device, memory, &prop);
	if (status != TSR_OK)
		return status;
	if (base != here)
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"tsr_window_register: the memory at %p begins %s inside of what was "
			"allocated at once, at %p, and CUDA maps that from its begin: "
			"register it from there, or " CURE " for itself",
			(const void *)here, TSR_SIZE((size_t)((CUdeviceptr)(uintptr_t)here - base)),
			(void *)(uintptr_t)base);
	*bytes_out = bytes;
	return TSR_OK;
}

/* ------------------------------------------------------------------ memory that fits */

static size_t whole_units(size_t size_bytes)
{
	return (size_bytes + TSR_GPU_WINDOW_UNIT - 1) / TSR_GPU_WINDOW_UNIT * TSR_GPU_WINDOW_UNIT;
}

/** The driver's calls need a context on some versions: the primary one of the GPU. */
static tsr_status_t enter(int ordinal, tsr_cuda_driver_t *cu, CUdevice *id_out)
{
	CUcontext context;
	tsr_status_t status = tsr_cuda_driver_find(cu);
	if (status == TSR_OK)
		status = tsr_cuda_driver_start(cu);
	if (status != TSR_OK)
		return status;
	CUresult code = cu->device_get(id_out, ordinal);
	if (code == CUDA_SUCCESS)
		code = cu->primary_retain(&context, *id_out);
	if (code == CUDA_SUCCESS) {
		code = cu->ctx_push(context);
		if (code != CUDA_SUCCESS)
			(void)cu->primary_release(*id_out);
	}
	return tsr_cuda_check(cu, code, "see nvidia-smi", "using GPU %d", ordinal);
}

static void leave(const tsr_cuda_driver_t *cu, CUdevice id)
{
	CUcontext context;
	(void)cu->ctx_pop(&context);
	(void)cu->primary_release(id);
}

/** Memory of so many bytes at an address of its own. After an error nothing is left. */
static CUresult make(const tsr_cuda_driver_t *cu, CUdevice id, size_t bytes, CUdeviceptr *at_out)
{
	const CUmemAllocationProp prop = tsr_cuda_exported(id);
	CUmemGenericAllocationHandle handle;
	CUdeviceptr at = 0;
	CUresult code = cu->vmm_create(&handle, bytes, &prop, 0);
	if (code != CUDA_SUCCESS)
		return code;
	code = cu->vmm_reserve(&at, bytes, TSR_GPU_WINDOW_UNIT, 0, 0);
	if (code == CUDA_SUCCESS) {
		code = cu->vmm_map(at, bytes, 0, handle, 0);
		if (code == CUDA_SUCCESS) {
			code = tsr_cuda_allow(cu, id, at, bytes);
			if (code != CUDA_SUCCESS)
				(void)cu->vmm_unmap(at, bytes);
		}
		if (code != CUDA_SUCCESS)
			(void)cu->vmm_unreserve(at, bytes);
	}
	(void)cu->vmm_release(handle); /* the mapping keeps the memory */
	*at_out = at;
	return code;
}

tsr_status_t tsr_cuda_window_alloc(int ordinal, size_t size_bytes, void **memory_out)
{
	tsr_cuda_driver_t cu;
	CUdevice id;
	CUdeviceptr at = 0;
	tsr_status_t status = enter(ordinal, &cu, &id);
	if (status != TSR_OK)
		return status;
	status = tsr_cuda_check(&cu, make(&cu, id, whole_units(size_bytes), &at),
				"free memory of the GPU (nvidia-smi)",
				"allocating %s for windows on GPU %d", TSR_SIZE(size_bytes),
				ordinal);
	leave(&cu, id);
	if (status == TSR_OK)
		*memory_out = (void *)(uintptr_t)at;
	return status;
}

tsr_status_t tsr_cuda_window_release(int ordinal, void *memory, size_t size_bytes)
{
	const CUdeviceptr at = (CUdeviceptr)(uintptr_t)memory;
	tsr_cuda_driver_t cu;
	CUdevice id;
	tsr_status_t status = enter(ordinal, &cu, &id);
	if (status != TSR_OK)
		return status;
	CUresult code = cu.vmm_unmap(at, whole_units(size_bytes));
	if (code == CUDA_SUCCESS)
		code = cu.vmm_unreserve(at, whole_units(size_bytes));
	status = tsr_cuda_check(&cu, code, "pass what was allocated, once",
				"freeing %s for windows at %p", TSR_SIZE(size_bytes), memory);
	leave(&cu, id);
	return status;
}
