/*
 * The ranges of offsets that allocations are taken from: the heap, and on GPUs
 * the addresses behind it that windows are mapped to.
 */
#ifndef TESSERA_HEAP_ROOMS_H
#define TESSERA_HEAP_ROOMS_H

#include "src/heap/allocator.h"
#include "src/world/world.h"

/** One such range. Its allocator counts from the range's begin. */
typedef struct tsr_room {
	struct tsr_allocator *allocator;
	size_t begin, end; /* offsets from the heap's base */
} tsr_room_t;

tsr_room_t tsr_room_of_heap(const tsr_world_t *world);
/** Where windows are taken from: the heap if there is no room behind it. */
tsr_room_t tsr_room_of_windows(const tsr_world_t *world);
/** The one that an offset of tsr_heap_offset lies in. */
tsr_room_t tsr_room_at(const tsr_world_t *world, size_t offset);

/**
 * The offset of an address from this rank's heap base. Returns false if it lies
 * neither in the heap nor in the room for windows.
 */
bool tsr_heap_offset(const tsr_world_t *world, uintptr_t address, size_t *offset_out);

/**
 * With allocator_lock: tsr_allocator_find of the allocation or window that
 * holds an offset; `begin_out` counts from the heap's base.
 */
bool tsr_heap_allocation(const tsr_world_t *world, size_t offset, const char **name_out,
			 size_t *begin_out, size_t *size_out);

/**
 * Asks the backend where windows lie, when the heaps are mapped, and begins to
 * keep the books of that room. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_rooms_make(tsr_world_t *world);

#endif
