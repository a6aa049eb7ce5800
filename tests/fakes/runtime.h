/*
 * A GPU's runtime that is none, for tests of the baselines' calls. cuda.c and
 * hip.c give these functions the names of one vendor, and add what only that
 * vendor has. Device memory is the host's. What is put on a stream is done at
 * once, but for fills: they are done when the stream is waited for, or given
 * something else. FAKE_ONE_GPU: all ranks have the same GPU. FAKE_NO_MEMORY:
 * nothing can be allocated. Of the kernels of litmus tests, which NVIDIA's
 * driver alone is given, it does what FAKE_KERNEL says: "stuck" never ends, nor
 * does any call that waits for it, and the others leave their parameter in the
 * memory of their results.
 */
#ifndef TESSERA_TESTS_FAKES_RUNTIME_H
#define TESSERA_TESTS_FAKES_RUNTIME_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/gpu/rows.h"
#include "bench/gpu/runtime.h"
#include "bench/gpu/stores.h"
#include "tools/litmus/ptx/ptx.h"

enum { REFUSED = 1, OUT_OF_MEMORY = 2, NOT_FOUND = 500 };

/** Whether an image is what the vendor's compiler makes of a kernel's source. */
static bool is_made_of(const void *image, const char *kernel);

static char thing;                      /* what every handle points to, */
static char row_copies;                 /* but the module of copies of rows, */
static char row_copy[BENCH_ROWS_UNITS]; /* its kernels, */
static char litmus;                     /* and those of a litmus test */
static _Thread_local int stuck;
static _Thread_local bool is_current; /* the rank's GPU, on this thread */

/**
 * In calls that wait for what runs on the GPU: those that take away what a
 * kernel may use.
 */
static void wait_for_kernels(void)
{
	while (stuck)
		(void)pause();
}

/* ------------------------------------------------------------ fills */

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

static int fake_fill(void *memory, unsigned char byte, size_t bytes, void *stream)
{
	if (stream != &thing || !is_current || fill_count == MOST_FILLS)
		return REFUSED;
	fills[fill_count++] = (fill_t){memory, byte, bytes};
	return 0;
}

/* ------------------------------------------------------------ devices, streams, events */

static int fake_device_bus(char *out, int size, int device)
{
	(void)snprintf(out, (size_t)size, "%d:%ld", device,
		       getenv("FAKE_ONE_GPU") ? 0L : (long)syscall(SYS_gettid));
	return 0;
}

static int fake_stream_create(void **out, unsigned flags)
{
	*out = &thing;
	return flags == BENCH_STREAM_NON_BLOCKING && is_current ? 0 : REFUSED;
}

static int fake_stream_sync(void *stream)
{
	do_fills();
	return stream == &thing ? 0 : REFUSED;
}

static int fake_stream_destroy(void *stream)
{
	wait_for_kernels();
	do_fills();
	return stream == &thing ? 0 : REFUSED;
}

/*
 * An event is the time of its record. They are the runtime's: who leaves some
 * behind has no leak of his own.
 */
enum { MOST_EVENTS = 256 };
static struct timespec events[MOST_EVENTS];
static bool event_used[MOST_EVENTS];
static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER;

static int fake_event_create(void **out, unsigned flags)
{
	int i = 0;
	(void)pthread_mutex_lock(&event_lock);
	while (i < MOST_EVENTS && event_used[i])
		i++;
	if (i < MOST_EVENTS) {
		event_used[i] = true;
		events[i] = (struct timespec){0, 0};
		*out = &events[i];
	}
	(void)pthread_mutex_unlock(&event_lock);
	if (flags != BENCH_EVENT_DEFAULT || !is_current)
		return REFUSED;
	return i < MOST_EVENTS ? 0 : OUT_OF_MEMORY;
}

static int fake_event_destroy(void *event)
{
	(void)pthread_mutex_lock(&event_lock);
	event_used[(struct timespec *)event - events] = false;
	(void)pthread_mutex_unlock(&event_lock);
	return 0;
}

static int fake_event_record(void *event, void *stream)
{
	do_fills();
	return stream == &thing ? clock_gettime(CLOCK_MONOTONIC, event) : REFUSED;
}

static int fake_event_query(void *event)
{
	return ((struct timespec *)event)->tv_sec && !stuck ? 0 : BENCH_NOT_READY;
}

static int fake_event_elapsed(float *ms_out, void *begin, void *end)
{
	const struct timespec *b = begin, *e = end;
	*ms_out = (float)((double)(e->tv_sec - b->tv_sec) * 1e3 +
			  (double)(e->tv_nsec - b->tv_nsec) * 1e-6);
	return 0;
}

