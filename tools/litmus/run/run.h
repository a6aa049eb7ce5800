/*
 * Litmus tests on a backend: the witnesses that run a test, where the others
 * reason about it.
 */
#ifndef TESSERA_TOOLS_LITMUS_RUN_RUN_H
#define TESSERA_TOOLS_LITMUS_RUN_RUN_H

#include "model/memory/witness.h"

extern const litmus_witness_t litmus_cpuemu, litmus_cuda, litmus_hip;

#endif
