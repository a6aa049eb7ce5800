/* Worlds for tests that launch thousands of kernels. */
#ifndef TESSERA_TESTS_EACH_WORLD_H
#define TESSERA_TESTS_EACH_WORLD_H

#include "world_test.h"

/** world_each; under valgrind one world of 3 in each placement. */
static inline void each_world(tsr_main_fn entry, const char *argument)
{
	if (!under_valgrind()) {
		world_each(entry, argument);
		return;
	}
	cr_expect(world_run(3, TSR_PLACE_PROCESS, entry, argument) == 0, "3 ranks as processes");
	cr_expect(world_run(3, TSR_PLACE_THREAD, entry, argument) == 0, "3 ranks as threads");
}

#endif
