/* The memory of the driver without a GPU. */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda/driver.h"
#include "tests/unit/backends/fake/cuda.h"

/* As the driver declares them, but visible. */
#define DECLARE(field_, function_) \
	extern __typeof__(function_) function_ __attribute__((visibility("default")));
TSR_CUDA_ENTRIES(DECLARE)

#define SHOWN __attribute__((visibility("default")))

SHOWN fake_cuda_t fake_cuda;

/** True for the call that is to fail. */
static bool is_last(int *left)
{
	return *left > 0 && --*left == 0;
}

/* ------------------------------------------------------------------ memory of other kinds */

/** What a range of addresses is: a kind of fake_cuda_memory, 'r', reserved, or 'v', mapped. */
typedef struct range {
	char kind;
	uintptr_t at;
	size_t bytes;
	struct object *object; /* of a mapping */
} range_t;

enum { RANGES = 512 };
static range_t ranges[RANGES];

static range_t *new_range(char kind, uintptr_t at, size_t bytes)
{
	for (int i = 0; i < RANGES; i++)
		if (!ranges[i].kind) {
			ranges[i] = (range_t){.kind = kind, .at = at, .bytes = bytes};
			return &ranges[i];
		}
	abort();
}

static range_t *holding(uintptr_t at, size_t bytes, const char *kinds)
{
	for (int i = 0; i < RANGES; i++)
		if (ranges[i].kind && strchr(kinds, ranges[i].kind) && ranges[i].at <= at &&
		    bytes <= ranges[i].bytes && at - ranges[i].at <= ranges[i].bytes - bytes)
			return &ranges[i];
	return NULL;
}

static bool meets(uintptr_t at, size_t bytes, char kind)
{
	for (int i = 0; i < RANGES; i++)
		if (ranges[i].kind == kind && ranges[i].at < at + bytes &&
		    at < ranges[i].at + ranges[i].bytes)
			return true;
	return false;
}

static void *make(char kind, size_t bytes)
{
	const size_t whole = (bytes + FAKE_UNIT - 1) / FAKE_UNIT * FAKE_UNIT;
	void *memory = aligned_alloc(FAKE_UNIT, whole);
	if (memory)
		(void)new_range(kind, (uintptr_t)memory, whole);
	return memory;
}

static CUresult unmake(uintptr_t at)
{
	range_t *range = holding(at, 1, "dmh");
	if (!range || range->at != at)
		return CUDA_ERROR_INVALID_VALUE;
	range->kind = 0;
	free((void *)at);
	return CUDA_SUCCESS;
}

SHOWN void *fake_cuda_memory(fake_cuda_t *fake, char kind)
{
	(void)fake;
	return make(kind, FAKE_UNIT);
}

