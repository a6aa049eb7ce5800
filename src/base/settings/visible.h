/*
 * CUDA_VISIBLE_DEVICES and similar variables: lists of the devices that a
 * vendor's runtime shows.
 */
#ifndef TESSERA_VISIBLE_H
#define TESSERA_VISIBLE_H

#include <stdbool.h>

enum { TSR_VISIBLE_ENTRY_BYTES = 64 };

/**
 * A runtime reads such a list up to the first entry that it does not know, and
 * ignores the rest silently. For a list that showed `count` devices, writes the
 * entry at which the runtime stopped, cut to fit. Returns false if the runtime
 * took all entries. A negative number ends a list on purpose; null is no list.
 * Any thread.
 */
bool tsr_visible_refused(const char *list, int count, char entry_out[TSR_VISIBLE_ENTRY_BYTES]);

#endif
