/* The emulated device's copy engine: a kernel whose arguments are one copy. */
#ifndef TESSERA_CPUEMU_ENGINE_H
#define TESSERA_CPUEMU_ENGINE_H

#include "backend.h"

/** One block. Arguments: a tsr_device_copy_t. */
extern const tsr_kernel_t tsr_cpu_engine;

#endif
