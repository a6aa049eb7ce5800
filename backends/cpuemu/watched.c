/* Accesses to windows, as ThreadSanitizer is shown them. */
#include "cpuemu/watched.h"

#include <stdatomic.h>

#include "cpuemu/dev/memory/scoped.h"

#if TSR_CPU_TSAN
void __tsan_read_range(void *at, unsigned long bytes);
void __tsan_write_range(void *at, unsigned long bytes);

static void show(uintptr_t at, size_t bytes, bool write)
{
	if (write)
		__tsan_write_range((void *)at, bytes);
	else
		__tsan_read_range((void *)at, bytes);
}
#else
static void show(uintptr_t at, size_t bytes, bool write)
{
	(void)at, (void)bytes, (void)write;
}
#endif

/** The program's address of a byte of a rank's heap; 0: it is in no window. */
static uintptr_t through_window(tsr_watched_window_t *windows, uint64_t offset)
{
	for (int i = 0; i < TSR_WATCHED_WINDOWS; i++) {
		/* relaxed: backends/cpuemu/window.c says why */
		const uint64_t bytes =
			atomic_load_explicit(&windows[i].bytes, memory_order_relaxed);
		const uint64_t begin =
			atomic_load_explicit(&windows[i].begin, memory_order_relaxed);
		if (offset - begin < bytes)
			return (uintptr_t)(atomic_load_explicit(&windows[i].memory,
								memory_order_relaxed) +
					   (offset - begin));
	}
	return 0;
}

void tsr_cpu_watch(const tsr_cpu_env_t *env, const unsigned char *at, tsr_watched_rows_t rows,
		   bool write)
{
	for (int rank = 0; rank < env->size; rank++) {
		const uint64_t offset = (uint64_t)((uintptr_t)at - (uintptr_t)env->base[rank]);
		if (!env->base[rank] || offset >= env->heap_bytes)
			continue;
		tsr_watched_window_t *windows = tsr_cpu_watched(env, rank);
		const uintptr_t memory = windows ? through_window(windows, offset) : 0;
		for (size_t i = 0; memory && i < rows.rows; i++)
			show(memory + i * rows.pitch, rows.bytes, write);
		return;
	}
}
