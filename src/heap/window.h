/* Windows of a world, for the heap that they are part of. */
#ifndef TESSERA_HEAP_WINDOW_H
#define TESSERA_HEAP_WINDOW_H

#include <stdbool.h>

#include "src/world/world.h"
#include "tessera/window.h"

/** Whether a window begins at this address of my heap. */
bool tsr_window_is_at(tsr_world_t *world, const TSR_HEAP void *pointer);

/** The world ends: gives the program its memory back. Nobody uses it any more. */
void tsr_windows_drop(tsr_world_t *world);

#endif
