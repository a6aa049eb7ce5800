/*
 * Tells tests that they run under valgrind. They do less then: it is some 50
 * times slower, and it checks memory, not schedules.
 */
#ifndef TESSERA_UNDER_VALGRIND_H
#define TESSERA_UNDER_VALGRIND_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/** valgrind preloads its allocator into its clients. */
static inline bool under_valgrind(void)
{
	const char *preloaded = getenv("LD_PRELOAD");
	return preloaded && strstr(preloaded, "vgpreload");
}

#endif
