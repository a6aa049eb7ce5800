/* The symmetric heap: memory that has the same offsets on every rank. */
#ifndef TESSERA_HEAP_H
#define TESSERA_HEAP_H

#include "tessera/visibility.h"
#include "tessera/world.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Allocates `size_bytes` at the same offset on every rank. The memory is not
 * initialised. To expose reads of uninitialised memory, every backend fills the
 * first 16 MiB with the byte 0xFF before any rank gets the pointer (NaN in
 * floating dtypes, -1 or 255 in the others). The rest is not filled, so
 * untouched pages stay unallocated. `tessera check` fills nothing: it reports a
 * read of memory that nobody has written.
 *
 * Called by:  every rank, one thread a rank (collective), with the same size,
 *             alignment and name.
 * @param align_bytes  a power of two, at most 2 MiB; 0 means 256.
 * @param name  the allocation's name in reports. The library copies it. Null:
 *              that of the variable that `pointer_out` points to; file and
 *              line if it is no plain variable.
 * Errors:     TSR_ERR_ARGUMENT (size 0, or an invalid alignment),
 *             TSR_ERR_NO_MEMORY (the sentence names the bytes requested, free,
 *             and in the largest piece, and TESSERA_HEAP_SIZE),
 *             TSR_ERR_MISMATCH (the ranks asked for different things, or one
 *             rank made another call), and those of tsr_barrier. The call
 *             succeeds on all ranks or on none. TSR_ERR_NO_MEMORY changes
 *             nothing, and the world goes on.
 * Source:     Iris paper, section 3.1.1. Release, and the check that all ranks
 *             ask for the same, are additions.
 */
TSR_API tsr_status_t tsr_heap_alloc(tsr_world_t *world, size_t size_bytes, size_t align_bytes,
				    const char *name, TSR_HEAP void **pointer_out);

/**
 * Releases an allocation on every rank. First waits for this rank's streams and
 * for every rank, so that no kernel still uses the memory.
 *
 * Called by:  every rank (collective), with its own pointer to the same
 *             allocation. Null on every rank is TSR_OK.
 * Errors:     TSR_ERR_NOT_FOUND (the pointer is not the start of an
 *             allocation), TSR_ERR_MISMATCH, and those of tsr_stream_sync and
 *             tsr_barrier. After an error the memory is still allocated, on
 *             every rank.
 */
TSR_API tsr_status_t tsr_heap_free(tsr_world_t *world, TSR_HEAP void *pointer);

/**
 * The base address of `rank`'s heap, in this rank's address space; null if the
 * rank is outside the world or its heap is not mapped here. Any thread.
 */
TSR_API TSR_HEAP void *tsr_heap_base(const tsr_world_t *world, int rank);

/**
 * Translates my `pointer` into the address of `rank`'s copy: heap_base[rank] +
 * (pointer - heap_base[me]). Any thread.
 *
 * Errors:     TSR_ERR_ARGUMENT (a rank outside the world, or a pointer outside
 *             my heap), TSR_ERR_UNSUPPORTED (the rank's heap is not mapped
 *             here).
 */
TSR_API tsr_status_t tsr_heap_translate(const tsr_world_t *world, const TSR_HEAP void *pointer,
					int rank, TSR_HEAP void **peer_out);

/**
 * My `pointer` as `rank`'s device or another library takes it: the address of
 * `rank`'s copy in this process, without the mark of heap pointers. `rank` may
 * be this rank. On the emulator the host may read and write there. On a GPU it
 * is an address of this rank's device, for kernels of the program's own, for
 * cuBLAS or for a framework; hosts cannot read there. Such accesses are outside
 * of the API: they have the order that the program's own device code gives
 * them, a stream of Tessera orders them before and after its work, and no
 * report or record contains them. The address is valid as long as the
 * allocation.
 *
 * Called by:  any thread.
 * @return     null, if there is no such address; tsr_last_error says why: a
 *             rank outside the world, a pointer outside my heap, a heap that is
 *             not mapped here, or a run of `tessera check`, which must see each
 *             access.
 * Source:     NVSHMEM, nvshmem_ptr.
 */
TSR_API void *tsr_native_pointer(const tsr_world_t *world, const TSR_HEAP void *pointer, int rank);

/**
 * How much of a heap is in use, in bytes. The same on every rank. Initialise it
 * with `tsr_heap_usage_t usage = {.size = sizeof usage};`.
 */
typedef struct tsr_heap_usage {
	size_t size; /* set by the caller: sizeof this struct */
	/* largest_bytes: the largest single allocation that would succeed now */
	size_t heap_bytes, free_bytes, largest_bytes;
	int allocations;
} tsr_heap_usage_t;

/**
 * Reads how much of this rank's heap is in use.
 *
 * Called by:  any thread.
 * Errors:     TSR_ERR_ARGUMENT (a null pointer, or an invalid `size`).
 */
TSR_API tsr_status_t tsr_heap_usage(const tsr_world_t *world, tsr_heap_usage_t *usage_out);

/**
 * Finds the allocation that holds `pointer`. Writes its name, which is valid as
 * long as the allocation, or until tsr_tensor_name, and the offset of `pointer`
 * in it, in bytes. Either out-parameter may be null.
 *
 * Called by:  any thread.
 * Errors:     TSR_ERR_NOT_FOUND (no allocation of this rank's heap holds it).
 */
TSR_API tsr_status_t tsr_heap_find(const tsr_world_t *world, const TSR_HEAP void *pointer,
				   const char **name_out, size_t *offset_out);

/**
 * Copies between host memory and this rank's heap, and returns when the copy is
 * done. To read what a kernel wrote, or to overwrite what it reads, first wait
 * for its launch (tsr_stream_sync or tsr_barrier). 0 bytes are TSR_OK.
 *
 * Called by:  any thread.
 * Errors:     TSR_ERR_ARGUMENT (not inside one allocation, or null host
 *             memory), TSR_ERR_SYSTEM.
 */
TSR_API tsr_status_t tsr_memcpy_to_heap(tsr_world_t *world, TSR_HEAP void *heap, const void *host,
					size_t size_bytes);
TSR_API tsr_status_t tsr_memcpy_from_heap(tsr_world_t *world, void *host, const TSR_HEAP void *heap,
					  size_t size_bytes);

/**
 * Sets `size_bytes` of this rank's heap to `byte`. In all else like
 * tsr_memcpy_to_heap.
 */
TSR_API tsr_status_t tsr_memset_heap(tsr_world_t *world, TSR_HEAP void *heap, int byte,
				     size_t size_bytes);

#ifdef __cplusplus
}
#endif
#endif
