/*
 * The program of `tessera sim`: `tessera bench` on a simulated machine. It is
 * linked with the simulating executor in place of the exploring one, and with
 * device calls that take time and have no values.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/perf/sim/machine.h"
#include "model/perf/sim/sim.h"
#include "tessera/program.h"
#include "tools/commands.h"
#include "tools/usage.h"

enum { MOST_ARGUMENTS = 128 };

/** What is left of the command line for `tessera bench`. */
typedef struct line {
	char *argv[MOST_ARGUMENTS];
	int argc;
	bool has_iterations, has_warmup, tunes, prints;
	const char *sets[MOST_ARGUMENTS]; /* values of --set */
	int set_count;
} line_t;

static const char help[] =
	"usage: tessera sim WORKLOAD [--machine M] [--set FIGURE=VALUE]... [OPTIONS]\n"
	"       tessera sim --figures [--machine M] [--set FIGURE=VALUE]...\n"
	"\n"
	"Says what a workload should cost on a machine, and prints what 'tessera bench'\n"
	"prints there. No device is needed: kernels run on this processor, and what they\n"
	"do takes as long as the machine's figures say. Nothing is computed.\n"
	"\n"
	"      --machine M       a kind of device, an x, and how many: h200x8 (default),\n"
	"                        h100x2, mi300x8, two-core-laptopx4; or a file that\n"
	"                        'tessera calibrate' wrote, and how many: box.json,8\n"
	"      --set FIGURE=VALUE\n"
	"                        what if? Changes a figure of the machine, such as\n"
	"                        link_pair=900GB/s\n"
	"      --figures         list the machine's figures\n"
	"\n"
	"All other options are those of 'tessera bench WORKLOAD', but for those that choose\n"
	"ranks, nodes, backend and placement, verify, or measure other libraries. There is\n"
	"one timed run by default. --tune searches by simulated times and remembers\n"
	"nothing.\n"
	"\n"
	"examples:\n"
	"  tessera sim gemm-all-scatter --machine h200x4 --shape 8192x8192x8192\n"
	"  tessera sim all-gather-gemm --machine mi300x8 --pattern all --set link_pair=100\n";

static const char *const refused[] = {"-n",         "--ranks", "--verify",   "--baseline",
				      "--nodes",    "--dump",  "--backend",  "--placement",
				      "--net-rate", "-p",      "--net-delay"};

/** Whether a word is this option; "--machine=VALUE" has its value with it. */
static bool is_option(const char *word, const char *option, const char **value_out)
{
	const size_t length = strlen(option);
	if (strncmp(word, option, length) != 0 || (word[length] && word[length] != '='))
		return false;
	*value_out = word[length] ? word + length + 1 : NULL;
	return true;
}

/** Takes the option at `*i`, if it is one of the simulation's. 0: it is not; -1: misused. */
static int take_option(int argc, char **argv, int *i, line_t *line)
{
	const char *option = argv[*i], *value = NULL;
	if (strcmp(option, "--figures") == 0) {
		line->prints = true;
		return 1;
	}
	for (size_t r = 0; r < sizeof refused / sizeof *refused; r++)
		if (is_option(option, refused[r], &value)) {
			(void)tsr_error(TSR_ERR_CONFIG,
					"%s: a simulation has none; --machine says what it runs on",
					refused[r]);
			return -1;
		}
	const bool machine = is_option(option, "--machine", &value),
		   set = is_option(option, "--set", &value);
	if (!machine && !set)
		return 0;
	if (!value && *i + 1 == argc) {
		(void)tsr_error(TSR_ERR_CONFIG, "%s needs a value", option);
		return -1;
	}
	value = value ? value : argv[++*i];
	if (machine)
		return sim_machine_find(value, &sim_machine) == TSR_OK ? 1 : -1;
	/* figures are set when the machine is known, wherever it stands */
	if (line->set_count < MOST_ARGUMENTS)
		line->sets[line->set_count++] = value;
	return 1;
}

static bool read_line(int argc, char **argv, line_t *line)
{
	const char *unused;
	for (int i = 1; i < argc; i++) {
		const int taken = take_option(argc, argv, &i, line);
		if (taken < 0)
			return false;
		if (taken)
			continue;
		if (line->argc + 12 > MOST_ARGUMENTS) {
			(void)tsr_error(TSR_ERR_CONFIG, "too many arguments");
			return false;
		}
		line->has_iterations |= is_option(argv[i], "--iterations", &unused);
		line->has_warmup |=
			strncmp(argv[i], "-w", 2) == 0 || is_option(argv[i], "--warmup", &unused);
		line->tunes = line->tunes || strcmp(argv[i], "--tune") == 0;
		line->argv[line->argc++] = argv[i];
	}
	for (int i = 0; i < line->set_count; i++)
		if (sim_machine_set(&sim_machine, line->sets[i]) != TSR_OK)
			return false;
	return true;
}

/** The world: one thread, as many ranks as devices, and heaps that are addresses only. */
static void set_environment(void)
{
	setenv("TESSERA_CHECK", "simulated", 1);
	setenv("TESSERA_BACKEND", "cpuemu", 1);
	setenv("TESSERA_PLACEMENT", "thread", 1);
	setenv("TESSERA_HEAP_SIZE", "64G", 0);
	unsetenv("TESSERA_RANK");
	unsetenv("TESSERA_SIZE");
	unsetenv("TESSERA_JOB");
	unsetenv("TESSERA_NODES");
}

/** Words that are added to a command line, which may be written to. */
static char command[] = "bench", of_ranks[] = "-n", untuned[] = "--no-tuned",
	    iterations[] = "--iterations", once[] = "1", warmup[] = "--warmup", none[] = "0";

static void add_defaults(line_t *line, char ranks[16])
{
	snprintf(ranks, 16, "%d", sim_machine.devices);
	line->argv[line->argc++] = of_ranks;
	line->argv[line->argc++] = ranks;
	if (!line->tunes)
		line->argv[line->argc++] = untuned;
	if (!line->has_iterations) {
		line->argv[line->argc++] = iterations;
		line->argv[line->argc++] = once;
	}
	if (!line->has_warmup) {
		line->argv[line->argc++] = warmup;
		line->argv[line->argc++] = none;
	}
	line->argv[line->argc] = NULL;
}

int main(int argc, char **argv)
{
	line_t line = {.argv = {command}, .argc = 1};
	char ranks[16];
	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		tool_print_help(help);
		return tsr_flush_output(argc < 2 ? TOOL_MISUSED : TOOL_OK);
	}
	if (sim_machine_find("h200x8", &sim_machine) != TSR_OK || !read_line(argc, argv, &line))
		return tool_misuse_last_error("sim");
	if (line.prints) {
		sim_machine_print(&sim_machine);
		return tsr_flush_output(TOOL_OK);
	}
	if (sim_machine_check(&sim_machine) != TSR_OK)
		return tool_misuse_last_error("sim");
	set_environment();
	add_defaults(&line, ranks);
	return tsr_flush_output(tsr_cmd_bench(line.argc, line.argv));
}
