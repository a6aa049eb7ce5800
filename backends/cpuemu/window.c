/*
 * Windows of the emulator. The heap is a file that every rank has mapped, so
 * memory of the program's is reached by all as soon as its pages are pages of
 * that file. So they are replaced where they are: the bytes are copied to the
 * heap, and the heap's pages are mapped at the memory's address as well.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpuemu/dev/memory/scoped.h"
#include "cpuemu/device.h"
#include "cpuemu/watched.h"
#include "src/base/error.h"
#include "src/base/os/maps.h"

static size_t unit_bytes(const tsr_device_t *device)
{
	(void)device;
	return (size_t)sysconf(_SC_PAGESIZE);
}

/** Windows are in the heap. */
static void room(const tsr_device_t *device, size_t *begin_out, size_t *end_out)
{
	(void)device;
	*begin_out = *end_out = 0;
}

/* ------------------------------------------------------------------ memory of whole pages */

static size_t whole_pages(size_t size_bytes)
{
	const size_t page = unit_bytes(NULL);
	return (size_bytes + page - 1) / page * page;
}

static tsr_status_t alloc(int ordinal, size_t size_bytes, void **memory_out)
{
	(void)ordinal;
	void *memory = mmap(NULL, whole_pages(size_bytes), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory of %s for a window: %s; free some",
				 TSR_SIZE(size_bytes), strerror(errno));
	*memory_out = memory;
	return TSR_OK;
}

static tsr_status_t release(int ordinal, void *memory, size_t size_bytes)
{
	(void)ordinal;
	if (munmap(memory, whole_pages(size_bytes)) == 0)
		return TSR_OK;
	return tsr_error(TSR_ERR_SYSTEM,
			 "freeing %s of memory for windows at %p failed: %s; was it unmapped "
			 "already?",
			 TSR_SIZE(size_bytes), memory, strerror(errno));
}

/* ------------------------------------------------------------------ what is mapped there */

/** What a walk over the mappings of some memory looks for. */
typedef struct inspection {
	uintptr_t next; /* the first byte that no mapping has had yet */
	const char *fault;
} inspection_t;

/** All of the memory is private, and may be read and written. */
static bool look_private(void *ctx, const tsr_mapping_t *mapping)
{
	inspection_t *inspection = ctx;
	if (mapping->begin > inspection->next)
		return false;
	if (!mapping->readable || !mapping->writable)
		inspection->fault = "may not be read and written";
	else if (mapping->shared)
		inspection->fault = "is shared already, as the heap, windows, files and memory of "
				    "other processes are";
	inspection->next = mapping->end;
	return inspection->fault == NULL;
}

static tsr_status_t no_list(void)
{
	return tsr_error(TSR_ERR_SYSTEM,
			 "the kernel does not say what memory this process has (/proc/self/maps): "
			 "%s; mount /proc",
			 strerror(errno));
}

static tsr_status_t check(tsr_device_t *device, const void *memory, size_t size_bytes,
			  size_t *room_bytes_out)
{
	(void)device;
	*room_bytes_out = size_bytes;
	const uintptr_t begin = (uintptr_t)memory, end = begin + size_bytes;
	inspection_t inspection = {.next = begin};
	if (!tsr_mappings_each(begin, end, look_private, &inspection))
		return no_list();
	if (!inspection.fault && inspection.next < end)
		inspection.fault = "is not all there";
	if (!inspection.fault)
		return TSR_OK;
	return tsr_error(
		TSR_ERR_ARGUMENT,
		"tsr_window_register: the memory of %s at %p %s; give private memory, such "
		"as that of aligned_alloc",
		TSR_SIZE(size_bytes), memory, inspection.fault);
}

/** The heap's mapping that holds a window, and how much of the memory is mapped like it. */
typedef struct comparison {
	uintptr_t heap;
	tsr_mapping_t file;
	bool found;
	uintptr_t begin, next;
} comparison_t;

