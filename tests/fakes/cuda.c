/*
 * A driver that is none, for tests of the baseline's calls: device memory is
 * the host's, and what is put on a stream is done at once, but for fills: they
 * are done when the stream is waited for, or given something else.
 * FAKE_ONE_GPU: all ranks have the same one. FAKE_NO_MEMORY: nothing can be
 * allocated. Of the kernels of litmus tests it does what FAKE_KERNEL says:
 * "none" is compiled, "stuck" never ends, nor does any call that waits for it,
 * and the others leave their parameter in the memory of their results.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/stores.h"
#include "bench/vendor.h"
#include "tools/litmus/ptx/ptx.h"

enum { REFUSED = 1, OUT_OF_MEMORY = 2, NOT_FOUND = 500 };

/* The prototypes are those that the baseline has, so a fake that differs does not compile. */
#define DECLARE(type_, field_, symbol_, arguments_) type_ symbol_ arguments_;
BENCH_CUDA_ENTRIES(DECLARE)

static char thing;  /* what every handle points to */
static char litmus; /* but those of a litmus test */
static _Thread_local int stuck;

/** In calls that wait for what runs on the GPU: those that take away what a kernel may use. */
static void wait_for_kernels(void)
{
	while (stuck)
		(void)pause();
}

/** A fill that is still to be done, of this rank's one stream. */
typedef struct fill {
	void *memory;
	unsigned char byte;
	size_t bytes;
} fill_t;

enum { MOST_FILLS = 8 };
static _Thread_local fill_t fills[MOST_FILLS];
static _Thread_local int fill_count;

static void do_fills(void)
{
	for (int i = 0; i < fill_count; i++)
		memset(fills[i].memory, fills[i].byte, fills[i].bytes);
	fill_count = 0;
}

int cuInit(unsigned flags)
{
	return flags == 0 ? 0 : REFUSED;
}

int cuGetErrorString(int code, const char **out)
{
	*out = code == OUT_OF_MEMORY ? "out of memory" : "refused by the fake";
	return 0;
}

int cuDeviceGet(int *out, int ordinal)
{
	*out = ordinal;
	return 0;
}

int cuDeviceGetPCIBusId(char *out, int size, int device)
{
	(void)snprintf(out, (size_t)size, "%d:%ld", device,
		       getenv("FAKE_ONE_GPU") ? 0L : (long)syscall(SYS_gettid));
	return 0;
}

int cuDevicePrimaryCtxRetain(void **out, int device)
{
	(void)device;
	*out = &thing;
	return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	(void)device;
	wait_for_kernels();
	return 0;
}

int cuCtxPushCurrent_v2(void *context)
{
	return context == &thing ? 0 : REFUSED;
}

int cuCtxPopCurrent_v2(void **out)
{
	*out = &thing;
	return 0;
}

int cuStreamCreate(void **out, unsigned flags)
{
	*out = &thing;
	return flags == BENCH_CU_STREAM_NON_BLOCKING ? 0 : REFUSED;
}

int cuStreamSynchronize(void *stream)
{
	do_fills();
	return stream == &thing ? 0 : REFUSED;
}

int cuStreamDestroy_v2(void *stream)
{
	wait_for_kernels();
	do_fills();
	return stream == &thing ? 0 : REFUSED;
}

/*
 * An event is the time of its record. They are the driver's: who leaves some
 * behind has no leak of his own.
 */
enum { MOST_EVENTS = 256 };
static struct timespec events[MOST_EVENTS];
static bool event_used[MOST_EVENTS];
static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER;

int cuEventCreate(void **out, unsigned flags)
{
	int i = 0;
	(void)flags;
	(void)pthread_mutex_lock(&event_lock);
	while (i < MOST_EVENTS && event_used[i])
		i++;
	if (i < MOST_EVENTS) {
		event_used[i] = true;
		events[i] = (struct timespec){0, 0};
		*out = &events[i];
	}
	(void)pthread_mutex_unlock(&event_lock);
	return i < MOST_EVENTS ? 0 : OUT_OF_MEMORY;
}

int cuEventDestroy_v2(void *event)
{
	(void)pthread_mutex_lock(&event_lock);
	event_used[(struct timespec *)event - events] = false;
	(void)pthread_mutex_unlock(&event_lock);
	return 0;
}

int cuEventRecord(void *event, void *stream)
{
	do_fills();
	return stream == &thing ? clock_gettime(CLOCK_MONOTONIC, event) : REFUSED;
}

int cuEventQuery(void *event)
{
	return ((struct timespec *)event)->tv_sec && !stuck ? 0 : BENCH_CU_NOT_READY;
}

