/*
 * workload NAME [--pattern P] [--PARAMETER VALUE]... [--runs R]: a workload
 * that is registered, as a program.
 */
#include "tessera/main.h"
#include "tools/bench/program.h"

TSR_MAIN(world, argc, argv)
{
	return bench_program(world, argc, argv);
}
