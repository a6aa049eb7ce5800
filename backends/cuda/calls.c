/*
 * The CUDA driver as the shared host half calls it. Handles are the driver's
 * own; addresses are numbers to it.
 */
#include "cuda/device.h"

_Static_assert((int)CUDA_SUCCESS == TSR_GPU_SUCCESS &&
		       (int)CUDA_ERROR_NOT_READY == TSR_GPU_NOT_READY &&
		       (int)CUDA_ERROR_OUT_OF_MEMORY == TSR_GPU_OUT_OF_MEMORY,
	       "the driver numbers its answers otherwise");

static CUdeviceptr at(const void *address)
{
	return (CUdeviceptr)(uintptr_t)address;
}

static int enter(const tsr_device_t *device, int *before_out)
{
	*before_out = 0; /* contexts are a stack */
	return (int)device->cu.ctx_push(device->context);
}

static void leave(const tsr_device_t *device, int before)
{
	CUcontext context;
	(void)before;
	(void)device->cu.ctx_pop(&context);
}

static const char *text_of(const tsr_device_t *device, int code, char text[128])
{
	return tsr_cuda_text(&device->cu, (CUresult)code, text);
}

static int alloc(tsr_device_t *device, void **memory_out, size_t size_bytes)
{
	CUdeviceptr memory = 0;
	const CUresult code = device->cu.mem_alloc(&memory, size_bytes);
	if (code == CUDA_SUCCESS)
		*memory_out = (void *)(uintptr_t)memory;
	return (int)code;
}

static int release(tsr_device_t *device, void *memory)
{
	return (int)device->cu.mem_free(at(memory));
}

static int host_alloc(tsr_device_t *device, void **memory_out, size_t size_bytes,
		      uint64_t *on_device_out)
{
	CUdeviceptr on_device = 0;
	CUresult code = device->cu.host_alloc(memory_out, size_bytes,
					      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
	if (code == CUDA_SUCCESS)
		code = device->cu.host_pointer(&on_device, *memory_out, 0);
	*on_device_out = on_device;
	return (int)code;
}

static int host_release(tsr_device_t *device, void *memory)
{
	return (int)device->cu.host_free(memory);
}

static int copy_to(tsr_device_t *device, void *to, const void *from, size_t size_bytes,
		   void *stream)
{
	return (int)device->cu.copy_to(at(to), from, size_bytes, stream);
}

static int copy_from(tsr_device_t *device, void *to, const void *from, size_t size_bytes,
		     void *stream)
{
	return (int)device->cu.copy_from(to, at(from), size_bytes, stream);
}

static int copy_rows(tsr_device_t *device, const tsr_device_copy_t *copy, void *stream)
{
	const CUDA_MEMCPY2D rows = {
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = at(copy->src),
		.srcPitch = copy->src_pitch_bytes,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstDevice = at(copy->dst),
		.dstPitch = copy->dst_pitch_bytes,
		.WidthInBytes = copy->row_bytes,
		.Height = copy->rows,
	};
	return (int)device->cu.copy_2d(&rows, stream);
}

static int fill(tsr_device_t *device, void *to, int byte, size_t size_bytes, void *stream)
{
	return (int)device->cu.fill(at(to), (unsigned char)byte, size_bytes, stream);
}

static int module_load(tsr_device_t *device, void **module_out, const void *bytes)
{
	return (int)device->cu.module_load((CUmodule *)module_out, bytes);
}

static int module_unload(tsr_device_t *device, void *module)
{
	return (int)device->cu.module_unload(module);
}

static int module_function(tsr_device_t *device, void **function_out, void *module,
			   const char *name)
{
	return (int)device->cu.module_function((CUfunction *)function_out, module, name);
}

static int launch(tsr_device_t *device, void *function, int blocks, int threads, int shared_bytes,
		  void *stream, void **parameters)
{
	return (int)device->cu.launch(function, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1,
				      (unsigned)shared_bytes, stream, parameters, NULL);
}

static int stream_create(tsr_device_t *device, void **stream_out)
{
	return (int)device->cu.stream_create((CUstream *)stream_out, CU_STREAM_NON_BLOCKING);
}

static int stream_create_first(tsr_device_t *device, void **stream_out)
{
	int least = 0, greatest = 0;
	(void)device->cu.stream_priorities(&least, &greatest);
	return (int)device->cu.stream_create_at((CUstream *)stream_out, CU_STREAM_NON_BLOCKING,
						greatest);
}

static int stream_destroy(tsr_device_t *device, void *stream)
{
	return (int)device->cu.stream_destroy(stream);
}

static int stream_query(tsr_device_t *device, void *stream)
{
	return (int)device->cu.stream_query(stream);
}

static int stream_sync(tsr_device_t *device, void *stream)
{
	return (int)device->cu.stream_sync(stream);
}

static int stream_wait(tsr_device_t *device, void *stream, void *event)
{
	return (int)device->cu.stream_wait(stream, event, CU_EVENT_WAIT_DEFAULT);
}

static int event_create(tsr_device_t *device, void **event_out)
{
	return (int)device->cu.event_create((CUevent *)event_out, CU_EVENT_DEFAULT);
}

static int event_destroy(tsr_device_t *device, void *event)
{
	return (int)device->cu.event_destroy(event);
}

static int event_record(tsr_device_t *device, void *event, void *stream)
{
	return (int)device->cu.event_record(event, stream);
}

static int event_query(tsr_device_t *device, void *event)
{
	return (int)device->cu.event_query(event);
}

static int event_elapsed(tsr_device_t *device, float *ms_out, void *begin, void *end)
{
	return (int)device->cu.event_elapsed(ms_out, begin, end);
}

const tsr_gpu_calls_t tsr_cuda_calls = {
	.enter = enter,
	.leave = leave,
	.text = text_of,
	.alloc = alloc,
	.release = release,
	.host_alloc = host_alloc,
	.host_release = host_release,
	.copy_to = copy_to,
	.copy_from = copy_from,
	.copy_rows = copy_rows,
	.fill = fill,
	.module_load = module_load,
	.module_unload = module_unload,
	.module_function = module_function,
	.launch = launch,
	.stream_create = stream_create,
	.stream_create_first = stream_create_first,
	.stream_destroy = stream_destroy,
	.stream_query = stream_query,
	.stream_sync = stream_sync,
	.stream_wait = stream_wait,
	.event_create = event_create,
	.event_destroy = event_destroy,
	.event_record = event_record,
	.event_query = event_query,
	.event_elapsed = event_elapsed,
};
