/*
 * The collective calls of the symmetric heap. Each is one exchange, so that all
 * ranks come out of it alike.
 */
#include "src/heap/heap.h"
#include "src/heap/window.h"
#include "src/world/team.h"

#include <inttypes.h>
#include <stdio.h>

#include "src/base/error.h"
#include "src/base/executor.h"
#include "src/base/place.h"
#include "src/base/sized.h"
#include "src/heap/rooms.h"
#include "src/world/state_uses.h"

/*
 * Room for what ranks compare of a call: numbers and a name. Of a longer name
 * the begin is compared; the allocation keeps all of it.
 */
enum { ARGUMENTS_TEXT = 512 };

/* The allocator's lock does not change the world as its users see it. */
static void lock(const tsr_world_t *world)
{
	pthread_mutex_lock((pthread_mutex_t *)&world->allocator_lock);
}

static void unlock(const tsr_world_t *world)
{
	pthread_mutex_unlock((pthread_mutex_t *)&world->allocator_lock);
}

static tsr_status_t no_world(const char *call)
{
	return tsr_error(
		TSR_ERR_ARGUMENT,
		"%s was called without a world; pass the one that tsr_init or TSR_MAIN gave", call);
}

/* Address in my heap, or in a window behind it, as an offset. False: outside. */
static bool offset_of(const tsr_world_t *world, const TSR_HEAP void *pointer, size_t *offset_out)
{
	return tsr_heap_offset(world, (uintptr_t)pointer, offset_out);
}

/*
 * Tells every rank how the call went here. A failure anywhere is one
 * everywhere; each rank keeps its own sentence if it has one.
 */
static tsr_status_t agree(tsr_world_t *world, const char *call, const char *arguments,
			  tsr_status_t mine)
{
	int32_t verdict = mine, verdicts[TSR_MAX_RANKS];
	tsr_status_t status =
		tsr_world_exchange(world, call, arguments, &verdict, verdicts, sizeof verdict);
	if (status != TSR_OK || mine != TSR_OK)
		return status != TSR_OK ? status : mine;
	for (int rank = 0; rank < world->size; rank++)
		if (verdicts[rank] != TSR_OK)
			return tsr_error((tsr_status_t)verdicts[rank],
					 "%s(%s) was undone on every rank because rank %d failed "
					 "with %s; see the error of that rank",
					 call, arguments, rank,
					 tsr_status_name((tsr_status_t)verdicts[rank]));
	return TSR_OK;
}

/* ------------------------------------------------------------------ take and release */

static tsr_room_t room_of(const tsr_world_t *world, const tsr_heap_request_t *request)
{
	return request->window_bytes > 0 ? tsr_room_of_windows(world) : tsr_room_of_heap(world);
}

/** With allocator_lock. What gets no name is not taken. */
static tsr_status_t show_here(const tsr_room_t *room, const tsr_heap_request_t *request,
			      size_t offset)
{
	const tsr_status_t status = tsr_allocator_show(room->allocator, offset, request->shown);
	if (status != TSR_OK)
		tsr_allocator_undo(room->allocator, &offset);
	return status;
}

static tsr_status_t take_here(tsr_world_t *world, const tsr_heap_request_t *request,
			      size_t *offset_out)
{
	if (request->verdict != TSR_OK)
		return request->verdict;
	const tsr_room_t room = room_of(world, request);
	tsr_heap_usage_t usage;
	const size_t bytes =
		request->window_bytes > 0 ? request->window_bytes : request->size_bytes;
	size_t offset = 0;
	lock(world);
	tsr_status_t status = tsr_allocator_take_room(room.allocator, request->size_bytes, bytes,
						      request->align_bytes, request->name, &offset);
	if (status == TSR_OK && request->shown)
		status = show_here(&room, request, offset);
	tsr_allocator_usage(room.allocator, &usage);
	unlock(world);
	*offset_out = room.begin + offset;
	if (status == TSR_ERR_NO_MEMORY && room.begin > 0 && usage.largest_bytes < bytes)
		return tsr_error(status,
				 "the addresses for windows have no room for %s (\"%s\"): of %s %s "
				 "are free, the largest piece is %s; release windows",
				 TSR_SIZE(bytes), request->name, TSR_SIZE(usage.heap_bytes),
				 TSR_SIZE(usage.free_bytes), TSR_SIZE(usage.largest_bytes));
	return status;
}

