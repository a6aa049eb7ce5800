/* Worlds for tests that launch thousands of kernels. */
#ifndef TESSERA_TESTS_EACH_WORLD_H
#define TESSERA_TESTS_EACH_WORLD_H

#include "world_test.h"

/**
 * world_each; under valgrind, which is some 50 times slower and looks at memory, not at schedules, one world of 3 in each
 * placement. Valgrind tells its clients by preloading its own allocator.
 */
static inline void each_world(tsr_main_fn entry, const char *argument)
{
	const char *preloaded = getenv("LD_PRELOAD");
	if (!preloaded || !strstr(preloaded, "vgpreload")) {
		world_each(entry, argument);
		return;
	}
	cr_expect(world_run(3, TSR_PLACE_PROCESS, entry, argument) == 0, "3 ranks as processes");
	cr_expect(world_run(3, TSR_PLACE_THREAD, entry, argument) == 0, "3 ranks as threads");
}

#endif