static bool look_file(void *ctx, const tsr_mapping_t *mapping)
{
	comparison_t *comparison = ctx;
	comparison->file = *mapping;
	return !(comparison->found = true);
}

/** The memory is still mapped to the pages of the heap that it was registered with. */
static bool look_same(void *ctx, const tsr_mapping_t *mapping)
{
	comparison_t *comparison = ctx;
	const tsr_mapping_t *file = &comparison->file;
	const uint64_t here = mapping->offset + (comparison->next - mapping->begin),
		       wanted = file->offset + (comparison->heap - file->begin) +
				(comparison->next - comparison->begin);
	if (mapping->begin > comparison->next || mapping->inode != file->inode ||
	    mapping->device != file->device || here != wanted)
		return false;
	comparison->next = mapping->end;
	return true;
}

/** Whoever has unmapped the memory may have something else there by now. */
static tsr_status_t check_mapped(const void *heap, const void *memory, size_t size_bytes)
{
	const uintptr_t at = (uintptr_t)heap, begin = (uintptr_t)memory;
	comparison_t comparison = {.heap = at, .begin = begin, .next = begin};
	if (!tsr_mappings_each(at, at + 1, look_file, &comparison) ||
	    !tsr_mappings_each(begin, begin + size_bytes, look_same, &comparison))
		return no_list();
	if (comparison.found && comparison.next >= begin + size_bytes)
		return TSR_OK;
	return tsr_error(
		TSR_ERR_ARGUMENT,
		"the memory of a window of %s at %p was unmapped, freed or replaced before "
		"the window was released; call tsr_window_release first",
		TSR_SIZE(size_bytes), memory);
}

/* ------------------------------------------------------------------ moving pages */

static tsr_status_t cannot_move(const void *memory, size_t size_bytes, const char *where)
{
	const int cause = errno;
	return tsr_error(
		TSR_ERR_SYSTEM, "moving the memory of a window of %s at %p %s failed: %s; %s",
		TSR_SIZE(size_bytes), memory, where, strerror(cause),
		cause == EINVAL ? "valgrind, qemu and huge pages do not allow it"
				: "free memory, or raise the limit of mappings (vm.max_map_count)");
}

/** Notes a window (`memory` null: its end) for ThreadSanitizer, or for nobody. */
static void note_watched(tsr_device_t *device, const void *heap, const void *memory,
			 size_t size_bytes)
{
	tsr_watched_window_t *windows =
		TSR_CPU_TSAN ? tsr_cpu_watched(&device->env, device->env.rank) : NULL;
	const uint64_t begin =
		(uint64_t)((const unsigned char *)heap - device->env.base[device->env.rank]);
	for (int i = 0; windows && i < TSR_WATCHED_WINDOWS; i++) {
		tsr_watched_window_t *w = &windows[i];
		/* Relaxed, here and below: they order nothing, so that no race is hidden. No kernel
		 * uses the window yet, or any more. */
		const uint64_t bytes = atomic_load_explicit(&w->bytes, memory_order_relaxed);
		if (!memory && bytes > 0 &&
		    atomic_load_explicit(&w->begin, memory_order_relaxed) == begin) {
			atomic_store_explicit(&w->bytes, 0, memory_order_relaxed);
			return;
		}
		if (!memory || bytes > 0)
			continue;
		atomic_store_explicit(&w->begin, begin, memory_order_relaxed);
		atomic_store_explicit(&w->memory, (uintptr_t)memory, memory_order_relaxed);
		atomic_store_explicit(&w->bytes, size_bytes, memory_order_relaxed);
		return;
	}
}

/*
 * By the system call itself: where UCX is loaded, version 1.13 has replaced the
 * function by one that loses the new address.
 */
