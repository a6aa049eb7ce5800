/* The symmetric heap: the same offsets on every rank. */
#ifndef TESSERA_HEAP_H
#define TESSERA_HEAP_H

#include "tessera/visibility.h"
#include "tessera/world.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Allocates `size_bytes` at the same offset on every rank. The memory is not
 * initialised: on every backend its first 16 MiB are filled with the byte 0xFF
 * (NaN in floating dtypes, -1 or 255 in the others), before any rank has the
 * pointer. What lies beyond is left as it is, since memory is used only when
 * touched.
 *
 * Called by:  collective, one thread a rank; every rank with the same size,
 *             alignment and name.
 * @param align_bytes  a power of two, at most 2 MiB; 0 means 256.
 * @param name         what reports call it; copied; null means "unnamed".
 * Errors:     TSR_ERR_ARGUMENT (size 0, alignment), TSR_ERR_NO_MEMORY (says
 *             requested, free, largest piece, and TESSERA_HEAP_SIZE),
 *             TSR_ERR_MISMATCH (ranks asked for different things, or one made
 *             another call), and those of tsr_barrier. All ranks succeed, or
 *             none. After TSR_ERR_NO_MEMORY nothing has changed and the world
 *             goes on.
 * Source:     Iris paper, section 3.1.1; release and the check of symmetry go
 *             past it.
 */
TSR_API tsr_status_t tsr_heap_alloc(tsr_world_t *world, size_t size_bytes, size_t align_bytes,
				    const char *name, TSR_HEAP void **pointer_out);

/**
 * Releases an allocation on every rank. Waits for this rank's streams and every
 * rank first, so that no kernel still uses it.
 * Called by:  collective; every rank with its own pointer to the same
 *             allocation. Null on every rank is TSR_OK.
 * Errors:     TSR_ERR_NOT_FOUND (what is not allocated, or only the inside of
 *             an allocation), TSR_ERR_MISMATCH, those of tsr_stream_sync and
 *             tsr_barrier. After an error it is still allocated, on every rank.
 */
TSR_API tsr_status_t tsr_heap_free(tsr_world_t *world, TSR_HEAP void *pointer);

/**
 * Base address of `rank`'s heap as this rank sees it; null where the rank is
 * outside the world or not mapped. Any thread.
 */
TSR_API TSR_HEAP void *tsr_heap_base(const tsr_world_t *world, int rank);

/**
 * The address of `rank`'s copy of my `pointer`: heap_base[rank] + (pointer -
 * heap_base[me]). Any thread.
 * Errors: TSR_ERR_ARGUMENT for a rank outside the world or a pointer outside my
 * heap, TSR_ERR_UNSUPPORTED for a rank not mapped.
 */
TSR_API tsr_status_t tsr_heap_translate(const tsr_world_t *world, const TSR_HEAP void *pointer,
					int rank, TSR_HEAP void **peer_out);

/**
 * Bytes of this rank's heap. The same on every rank. Made by `tsr_heap_usage_t
 * usage = {.size = sizeof usage};`.
 */
typedef struct tsr_heap_usage {
	size_t size; /* sizeof this struct: set by the caller */
	/* largest: of one allocation that would succeed */
	size_t heap_bytes, free_bytes, largest_bytes;
	int allocations;
} tsr_heap_usage_t;

/**
 * Any thread that makes no allocation at the time. Errors: TSR_ERR_ARGUMENT
 * (null, or a size that is none).
 */
TSR_API tsr_status_t tsr_heap_usage(const tsr_world_t *world, tsr_heap_usage_t *usage_out);

/**
 * Finds the allocation that holds `pointer`: its name, valid as long as the
 * allocation, and the offset into it; either place may be null. Any thread that
 * makes no allocation at the time. Errors: TSR_ERR_NOT_FOUND.
 */
TSR_API tsr_status_t tsr_heap_find(const tsr_world_t *world, const TSR_HEAP void *pointer,
				   const char **name_out, size_t *offset_out);

/**
 * Copies between host memory and this rank's heap, either way, and returns when
 * done. Ordered after this rank's finished launches (tsr_stream_sync or
 * tsr_barrier first). Any thread. 0 bytes are TSR_OK. Errors: TSR_ERR_ARGUMENT
 * (not inside one allocation; null host memory), TSR_ERR_SYSTEM.
 */
TSR_API tsr_status_t tsr_memcpy_to_heap(tsr_world_t *world, TSR_HEAP void *heap, const void *host,
					size_t size_bytes);
TSR_API tsr_status_t tsr_memcpy_from_heap(tsr_world_t *world, void *host, const TSR_HEAP void *heap,
					  size_t size_bytes);

/** Sets `size_bytes` of this rank's heap to `byte`. As tsr_memcpy_to_heap. */
TSR_API tsr_status_t tsr_memset_heap(tsr_world_t *world, TSR_HEAP void *heap, int byte,
				     size_t size_bytes);

#ifdef __cplusplus
}
#endif
#endif