/** The call has failed somewhere. */
static void undo_here(tsr_world_t *world, const tsr_heap_request_t *request, const size_t *offset)
{
	const tsr_room_t room = room_of(world, request);
	const size_t inside = offset ? *offset - room.begin : 0;
	lock(world);
	tsr_allocator_undo(room.allocator, offset ? &inside : NULL);
	unlock(world);
}

static tsr_status_t release_here(tsr_world_t *world, size_t offset)
{
	const tsr_room_t room = tsr_room_at(world, offset);
	const char *name;
	size_t begin = 0, size = 0;
	lock(world);
	(void)tsr_heap_allocation(world, offset, &name, &begin, &size);
	tsr_status_t status = tsr_allocator_release(room.allocator, offset - room.begin);
	unlock(world);
	if (status == TSR_OK)
		tsr_uses_drop(world, begin, begin + size);
	return status;
}

static tsr_status_t fill_here(tsr_world_t *world, const tsr_heap_request_t *request, void *memory)
{
	if (request->fill)
		return request->fill(world, (TSR_HEAP void *)memory, request->fill_ctx);
	if (world->host.exploration)
		return TSR_OK; /* who reads what nobody has written is told so */
	size_t size_bytes = request->size_bytes < TSR_HEAP_POISON_BYTES ? request->size_bytes
									: TSR_HEAP_POISON_BYTES;
	return world->backend->heap->fill(world->device, memory, TSR_HEAP_POISON, size_bytes);
}

/** Explored: whose memory this is from now on; what a fill did not write is nobody's. */
static tsr_status_t note_taken(tsr_world_t *world, const tsr_heap_request_t *request, size_t offset)
{
	if (!world->host.exploration)
		return TSR_OK;
	return tsr_executor.allocated(world->host.exploration, world->rank, offset,
				      request->size_bytes,
				      request->shown ? request->shown : request->name,
				      &request->form);
}

/*
 * The memory is taken and filled before the ranks agree, and given back where
 * they do not. That costs one exchange, and no rank can write to a peer's copy
 * that the peer has yet to fill: nobody has the address before all have filled
 * theirs.
 */
tsr_status_t tsr_heap_take(tsr_world_t *world, const tsr_heap_request_t *request,
			   TSR_HEAP void **pointer_out)
{
	size_t offset = 0;
	tsr_status_t mine = tsr_boot_check_process(world->boot, request->call);
	if (mine != TSR_OK)
		return mine;
	mine = take_here(world, request, &offset);
	const bool taken = mine == TSR_OK;
	char *memory = (char *)world->heap_bases[world->rank] + offset;
	if (taken)
		mine = note_taken(world, request, offset);
	if (taken && mine == TSR_OK)
		mine = fill_here(world, request, memory);

	tsr_status_t status = agree(world, request->call, request->arguments, mine);
	if (status != TSR_OK) {
		undo_here(world, request, taken ? &offset : NULL);
		return status;
	}
	*pointer_out = (TSR_HEAP void *)memory;
	return TSR_OK;
}

