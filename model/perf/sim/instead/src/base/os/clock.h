/*
 * In place of src/base/os/clock.h, for those files of the emulator that note
 * when something happens: the time of the simulated machine.
 */
#ifndef MODEL_PERF_SIM_CLOCK_H
#define MODEL_PERF_SIM_CLOCK_H

#include <stdint.h>

uint64_t sim_now_ns(void);

static inline uint64_t tsr_now_ns(void)
{
	return sim_now_ns();
}

#endif
