#include "src/heap/rooms.h"

#include "src/base/error.h"

tsr_room_t tsr_room_of_heap(const tsr_world_t *world)
{
	return (tsr_room_t){.allocator = world->allocator, .end = world->heap_bytes};
}

tsr_room_t tsr_room_of_windows(const tsr_world_t *world)
{
	if (!world->window_allocator)
		return tsr_room_of_heap(world);
	return (tsr_room_t){.allocator = world->window_allocator,
			    .begin = world->window_begin,
			    .end = world->window_end};
}

tsr_room_t tsr_room_at(const tsr_world_t *world, size_t offset)
{
	return offset < world->heap_bytes ? tsr_room_of_heap(world) : tsr_room_of_windows(world);
}

bool tsr_heap_offset(const tsr_world_t *world, uintptr_t address, size_t *offset_out)
{
	const uintptr_t base = (uintptr_t)world->heap_bases[world->rank];
	if (address < base)
		return false;
	const size_t offset = address - base;
	const tsr_room_t room = tsr_room_at(world, offset);
	if (offset < room.begin || offset >= room.end)
		return false;
	*offset_out = offset;
	return true;
}

bool tsr_heap_allocation(const tsr_world_t *world, size_t offset, const char **name_out,
			 size_t *begin_out, size_t *size_out)
{
	const tsr_room_t room = tsr_room_at(world, offset);
	if (offset < room.begin ||
	    !tsr_allocator_find(room.allocator, offset - room.begin, name_out, begin_out, size_out))
		return false;
	*begin_out += room.begin;
	return true;
}

tsr_status_t tsr_rooms_make(tsr_world_t *world)
{
	size_t begin = 0, end = 0;
	world->backend->window->room(world->device, &begin, &end);
	if (begin >= end)
		return TSR_OK;
	world->window_allocator = tsr_allocator_create(end - begin);
	if (!world->window_allocator)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory to keep the books of windows; free some");
	world->window_begin = begin;
	world->window_end = end;
	return TSR_OK;
}
