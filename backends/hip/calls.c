/* The HIP runtime as the shared host half calls it. Handles and addresses are the runtime's own. */
#include "hip/device.h"

_Static_assert((int)TSR_HIP_SUCCESS == TSR_GPU_SUCCESS &&
		       (int)TSR_HIP_ERROR_NOT_READY == TSR_GPU_NOT_READY &&
		       (int)TSR_HIP_ERROR_OUT_OF_MEMORY == TSR_GPU_OUT_OF_MEMORY,
	       "the runtime numbers its answers otherwise");

/**
 * A device in which nothing runs yet is not given back, for on some platforms
 * that would start it.
 */
static int enter(const tsr_device_t *device, int *before_out)
{
	const tsr_hip_runtime_t *hip = &device->hip;
	unsigned flags;
	int before = device->id, in_use = 0;
	if (hip->device_get(&before) == TSR_HIP_SUCCESS && before != device->id)
		(void)hip->device_in_use(before, &flags, &in_use);
	*before_out = in_use ? before : device->id;
	return hip->device_set(device->id);
}

static void leave(const tsr_device_t *device, int before)
{
	if (before != device->id)
		(void)device->hip.device_set(before);
}

static const char *text_of(const tsr_device_t *device, int code, char text[128])
{
	return tsr_hip_text(&device->hip, code, text);
}

static int alloc(tsr_device_t *device, void **memory_out, size_t size_bytes)
{
	return device->hip.mem_alloc(memory_out, size_bytes);
}

static int release(tsr_device_t *device, void *memory)
{
	return device->hip.mem_free(memory);
}

static int host_alloc(tsr_device_t *device, void **memory_out, size_t size_bytes,
		      uint64_t *on_device_out)
{
	void *on_device = NULL;
	tsr_hip_code_t code = device->hip.host_alloc(memory_out, size_bytes,
						     TSR_HIP_HOST_PORTABLE | TSR_HIP_HOST_MAPPED |
							     TSR_HIP_HOST_COHERENT);
	if (code == TSR_HIP_SUCCESS)
		code = device->hip.host_pointer(&on_device, *memory_out, 0);
	*on_device_out = (uint64_t)(uintptr_t)on_device;
	return code;
}

static int host_release(tsr_device_t *device, void *memory)
{
	return device->hip.host_free(memory);
}

static int copy_to(tsr_device_t *device, void *to, const void *from, size_t size_bytes,
		   void *stream)
{
	return device->hip.copy(to, from, size_bytes, TSR_HIP_TO_DEVICE, stream);
}

static int copy_from(tsr_device_t *device, void *to, const void *from, size_t size_bytes,
		     void *stream)
{
	return device->hip.copy(to, from, size_bytes, TSR_HIP_TO_HOST, stream);
}

/** By SDMA, or as the runtime likes. */
static int copy_rows(tsr_device_t *device, const tsr_device_copy_t *copy, void *stream)
{
	return device->hip.copy_2d(copy->dst, copy->dst_pitch_bytes, copy->src,
				   copy->src_pitch_bytes, copy->row_bytes, copy->rows,
				   TSR_HIP_BY_ADDRESS, stream);
}

static int fill(tsr_device_t *device, void *to, int byte, size_t size_bytes, void *stream)
{
	return device->hip.fill(to, byte, size_bytes, stream);
}

static int module_load(tsr_device_t *device, void **module_out, const void *bytes)
{
	return device->hip.module_load((tsr_hip_module_t *)module_out, bytes);
}

static int module_unload(tsr_device_t *device, void *module)
{
	return device->hip.module_unload(module);
}

static int module_function(tsr_device_t *device, void **function_out, void *module,
			   const char *name)
{
	return device->hip.module_function((tsr_hip_function_t *)function_out, module, name);
}

static int launch(tsr_device_t *device, void *function, int blocks, int threads, int shared_bytes,
		  void *stream, void **parameters)
{
	return device->hip.launch(function, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1,
				  (unsigned)shared_bytes, stream, parameters, NULL);
}

static int stream_create(tsr_device_t *device, void **stream_out)
{
	return device->hip.stream_create((tsr_hip_stream_t *)stream_out,
					 TSR_HIP_STREAM_NON_BLOCKING);
}

static int stream_create_first(tsr_device_t *device, void **stream_out)
{
	int least = 0, greatest = 0;
	(void)device->hip.stream_priorities(&least, &greatest);
	return device->hip.stream_create_at((tsr_hip_stream_t *)stream_out,
					    TSR_HIP_STREAM_NON_BLOCKING, greatest);
}

static int stream_destroy(tsr_device_t *device, void *stream)
{
	return device->hip.stream_destroy(stream);
}

/**
 * When it has ended, to wait for it returns at once: that stores are visible to
 * all is said of that call, and not of the query.
 */
static int stream_query(tsr_device_t *device, void *stream)
{
	const tsr_hip_code_t code = device->hip.stream_query(stream);
	return code == TSR_HIP_SUCCESS ? device->hip.stream_sync(stream) : code;
}

static int stream_sync(tsr_device_t *device, void *stream)
{
	return device->hip.stream_sync(stream);
}

static int stream_wait(tsr_device_t *device, void *stream, void *event)
{
	return device->hip.stream_wait(stream, event, 0);
}

static int event_create(tsr_device_t *device, void **event_out)
{
	return device->hip.event_create((tsr_hip_event_t *)event_out, 0);
}

static int event_destroy(tsr_device_t *device, void *event)
{
	return device->hip.event_destroy(event);
}

static int event_record(tsr_device_t *device, void *event, void *stream)
{
	return device->hip.event_record(event, stream);
}

/** An event releases to the system where it is recorded. */
static int event_query(tsr_device_t *device, void *event)
{
	return device->hip.event_query(event);
}

static int event_elapsed(tsr_device_t *device, float *ms_out, void *begin, void *end)
{
	return device->hip.event_elapsed(ms_out, begin, end);
}

const tsr_gpu_calls_t tsr_hip_calls = {
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
