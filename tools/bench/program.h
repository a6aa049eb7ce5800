/* A workload as a program. */
#ifndef TESSERA_TOOLS_BENCH_PROGRAM_H
#define TESSERA_TOOLS_BENCH_PROGRAM_H

#include "tessera/tessera.h"

/**
 * The entry of a rank: argv[1] is the workload, the rest [--pattern P|all]
 * [--PARAMETER VALUE]... [--runs R] (2) [--in-flight F] (1). Each of R runs of
 * a pattern is F runs, started one behind the other, and a verdict. Returns the
 * exit code: 1 if an element is wrong, and said to be.
 */
int bench_program(tsr_world_t *world, int argc, char **argv);

#endif
