/* What the bodies of device calls include: their coop's simulation. */
#ifndef MODEL_PERF_SIM_DEVICE_H
#define MODEL_PERF_SIM_DEVICE_H

#include "cpuemu/dev/memory/explored.h"
#include "model/perf/sim/sim.h"

/** Whether a view is of integers: kernels act on what they find in it. */
bool sim_is_table(tsr_view_t view);

#endif