tsr_status_t tsr_heap_alloc(tsr_world_t *world, size_t size_bytes, size_t align_bytes,
			    const char *name, TSR_HEAP void **pointer_out)
{
	static const char call[] = "tsr_heap_alloc";
	if (!world)
		return no_world(call);
	const bool named = name != NULL;
	if (!named)
		name = "unnamed";
	char arguments[ARGUMENTS_TEXT];
	snprintf(arguments, sizeof arguments, "%s, alignment %zu, \"%s\"", TSR_SIZE(size_bytes),
		 align_bytes, name);
	char shown[TSR_PLACE_NAME];
	tsr_heap_request_t request = {.call = call,
				      .arguments = arguments,
				      .name = name,
				      .shown = named ? NULL : tsr_place_name(shown),
				      .size_bytes = size_bytes,
				      .align_bytes = align_bytes};
	if (!pointer_out)
		request.verdict = tsr_error(TSR_ERR_ARGUMENT,
					    "tsr_heap_alloc(%s) was given no place for the pointer",
					    arguments);
	tsr_log_to(world->log, TSR_LOG_DEBUG, "%s(%s)", call, arguments);
	return tsr_heap_take(world, &request, pointer_out);
}

void tsr_heap_give(tsr_world_t *world, TSR_HEAP void *pointer)
{
	size_t offset;
	if (offset_of(world, pointer, &offset) && release_here(world, offset) == TSR_OK &&
	    world->host.exploration)
		tsr_executor.freed(world->host.exploration, world->rank, offset);
}

bool tsr_heap_agreed(const tsr_world_t *world, const TSR_HEAP void *pointer, const char **name_out)
{
	size_t offset, begin, size_bytes;
	if (!offset_of(world, pointer, &offset))
		return false;
	lock(world);
	const bool found = tsr_heap_allocation(world, offset, name_out, &begin, &size_bytes);
	unlock(world);
	return found;
}

/*
 * What a rank asks to release, as text that is equal where it is the same
 * allocation. An error where it is not of the heap at all.
 */
static tsr_status_t describe_release(tsr_world_t *world, const char *call,
				     const TSR_HEAP void *pointer, size_t *offset_out, char *text,
				     size_t text_bytes)
{
	const char *name;
	if (!pointer) {
		snprintf(text, text_bytes, "null");
	} else if (!offset_of(world, pointer, offset_out)) {
		snprintf(text, text_bytes, "a pointer outside the heap");
		return tsr_error(TSR_ERR_NOT_FOUND,
				 "%s was given %p, which lies outside this rank's heap; pass what "
				 "this rank has allocated",
				 call, tsr_heap_raw(pointer));
	} else if (tsr_heap_agreed(world, pointer, &name)) {
		snprintf(text, text_bytes, "\"%s\" at offset %zu", name, *offset_out);
		if (tsr_window_is_at(world, pointer))
			return tsr_error(TSR_ERR_ARGUMENT,
					 "%s was given the window \"%s\"; release it by "
					 "tsr_window_release",
					 call, tsr_allocator_shown(name));
	} else {
		snprintf(text, text_bytes, "nothing at offset %zu", *offset_out);
	}
	return TSR_OK;
}

tsr_status_t tsr_heap_release(tsr_world_t *world, const char *call, TSR_HEAP void *pointer)
{
	if (!world)
		return no_world(call);
	size_t offset = 0;
	char arguments[ARGUMENTS_TEXT];
	tsr_status_t mine = tsr_boot_check_process(world->boot, call);
	if (mine != TSR_OK)
		return mine;
	mine = describe_release(world, call, pointer, &offset, arguments, sizeof arguments);
	tsr_log_to(world->log, TSR_LOG_DEBUG, "%s(%s)", call, arguments);
	if (mine == TSR_OK)
		mine = tsr_world_sync_streams(world, NULL);
	tsr_status_t status = agree(world, call, arguments, mine);
	if (status != TSR_OK || !pointer)
		return status;
	/* all ranks hold the same allocations, so it succeeds on all or on none */
	status = release_here(world, offset);
	if (status == TSR_OK && world->host.exploration)
		tsr_executor.freed(world->host.exploration, world->rank, offset);
	return status;
}

tsr_status_t tsr_heap_free(tsr_world_t *world, TSR_HEAP void *pointer)
{
	return tsr_heap_release(world, "tsr_heap_free", pointer);
}

/* ------------------------------------------------------------------ questions */

