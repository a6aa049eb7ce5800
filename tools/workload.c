/*
 * `tessera workload`: a workload as a program, started as any other by `tessera
 * run` and `tessera check`.
 */
#include <stdio.h>
#include <string.h>

#include "tessera/main.h"
#include "tools/bench/program.h"
#include "tools/commands.h"
#include "tools/usage.h"

static const char help[] = "usage: tessera workload NAME [--pattern P|all] [--PARAMETER VALUE]... "
			   "[--runs R] [--in-flight F]\n\n"
			   "A workload as a program, with nothing of 'tessera bench' around it. R "
			   "times (2) it starts F runs (1), one behind "
			   "the other, and\n"
			   "compares every element of the outputs. 'all' runs every pattern, one "
			   "after the other. 'tessera run -n 4 tessera "
			   "workload NAME'\n"
			   "starts it, and 'tessera check -n 2 NAME' explores it. 'tessera bench "
			   "--list' has names, patterns and parameters.\n";

int tsr_cmd_workload(int argc, char **argv)
{
	if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		(void)fputs(help, stdout);
		return TOOL_OK;
	}
	if (argc < 2)
		return tool_misuse("workload",
				   "which workload? 'tessera bench --list' has their names");
	return tsr_main(argc, argv, bench_program);
}