/* ------------------------------------------------------------ memory */

static int fake_alloc(void **out, size_t bytes)
{
	*out = getenv("FAKE_NO_MEMORY") || !is_current ? NULL : malloc(bytes);
	return *out ? 0 : OUT_OF_MEMORY;
}

static int fake_free(void *memory)
{
	do_fills();
	free(memory);
	return 0;
}

static int fake_copy_to_host(void *to, void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	return 0;
}

/** What both vendors' copies of rows come to. */
static int copy_rows(char *to, size_t to_pitch, const char *from, size_t from_pitch,
		     size_t row_bytes, size_t rows)
{
	if (row_bytes > to_pitch || row_bytes > from_pitch || !is_current)
		return REFUSED;
	do_fills();
	for (size_t row = 0; row < rows; row++)
		memcpy(to + row * to_pitch, from + row * from_pitch, row_bytes);
	return 0;
}

/* ------------------------------------------------------------ kernels */

static int fake_module_load(void **out, const void *image)
{
	const bool copies = is_made_of(image, bench_rows_unit(0).kernel);
	*out = copies ? &row_copies : &thing;
	return is_current && (copies || is_made_of(image, BENCH_STORES_KERNEL)) ? 0 : REFUSED;
}

static int fake_module_unload(void *module)
{
	wait_for_kernels();
	return module == &thing || module == &litmus || module == &row_copies ? 0 : REFUSED;
}

static int fake_module_function(void **out, void *module, const char *name)
{
	*out = module;
	for (int i = 0; module == &row_copies && i < BENCH_ROWS_UNITS; i++)
		if (strcmp(name, bench_rows_unit(i).kernel) == 0) {
			*out = &row_copy[i];
			return 0;
		}
	return strcmp(name, module == &litmus ? LITMUS_PTX_KERNEL : BENCH_STORES_KERNEL) == 0
		       ? 0
		       : NOT_FOUND;
}

static const char *fake_kernel(void)
{
	const char *what = getenv("FAKE_KERNEL");
	return what ? what : "";
}

/**
 * A launch of so many blocks: the number, then the parameter, where the results
 * are to go.
 */
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

/** Copies of rows: to, from, index, rows, rows of `from`, units in a row. */
static int copy_by_index(size_t unit, void *const *arguments)
{
	uint64_t value[6];
	for (int i = 0; i < 6; i++)
		memcpy(&value[i], arguments[i], sizeof value[i]);
	char *to = (char *)(uintptr_t)value[0];
	const char *from = (const char *)(uintptr_t)value[1];
	const uint32_t *index = (const uint32_t *)(uintptr_t)value[2];
	const size_t row_bytes = (size_t)value[5] * unit;
	if (value[0] % unit != 0 || value[1] % unit != 0 || row_bytes == 0)
		return REFUSED;
	for (uint64_t row = 0; row < value[3]; row++)
		if (index[row] < value[4])
			memcpy(to + row * row_bytes, from + index[row] * row_bytes, row_bytes);
	return 0;
}

/** Stores: to, from, pieces of 16 bytes. */
static int fake_launch(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
		       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
		       void *stream, void **arguments, void **extra)
{
	const ptrdiff_t unit = (char *)function - row_copy;
	const bool copies = unit >= 0 && unit < BENCH_ROWS_UNITS;
	bool known = function == &thing || function == &litmus || copies;
	bool plain = known && grid_x > 0 && grid_y == 1 && grid_z == 1 && block_x > 0 &&
		     block_y == 1 && block_z == 1;
	if (!plain || shared_bytes > 0 || stream != &thing || extra || !is_current)
		return REFUSED;
	do_fills();
	if (copies)
		return copy_by_index(bench_rows_unit(unit).bytes, arguments);
	if (function == &litmus) {
		launch_litmus(arguments[0], grid_x, block_x);
		return 0;
	}
	memcpy((void *)(uintptr_t) * (const uint64_t *)arguments[0],
	       (const void *)(uintptr_t) * (const uint64_t *)arguments[1],
	       (size_t) * (const uint64_t *)arguments[2] * 16);
	return 0;
}

/*
 * The functions above, under the names of one vendor: so a fake whose prototype
 * differs from what the baseline declares does not compile.
 */
#define FAKE_NVIDIA(field_, nvidia_, amd_, arguments_) \
	int nvidia_ arguments_ __attribute__((alias("fake_" #field_)));
#define FAKE_AMD(field_, nvidia_, amd_, arguments_) \
	int amd_ arguments_ __attribute__((alias("fake_" #field_)));
#define FAKE_DECLARE(type_, field_, symbol_, arguments_) type_ symbol_ arguments_;

#endif
