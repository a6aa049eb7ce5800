/* What a device needs in a world over several nodes: made, and dropped. */
#include "gpu/far/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gpu/far/kernels.h"
#include "src/base/error.h"
#include "src/base/sized.h"

/* ------------------------------------------------------------------ far heaps */

tsr_status_t tsr_gpu_far_reserve(tsr_device_t *device, int rank)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	const size_t bytes = tsr_gpu_whole_bytes(gpu->launch.heap_bytes),
		     whole = bytes + TSR_GPU_ALIGN;
	char *room =
		mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return tsr_error(TSR_ERR_SYSTEM,
				 "keeping %s of addresses for the heap of rank %d, on node %d, "
				 "failed: %s; set TESSERA_HEAP_SIZE lower",
				 TSR_SIZE(whole), rank, gpu->host->nodes[rank], strerror(errno));
	const size_t before = (TSR_GPU_ALIGN - (uintptr_t)room % TSR_GPU_ALIGN) % TSR_GPU_ALIGN,
		     behind = TSR_GPU_ALIGN - before;
	if (before > 0)
		munmap(room, before);
	if (behind > 0)
		munmap(room + whole - behind, behind);
	gpu->base[rank] = room + before;
	return TSR_OK;
}

void tsr_gpu_far_release(tsr_device_t *device, int rank)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	if (gpu->base[rank])
		munmap(gpu->base[rank], tsr_gpu_whole_bytes(gpu->launch.heap_bytes));
	gpu->base[rank] = NULL;
}

/* ------------------------------------------------------------------ make */

/** Words of device memory behind tsr_gpu_far_t. */
typedef struct words {
	tsr_gpu_far_t far;
	uint64_t written, flushed;
	uint32_t taken[TSR_GPU_REQUESTS / 32];
} words_t;

static int make_shared(tsr_device_t *device, tsr_gpu_shared_memory_t *shared, size_t bytes)
{
	const int code = tsr_gpu_of(device)->vendor->calls->host_alloc(device, &shared->memory,
								       bytes, &shared->on_device);
	if (code == TSR_GPU_SUCCESS)
		memset(shared->memory, 0, bytes);
	return code;
}

/** The memory through which kernels ask. */
static tsr_status_t make_requests(tsr_device_t *device, tsr_gpu_nodes_t *nodes)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	int code =
		make_shared(device, &nodes->requests, TSR_GPU_REQUESTS * sizeof(tsr_gpu_request_t));
	if (code == TSR_GPU_SUCCESS)
		code = make_shared(device, &nodes->rooms,
				   (size_t)TSR_GPU_REQUESTS * TSR_GPU_ROOM_BYTES);
	if (code == TSR_GPU_SUCCESS)
		code = gpu->vendor->calls->alloc(device, &nodes->words, sizeof(words_t));
	if (code != TSR_GPU_SUCCESS)
		return tsr_gpu_check(device, code, gpu->vendor->memory_is_full,
				     "making room for what rank %d sends to other nodes",
				     gpu->host->rank);
	words_t *there = nodes->words;
	const words_t words = {
		.far = {.requests = (tsr_gpu_request_t *)(uintptr_t)nodes->requests.on_device,
			.rooms = (char *)(uintptr_t)nodes->rooms.on_device,
			.taken = there->taken,
			.written = &there->written,
			.flushed = &there->flushed}};
	gpu->launch.far = &there->far;
	return tsr_gpu_copy_to(device, there, &words, sizeof words);
}

/**
 * Runs the kernels once, with nothing to do. The driver may load a kernel, or
 * give it memory, when it is first launched, and waits for running kernels then:
 * with a lock that whoever serves far ranks needs. So one kernel takes as much
 * local memory as the program's may have.
 */
static int run_once(tsr_device_t *device, tsr_gpu_nodes_t *nodes)
{
	const tsr_gpu_calls_t *calls = tsr_gpu_of(device)->vendor->calls;
	tsr_gpu_service_t service = {.word = (char *)(uintptr_t)nodes->stages.on_device,
				     .kind = TSR_GPU_WORD_U64,
				     .op = TSR_GPU_OP_LOAD};
	tsr_gpu_context_t context = {.rank = 0};
	tsr_gpu_carried_t carried = {.rows = 0};
	uint64_t nothing = 0;
	void *of_service[] = {&service}, *of_carry[] = {&context, &carried},
	     *of_stack[] = {&nothing};
	int code = calls->launch(device, nodes->stack, 1, 1, 0, nodes->stream, of_stack);
	if (code == TSR_GPU_SUCCESS)
		code = calls->launch(device, nodes->serve, 1, TSR_GPU_SERVE_THREADS, 0,
				     nodes->stream, of_service);
	if (code == TSR_GPU_SUCCESS)
		code = calls->launch(device, nodes->carry, 1, TSR_GPU_CARRY_THREADS, 0,
				     nodes->stream, of_carry);
	return code == TSR_GPU_SUCCESS ? calls->stream_sync(device, nodes->stream) : code;
}

