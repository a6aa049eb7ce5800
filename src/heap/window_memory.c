/* Memory for windows: of a world, and for the pools of frameworks. */
#include <stdlib.h>

#include "src/base/error.h"
#include "src/heap/window.h"
#include "src/registry/registry.h"

/** One piece of memory that tsr_window_alloc gave. */
typedef struct tsr_window_memory {
	struct tsr_window_memory *next;
	void *memory;
	size_t size_bytes;
} tsr_window_memory_t;

static int ordinal_of(const tsr_world_t *world)
{
	tsr_device_props_t props = {.size = sizeof props};
	return world->backend->device->properties(world->device, &props) == TSR_OK ? props.ordinal
										   : -1;
}

static tsr_status_t check_alloc(const tsr_world_t *world, size_t size_bytes, void **memory_out)
{
	static const char call[] = "tsr_window_alloc";
	if (!world)
		return tsr_window_no_world(call);
	if (!memory_out)
		return tsr_error(TSR_ERR_ARGUMENT, "%s was given no place for the pointer", call);
	if (size_bytes == 0 || size_bytes > SIZE_MAX / 2)
		return tsr_error(TSR_ERR_ARGUMENT,
				 "%s was asked for %s; ask for 1 byte or more, and for what the "
				 "device can have",
				 call, TSR_SIZE(size_bytes));
	return TSR_OK;
}

tsr_status_t tsr_window_alloc(tsr_world_t *world, size_t size_bytes, void **memory_out)
{
	tsr_status_t status = check_alloc(world, size_bytes, memory_out);
	if (status != TSR_OK)
		return status;
	tsr_window_memory_t *piece = malloc(sizeof *piece);
	if (!piece)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory for the books of tsr_window_alloc; free "
				 "some");
	*piece = (tsr_window_memory_t){.size_bytes = size_bytes};
	status = world->backend->window->alloc(ordinal_of(world), size_bytes, &piece->memory);
	if (status != TSR_OK) {
		free(piece);
		return status;
	}
	pthread_mutex_lock(&world->allocator_lock);
	piece->next = world->window_memory;
	world->window_memory = piece;
	pthread_mutex_unlock(&world->allocator_lock);
	*memory_out = piece->memory;
	return TSR_OK;
}

/** Takes the piece that begins at `memory` from the list, if no window has a part of it. */
static tsr_status_t take_piece(tsr_world_t *world, const void *memory,
			       tsr_window_memory_t **piece_out)
{
	tsr_window_memory_t **at = &world->window_memory;
	while (*at && (*at)->memory != memory)
		at = &(*at)->next;
	if (!*at)
		return tsr_error(
			TSR_ERR_NOT_FOUND,
			"tsr_window_free was given %p, which tsr_window_alloc did not give "
			"to this rank, or which was freed already",
			memory);
	if (tsr_window_on(world, memory, (*at)->size_bytes))
		return tsr_error(TSR_ERR_ARGUMENT,
				 "tsr_window_free was given the memory of a window at %p; call "
				 "tsr_window_release first",
				 memory);
	*piece_out = *at;
	*at = (*at)->next;
	return TSR_OK;
}

tsr_status_t tsr_window_free(tsr_world_t *world, void *memory)
{
	tsr_window_memory_t *piece = NULL;
	if (!world)
		return tsr_window_no_world("tsr_window_free");
	if (!memory)
		return TSR_OK;
	pthread_mutex_lock(&world->allocator_lock);
	tsr_status_t status = take_piece(world, memory, &piece);
	pthread_mutex_unlock(&world->allocator_lock);
	if (status != TSR_OK)
		return status;
	status = world->backend->window->release(ordinal_of(world), piece->memory,
						 piece->size_bytes);
	free(piece);
	return status;
}

void tsr_window_memory_drop(tsr_world_t *world)
{
	while (world->window_memory) {
		tsr_window_memory_t *piece = world->window_memory;
		world->window_memory = piece->next;
		(void)world->backend->window->release(ordinal_of(world), piece->memory,
						      piece->size_bytes);
		free(piece);
	}
}

/* ------------------------------------------------------------------ pools of frameworks */

void *tsr_pool_alloc(ptrdiff_t size_bytes, int device, void *stream)
{
	const tsr_backend_t *backend;
	const char *why;
	void *memory = NULL;
	(void)stream;
	if (size_bytes <= 0 || tsr_backend_choose("cuda", &backend, &why) != TSR_OK ||
	    backend->window->alloc(device, (size_t)size_bytes, &memory) != TSR_OK)
		return NULL;
	return memory;
}

void tsr_pool_free(void *memory, ptrdiff_t size_bytes, int device, void *stream)
{
	const tsr_backend_t *backend;
	const char *why;
	(void)stream;
	if (memory && size_bytes > 0 && tsr_backend_choose("cuda", &backend, &why) == TSR_OK)
		(void)backend->window->release(device, memory, (size_t)size_bytes);
}
