/* `tessera bench --list`: what there is to run. */
#include <stdio.h>

#include "kernels/lines.h"
#include "tools/bench/bench.h"

static void list_params(const workload_t *workload)
{
	for (const workload_param_t *param = workload->params; param->name; param++) {
		char option[BENCH_VALUE_TEXT];
		(void)snprintf(option, sizeof option, "--%s %s", param->name, param->letters);
		(void)printf("    %-22s %s%s%s%s%s\n", option, param->help,
			     param->preset ? " (default " : "", param->preset ? param->preset : "",
			     param->preset ? ")" : "",
			     param->stage > 0 ? "; searched by --tune" : "");
	}
}

static void list_patterns(const workload_t *workload)
{
	const char *pattern;
	(void)printf("  patterns:%43s%19s\n", "lines of device code", "of communication");
	for (int64_t p = 0; (pattern = workload->pattern(p)) != NULL; p++) {
		const device_lines_t lines = device_lines(workload, p);
		if (workload->kernel(p, 0))
			(void)printf("    %-28s%20d%19d\n", pattern, lines.code,
				     lines.communication);
		else /* it calls the library alone */
			(void)printf("    %-28s%20s%19s\n", pattern, "-", "-");
	}
}

static void list_cases(const char *head, const char *const *cases)
{
	(void)printf("  %s:\n", head);
	for (int c = 0; cases[c]; c++)
		(void)printf("    %s\n", cases[c]);
}

void bench_list(void)
{
	const workload_t *workload;
	for (int i = 0; (workload = workload_at(i)) != NULL; i++) {
		(void)printf("%s%s\n  %s (%s)\n", i > 0 ? "\n" : "", workload->name,
			     workload->summary, workload->source);
		list_patterns(workload);
		(void)printf("  parameters:\n");
		list_params(workload);
		list_cases("cases", workload->cases);
		if (workload->large_cases)
			list_cases("large cases", workload->large_cases);
	}
}
