/*
 * The check of a mapping, when a world starts: the heap is the one it claims to
 * be, and what kernels do reaches it.
 */
#include <stdlib.h>
#include <string.h>

#include "gpu/gpu.h"
#include "src/base/error.h"

static const char magic[16] = "tessera heap 1";

/** Where the tail begins. */
static size_t tail_offset(size_t heap_bytes)
{
	return (heap_bytes + 255) / 256 * 256;
}

size_t tsr_gpu_whole_bytes(size_t heap_bytes)
{
	return (tail_offset(heap_bytes) + sizeof(tsr_gpu_tail_t) + TSR_GPU_ALIGN - 1) /
	       TSR_GPU_ALIGN * TSR_GPU_ALIGN;
}

/** Whether what is read behind a peer's heap is what the peer has written. */
static bool tail_is(const tsr_gpu_tail_t *seen, const tsr_heap_export_t *peer, int rank)
{
	return memcmp(seen->magic, magic, sizeof magic) == 0 && seen->rank == (uint64_t)rank &&
	       seen->process == peer->process && seen->size_bytes == peer->size_bytes;
}

/** What the kernel stores. */
static uint64_t pattern_for(const tsr_gpu_t *gpu, int rank)
{
	return 0x7e55e7a000000000u | (uint64_t)gpu->host->rank << 16 | (uint64_t)rank;
}

/** Where my words of a peer's tail are. */
static size_t my_words(const tsr_gpu_t *gpu, size_t heap_bytes)
{
	const size_t mine = (size_t)gpu->host->rank * sizeof((tsr_gpu_tail_t *)0)->of[0];
	return tail_offset(heap_bytes) + offsetof(tsr_gpu_tail_t, of) + mine;
}

/**
 * What the kernel has seen that it should not have: the rest of a sentence that
 * begins with the heap. Null: nothing.
 */
static const char *fault_of(const tsr_gpu_t *gpu, uint64_t pattern)
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

/** Runs the kernel on `words`, which are this rank's in the peer's tail. */
static int run_check(tsr_device_t *device, void *function, void *words, uint64_t pattern)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	uint64_t seen = gpu->page_on_device + offsetof(tsr_gpu_page_t, seen);
	void *parameters[] = {&words, &pattern, &seen};
	memset(gpu->page->seen, 0, sizeof gpu->page->seen);
	const int code =
		gpu->vendor->calls->launch(device, function, 1, 1, 0, gpu->side, parameters);
	return code == TSR_GPU_SUCCESS ? gpu->vendor->calls->stream_sync(device, gpu->side) : code;
}

static tsr_status_t check_access(tsr_device_t *device, void *function, void *words, int rank)
{
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	const uint64_t pattern = pattern_for(gpu, rank);
	char text[128];
	const int code = run_check(device, function, words, pattern);
	const char *fault = code == TSR_GPU_SUCCESS ? fault_of(gpu, pattern)
						    : gpu->vendor->calls->text(device, code, text);
	return fault ? gpu->vendor->heap_is_broken(device, rank, fault) : TSR_OK;
}

static tsr_status_t check_owner(tsr_device_t *device, const tsr_heap_export_t *peer, int rank)
{
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	tsr_gpu_tail_t *seen = malloc(sizeof *seen);
	if (!seen)
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory to check a heap; free some");
	tsr_status_t status =
		tsr_gpu_copy_from(device, seen,
				  (char *)gpu->base[rank] + tail_offset((size_t)peer->size_bytes),
				  sizeof *seen);
	if (status == TSR_OK && !tail_is(seen, peer, rank))
		status = gpu->vendor->heap_is_broken(device, rank, "is not that heap");
	free(seen);
	return status;
}

tsr_status_t tsr_gpu_tail_write(tsr_device_t *device, size_t heap_bytes)
{
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	const int rank = gpu->host->rank;
	tsr_gpu_tail_t tail = {
		.rank = (uint64_t)rank, .process = gpu->host->process, .size_bytes = heap_bytes};
	memcpy(tail.magic, magic, sizeof magic);
	return tsr_gpu_copy_to(device, (char *)gpu->base[rank] + tail_offset(heap_bytes), &tail,
			       sizeof tail);
}

tsr_status_t tsr_gpu_tail_check(tsr_device_t *device, const tsr_heap_export_t *peer, int rank)
{
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	const tsr_gpu_calls_t *calls = gpu->vendor->calls;
	void *module = NULL, *function = NULL;
	tsr_status_t status = check_owner(device, peer, rank);
	if (status != TSR_OK)
		return status;
	int code = calls->module_load(device, &module, gpu->vendor->check_image(device)->bytes);
	if (code == TSR_GPU_SUCCESS)
		code = calls->module_function(device, &function, module, TSR_GPU_CHECK_ENTRY);
	status = tsr_gpu_check(device, code, gpu->vendor->code_is_refused,
			       "loading the kernel that checks heaps");
	if (status == TSR_OK)
		status = check_access(device, function,
				      (char *)gpu->base[rank] +
					      my_words(gpu, (size_t)peer->size_bytes),
				      rank);
	if (module)
		(void)calls->module_unload(device, module);
	return status;
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