/** What serves far ranks: a stream, two kernels, and memory for what comes. */
static tsr_status_t make_service(tsr_device_t *device, tsr_gpu_nodes_t *nodes)
{
	const tsr_gpu_t *gpu = tsr_gpu_of(device);
	const tsr_gpu_calls_t *calls = gpu->vendor->calls;
	int code = make_shared(device, &nodes->stages, TSR_GPU_STAGES * TSR_GPU_STAGE_BYTES);
	if (code == TSR_GPU_SUCCESS)
		code = make_shared(device, &nodes->old, sizeof(uint64_t));
	if (code == TSR_GPU_SUCCESS)
		code = calls->stream_create_first(device, &nodes->stream);
	if (code != TSR_GPU_SUCCESS)
		return tsr_gpu_check(device, code, gpu->vendor->memory_is_full,
				     "making room for what comes to rank %d from other nodes",
				     gpu->host->rank);
	code = calls->module_load(device, &nodes->module, gpu->vendor->check_image(device)->bytes);
	if (code == TSR_GPU_SUCCESS)
		code = calls->module_function(device, &nodes->serve, nodes->module,
					      TSR_GPU_SERVE_ENTRY);
	if (code == TSR_GPU_SUCCESS)
		code = calls->module_function(device, &nodes->carry, nodes->module,
					      TSR_GPU_CARRY_ENTRY);
	if (code == TSR_GPU_SUCCESS)
		code = calls->module_function(device, &nodes->stack, nodes->module,
					      TSR_GPU_STACK_ENTRY);
	if (code == TSR_GPU_SUCCESS)
		code = run_once(device, nodes);
	return tsr_gpu_check(device, code, gpu->vendor->code_is_refused,
			     "loading the kernels that serve other nodes");
}

tsr_status_t tsr_gpu_nodes_serve(tsr_device_t *device, tsr_net_memory_t *memory_out)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	int before;
	tsr_gpu_nodes_t *nodes = calloc(1, sizeof *nodes);
	if (!nodes)
		return tsr_error(TSR_ERR_NO_MEMORY, "no host memory for rank %d's nodes; free some",
				 gpu->host->rank);
	gpu->nodes = nodes;
	tsr_status_t status = tsr_gpu_enter(device, &before);
	if (status != TSR_OK)
		return status;
	status = make_requests(device, nodes);
	if (status == TSR_OK)
		status = make_service(device, nodes);
	if (status == TSR_OK)
		status = tsr_gpu_modules_load(gpu, device, TSR_GPU_NODES);
	tsr_gpu_leave(device, before);
	if (status == TSR_OK)
		status = tsr_gpu_couriers_start(device);
	if (status == TSR_OK)
		tsr_gpu_serve_memory(device, memory_out);
	return status;
}

/* ------------------------------------------------------------------ drop */

void tsr_gpu_nodes_drop(tsr_device_t *device)
{
	tsr_gpu_t *gpu = tsr_gpu_of(device);
	const tsr_gpu_calls_t *calls = gpu->vendor->calls;
	tsr_gpu_nodes_t *nodes = gpu->nodes;
	if (!nodes)
		return;
	tsr_gpu_couriers_stop(device);
	tsr_gpu_shared_memory_t *const shared[] = {&nodes->requests, &nodes->rooms, &nodes->stages,
						   &nodes->old};
	for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
		if (shared[i]->memory)
			(void)calls->host_release(device, shared[i]->memory);
	if (nodes->words)
		(void)calls->release(device, nodes->words);
	if (nodes->stream)
		(void)calls->stream_destroy(device, nodes->stream);
	if (nodes->module)
		(void)calls->module_unload(device, nodes->module);
	free(nodes);
	gpu->nodes = NULL;
	gpu->launch.far = NULL;
}

void tsr_gpu_far_flush(const tsr_gpu_t *gpu)
{
	if (gpu->nodes && gpu->host->net)
		gpu->host->net_calls->flush(gpu->host->net);
}
