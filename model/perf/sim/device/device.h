/* What the bodies of device calls include: their coop's simulation. */
#ifndef MODEL_PERF_SIM_DEVICE_H
#define MODEL_PERF_SIM_DEVICE_H

#include "cpuemu/dev/memory/explored.h"
#include "model/perf/sim/sim.h"

#endif
