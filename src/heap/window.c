/*
 * Windows: allocations whose bytes are the program's memory, in the heap or in
 * the room behind it. Each call is a few exchanges, so that all ranks come out
 * of it alike.
 */
#include "src/heap/window.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/base/error.h"
#include "src/base/place.h"
#include "src/heap/heap.h"
#include "src/world/team.h"

/* of what ranks compare of a call; a longer name is cut there, and only there */
enum { ARGUMENTS_TEXT = 512 };

/** What each rank tells of the memory that it gives. */
typedef struct claim {
	int32_t verdict; /* tsr_status_t of its own checks */
	uint64_t process, address;
	uint64_t room_bytes; /* addresses that it takes: those of the window, or more */
} claim_t;

tsr_status_t tsr_window_no_world(const char *call)
{
	return tsr_error(
		TSR_ERR_ARGUMENT,
		"%s was called without a world; pass the one that tsr_init or TSR_MAIN gave", call);
}

static bool overlap(uint64_t a, uint64_t b, size_t size_bytes)
{
	return a < b + size_bytes && b < a + size_bytes;
}

/* ------------------------------------------------------------------ the list */

static tsr_window_t *add_window(tsr_world_t *world, TSR_HEAP void *heap, void *memory,
				size_t size_bytes)
{
	tsr_window_t *window = malloc(sizeof *window);
	if (!window)
		return NULL;
	*window = (tsr_window_t){.heap = heap, .memory = memory, .size_bytes = size_bytes};
	pthread_mutex_lock(&world->allocator_lock);
	window->next = world->windows;
	world->windows = window;
	pthread_mutex_unlock(&world->allocator_lock);
	return window;
}

/** The place of the window's pointer in the list; null: there is none. */
static tsr_window_t **find_window(tsr_world_t *world, const TSR_HEAP void *pointer)
{
	for (tsr_window_t **at = &world->windows; *at; at = &(*at)->next)
		if ((*at)->heap == pointer)
			return at;
	return NULL;
}

static void remove_window(tsr_world_t *world, const tsr_window_t *window)
{
	pthread_mutex_lock(&world->allocator_lock);
	tsr_window_t **at = find_window(world, window->heap);
	if (at)
		*at = window->next;
	pthread_mutex_unlock(&world->allocator_lock);
}

bool tsr_window_is_at(tsr_world_t *world, const TSR_HEAP void *pointer)
{
	pthread_mutex_lock(&world->allocator_lock);
	const bool found = find_window(world, pointer) != NULL;
	pthread_mutex_unlock(&world->allocator_lock);
	return found;
}

void tsr_windows_drop(tsr_world_t *world)
{
	while (world->windows) {
		tsr_window_t *window = world->windows;
		world->windows = window->next;
		(void)world->backend->window->close(world->device, tsr_heap_raw(window->heap),
						    window->memory, window->size_bytes);
		free(window);
	}
}

/* ------------------------------------------------------------------ checks */

size_t tsr_window_unit_bytes(const tsr_world_t *world)
{
	return world ? world->backend->window->unit_bytes(world->device) : 0;
}

const tsr_window_t *tsr_window_on(const tsr_world_t *world, const void *memory, size_t size_bytes)
{
	const uintptr_t begin = (uintptr_t)memory;
	const tsr_window_t *w = world->windows;
	while (w && (begin >= (uintptr_t)w->memory + w->size_bytes ||
		     (uintptr_t)w->memory >= begin + size_bytes))
		w = w->next;
	return w;
}

/** Bytes from a heap's base that Tessera has: the heap, and on GPUs the windows behind it. */
static size_t bytes_taken(const tsr_world_t *world)
{
	return world->window_end > world->heap_bytes ? world->window_end : world->heap_bytes;
}

/** The memory is no part of a window or a heap of this rank. */
static tsr_status_t check_apart(const tsr_world_t *world, void *memory, size_t size_bytes)
{
	const uint64_t begin = (uintptr_t)memory;
	const tsr_window_t *w = tsr_window_on(world, memory, size_bytes);
	if (w)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_window_register: the memory of %s at %p overlaps that "
				 "of a window of %s at %p; release that one first",
				 TSR_SIZE(size_bytes), memory, TSR_SIZE(w->size_bytes), w->memory);
	for (int r = 0; r < world->size; r++)
		if (world->heap_bases[r] &&
		    begin < (uintptr_t)world->heap_bases[r] + bytes_taken(world) &&
		    (uintptr_t)world->heap_bases[r] < begin + size_bytes)
			return tsr_error(TSR_ERR_ARGUMENT,
					 "tsr_window_register: the memory at %p is in the heap of "
					 "rank %d; kernels work on it without a window",
					 memory, r);
	return TSR_OK;
}