CUresult cuMemAlloc(CUdeviceptr *out, size_t bytes)
{
	*out = (CUdeviceptr)(uintptr_t)make('d', bytes);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFree(CUdeviceptr memory)
{
	return unmake((uintptr_t)memory);
}

CUresult cuMemGetInfo(size_t *unused, size_t *total)
{
	*unused = *total = FAKE_TOTAL;
	return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
	(void)flags;
	*out = make('h', bytes);
	return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *out, void *host, unsigned flags)
{
	(void)flags;
	*out = (CUdeviceptr)(uintptr_t)host;
	return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *memory)
{
	return unmake((uintptr_t)memory);
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr memory)
{
	memcpy(handle->reserved, &memory, sizeof memory);
	return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags)
{
	(void)flags;
	memcpy(out, handle.reserved, sizeof *out);
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr memory)
{
	(void)memory;
	return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *out, CUpointer_attribute attribute, CUdeviceptr at)
{
	const range_t *range = holding((uintptr_t)at, 1, "dmhv");
	if (!range)
		return CUDA_ERROR_INVALID_VALUE;
	if (attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED)
		*(unsigned *)out = range->kind == 'm';
	else if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
		*(unsigned *)out = range->kind == 'h' ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	else
		return CUDA_ERROR_NOT_SUPPORTED;
	return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr at)
{
	const range_t *range = holding((uintptr_t)at, 1, "dv");
	if (!range)
		return CUDA_ERROR_NOT_FOUND;
	*base = range->at;
	*bytes = range->bytes;
	return CUDA_SUCCESS;
}

/* ------------------------------------------------------------------ virtual memory management */

typedef struct object {
	int fd, holders; /* handles and mappings */
	size_t bytes;
	CUmemAllocationProp prop;
} object_t;

static object_t *new_object(int fd, size_t bytes, const CUmemAllocationProp *prop)
{
	object_t *object = malloc(sizeof *object);
	if (!object || fd < 0)
		abort();
	*object = (object_t){.fd = fd, .holders = 1, .bytes = bytes, .prop = *prop};
	fake_cuda.objects++;
	return object;
}

static void let_go(object_t *object)
{
	if (--object->holders > 0)
		return;
	close(object->fd);
	free(object);
	fake_cuda.objects--;
}

static object_t *object_of(CUmemGenericAllocationHandle handle)
{
	return (object_t *)(uintptr_t)handle;
}

CUresult cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *prop,
				       CUmemAllocationGranularity_flags option)
{
	(void)prop, (void)option;
	*out = FAKE_UNIT;
	return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t bytes,
		     const CUmemAllocationProp *prop, unsigned long long flags)
{
	char name[32];
	if (flags != 0 || bytes % FAKE_UNIT != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (bytes > FAKE_TOTAL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	snprintf(name, sizeof name, "fake-gpu-%d", prop->location.id);
	const int fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = (CUmemGenericAllocationHandle)(uintptr_t)new_object(fd, bytes, prop);
	return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	let_go(object_of(handle));
	return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *at)
{
	const range_t *range = holding((uintptr_t)at, 1, "v");
	if (!range)
		return CUDA_ERROR_INVALID_VALUE;
	range->object->holders++;
	*out = (CUmemGenericAllocationHandle)(uintptr_t)range->object;
	return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
						CUmemGenericAllocationHandle handle)
{
	*prop = object_of(handle)->prop;
	return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
				      CUmemAllocationHandleType type, unsigned long long flags)
{
	const object_t *object = object_of(handle);
	if (!(object->prop.requestedHandleTypes & type) || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	const int fd = dup(object->fd);
	memcpy(out, &fd, sizeof fd);
	return fd >= 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *handle,
					CUmemAllocationHandleType type)
{
	const int fd = dup((int)(intptr_t)handle);
	const off_t bytes = lseek(fd, 0, SEEK_END);
	const CUmemAllocationProp prop = {.requestedHandleTypes = type,
					  .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
	if (is_last(&fake_cuda.imports_until_death))
		_exit(9);
	if (bytes <= 0 || is_last(&fake_cuda.imports_until_failure)) {
		close(fd);
		return CUDA_ERROR_INVALID_VALUE;
	}
	*out = (CUmemGenericAllocationHandle)(uintptr_t)new_object(fd, (size_t)bytes, &prop);
	return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t align, CUdeviceptr wanted,
			     unsigned long long flags)
{
	if (wanted || flags || bytes % FAKE_UNIT != 0 || align > FAKE_UNIT)
		return CUDA_ERROR_INVALID_VALUE;
	if (fake_cuda.most_reserved > 0 && bytes > fake_cuda.most_reserved)
		return CUDA_ERROR_OUT_OF_MEMORY;
	char *room = mmap(NULL, bytes + FAKE_UNIT, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	/* what is before the multiple of the unit, and what is behind the reservation */
	const size_t before = -(uintptr_t)room % FAKE_UNIT;
	if (before > 0)
		munmap(room, before);
	munmap(room + before + bytes, FAKE_UNIT - before);
	(void)new_range('r', (uintptr_t)room + before, bytes);
	fake_cuda.reservations++;
	*out = (CUdeviceptr)(uintptr_t)(room + before);
	return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr at, size_t bytes)
{
	range_t *range = holding((uintptr_t)at, bytes, "r");
	if (!range || range->at != at || range->bytes != bytes || meets(range->at, bytes, 'v'))
		return CUDA_ERROR_INVALID_VALUE;
	munmap((void *)range->at, bytes);
	range->kind = 0;
	fake_cuda.reservations--;
	return CUDA_SUCCESS;
}

/** Of whole objects. Nobody has access at first. */
CUresult cuMemMap(CUdeviceptr at, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
		  unsigned long long flags)
{
	object_t *object = object_of(handle);
	if (offset != 0 || flags != 0 || bytes == 0 || bytes % FAKE_UNIT != 0 ||
	    bytes != object->bytes || at % FAKE_UNIT != 0 || !holding((uintptr_t)at, bytes, "r") ||
	    meets((uintptr_t)at, bytes, 'v') || is_last(&fake_cuda.maps_until_failure))
		return CUDA_ERROR_INVALID_VALUE;
	if (mmap((void *)(uintptr_t)at, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, object->fd, 0) ==
	    MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	new_range('v', (uintptr_t)at, bytes)->object = object;
	object->holders++;
	fake_cuda.mappings++;
	return CUDA_SUCCESS;
}

/** Of one whole mapping at a time: the driver takes no part of one. */
CUresult cuMemUnmap(CUdeviceptr at, size_t bytes)
{
	range_t *range = holding((uintptr_t)at, bytes, "v");
	if (!range || range->at != at || range->bytes != bytes)
		return CUDA_ERROR_INVALID_VALUE;
	(void)mmap((void *)range->at, bytes, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	range->kind = 0;
	let_go(range->object);
	fake_cuda.mappings--;
	return CUDA_SUCCESS;
}

CUresult cuMemSetAccess(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *access, size_t count)
{
	if (count != 1 || access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE ||
	    !holding((uintptr_t)at, bytes, "v") || is_last(&fake_cuda.accesses_until_failure))
		return CUDA_ERROR_INVALID_VALUE;
	return mprotect((void *)(uintptr_t)at, bytes, PROT_READ | PROT_WRITE) == 0
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

SHOWN void *fake_cuda_parts(fake_cuda_t *fake, int id, size_t bytes, int parts)
{
	const CUmemAllocationProp prop = {
		.requestedHandleTypes = fake->has_no_descriptors
						? CU_MEM_HANDLE_TYPE_NONE
						: CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = id}};
	const CUmemAccessDesc access = {.location = prop.location,
					.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr at;
	if (cuMemAddressReserve(&at, bytes, 0, 0, 0) != CUDA_SUCCESS)
		return NULL;
	for (size_t done = 0, part; done < bytes; done += part) {
		CUmemGenericAllocationHandle handle;
		part = --parts > 0 ? FAKE_UNIT : bytes - done;
		if (cuMemCreate(&handle, part, &prop, 0) != CUDA_SUCCESS ||
		    cuMemMap(at + done, part, 0, handle, 0) != CUDA_SUCCESS ||
		    cuMemSetAccess(at + done, part, &access, 1) != CUDA_SUCCESS)
			return NULL;
		(void)cuMemRelease(handle);
	}
	return (void *)(uintptr_t)at;
}
