/* `tessera bench`: picks the workload. */
#include <stdio.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/commands.h"
#include "tools/usage.h"

static void print_help(void)
{
	const workload_t *workload;
	tool_help_t help;
	tool_help_begin(&help);
	tool_help_add(&help,
		      "usage: tessera bench WORKLOAD [OPTIONS]\n"
		      "       tessera bench --list\n\n"
		      "Runs a workload in its patterns, verifies the results, and measures the "
		      "time.\n\nworkloads:\n");
	for (int i = 0; (workload = workload_at(i)) != NULL; i++)
		tool_help_add(&help, "  %-22s %s\n", workload->name, workload->summary);
	tool_help_add(&help,
		      "\n'tessera bench WORKLOAD --help' lists the options of one workload,\n"
		      "'tessera bench --list' the patterns and parameters of all.\n");
	tool_help_end(&help);
}

int tsr_cmd_bench(int argc, char **argv)
{
	const workload_t *workload;
	if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		print_help();
		return TOOL_OK;
	}
	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		bench_list();
		return TOOL_OK;
	}
	if (argc < 2 || argv[1][0] == '-')
		return tool_misuse("bench",
				   "which workload? Name it before its options, such as %s -n 8",
				   workload_at(0)->name);
	if (workload_find(argv[1], &workload) != TSR_OK)
		return tool_misuse_last_error("bench");
	return bench_workload(workload, argc - 1, argv + 1);
}
