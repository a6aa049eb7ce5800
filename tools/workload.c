/* `tessera workload`: a workload as a program, started as any other by `tessera run` and `tessera check`. */
#include <stdio.h>
#include <string.h>

#include "tessera/main.h"
#include "tools/bench/program.h"
#include "tools/commands.h"
#include "tools/usage.h"

static const char help[] = "usage: tessera workload NAME [--pattern P] [--PARAMETER VALUE]... [--runs R]\n\n"
			   "A workload as a program: runs it R times (2), with nothing of 'tessera bench' around it, and compares "
			   "every element of each run.\n"
			   "'tessera run -n 4 tessera workload NAME' starts it, and 'tessera check -n 2 NAME' explores it. "
			   "'tessera bench --list' has names,\n"
			   "patterns and parameters.\n";

int tsr_cmd_workload(int argc, char **argv)
{
	if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		(void)fputs(help, stdout);
		return TOOL_OK;
	}
	if (argc < 2)
		return tool_misuse("workload", "which workload? 'tessera bench --list' has their names");
	return tsr_main(argc, argv, bench_program);
}
