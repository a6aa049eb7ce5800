/* The check of a mapping, when a world starts: the heap is the one it claims to be, and what kernels do reaches it. */
#include <string.h>

#include "gpu/gpu.h"
#include "src/base/error.h"

static const char magic[16] = "tessera heap 1";

size_t tsr_gpu_tail_offset(size_t heap_bytes)
{
	return (heap_bytes + 255) / 256 * 256;
}

size_t tsr_gpu_whole_bytes(size_t heap_bytes)
{
	return (tsr_gpu_tail_offset(heap_bytes) + sizeof(tsr_gpu_tail_t) + TSR_GPU_ALIGN - 1) / TSR_GPU_ALIGN * TSR_GPU_ALIGN;
}

tsr_gpu_tail_t tsr_gpu_tail_of(const tsr_gpu_t *gpu, size_t heap_bytes)
{
	tsr_gpu_tail_t tail = {.rank = (uint64_t)gpu->host->rank, .process = gpu->host->process, .size_bytes = heap_bytes};
	memcpy(tail.magic, magic, sizeof magic);
	return tail;
}

bool tsr_gpu_tail_is(const tsr_gpu_tail_t *seen, const tsr_heap_export_t *peer, int rank)
{
	return memcmp(seen->magic, magic, sizeof magic) == 0 && seen->rank == (uint64_t)rank && seen->process == peer->process &&
	       seen->size_bytes == peer->size_bytes;
}

uint64_t tsr_gpu_check_pattern(const tsr_gpu_t *gpu, int rank)
{
	return 0x7e55e7a000000000u | (uint64_t)gpu->host->rank << 16 | (uint64_t)rank;
}

size_t tsr_gpu_check_offset(const tsr_gpu_t *gpu, size_t heap_bytes)
{
	const size_t mine = (size_t)gpu->host->rank * sizeof((tsr_gpu_tail_t *)0)->of[0];
	return tsr_gpu_tail_offset(heap_bytes) + offsetof(tsr_gpu_tail_t, of) + mine;
}

const char *tsr_gpu_check_fault(const tsr_gpu_t *gpu, uint64_t pattern)
{
	const uint64_t *seen = gpu->page->seen;
	if (seen[3] != pattern)
		return "cannot be checked: the GPU's stores to host memory do not arrive";
	if (seen[0] != pattern)
		return "does not keep what is stored to it";
	if (seen[1] != 0 || seen[2] != 1)
		return "does not add up atomics";
	return NULL;
}

tsr_status_t tsr_gpu_heap_agrees(const tsr_gpu_t *gpu, const tsr_heap_export_t *peer, int rank)
{
	if (peer->size_bytes == gpu->launch.heap_bytes)
		return TSR_OK;
	return tsr_error(TSR_ERR_MISMATCH, "rank %d has a heap of %s, rank %d one of %s; set TESSERA_HEAP_SIZE alike", rank,
			 TSR_SIZE((size_t)peer->size_bytes), gpu->host->rank, TSR_SIZE((size_t)gpu->launch.heap_bytes));
}

/* The build names the images that it has: one for each toolkit. */
#define DECLARE(symbol_) extern const tsr_image_t symbol_;
#define LIST(symbol_) &symbol_,
TSR_GPU_CHECK_IMAGES(DECLARE)

const tsr_image_t *tsr_gpu_check_image_at(int index)
{
	static const tsr_image_t *const images[] = {TSR_GPU_CHECK_IMAGES(LIST) NULL};
	enum { COUNT = sizeof images / sizeof *images - 1 };
	return index >= 0 && index < COUNT ? images[index] : NULL;
}