TSR_HEAP void *tsr_heap_base(const tsr_world_t *world, int rank)
{
	if (!world || rank < 0 || rank >= world->size || tsr_host_is_far(&world->host, rank))
		return NULL;
	return (TSR_HEAP void *)world->heap_bases[rank];
}

/** The address of `rank`'s copy of `pointer`, for the call of this name. */
static tsr_status_t translate(const char *call, const tsr_world_t *world,
			      const TSR_HEAP void *pointer, int rank, void **peer_out)
{
	size_t offset;
	if (!world)
		return no_world(call);
	if (rank < 0 || rank >= world->size)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s was given rank %d of a world of %d; ranks are 0 to %d", call,
				 rank, world->size, world->size - 1);
	if (!offset_of(world, pointer, &offset))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s was given %p, which lies outside the heap of rank %d; the "
				 "pointer is always mine, "
				 "the rank is the peer's",
				 call, tsr_heap_raw(pointer), world->rank);
	if (tsr_host_is_far(&world->host, rank))
		return tsr_error(TSR_ERR_UNSUPPORTED,
				 "the heap of rank %d, on node %d, is not mapped on rank %d, on "
				 "node %d: reach it with put and signal",
				 rank, world->nodes[rank], world->rank, world->nodes[world->rank]);
	*peer_out = (char *)world->heap_bases[rank] + offset;
	return TSR_OK;
}

tsr_status_t tsr_heap_translate(const tsr_world_t *world, const TSR_HEAP void *pointer, int rank,
				TSR_HEAP void **peer_out)
{
	void *peer = NULL;
	const tsr_status_t status = translate("tsr_heap_translate", world, pointer, rank, &peer);
	if (status == TSR_OK)
		*peer_out = (TSR_HEAP void *)peer;
	return status;
}

void *tsr_native_pointer(const tsr_world_t *world, const TSR_HEAP void *pointer, int rank)
{
	void *peer = NULL;
	if (translate("tsr_native_pointer", world, pointer, rank, &peer) != TSR_OK)
		return NULL;
	if (!world->host.exploration)
		return peer;
	(void)tsr_error(TSR_ERR_UNSUPPORTED,
			"tsr_native_pointer gives no address under tessera check, which must see "
			"each access: use tsr_memcpy_to_heap and tsr_memcpy_from_heap there");
	return NULL;
}

tsr_status_t tsr_heap_usage(const tsr_world_t *world, tsr_heap_usage_t *usage_out)
{
	if (!world || !usage_out)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_heap_usage needs a world and a place for the answer");
	tsr_heap_usage_t usage;
	lock(world);
	tsr_allocator_usage(world->allocator, &usage);
	unlock(world);
	return TSR_SIZED_GIVE(tsr_heap_usage_t, allocations, usage_out, &usage);
}

tsr_status_t tsr_heap_find(const tsr_world_t *world, const TSR_HEAP void *pointer,
			   const char **name_out, size_t *offset_out)
{
	static const char call[] = "tsr_heap_find";
	if (!world)
		return no_world(call);
	size_t offset, begin, size_bytes;
	const char *name;
	if (!offset_of(world, pointer, &offset))
		return tsr_error(TSR_ERR_NOT_FOUND,
				 "%p lies outside this rank's heap; ask for what tsr_heap_alloc "
				 "gave to this rank",
				 tsr_heap_raw(pointer));
	lock(world);
	bool found = tsr_heap_allocation(world, offset, &name, &begin, &size_bytes);
	unlock(world);
	if (!found)
		return tsr_error(TSR_ERR_NOT_FOUND,
				 "%p (offset %zu of the heap) belongs to no allocation: it was "
				 "released, or never allocated",
				 tsr_heap_raw(pointer), offset);
	if (name_out)
		*name_out = tsr_allocator_shown(name);
	if (offset_out)
		*offset_out = offset - begin;
	return TSR_OK;
}

