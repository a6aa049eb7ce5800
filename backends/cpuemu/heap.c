/* The emulated heap: a memory file that every rank maps. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cpuemu/device.h"
#include "cpuemu/far.h"
#include "cpuemu/watched.h"
#include "src/base/error.h"
#include "src/base/os/descriptor.h"

/** Lies behind the heap, so that checking a mapping never touches what is allocated. */
typedef struct heap_tail {
	char magic[16];
	uint64_t rank, process, size_bytes;
	_Atomic uint64_t mapped;         /* how many ranks have mapped it */
	uint64_t pattern[TSR_MAX_RANKS]; /* pattern[r]: written and read back by rank r */
	tsr_watched_window_t windows[TSR_WATCHED_WINDOWS];
} heap_tail_t;

static const char magic[16] = "tessera heap 1";

/* the largest alignment of an allocation: offsets are aligned, so the base has to be */
enum { ALIGN = 2 << 20 };

static size_t page_round(size_t size_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (size_bytes + page - 1) / page * page;
}

static heap_tail_t *tail_of(void *base, size_t size_bytes)
{
	return (heap_tail_t *)(void *)((unsigned char *)base + page_round(size_bytes));
}

tsr_watched_window_t *tsr_cpu_watched(const tsr_cpu_env_t *env, int rank)
{
	if (!env->base[rank] || tsr_host_is_far(env->host, rank))
		return NULL;
	heap_tail_t *tail = tail_of(env->base[rank], env->heap_bytes);
	return tail->process == env->host->process ? tail->windows : NULL;
}

/**
 * Maps the file at a multiple of ALIGN: room for one more is taken, the file
 * laid into it, the rest given back.
 */