static void *move_pages(void *from, size_t from_bytes, size_t size_bytes, void *to)
{
	const long at = syscall(SYS_mremap, from, from_bytes, size_bytes,
				MREMAP_MAYMOVE | MREMAP_FIXED, to);
	return at == -1 ? MAP_FAILED : (void *)(uintptr_t)at;
}

/*
 * With an old size of 0, mremap maps the pages a second time and leaves the
 * first mapping alone.
 */
static tsr_status_t open_moved(void *heap, void *memory, size_t size_bytes)
{
	memcpy(heap, memory, size_bytes);
	if (move_pages(heap, 0, size_bytes, memory) == MAP_FAILED)
		return cannot_move(memory, size_bytes, "to the heap");
	return TSR_OK;
}

/** The new pages get their bytes before they take the place of the old ones. */
static tsr_status_t close_moved(void *heap, void *memory, size_t size_bytes)
{
	const tsr_status_t status = check_mapped(heap, memory, size_bytes);
	if (status != TSR_OK)
		return status;
	void *pages =
		mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return cannot_move(memory, size_bytes, "back");
	memcpy(pages, heap, size_bytes);
	if (move_pages(pages, size_bytes, size_bytes, memory) == MAP_FAILED) {
		const tsr_status_t failed = cannot_move(memory, size_bytes, "back");
		munmap(pages, size_bytes);
		return failed;
	}
	return TSR_OK;
}

/* ------------------------------------------------------------------ explored */

/*
 * The heap's addresses have nothing behind them, and the memory's get nothing
 * either, so that nobody reads it without a call.
 */
static tsr_status_t open_explored(tsr_device_t *device, void *heap, void *memory, size_t size_bytes)
{
	static const tsr_op_site_t site = {.call = "tsr_window_register"};
	tsr_exploration_t *exploration = tsr_cpu_explored(device);
	tsr_exploration_write(exploration, &site, heap, memory, size_bytes,
			      &(tsr_rows_of_bytes_t){size_bytes, 1, size_bytes});
	const tsr_status_t status =
		tsr_exploration_add_window(exploration, heap, memory, size_bytes);
	if (status != TSR_OK)
		return status;
	if (mprotect(memory, size_bytes, PROT_NONE) == 0)
		return TSR_OK;
	tsr_exploration_end_window(exploration, memory);
	return cannot_move(memory, size_bytes, "to the heap");
}

static tsr_status_t close_explored(tsr_device_t *device, void *heap, void *memory,
				   size_t size_bytes)
{
	static const tsr_op_site_t site = {.call = "tsr_window_release"};
	tsr_exploration_t *exploration = tsr_cpu_explored(device);
	if (mprotect(memory, size_bytes, PROT_READ | PROT_WRITE) != 0)
		return cannot_move(memory, size_bytes, "back");
	tsr_exploration_end_window(exploration, memory);
	tsr_exploration_read(exploration, &site, memory, size_bytes, heap,
			     &(tsr_rows_of_bytes_t){size_bytes, 1, size_bytes});
	return TSR_OK;
}

static tsr_status_t open_window(tsr_device_t *device, void *heap, void *memory, size_t size_bytes)
{
	if (tsr_cpu_explored(device))
		return open_explored(device, heap, memory, size_bytes);
	const tsr_status_t status = open_moved(heap, memory, size_bytes);
	if (status == TSR_OK)
		note_watched(device, heap, memory, size_bytes);
	return status;
}

static tsr_status_t close_window(tsr_device_t *device, void *heap, void *memory, size_t size_bytes)
{
	if (tsr_cpu_explored(device))
		return close_explored(device, heap, memory, size_bytes);
	note_watched(device, heap, NULL, size_bytes);
	return close_moved(heap, memory, size_bytes);
}

const tsr_window_ops_t tsr_cpu_window_ops = {
	.size = sizeof(tsr_window_ops_t),
	.unit_bytes = unit_bytes,
	.room = room,
	.check = check,
	.open = open_window,
	.close = close_window,
	.alloc = alloc,
	.release = release,
};