tsr_status_t tsr_heap_name(tsr_world_t *world, const char *call, const TSR_HEAP void *pointer,
			   const char *name)
{
	size_t offset;
	if (!world)
		return no_world(call);
	if (!pointer || !name || !*name)
		return tsr_error(TSR_ERR_ARGUMENT, "%s was given no %s; pass one", call,
				 pointer ? "name" : "tensor");
	if (!offset_of(world, pointer, &offset))
		return tsr_error(TSR_ERR_NOT_FOUND,
				 "%s was given %p, which lies outside this rank's heap; pass what "
				 "this rank has allocated",
				 call, tsr_heap_raw(pointer));
	const tsr_room_t room = tsr_room_at(world, offset);
	lock(world);
	const tsr_status_t status = tsr_allocator_show(room.allocator, offset - room.begin, name);
	unlock(world);
	if (status == TSR_OK && world->host.exploration)
		tsr_executor.named(world->host.exploration, world->rank, offset, name);
	return status;
}

/* ------------------------------------------------------------------ host copies */

tsr_status_t tsr_heap_check_range(const tsr_world_t *world, const char *call,
				  const TSR_HEAP void *heap, size_t size_bytes)
{
	size_t offset, begin = 0, allocated = 0;
	const char *name;
	if (!offset_of(world, heap, &offset))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s was given %p, which lies outside this rank's heap; pass what "
				 "tsr_heap_alloc gave to this rank",
				 call, tsr_heap_raw(heap));
	lock(world);
	bool found = tsr_heap_allocation(world, offset, &name, &begin, &allocated);
	unlock(world);
	if (!found)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s was given %p (offset %zu of the heap), which belongs to no "
				 "allocation: it was released, or "
				 "never allocated",
				 call, tsr_heap_raw(heap), offset);
	size_t inside = offset - begin;
	if (size_bytes > allocated - inside)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s of %s from byte %zu on leaves \"%s\", which has %s: copy "
				 "less, or allocate more",
				 call, TSR_SIZE(size_bytes), inside, tsr_allocator_shown(name),
				 TSR_SIZE(allocated));
	return TSR_OK;
}

/* Common to the three below. Nothing to copy is no error, wherever the pointers look. */
static tsr_status_t check_copy(const tsr_world_t *world, const char *call,
			       const TSR_HEAP void *heap, const void *host, size_t size_bytes)
{
	if (!world)
		return no_world(call);
	if (size_bytes == 0)
		return TSR_OK;
	if (!host)
		return tsr_error(
			TSR_ERR_ARGUMENT,
			"%s of %s was given null for the host memory; pass a buffer of that size",
			call, TSR_SIZE(size_bytes));
	return tsr_heap_check_range(world, call, heap, size_bytes);
}

tsr_status_t tsr_memcpy_to_heap(tsr_world_t *world, TSR_HEAP void *heap, const void *host,
				size_t size_bytes)
{
	tsr_status_t status = check_copy(world, "tsr_memcpy_to_heap", heap, host, size_bytes);
	if (status != TSR_OK || size_bytes == 0)
		return status;
	return world->backend->heap->write(world->device, tsr_heap_raw(heap), host, size_bytes);
}

tsr_status_t tsr_memcpy_from_heap(tsr_world_t *world, void *host, const TSR_HEAP void *heap,
				  size_t size_bytes)
{
	tsr_status_t status = check_copy(world, "tsr_memcpy_from_heap", heap, host, size_bytes);
	if (status != TSR_OK || size_bytes == 0)
		return status;
	return world->backend->heap->read(world->device, host, tsr_heap_raw(heap), size_bytes);
}

tsr_status_t tsr_memset_heap(tsr_world_t *world, TSR_HEAP void *heap, int byte, size_t size_bytes)
{
	tsr_status_t status = check_copy(world, "tsr_memset_heap", heap, &byte, size_bytes);
	if (status != TSR_OK || size_bytes == 0)
		return status;
	size_t offset;
	if (offset_of(world, heap, &offset))
		tsr_uses_stored(world, offset, offset + size_bytes);
	return world->backend->heap->fill(world->device, tsr_heap_raw(heap), byte, size_bytes);
}