int cuEventElapsedTime(float *ms_out, void *begin, void *end)
{
	const struct timespec *b = begin, *e = end;
	*ms_out = (float)((double)(e->tv_sec - b->tv_sec) * 1e3 +
			  (double)(e->tv_nsec - b->tv_nsec) * 1e-6);
	return 0;
}

int cuMemAlloc_v2(uint64_t *out, size_t bytes)
{
	void *memory = getenv("FAKE_NO_MEMORY") ? NULL : malloc(bytes);
	*out = (uint64_t)(uintptr_t)memory;
	return memory ? 0 : OUT_OF_MEMORY;
}

int cuMemFree_v2(uint64_t pointer)
{
	do_fills();
	free((void *)(uintptr_t)pointer);
	return 0;
}

int cuMemsetD8Async(uint64_t pointer, unsigned char byte, size_t bytes, void *stream)
{
	if (stream != &thing || fill_count == MOST_FILLS)
		return REFUSED;
	fills[fill_count++] = (fill_t){(void *)(uintptr_t)pointer, byte, bytes};
	return 0;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
	memcpy(to, (const void *)(uintptr_t)from, bytes);
	return 0;
}

int cuMemcpy2DAsync_v2(const bench_copy_2d_t *copy, void *stream)
{
	bool device = copy->src_type == BENCH_CU_MEMORY_DEVICE &&
		      copy->dst_type == BENCH_CU_MEMORY_DEVICE;
	bool plain = !copy->src_x_bytes && !copy->src_y && !copy->dst_x_bytes && !copy->dst_y &&
		     stream == &thing;
	if (!device || !plain || copy->width_bytes > copy->src_pitch ||
	    copy->width_bytes > copy->dst_pitch)
		return REFUSED;
	do_fills();
	for (size_t row = 0; row < copy->height; row++)
		memcpy((void *)(uintptr_t)(copy->dst_device + row * copy->dst_pitch),
		       (const void *)(uintptr_t)(copy->src_device + row * copy->src_pitch),
		       copy->width_bytes);
	return 0;
}

int cuModuleLoadData(void **out, const void *image)
{
	*out = &thing;
	return strstr(image, ".entry " BENCH_STORES_KERNEL) ? 0 : REFUSED;
}

static const char *fake_kernel(void)
{
	const char *what = getenv("FAKE_KERNEL");
	return what ? what : "";
}

/** The one kernel of a test, which has a handle of its own. */
int cuModuleLoadDataEx(void **out, const void *image, unsigned count, int *options, void **values)
{
	*out = &litmus;
	if (strstr(image, ".entry " LITMUS_PTX_KERNEL "(") && strcmp(fake_kernel(), "none") != 0)
		return 0;
	for (unsigned i = 0; i < count; i++)
		if (options[i] == BENCH_CU_JIT_ERROR_LOG)
			(void)strcpy(values[i], "fake.ptx, line 1; error: no compiler\nand more\n");
	return REFUSED;
}

int cuModuleUnload(void *module)
{
	wait_for_kernels();
	return module == &thing || module == &litmus ? 0 : REFUSED;
}

int cuModuleGetFunction(void **out, void *module, const char *name)
{
	*out = module;
	return strcmp(name, module == &litmus ? LITMUS_PTX_KERNEL : BENCH_STORES_KERNEL) == 0
		       ? 0
		       : NOT_FOUND;
}

/** A launch of so many blocks: the number, then the parameter, where the results are to go. */
static void launch_litmus(const litmus_ptx_args_t *args, unsigned blocks, unsigned threads)
{
	uint64_t *results = (uint64_t *)(uintptr_t)args->results;
	stuck |= args->instances > 0 && strcmp(fake_kernel(), "stuck") == 0;
	if (!results)
		return;
	results[0] = blocks;
	results[1] = threads;
	memcpy(results + 2, args, sizeof *args);
}

/** Stores: to, from, pieces of 16 bytes. */
int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
		   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
		   void *stream, void **arguments, void **extra)
{
	bool known = function == &thing || function == &litmus;
	bool plain = known && grid_x > 0 && grid_y == 1 && grid_z == 1 && block_x > 0 &&
		     block_y == 1 && block_z == 1;
	if (!plain || shared_bytes > 0 || stream != &thing || extra)
		return REFUSED;
	do_fills();
	if (function == &litmus) {
		launch_litmus(arguments[0], grid_x, block_x);
		return 0;
	}
	memcpy((void *)(uintptr_t) * (const uint64_t *)arguments[0],
	       (const void *)(uintptr_t) * (const uint64_t *)arguments[1],
	       (size_t) * (const uint64_t *)arguments[2] * 16);
	return 0;
}
