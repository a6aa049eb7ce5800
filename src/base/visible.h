/*
 * CUDA_VISIBLE_DEVICES and its like: lists by which a vendor's runtime is told
 * which devices to show.
 */
#ifndef TESSERA_VISIBLE_H
#define TESSERA_VISIBLE_H

#include <stdbool.h>

enum { TSR_VISIBLE_ENTRY_BYTES = 64 };

/**
 * A runtime reads such a list up to the first entry that it does not know, and
 * says nothing of the rest. Of one that showed `count` devices: the entry at
 * which it stopped, cut to fit; false where it took all. A negative number ends
 * a list on purpose, and null is no list. Any thread.
 */
bool tsr_visible_refused(const char *list, int count, char entry_out[TSR_VISIBLE_ENTRY_BYTES]);

#endif
