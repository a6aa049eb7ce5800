/*
 * The allocator: offsets only, deterministic, no memory of its own in the heap,
 * no communication.
 */
#ifndef TESSERA_HEAP_ALLOCATOR_H
#define TESSERA_HEAP_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "src/heap/pieces.h"
#include "tessera/heap.h"

/**
 * Allocations begin and end on multiples of this, so that two of them never
 * share a cache line; of a heap whose size is not a multiple the rest is not
 * used.
 */
#define TSR_ALLOCATOR_GRANULE TSR_PIECE_GRANULE
/** The largest alignment that can be asked for. */
#define TSR_ALLOCATOR_MAX_ALIGN ((size_t)TSR_PIECE_GRANULE << (TSR_PIECE_ALIGNS - 1)) /* 2 MiB */

typedef struct tsr_allocator tsr_allocator_t;

/** Null where the host has no memory. */
tsr_allocator_t *tsr_allocator_create(size_t size_bytes);
void tsr_allocator_destroy(tsr_allocator_t *allocator);

/** The most that lies between two allocations that are kept apart. */
#define TSR_ALLOCATOR_MAX_GAP ((size_t)64 << 10)

/**
 * From now on, so that bugs show: behind each allocation lies a gap, as large
 * as itself but at most TSR_ALLOCATOR_MAX_GAP, and what is released is given
 * out again as late as possible, what was released first before the rest. Where
 * there is no room otherwise, it is given out earlier; where that is not
 * enough, there is no gap.
 * @param most_bytes  of all allocations, as though the heap had this size and
 *                    no more. Half of what it has is room enough.
 */
void tsr_allocator_keep_apart(tsr_allocator_t *allocator, size_t most_bytes);

/**
 * Best fit, the lowest offset among equals, in a time that grows with the
 * logarithm of the pieces. Same calls in the same order give the same offsets,
 * and a take that is undone leaves no trace. The name is copied; it is valid as
 * long as the allocation. TSR_ERR_NO_MEMORY (full sentence), TSR_ERR_ARGUMENT.
 */
tsr_status_t tsr_allocator_take(tsr_allocator_t *allocator, size_t size_bytes, size_t align_bytes,
				const char *name, size_t *offset_out);
/** TSR_ERR_NOT_FOUND where `offset` is not the begin of an allocation (says what it is instead). */
tsr_status_t tsr_allocator_release(tsr_allocator_t *allocator, size_t offset);

/**
 * A take has failed on some rank: as if it had not been, and where things are
 * kept apart all that was released is free. So ranks that come here are alike
 * again, whether they have taken anything or not.
 * @param offset  what the last take gave; null: it failed, or was not tried
 */
void tsr_allocator_undo(tsr_allocator_t *allocator, const size_t *offset);

/** The allocation that holds `offset`, with the size that was asked for. False: none. */
bool tsr_allocator_find(const tsr_allocator_t *allocator, size_t offset, const char **name_out,
			size_t *begin_out, size_t *size_out);
void tsr_allocator_usage(const tsr_allocator_t *allocator, tsr_heap_usage_t *usage_out);

#endif