/** How to have memory of whole units. */
static const char *whole_units(const tsr_world_t *world)
{
	return world->window_allocator
		       ? ": allocate it by tsr_window_alloc (tessera.torch_pool in Python)"
		       : ", which is a page: allocate whole pages (tsr_window_alloc, "
			 "aligned_alloc, tessera.pages in Python)";
}

static tsr_status_t check_here(tsr_world_t *world, void *memory, size_t size_bytes,
			       TSR_HEAP void **pointer_out, size_t *room_bytes_out)
{
	static const char call[] = "tsr_window_register";
	const size_t unit_bytes = tsr_window_unit_bytes(world);
	if (unit_bytes == 0) /* its own sentence says why */
		return world->backend->window->check(world->device, memory, size_bytes,
						     room_bytes_out);
	if (!memory || !pointer_out)
		return tsr_error(TSR_ERR_ARGUMENT, "%s was given null for %s", call,
				 memory ? "the place of the pointer" : "the memory");
	if (size_bytes == 0 || size_bytes % unit_bytes != 0 ||
	    size_bytes > UINTPTR_MAX - (uintptr_t)memory)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s was given %s; a window has a multiple of %s%s", call,
				 TSR_SIZE(size_bytes), TSR_SIZE(unit_bytes), whole_units(world));
	if ((uintptr_t)memory % unit_bytes != 0)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s was given memory at %p; a window begins at a multiple of %s%s",
				 call, memory, TSR_SIZE(unit_bytes), whole_units(world));
	const tsr_status_t status = check_apart(world, memory, size_bytes);
	return status == TSR_OK ? world->backend->window->check(world->device, memory, size_bytes,
								room_bytes_out)
				: status;
}

/* ------------------------------------------------------------------ agreement */

tsr_status_t tsr_window_undone(const char *call, const char *arguments, int rank,
			       tsr_status_t status)
{
	return tsr_error(status,
			 "%s(%s) was undone on every rank because rank %d failed with %s; see the "
			 "error of that rank",
			 call, arguments, rank, tsr_status_name(status));
}

/** Every rank learns what each one gives, and judges alike. */
static tsr_status_t compare_claims(tsr_world_t *world, const char *call, const char *arguments,
				   const claim_t *mine, size_t size_bytes, size_t *room_bytes_out)
{
	claim_t all[TSR_MAX_RANKS];
	size_t most = 0;
	const tsr_status_t status =
		tsr_world_exchange(world, call, arguments, mine, all, sizeof *mine);
	if (status != TSR_OK || mine->verdict != TSR_OK)
		return status != TSR_OK ? status : (tsr_status_t)mine->verdict;
	for (int r = 0; r < world->size; r++)
		if (all[r].verdict != TSR_OK)
			return tsr_window_undone(call, arguments, r, (tsr_status_t)all[r].verdict);
	for (int r = 1; r < world->size; r++)
		for (int s = 0; s < r; s++)
			if (all[r].process == all[s].process &&
			    overlap(all[r].address, all[s].address, size_bytes))
				return tsr_error(
					TSR_ERR_ARGUMENT,
					"%s(%s): ranks %d and %d, which are threads of one "
					"process, gave memory that overlaps; each rank "
					"gives its own",
					call, arguments, s, r);
	for (int r = 0; r < world->size; r++)
		most = all[r].room_bytes > most ? (size_t)all[r].room_bytes : most;
	*room_bytes_out = most;
	return TSR_OK;
}

/** Whether all have moved their memory. */
static tsr_status_t agree(tsr_world_t *world, const char *call, const char *arguments,
			  tsr_status_t mine)
{
	int32_t verdict = mine, all[TSR_MAX_RANKS];
	const tsr_status_t status =
		tsr_world_exchange(world, call, arguments, &verdict, all, sizeof verdict);
	if (status != TSR_OK || mine != TSR_OK)
		return status != TSR_OK ? status : mine;
	for (int r = 0; r < world->size; r++)
		if (all[r] != TSR_OK)
			return tsr_window_undone(call, arguments, r, (tsr_status_t)all[r]);
	return TSR_OK;
}

/* ------------------------------------------------------------------ the calls */

/** The window's bytes are written when its memory becomes a part of the heap. */
static tsr_status_t leave_unfilled(tsr_world_t *world, TSR_HEAP void *memory, const void *ctx)
{
	(void)world, (void)memory, (void)ctx;
	return TSR_OK;
}

/**
 * The heap has room at `heap`: moves the memory there. The window is in the list
 * before anything else can fail, so that whatever happens ends it.
 */