static void *map_aligned(int fd, size_t bytes)
{
	size_t whole = page_round(bytes);
	unsigned char *room = mmap(NULL, whole + ALIGN, PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return MAP_FAILED;
	size_t before = (ALIGN - (uintptr_t)room % ALIGN) % ALIGN;
	void *base = mmap(room + before, bytes, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0);
	if (base == MAP_FAILED) {
		int cause = errno;
		munmap(room, whole + ALIGN);
		errno = cause;
		return base;
	}
	if (before > 0)
		munmap(room, before);
	if (before < ALIGN)
		munmap(room + before + whole, ALIGN - before);
	return base;
}

/* The cure where a heap does not fit; its argument is memory_bytes. */
#define SET_LOWER "set TESSERA_HEAP_SIZE lower: the ranks here have memory of %s"

/** What this machine has; or the process may have, if that is less. */
static size_t memory_bytes(void)
{
	struct rlimit limit;
	const size_t memory = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
	return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < memory ? limit.rlim_cur
									    : memory;
}

static tsr_status_t map_file(int fd, size_t bytes, const char *whose, int rank, void **base_out)
{
	void *base = map_aligned(fd, bytes);
	if (base == MAP_FAILED)
		return tsr_error(TSR_ERR_SYSTEM,
				 "mapping %s of %s heap (rank %d) failed: %s; " SET_LOWER,
				 TSR_SIZE(bytes), whose, rank, strerror(errno),
				 TSR_SIZE(memory_bytes()));
	*base_out = base;
	return TSR_OK;
}

/** Writes what heap_check of every rank reads, and what the ranks tell each other. */
static void heap_describe(tsr_device_t *device, void *base, size_t size_bytes, int fd,
			  tsr_heap_export_t *export_out)
{
	heap_tail_t *tail = tail_of(base, size_bytes);
	memcpy(tail->magic, magic, sizeof magic);
	tail->rank = (uint64_t)device->env.rank;
	tail->process = device->env.host->process;
	tail->size_bytes = size_bytes;
	device->env.base[device->env.rank] = base;
	device->env.heap_bytes = size_bytes;
	*export_out = (tsr_heap_export_t){
		.fd = fd, .process = tail->process, .address = (uint64_t)(uintptr_t)base};
	export_out->size_bytes = size_bytes;
}

/**
 * Explored: memory of this process alone, so that each schedule's process has
 * its own copy of what it writes. The addresses of the heap have nothing behind
 * them, as long as it lives: whoever dereferences one is caught. Behind them
 * follow the tail, and the values.
 */
static tsr_status_t heap_create_explored(tsr_device_t *device, size_t size_bytes,
					 tsr_heap_export_t *export_out)
{
	const int rank = device->env.rank;
	const size_t heap = page_round(size_bytes), tail = page_round(sizeof(heap_tail_t)),
		     room = 2 * heap + tail + ALIGN;
	unsigned char *memory =
		mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned char *base =
		memory == MAP_FAILED ? NULL : memory + (ALIGN - (uintptr_t)memory % ALIGN) % ALIGN;
	if (base && mprotect(base + heap, tail + heap, PROT_READ | PROT_WRITE) != 0) {
		const int cause = errno;
		munmap(memory, room);
		errno = cause;
		memory = MAP_FAILED;
	}
	if (memory == MAP_FAILED)
		return tsr_error(TSR_ERR_SYSTEM,
				 "mapping %s for rank %d's heap failed: %s; " SET_LOWER,
				 TSR_SIZE(room), rank, strerror(errno), TSR_SIZE(memory_bytes()));
	device->mapped[rank] = memory;
	device->mapped_bytes = room;
	heap_describe(device, base, size_bytes, -1, export_out);
	return tsr_exploration_add_heap(tsr_cpu_explored(device), rank, base, base + heap + tail,
					size_bytes);
}

static tsr_status_t heap_create(tsr_device_t *device, size_t size_bytes,
				tsr_heap_export_t *export_out)
{
	if (tsr_cpu_explored(device))
		return heap_create_explored(device, size_bytes, export_out);
	int rank = device->env.rank;
	size_t bytes = page_round(size_bytes) + sizeof(heap_tail_t);
	void *base = NULL;
	int fd = tsr_fd_keep(memfd_create("tessera-heap", MFD_CLOEXEC));
	if (fd < 0)
		return tsr_error(TSR_ERR_SYSTEM,
				 "making the memory file of rank %d's heap failed: %s; %s", rank,
				 strerror(errno),
				 errno == EMFILE || errno == ENFILE
					 ? "raise the limit of open files (ulimit -n)"
					 : "free memory of this machine");
	if (tsr_fd_resize(fd, bytes) != 0) {
		int cause = errno;
		close(fd);
		if (cause == EFBIG)
			return tsr_error(TSR_ERR_SYSTEM,
					 "giving rank %d's heap %s failed: a heap is a file in "
					 "memory, and files may have %s at most; raise that limit "
					 "(ulimit -f unlimited), or set TESSERA_HEAP_SIZE lower",
					 rank, TSR_SIZE(bytes), TSR_SIZE(tsr_fd_size_limit()));
		return tsr_error(TSR_ERR_SYSTEM, "giving rank %d's heap %s failed: %s; " SET_LOWER,
				 rank, TSR_SIZE(bytes), strerror(cause), TSR_SIZE(memory_bytes()));
	}
	tsr_status_t status = map_file(fd, bytes, "my own", rank, &base);
	if (status != TSR_OK) {
		close(fd);
		return status;
	}
	device->mapped[rank] = base;
	device->mapped_bytes = bytes;
	heap_describe(device, base, size_bytes, fd, export_out);
	return TSR_OK;
}

/** It is the heap that it claims to be, and stores and atomics reach it. */
static tsr_status_t heap_check(const tsr_device_t *device, void *base,
			       const tsr_heap_export_t *peer, int rank)
{
	heap_tail_t *tail = tail_of(base, (size_t)peer->size_bytes);
	int me = device->env.rank;
	volatile uint64_t *pattern = &tail->pattern[me];
	uint64_t value = 0x7e55e7a000000000u | (uint64_t)me << 16 | (uint64_t)rank;
	if (memcmp(tail->magic, magic, sizeof magic) != 0 || tail->rank != (uint64_t)rank ||
	    tail->process != peer->process || tail->size_bytes != peer->size_bytes)
		return tsr_error(TSR_ERR_SYSTEM,
				 "what rank %d exported as its heap is not that heap; descriptors "
				 "were mixed up between ranks",
				 rank);
	*pattern = value;
	/* Relaxed: only the count matters, nothing is handed over. */
	uint64_t before = atomic_fetch_add_explicit(&tail->mapped, 1, memory_order_relaxed);
	if (*pattern != value || before >= (uint64_t)device->env.size)
		return tsr_error(TSR_ERR_SYSTEM,
				 "rank %d's heap does not keep what rank %d writes to it; do not "
				 "share heaps of two worlds",
				 rank, me);
	return TSR_OK;
}

/** Addresses for the heap of a rank on another node, with nothing behind them. */
static tsr_status_t reserve(tsr_device_t *device, int rank, void **base_out)
{
	const size_t whole = page_round(device->mapped_bytes) + ALIGN;
	unsigned char *room =
		mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return tsr_error(TSR_ERR_SYSTEM,
				 "keeping %s of addresses for the heap of rank %d, on node %d, "
				 "failed: %s; set TESSERA_HEAP_SIZE lower",
				 TSR_SIZE(whole), rank, device->env.host->nodes[rank],
				 strerror(errno));
	const size_t before = (ALIGN - (uintptr_t)room % ALIGN) % ALIGN, behind = ALIGN - before;
	if (before > 0)
		munmap(room, before);
	if (behind > 0)
		munmap(room + whole - behind, behind);
	*base_out = device->mapped[rank] = room + before;
	return TSR_OK;
}

/** A heap of this node, which is mapped and checked. */
static tsr_status_t map_near(tsr_device_t *device, const tsr_heap_export_t *peer, int rank)
{
	void *base = (void *)(uintptr_t)peer->address;
	if (peer->process != device->env.host->process) {
		const tsr_status_t status =
			map_file(peer->fd, device->mapped_bytes, "a peer's", rank, &base);
		if (status != TSR_OK)
			return status;
		device->mapped[rank] = base;
	}
	device->env.base[rank] = base;
	return heap_check(device, base, peer, rank);
}

static tsr_status_t heap_map(tsr_device_t *device, const tsr_heap_export_t *exports, int count,
			     void **bases_out)
{
	for (int r = 0; r < count; r++) {
		void *base = NULL;
		tsr_status_t status;
		if (exports[r].size_bytes != device->env.heap_bytes)
			return tsr_error(TSR_ERR_MISMATCH,
					 "rank %d has a heap of %s, rank %d one of %s; set "
					 "TESSERA_HEAP_SIZE alike",
					 r, TSR_SIZE((size_t)exports[r].size_bytes),
					 device->env.rank, TSR_SIZE(device->env.heap_bytes));
		/* explored ranks play at nodes: all heaps are here */
		if (!tsr_cpu_explored(device) && tsr_host_is_far(device->env.host, r)) {
			status = reserve(device, r, &base);
			device->env.base[r] = base;
		} else {
			status = map_near(device, &exports[r], r);
		}
		if (status != TSR_OK)
			return status;
	}
	for (int r = 0; r < count; r++)
		bases_out[r] = device->env.base[r];
	return TSR_OK;
}

static void heap_unmap(tsr_device_t *device)
{
	const tsr_exploration_t *exploration = tsr_cpu_explored(device);
	const bool kept = exploration && tsr_exploration_forgets(exploration);
	for (int r = 0; r < TSR_MAX_RANKS; r++) {
		if (device->mapped[r] && !kept)
			munmap(device->mapped[r], device->mapped_bytes);
		device->mapped[r] = NULL;
		device->env.base[r] = NULL;
	}
	device->env.heap_bytes = 0;
}

static tsr_status_t heap_write(tsr_device_t *device, void *heap, const void *host,
			       size_t size_bytes)
{
	static const tsr_op_site_t site = {.call = "tsr_memcpy_to_heap"};
	if (tsr_cpu_explored(device))
		tsr_exploration_write(tsr_cpu_explored(device), &site, heap, host, size_bytes,
				      &(tsr_rows_of_bytes_t){size_bytes, 1, size_bytes});
	else
		memcpy(heap, host, size_bytes);
	return TSR_OK;
}

static tsr_status_t heap_read(tsr_device_t *device, void *host, const void *heap, size_t size_bytes)
{
	static const tsr_op_site_t site = {.call = "tsr_memcpy_from_heap"};
	if (tsr_cpu_explored(device))
		tsr_exploration_read(tsr_cpu_explored(device), &site, host, size_bytes, heap,
				     &(tsr_rows_of_bytes_t){size_bytes, 1, size_bytes});
	else
		memcpy(host, heap, size_bytes);
	return TSR_OK;
}

static tsr_status_t heap_fill(tsr_device_t *device, void *heap, int byte, size_t size_bytes)
{
	static const tsr_op_site_t site = {.call = "tsr_memset_heap"};
	if (tsr_cpu_explored(device))
		tsr_exploration_fill(tsr_cpu_explored(device), &site, heap, byte, size_bytes);
	else
		memset(heap, byte, size_bytes);
	return TSR_OK;
}

/* ------------------------------------------------------------------ ranks of other nodes */

static bool serve_atomic(void *ctx, const tsr_net_atomic_t *access, uint64_t *old_out)
{
	const tsr_device_t *device = ctx;
	return tsr_cpu_serve_atomic(&device->env, access, old_out);
}

static bool serve_each(void *ctx, const tsr_net_atomic_t *first, const void *values, size_t count)
{
	const tsr_device_t *device = ctx;
	return tsr_cpu_serve_each(&device->env, first, values, count);
}

static tsr_status_t heap_serve(tsr_device_t *device, tsr_net_memory_t *memory_out)
{
	*memory_out = (tsr_net_memory_t){.ctx = device,
					 .heap = device->env.base[device->env.rank],
					 .bytes = device->env.heap_bytes,
					 .atomic = serve_atomic,
					 .each = serve_each};
	return TSR_OK;
}

const tsr_heap_ops_t tsr_cpu_heap_ops = {
	.size = sizeof(tsr_heap_ops_t),
	.create = heap_create,
	.map = heap_map,
	.unmap = heap_unmap,
	.write = heap_write,
	.read = heap_read,
	.fill = heap_fill,
	.serve = heap_serve,
};
