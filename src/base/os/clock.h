/* The monotonic clock, in nanoseconds. */
#ifndef TESSERA_BASE_CLOCK_H
#define TESSERA_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t tsr_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#define TSR_LONGEST_LOOK_NS 1000000000u

/** How long a polling waiter has waited. Zero before the first look. */
typedef struct tsr_stopwatch {
	uint64_t seen_ns, passed_ns;
} tsr_stopwatch_t;

/**
 * Returns the time since the first look, at time `now`. Between two looks at
 * most TSR_LONGEST_LOOK_NS count. So a process that was stopped (by Ctrl-Z or a
 * debugger) and continues has not waited meanwhile, and no deadline expires
 * because of the stop.
 */
static inline uint64_t tsr_stopwatch_look(tsr_stopwatch_t *watch, uint64_t now)
{
	const uint64_t gap = watch->seen_ns == 0 ? 0 : now - watch->seen_ns;
	watch->seen_ns = now;
	watch->passed_ns += gap < TSR_LONGEST_LOOK_NS ? gap : TSR_LONGEST_LOOK_NS;
	return watch->passed_ns;
}

#endif