static tsr_status_t open_window(tsr_world_t *world, TSR_HEAP void *heap, void *memory,
				size_t size_bytes)
{
	tsr_window_t *window = add_window(world, heap, memory, size_bytes);
	if (!window)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for the books of a window; free some");
	const tsr_status_t status =
		world->backend->window->open(world->device, tsr_heap_raw(heap), memory, size_bytes);
	if (status != TSR_OK) {
		remove_window(world, window);
		free(window);
	}
	return status;
}

/** Ends a window of this rank, if there is one. Its room in the heap stays taken. */
static tsr_status_t close_window(tsr_world_t *world, const TSR_HEAP void *heap)
{
	tsr_window_t **at = find_window(world, heap), *window = at ? *at : NULL;
	if (!window)
		return TSR_OK;
	const tsr_status_t status =
		world->backend->window->close(world->device, tsr_heap_raw(window->heap),
					      window->memory, window->size_bytes);
	remove_window(world, window);
	free(window);
	return status;
}

tsr_status_t tsr_window_register(tsr_world_t *world, void *memory, size_t size_bytes,
				 const char *name, TSR_HEAP void **pointer_out)
{
	static const char call[] = "tsr_window_register";
	if (!world)
		return tsr_window_no_world(call);
	char arguments[ARGUMENTS_TEXT], shown[TSR_PLACE_NAME];
	const char *by_place = name ? NULL : tsr_place_name(shown);
	if (!name)
		name = "unnamed";
	snprintf(arguments, sizeof arguments, "%s, \"%s\"", TSR_SIZE(size_bytes), name);
	tsr_log_to(world->log, TSR_LOG_DEBUG, "%s(%s)", call, arguments);
	size_t room_bytes = size_bytes;
	claim_t mine = {.process = tsr_boot_process(world->boot), .address = (uintptr_t)memory};
	mine.verdict = check_here(world, memory, size_bytes, pointer_out, &room_bytes);
	mine.room_bytes = room_bytes;
	tsr_heap_request_t request = {.call = call,
				      .arguments = arguments,
				      .name = name,
				      .shown = by_place,
				      .size_bytes = size_bytes,
				      .align_bytes = tsr_window_unit_bytes(world),
				      .fill = leave_unfilled};
	TSR_HEAP void *heap = NULL;
	tsr_status_t status =
		compare_claims(world, call, arguments, &mine, size_bytes, &request.window_bytes);
	if (status == TSR_OK)
		status = tsr_heap_take(world, &request, &heap);
	if (status != TSR_OK)
		return status;
	status = agree(world, call, arguments, open_window(world, heap, memory, size_bytes));
	if (status == TSR_OK && world->backend->window->export_part && world->size > 1)
		status = agree(world, call, arguments,
			       tsr_window_share(world, call, arguments, heap, size_bytes));
	if (status != TSR_OK) {
		char sentence[TSR_ERROR_BYTES];
		snprintf(sentence, sizeof sentence, "%s", tsr_last_error());
		if (close_window(world, heap) == TSR_OK)
			tsr_heap_give(world, heap);
		return tsr_error(status, "%s", sentence);
	}
	*pointer_out = heap;
	return TSR_OK;
}

/** What a rank asks to release, as text that is equal where it is the same window. */
static tsr_status_t describe_release(tsr_world_t *world, const TSR_HEAP void *pointer, char *text,
				     size_t text_bytes)
{
	const char *name = "";
	snprintf(text, text_bytes, "%s", pointer ? "no window" : "null");
	if (!pointer)
		return TSR_OK;
	if (!tsr_window_is_at(world, pointer) || !tsr_heap_agreed(world, pointer, &name))
		return tsr_error(
			TSR_ERR_NOT_FOUND,
			"tsr_window_release was given %p, which is no window of this rank: "
			"it was released, or never registered; pass what "
			"tsr_window_register gave to this rank, once",
			tsr_heap_raw(pointer));
	snprintf(text, text_bytes, "\"%s\" at offset %zu", name,
		 (size_t)((uintptr_t)pointer - (uintptr_t)world->heap_bases[world->rank]));
	return TSR_OK;
}

tsr_status_t tsr_window_release(tsr_world_t *world, TSR_HEAP void *pointer)
{
	static const char call[] = "tsr_window_release";
	if (!world)
		return tsr_window_no_world(call);
	char arguments[ARGUMENTS_TEXT];
	tsr_status_t mine = describe_release(world, pointer, arguments, sizeof arguments);
	tsr_log_to(world->log, TSR_LOG_DEBUG, "%s(%s)", call, arguments);
	if (mine == TSR_OK)
		mine = tsr_world_sync_streams(world, NULL);
	tsr_status_t status = agree(world, call, arguments, mine);
	if (status != TSR_OK || !pointer)
		return status;
	status = agree(world, call, arguments, close_window(world, pointer));
	if (status == TSR_OK)
		tsr_heap_give(world, pointer);
	return status;
}
