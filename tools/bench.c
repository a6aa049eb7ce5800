/* `tessera bench`: picks the workload. */
#include <stdio.h>
#include <string.h>

#include "tessera/tessera.h"
#include "tools/bench.h"
#include "tools/commands.h"
#include "tools/usage.h"

static const struct {
	const char *name, *what;
	int (*run)(int argc, char **argv);
} workloads[] = {
	{"gemm-all-scatter", "C = A * B, columns computed by each rank and sent to all, in six patterns", bench_gas},
};

enum { WORKLOADS = sizeof workloads / sizeof *workloads };

static void print_help(void)
{
	(void)printf("usage: tessera bench WORKLOAD [OPTIONS]\n\n"
		     "Runs a workload, proves its results right, and says what it cost.\n\nworkloads:\n");
	for (int i = 0; i < WORKLOADS; i++)
		(void)printf("  %-18s %s\n", workloads[i].name, workloads[i].what);
	(void)printf("\n'tessera bench WORKLOAD --help' lists its options.\n");
}

static int unknown(const char *text)
{
	const char *names[WORKLOADS + 1] = {NULL};
	for (int i = 0; i < WORKLOADS; i++)
		names[i] = workloads[i].name;
	const char *near = tsr_nearest_name(text, names);
	if (near)
		return tool_misuse("bench", "unknown workload '%s'; did you mean '%s'?", text, near);
	return tool_misuse("bench", "unknown workload '%s'", text);
}

int tsr_cmd_bench(int argc, char **argv)
{
	if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		print_help();
		return TOOL_OK;
	}
	if (argc < 2 || argv[1][0] == '-')
		return tool_misuse("bench", "which workload? Name it before its options, such as gemm-all-scatter -n 8");
	for (int i = 0; i < WORKLOADS; i++)
		if (strcmp(argv[1], workloads[i].name) == 0)
			return workloads[i].run(argc - 1, argv + 1);
	return unknown(argv[1]);
}
