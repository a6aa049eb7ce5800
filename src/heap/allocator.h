/*
 * The allocator of the heap. It works on offsets only, is deterministic, keeps
 * no data in the heap, and does not communicate.
 */
#ifndef TESSERA_HEAP_ALLOCATOR_H
#define TESSERA_HEAP_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "src/heap/pieces.h"
#include "tessera/heap.h"

/**
 * Allocations begin and end at multiples of this, so that two of them never
 * share a cache line. If the heap's size is not a multiple, the rest is not
 * used.
 */
#define TSR_ALLOCATOR_GRANULE TSR_PIECE_GRANULE
/** The largest alignment of an allocation. */
#define TSR_ALLOCATOR_MAX_ALIGN ((size_t)TSR_PIECE_GRANULE << (TSR_PIECE_ALIGNS - 1)) /* 2 MiB */

typedef struct tsr_allocator tsr_allocator_t;

/** Null if the host has no memory. */
tsr_allocator_t *tsr_allocator_create(size_t size_bytes);
void tsr_allocator_destroy(tsr_allocator_t *allocator);

/** The largest gap between two allocations that are kept apart. */
#define TSR_ALLOCATOR_MAX_GAP ((size_t)64 << 10)

/**
 * Makes bugs visible from now on: a gap follows each allocation, as large as
 * the allocation but at most TSR_ALLOCATOR_MAX_GAP, and released memory is
 * reused as late as possible, in the order of its release. If there is no other
 * room, it is reused earlier; if that is not enough, gaps are left out.
 * @param most_bytes  a limit for all allocations together, as if the heap had
 *                    this size. Half of the real size is enough room for the
 *                    gaps.
 */
void tsr_allocator_keep_apart(tsr_allocator_t *allocator, size_t most_bytes);

/**
 * Allocates the best fit, at the lowest offset among equals, in logarithmic
 * time. The same calls in the same order give the same offsets, and a take that
 * is undone leaves no trace. The name is copied, and valid as long as the
 * allocation. Errors: TSR_ERR_NO_MEMORY (with a full sentence),
 * TSR_ERR_ARGUMENT.
 */
tsr_status_t tsr_allocator_take(tsr_allocator_t *allocator, size_t size_bytes, size_t align_bytes,
				const char *name, size_t *offset_out);
/**
 * The same with more room than the allocation has bytes: what is behind them, up
 * to `room_bytes`, belongs to it too, and tsr_allocator_find does not find it.
 */
tsr_status_t tsr_allocator_take_room(tsr_allocator_t *allocator, size_t size_bytes,
				     size_t room_bytes, size_t align_bytes, const char *name,
				     size_t *offset_out);
/**
 * Releases an allocation. Errors: TSR_ERR_NOT_FOUND (`offset` is not the
 * beginning of an allocation; the sentence says what it is).
 */
tsr_status_t tsr_allocator_release(tsr_allocator_t *allocator, size_t offset);

/**
 * Undoes the last take, because the take of some rank has failed. If
 * allocations are kept apart, also makes all released memory free. So all ranks
 * have the same state again, whether they had taken memory or not.
 * @param offset  result of the last take; null: it failed, or was not tried.
 */
void tsr_allocator_undo(tsr_allocator_t *allocator, const size_t *offset);

/**
 * The allocation that holds `offset`, with the size that was asked for. Returns
 * false if there is none.
 */
bool tsr_allocator_find(const tsr_allocator_t *allocator, size_t offset, const char **name_out,
			size_t *begin_out, size_t *size_out);

/**
 * An allocation may be shown under another name than the one that it was taken
 * with, which all ranks agree on. Errors: TSR_ERR_NOT_FOUND, TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_allocator_show(tsr_allocator_t *allocator, size_t offset, const char *shown);
/** The name to show, from the one that tsr_allocator_find has found. */
const char *tsr_allocator_shown(const char *name);
void tsr_allocator_usage(const tsr_allocator_t *allocator, tsr_heap_usage_t *usage_out);

#endif
