/*
 * Tests under valgrind do less: it is some 50 times slower, and looks at
 * memory, not at schedules.
 */
#ifndef TESSERA_UNDER_VALGRIND_H
#define TESSERA_UNDER_VALGRIND_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/** It tells its clients by preloading its allocator. */
static inline bool under_valgrind(void)
{
	const char *preloaded = getenv("LD_PRELOAD");
	return preloaded && strstr(preloaded, "vgpreload");
}

#endif
