/* Worlds that are meant to end: their exit code is never 0, so each rank says by itself that it saw what it should. */
#ifndef TESSERA_ENDED_WORLD_H
#define TESSERA_ENDED_WORLD_H

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "contract_test.h"

/** Long enough for all ranks to begin, as short as may be: a vendor's runtime takes seconds to start, and valgrind takes longer. */
static inline void short_deadline(void)
{
	const char *preload = getenv("LD_PRELOAD");
	bool watched = preload && strstr(preload, "vgpreload");
	setenv("TESSERA_DEADLINE", !world_has_threads() ? "6s" : watched ? "3s" : "700ms", 1);
}

/** Shared with the ranks, also where they are processes: how many of them saw what they should. */
static int *witnesses;

/** The last words of a rank's body. */
static inline int witness(void)
{
	__atomic_fetch_add(witnesses, 1, __ATOMIC_RELEASE); /* partner: the load in ended_world, after the ranks have ended */
	return 0;
}

/** Copies what the ranks have printed, which matters only where one of them saw something else. */
static inline void replay(int file, int err)
{
	char text[4096];
	for (ssize_t n; (n = read(file, text, sizeof text)) > 0;)
		if (write(err, text, (size_t)n) != n)
			return;
}

/** Runs a world: true where its exit code is not 0 and `expected` ranks saw what they should. */
static inline bool ended_world(int ranks, int expected, tsr_placement_t placement, tsr_main_fn entry, const char *argument)
{
	int printed = memfd_create("printed", MFD_CLOEXEC), err = dup(STDERR_FILENO);
	witnesses = (int *)mmap(NULL, sizeof *witnesses, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	dup2(printed, STDERR_FILENO);
	int code = world_start(ranks, placement, entry, argument);
	dup2(err, STDERR_FILENO);
	bool seen = code != 0 && __atomic_load_n(witnesses, __ATOMIC_ACQUIRE) == expected;
	lseek(printed, 0, SEEK_SET);
	if (!seen)
		replay(printed, err);
	close(err);
	close(printed);
	munmap(witnesses, sizeof *witnesses);
	return seen;
}

/** The same in both placements, where there are both. */
static inline void ended_both(int ranks, tsr_main_fn entry, const char *argument, const char *what)
{
#ifndef WORLD_THREADS_ONLY
	cr_expect(ended_world(ranks, ranks, TSR_PLACE_PROCESS, entry, argument), "%s: %d ranks as processes", what, ranks);
#endif
	if (world_has_threads())
		cr_expect(ended_world(ranks, ranks, TSR_PLACE_THREAD, entry, argument), "%s: %d ranks as threads", what, ranks);
}

#endif
