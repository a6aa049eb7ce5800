/* The check of a mapping, when a world starts: the heap is the one it claims to be, and what kernels do reaches it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/device.h"
#include "src/base/error.h"

/** Lies behind the heap, so that checking a mapping never touches what is allocated. Each rank has words of its own in it. */
typedef struct heap_tail {
	char magic[16];
	uint64_t rank, process, size_bytes;
	struct {
		uint64_t word, count;
	} of[TSR_MAX_RANKS];
} heap_tail_t;

static const char magic[16] = "tessera heap 1";

size_t tsr_cuda_tail_bytes(void)
{
	return sizeof(heap_tail_t);
}

size_t tsr_cuda_tail_offset(size_t heap_bytes)
{
	return (heap_bytes + 255) / 256 * 256;
}

tsr_status_t tsr_cuda_tail_write(tsr_device_t *device, size_t heap_bytes)
{
	const int rank = device->host->rank;
	heap_tail_t tail = {.rank = (uint64_t)rank, .process = (uint64_t)getpid(), .size_bytes = heap_bytes};
	memcpy(tail.magic, magic, sizeof magic);
	return tsr_cuda_copy_to(device, device->heap[rank].base + tsr_cuda_tail_offset(heap_bytes), &tail, sizeof tail);
}

/** Words for a failure: whose heap, seen from where. */
static tsr_status_t broken(const tsr_device_t *device, int rank, const char *cause)
{
	return tsr_error(TSR_ERR_SYSTEM,
			 "rank %d's heap, mapped by %s on the GPU of rank %d (%s), %s: set TESSERA_CUDA_HEAP=%s, or look whether "
			 "the GPUs reach each other (nvidia-smi topo -p2p rw; PCIe ACS and the IOMMU must let them)",
			 rank, device->sharing->name, device->host->rank, device->props.name, cause,
			 device->sharing == &tsr_cuda_vmm ? "ipc" : "vmm");
}

static tsr_status_t check_owner(tsr_device_t *device, CUdeviceptr tail, const tsr_heap_export_t *peer, int rank)
{
	heap_tail_t *seen = malloc(sizeof *seen);
	if (!seen)
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory to check a heap; free some");
	tsr_status_t status = tsr_cuda_copy_from(device, seen, tail, sizeof *seen);
	if (status == TSR_OK && (memcmp(seen->magic, magic, sizeof magic) != 0 || seen->rank != (uint64_t)rank ||
				 seen->process != peer->process || seen->size_bytes != peer->size_bytes))
		status = broken(device, rank, "is not that heap");
	free(seen);
	return status;
}

/** Runs the kernel on the words at `mine`, which are this rank's in the peer's tail. */
static CUresult run_check(tsr_device_t *device, CUfunction function, CUdeviceptr word, CUdeviceptr count, uint64_t pattern)
{
	CUdeviceptr seen = TSR_CUDA_ON_DEVICE(device, seen);
	void *parameters[] = {&word, &count, &pattern, &seen};
	memset(device->page->seen, 0, sizeof device->page->seen);
	CUresult code = device->cu.launch(function, 1, 1, 1, 1, 1, 1, 0, device->side, parameters, NULL);
	return code == CUDA_SUCCESS ? device->cu.stream_sync(device->side) : code;
}

static tsr_status_t check_access(tsr_device_t *device, CUfunction function, CUdeviceptr tail, int rank)
{
	const int me = device->host->rank;
	const uint64_t pattern = 0x7e55e7a000000000u | (uint64_t)me << 16 | (uint64_t)rank;
	const CUdeviceptr mine = tail + offsetof(heap_tail_t, of) + (size_t)me * sizeof((heap_tail_t *)0)->of[0];
	const uint64_t *seen = device->page->seen;
	char text[128];
	CUresult code = run_check(device, function, mine, mine + sizeof(uint64_t), pattern);
	if (code != CUDA_SUCCESS)
		return broken(device, rank, tsr_cuda_text(&device->cu, code, text));
	if (seen[3] != pattern)
		return broken(device, rank, "cannot be checked: the GPU's stores to host memory do not arrive");
	if (seen[0] != pattern)
		return broken(device, rank, "does not keep what is stored to it");
	if (seen[1] != 0 || seen[2] != 1)
		return broken(device, rank, "does not add up atomics");
	return TSR_OK;
}

tsr_status_t tsr_cuda_tail_check(tsr_device_t *device, const tsr_heap_export_t *peer, int rank)
{
	const tsr_cuda_driver_t *cu = &device->cu;
	const CUdeviceptr tail = device->heap[rank].base + tsr_cuda_tail_offset((size_t)peer->size_bytes);
	CUmodule module = NULL;
	CUfunction function = NULL;
	tsr_status_t status = check_owner(device, tail, peer, rank);
	if (status != TSR_OK)
		return status;
	CUresult code = cu->module_load(&module, tsr_cuda_check_image.bytes);
	if (code == CUDA_SUCCESS)
		code = cu->module_function(&function, module, "tsr_cuda_check");
	status = tsr_cuda_check(cu, code, "install the driver of the CUDA toolkit that built the library, or a newer one",
				"loading the kernel that checks heaps");
	if (status == TSR_OK)
		status = check_access(device, function, tail, rank);
	if (module)
		(void)cu->module_unload(module);
	return status;
}
