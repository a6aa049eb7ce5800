/*
 * Worlds that are meant to end: their exit code is never 0, so each rank says
 * by itself that it saw what it should.
 */
#ifndef TESSERA_ENDED_WORLD_H
#define TESSERA_ENDED_WORLD_H

#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "contract_test.h"
#include "patience.h"

/** What short_deadline has set; 0: nothing. */
static uint64_t ending_deadline_ns;

static inline void set_ending_deadline(uint64_t ns)
{
	char text[32];
	snprintf(text, sizeof text, "%llums", (unsigned long long)(ns / 1000000u));
	setenv("TESSERA_DEADLINE", text, 1);
	ending_deadline_ns = ns;
}

/**
 * For waits that are meant to expire: as short as may be, and yet long enough
 * for all ranks to begin. A vendor's runtime takes seconds to start, and
 * valgrind takes longer. Where it was too short, ended_world makes it longer.
 */
static inline void short_deadline(void)
{
	set_ending_deadline(!world_has_threads() ? 6000000000u
			    : under_valgrind()   ? 2000000000u
						 : 400000000u);
}

/** Shared with the ranks, also where they are processes: how many of them saw what they should. */
static int *witnesses;

/** The last words of a rank's body. */
static inline int witness(void)
{
	/* partner: the load in ended_world, after the ranks have ended */
	__atomic_fetch_add(witnesses, 1, __ATOMIC_RELEASE);
	return 0;
}

/**
 * Copies what the ranks have printed, which matters only where one of them saw
 * something else. True: one of them came late.
 */
static inline bool replay(int file, int err)
{
	static char text[1 << 16];
	ssize_t n = pread(file, text, sizeof text - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	if (n > 0 && write(err, text, (size_t)n) != n)
		return false;
	return tells_of_lateness(text, NULL);
}

/** `late_out`: a rank did not come in time. */
static inline bool ended_world_once(int ranks, int expected, tsr_placement_t placement,
				    tsr_main_fn entry, const char *argument, bool *late_out)
{
	int printed = memfd_create("printed", MFD_CLOEXEC), err = dup(STDERR_FILENO);
	witnesses = (int *)mmap(NULL, sizeof *witnesses, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	dup2(printed, STDERR_FILENO);
	int code = world_start(ranks, placement, entry, argument);
	dup2(err, STDERR_FILENO);
	bool seen = code != 0 && __atomic_load_n(witnesses, __ATOMIC_ACQUIRE) == expected;
	*late_out = !seen && replay(printed, err);
	close(err);
	close(printed);
	munmap(witnesses, sizeof *witnesses);
	return seen;
}

/** Runs a world: true where its exit code is not 0 and `expected` ranks saw what they should. */
static inline bool ended_world(int ranks, int expected, tsr_placement_t placement,
			       tsr_main_fn entry, const char *argument)
{
	for (;;) {
		bool late;
		if (ended_world_once(ranks, expected, placement, entry, argument, &late))
			return true;
		if (!late || !ending_deadline_ns || !be_more_patient(&ending_deadline_ns))
			return false;
		set_ending_deadline(ending_deadline_ns);
	}
}

/** The same in both placements, where there are both. */
static inline void ended_both(int ranks, tsr_main_fn entry, const char *argument, const char *what)
{
#ifndef WORLD_THREADS_ONLY
	cr_expect(ended_world(ranks, ranks, TSR_PLACE_PROCESS, entry, argument),
		  "%s: %d ranks as processes", what, ranks);
#endif
	if (world_has_threads())
		cr_expect(ended_world(ranks, ranks, TSR_PLACE_THREAD, entry, argument),
			  "%s: %d ranks as threads", what, ranks);
}

#endif
