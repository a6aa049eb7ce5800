/* Windows of a world, for the heap that they are part of. */
#ifndef TESSERA_HEAP_WINDOW_H
#define TESSERA_HEAP_WINDOW_H

#include <stdbool.h>

#include "src/world/world.h"
#include "tessera/window.h"

typedef struct tsr_window {
	struct tsr_window *next;
	TSR_HEAP void *heap;
	void *memory; /* the program's */
	size_t size_bytes;
} tsr_window_t;

/** Whether a window begins at this address of my heap. */
bool tsr_window_is_at(tsr_world_t *world, const TSR_HEAP void *pointer);

/** The window that has bytes in common with this memory of the program's; null: none. */
const tsr_window_t *tsr_window_on(const tsr_world_t *world, const void *memory, size_t size_bytes);

/** The world ends: gives the program its memory back. Nobody uses it any more. */
void tsr_windows_drop(tsr_world_t *world);
/** Then frees what tsr_window_alloc gave. */
void tsr_window_memory_drop(tsr_world_t *world);

/* ---- what the files of windows share */

/** The sentences of a call without a world, and of one that another rank has failed. */
tsr_status_t tsr_window_no_world(const char *call);
tsr_status_t tsr_window_undone(const char *call, const char *arguments, int rank,
			       tsr_status_t status);

/**
 * Where peers have memory of their own mapping (tsr_window_ops_t.export_part):
 * every rank maps the windows of all others. Called by: collective, with the
 * window open on every rank. After an error some of them may be mapped here;
 * the backend's `close` undoes that. Ranks that fail in the last round need not
 * fail together: the caller compares.
 */
tsr_status_t tsr_window_share(tsr_world_t *world, const char *call, const char *arguments,
			      TSR_HEAP void *heap, size_t size_bytes);

#endif
