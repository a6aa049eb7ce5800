/* The `tessera` command: finds the command that is meant and hands over. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tessera/tessera.h"
#include "tools/commands.h"
#include "tools/usage.h"

typedef struct command {
	const char *name, *summary;
	int (*run)(int argc, char **argv);
} command_t;

static const command_t commands[] = {
	{"run", "start a program as a world of ranks", tsr_cmd_run},
	{"bench", "run a workload in its patterns, verify it and time it", tsr_cmd_bench},
	{"sim", "say what a workload should cost on a machine that need not be there", tsr_cmd_sim},
	{"calibrate", "measure what this machine can do, for sim", tsr_cmd_calibrate},
	{"perf", "measure puts, loads, stores, atomics, signals and collectives", tsr_cmd_perf},
	{"litmus", "say which outcomes the memory model allows a litmus test", tsr_cmd_litmus},
	{"check", "explore schedules of a program, and say which go wrong and why", tsr_cmd_check},
	{"workload", "run a workload as a program, under run or check", tsr_cmd_workload},
	{"info", "show backends, devices, kernels and settings", tsr_cmd_info},
	{"cc", "compile programs and kernels for several backends into one program", tsr_cmd_cc},
};

enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static void print_help(void)
{
	printf("tessera: communication between GPUs that share a symmetric heap, tile by tile\n\n"
	       "usage: tessera COMMAND [OPTIONS] [ARGUMENTS]\n"
	       "       tessera COMMAND --help\n"
	       "       tessera --version\n\n"
	       "commands:\n");
	for (int i = 0; i < COMMAND_COUNT; i++)
		printf("  %-9s %s\n", commands[i].name, commands[i].summary);
	printf("\nExit code: 0 done and right; 1 failed; 2 misused.\n"
	       "'tessera info settings' lists the settings.\n");
}

static const command_t *find_command(const char *name)
{
	for (int i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	}
	return NULL;
}

static int unknown_command(const char *name)
{
	const char *names[COMMAND_COUNT + 1] = {NULL};

	for (int i = 0; i < COMMAND_COUNT; i++)
		names[i] = commands[i].name;
	const char *near = tsr_nearest_name(name, names);
	/* tsr_error makes one line of it, whatever the name is. */
	(void)tsr_error(TSR_ERR_ARGUMENT, "unknown %s '%s'%s%s%s",
			name[0] == '-' ? "option" : "command", name, near ? "; did you mean '" : "",
			near ? near : "", near ? "'?" : "");
	fprintf(stderr, "tessera: %s ('tessera --help' lists what there is)\n", tsr_last_error());
	return TOOL_MISUSED;
}

/**
 * Fills the places of standard descriptors that are closed, or the first file
 * that a command opens would take one, and what is printed would go into it.
 * Each is filled the wrong way round, so that reading and writing fail as if it
 * were closed.
 */
static void fill_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
			(void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static int run_command(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	fill_standard_descriptors();
	if (argc < 2) {
		fprintf(stderr, "tessera: which command? ('tessera --help' lists what there is)\n");
		return TOOL_MISUSED;
	}
	if (strcmp(name, "--version") == 0) {
		printf("tessera %s\n", tsr_version_text());
		return TOOL_OK;
	}
	bool help =
		strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0;
	if (help && argc < 3) {
		print_help();
		return TOOL_OK;
	}
	const command_t *command = find_command(help ? argv[2] : name);
	if (!command)
		return unknown_command(help ? argv[2] : name);
	if (help) {
		char ask[] = "--help";
		char *arguments[] = {argv[2], ask, NULL};
		return command->run(2, arguments);
	}
	return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	return tsr_flush_output(run_command(argc, argv));
}
