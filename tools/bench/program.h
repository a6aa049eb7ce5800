/* A workload as a program. */
#ifndef TESSERA_TOOLS_BENCH_PROGRAM_H
#define TESSERA_TOOLS_BENCH_PROGRAM_H

#include "tessera/tessera.h"

/**
 * The entry of a rank: argv[1] is the workload, the rest [--pattern P] [--PARAMETER VALUE]... [--runs R] (2). Returns the exit
 * code: 1 where an element is wrong, and said to be.
 */
int bench_program(tsr_world_t *world, int argc, char **argv);

#endif
