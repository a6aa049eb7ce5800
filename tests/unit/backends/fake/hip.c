#include "tests/unit/backends/fake/hip.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* As the plug-in declares them. */
#define DECLARE(field_, function_, result_, parameters_) \
	__attribute__((visibility("default"))) result_ function_ parameters_;
TSR_HIP_ENTRIES(DECLARE)

__attribute__((visibility("default"))) fake_hip_t fake_hip;

const char *hipGetErrorName(tsr_hip_code_t code)
{
	return code == TSR_HIP_ERROR_OUT_OF_MEMORY ? "hipErrorOutOfMemory" : "hipErrorOther";
}

const char *hipGetErrorString(tsr_hip_code_t code)
{
	return code == TSR_HIP_ERROR_OUT_OF_MEMORY ? "out of memory" : "hipErrorOther";
}

/* ---- devices */

tsr_hip_code_t hipGetDeviceCount(int *count)
{
	*count = fake_hip.devices;
	return fake_hip.devices ? TSR_HIP_SUCCESS : TSR_HIP_ERROR_NO_DEVICE;
}

tsr_hip_code_t hipGetDevice(int *device)
{
	*device = fake_hip.current;
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipSetDevice(int device)
{
	fake_hip.current = device;
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
	*flags = 0;
	*active = device == fake_hip.current;
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipDeviceGetName(char *name, int size, int device)
{
	snprintf(name, (size_t)size, "fake GPU %d", device);
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipDeviceGetAttribute(int *value, int which, int device)
{
	(void)device;
	*value = which == TSR_HIP_MULTIPROCESSORS ? FAKE_SMS
		 : which == TSR_HIP_SHARED_BYTES  ? 65536
						  : FAKE_CLOCK_KHZ;
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipGetDeviceProperties(tsr_hip_properties_t *properties, int device)
{
	(void)device;
	strcpy(properties->bytes, "gfx is no part of the name");
	strcpy(properties->bytes + 1000, fake_hip.arch);
	return TSR_HIP_SUCCESS;
}

/* ---- memory */

tsr_hip_code_t hipMalloc(void **p, size_t size_bytes)
{
	*p = aligned_alloc(2 << 20, (size_bytes + (2 << 20) - 1) / (2 << 20) * (2 << 20));
	return *p ? TSR_HIP_SUCCESS : TSR_HIP_ERROR_OUT_OF_MEMORY;
}

tsr_hip_code_t hipExtMallocWithFlags(void **p, size_t size_bytes, unsigned flags)
{
	fake_hip.heap_flags = flags;
	return hipMalloc(p, size_bytes);
}

tsr_hip_code_t hipFree(void *p)
{
	free(p);
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipHostMalloc(void **p, size_t size_bytes, unsigned flags)
{
	(void)flags;
	return hipMalloc(p, size_bytes);
}

tsr_hip_code_t hipHostGetDevicePointer(void **device, void *host, unsigned flags)
{
	(void)flags;
	*device = host;
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipHostFree(void *p)
{
	return hipFree(p);
}

tsr_hip_code_t hipMemcpyAsync(void *to, const void *from, size_t size_bytes, int kind,
			      tsr_hip_stream_t stream)
{
	(void)kind;
	(void)stream;
	memcpy(to, from, size_bytes);
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipMemsetAsync(void *to, int byte, size_t size_bytes, tsr_hip_stream_t stream)
{
	(void)stream;
	memset(to, byte, size_bytes);
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipIpcGetMemHandle(tsr_hip_ipc_t *handle, void *p)
{
	memcpy(handle->bytes, &p, sizeof p);
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipIpcOpenMemHandle(void **p, tsr_hip_ipc_t handle, unsigned flags)
{
	if (flags != (fake_hip.old_ipc ? 0u : 1u))
		return TSR_HIP_ERROR_INVALID_VALUE;
	memcpy(p, handle.bytes, sizeof *p);
	fake_hip.opened++;
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipIpcCloseMemHandle(void *p)
{
	(void)p;
	fake_hip.opened--;
	return TSR_HIP_SUCCESS;
}

/* ---- code: a function is its name */

tsr_hip_code_t hipModuleLoadData(tsr_hip_module_t *module, const void *image)
{
	*module = (tsr_hip_module_t)(uintptr_t)image;
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipModuleUnload(tsr_hip_module_t module)
{
	(void)module;
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipModuleGetFunction(tsr_hip_function_t *function, tsr_hip_module_t module,
				    const char *name)
{
	static const char *const known[] = {"tsr_gpu_check", "tsr_gpu_clock",
					    "tsr_entry_hip_test_one", "tsr_entry_hip_test_two__v"};
	(void)module;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(name, known[i]) == 0) {
			*function = (tsr_hip_function_t)(uintptr_t)known[i];
			return TSR_HIP_SUCCESS;
		}
	return TSR_HIP_ERROR_NOT_FOUND;
}

tsr_hip_code_t hipFuncGetAttribute(int *value, int which, tsr_hip_function_t function)
{
	(void)function;
	*value = which == TSR_HIP_FUNCTION_THREADS ? FAKE_THREADS : 0;
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
								  tsr_hip_function_t function,
								  int threads, size_t shared_bytes)
{
	(void)function;
	(void)threads;
	(void)shared_bytes;
	*blocks = FAKE_BLOCKS_PER_SM;
	return TSR_HIP_SUCCESS;
}

/** What gpu/dev/check.c does. */
static void check_kernel(void **parameters)
{
	uint64_t *words, *seen, pattern;
	memcpy(&words, parameters[0], sizeof words);
	memcpy(&pattern, parameters[1], sizeof pattern);
	memcpy(&seen, parameters[2], sizeof seen);
	words[0] = fake_hip.loses_stores ? words[0] : pattern;
	seen[0] = words[0];
	seen[1] = words[1]++;
	seen[2] = fake_hip.loses_atomics ? seen[1] : words[1]++;
	seen[3] = pattern;
}

/** What tsr_gpu_clock of that file does; the clock ticks once in ten nanoseconds. */
static void *clock_kernel(void *page)
{
	tsr_gpu_clock_t *clock = page;
	clock->step = 1;
	for (uint32_t round = 1; round <= TSR_GPU_CLOCK_ROUNDS; round++) {
		struct timespec now;
		/* partners: backends/gpu/clock.c */
		while (__atomic_load_n(&clock->asked, __ATOMIC_ACQUIRE) < round)
			sched_yield();
		clock_gettime(CLOCK_MONOTONIC, &now);
		clock->ticks = (uint64_t)now.tv_sec * 100000000 + (uint64_t)now.tv_nsec / 10;
		__atomic_store_n(&clock->answered, round, __ATOMIC_RELEASE);
	}
	return NULL;
}

static tsr_hip_code_t tell_time(void **parameters)
{
	pthread_t thread;
	void *page;
	memcpy(&page, parameters[0], sizeof page);
	if (fake_hip.clock_stands_still)
		return TSR_HIP_SUCCESS;
	if (pthread_create(&thread, NULL, clock_kernel, page) != 0)
		return TSR_HIP_ERROR_OUT_OF_MEMORY;
	pthread_detach(thread);
	return TSR_HIP_SUCCESS;
}

static void expire(const tsr_gpu_context_t *context)
{
	tsr_gpu_note_t *note = &context->notes[0];
	*note = (tsr_gpu_note_t){.fatal = 1,
				 .launch = context->launch,
				 .peer = 1,
				 .line = 7,
				 .expected = 3,
				 .file = "fake.c"};
	note->address = (uint64_t)(uintptr_t)context->heap + 64;
	/* partner: tsr_gpu_notes_read */
	__atomic_store_n(&note->kind, TSR_GPU_NOTE_WAIT, __ATOMIC_RELEASE);
	*context->abort = 1;
}

tsr_hip_code_t hipModuleLaunchKernel(tsr_hip_function_t function, unsigned x, unsigned y,
				     unsigned z, unsigned threads, unsigned ty, unsigned tz,
				     unsigned shared_bytes, tsr_hip_stream_t stream,
				     void **parameters, void **extra)
{
	const char *name = (const char *)(uintptr_t)function;
	if (strcmp(name, "tsr_gpu_check") == 0) {
		check_kernel(parameters);
		return TSR_HIP_SUCCESS;
	}
	if (strcmp(name, "tsr_gpu_clock") == 0)
		return tell_time(parameters);
	if (y != 1 || z != 1 || ty != 1 || tz != 1 || extra)
		return TSR_HIP_ERROR_INVALID_VALUE;
	fake_hip.launched_on = stream;
	fake_hip.launches++;
	snprintf(fake_hip.name, sizeof fake_hip.name, "%s", name);
	fake_hip.blocks = x;
	fake_hip.threads = threads;
	fake_hip.shared_bytes = shared_bytes;
	memcpy(&fake_hip.context, parameters[0], sizeof fake_hip.context);
	if (fake_hip.wait_expires)
		expire(&fake_hip.context);
	if (fake_hip.context.record.lanes && fake_hip.recorded)
		fake_hip.recorded(&fake_hip.context);
	return TSR_HIP_SUCCESS;
}

/* ---- streams and events: everything is done at once */

tsr_hip_code_t hipStreamCreateWithFlags(tsr_hip_stream_t *stream, unsigned flags)
{
	*stream = malloc(1);
	return flags == TSR_HIP_STREAM_NON_BLOCKING ? TSR_HIP_SUCCESS : TSR_HIP_ERROR_INVALID_VALUE;
}

tsr_hip_code_t hipStreamCreateWithPriority(tsr_hip_stream_t *stream, unsigned flags, int priority)
{
	(void)priority;
	return hipStreamCreateWithFlags(stream, flags);
}

tsr_hip_code_t hipDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	*least = *greatest = 0;
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipStreamDestroy(tsr_hip_stream_t stream)
{
	free(stream);
	fake_hip.destroyed++;
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipStreamQuery(tsr_hip_stream_t stream)
{
	(void)stream;
	return fake_hip.stream;
}

tsr_hip_code_t hipStreamSynchronize(tsr_hip_stream_t stream)
{
	(void)stream;
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
				size_t row_bytes, size_t rows, int kind, tsr_hip_stream_t stream)
{
	(void)stream;
	if (kind != TSR_HIP_BY_ADDRESS || row_bytes > to_pitch || row_bytes > from_pitch)
		return TSR_HIP_ERROR_INVALID_VALUE;
	for (size_t row = 0; row < rows; row++)
		memcpy((char *)to + row * to_pitch, (const char *)from + row * from_pitch,
		       row_bytes);
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipStreamWaitEvent(tsr_hip_stream_t stream, tsr_hip_event_t event, unsigned flags)
{
	(void)stream;
	(void)event;
	return flags == 0 ? TSR_HIP_SUCCESS : TSR_HIP_ERROR_INVALID_VALUE;
}

tsr_hip_code_t hipEventCreateWithFlags(tsr_hip_event_t *event, unsigned flags)
{
	*event = malloc(1);
	return flags == 0 ? TSR_HIP_SUCCESS : TSR_HIP_ERROR_INVALID_VALUE;
}

tsr_hip_code_t hipEventDestroy(tsr_hip_event_t event)
{
	free(event);
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipEventRecord(tsr_hip_event_t event, tsr_hip_stream_t stream)
{
	(void)event;
	(void)stream;
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipEventQuery(tsr_hip_event_t event)
{
	(void)event;
	return TSR_HIP_SUCCESS;
}

tsr_hip_code_t hipEventElapsedTime(float *ms, tsr_hip_event_t begin, tsr_hip_event_t end)
{
	*ms = begin == end ? 0.0f : 1.5f;
	return TSR_HIP_SUCCESS;
}
