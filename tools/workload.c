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

static const char help[] =
	"usage: tessera workload NAME [--pattern P|all] [--PARAMETER VALUE]...\n"
	"                        [--runs R] [--in-flight F]\n"
	"\n"
	"Runs a workload as a program, without the measurements of 'tessera bench'. It\n"
	"does R times (default 2): start F runs (default 1), one directly behind the\n"
	"other, and compare every element of the outputs. With '--pattern all' it does so\n"
	"for every pattern, one after the other.\n"
	"\n"
	"'tessera bench --list' lists names, patterns and parameters.\n"
	"\n"
	"examples:\n"
	"  tessera run -n 4 tessera workload gemm-all-scatter\n"
	"  tessera check -n 2 gemm-all-scatter --shape 32x32x16\n";

int tsr_cmd_workload(int argc, char **argv)
{
	if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		tool_print_help(help);
		return TOOL_OK;
	}
	if (argc < 2)
		return tool_misuse("workload",
				   "which workload? 'tessera bench --list' has their names");
	return tsr_main(argc, argv, bench_program);
}
