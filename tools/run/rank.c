/* A rank's process before it executes the program: where it prints, and its debugger. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/run/run.h"
#include "tools/usage.h"

/* The words of the command, behind "run": */
enum { MARK = 1, PLAN, FDS, FOLDER, PROGRAM };

/** How a rank is started, a letter for each. */
enum plan { PLAIN = '-', BATCH = 'b', TERMINAL = 't', BESIDE = 's' };

static const char batch_script[] = "set pagination off\n"
				   "set confirm off\n"
				   "set print inferior-events off\n"
				   "set print thread-events off\n"
				   "handle SIGPIPE nostop noprint pass\n"
				   "run\n"
				   "if $_isvoid($_exitcode) && $_isvoid($_exitsignal)\n"
				   "  thread apply all backtrace\n"
				   "  quit 128 + $_siginfo.si_signo\n"
				   "end\n";

/* ------------------------------------------------------------------ made by the command */

/** Whether the debugger of the one rank that has one gets the terminal. */
static bool has_terminal(const run_wishes_t *wishes)
{
	return wishes->debug_count == 1 && !wishes->tag && !wishes->folder &&
	       isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/** A letter a rank. */
static char *make_plan(const run_wishes_t *wishes)
{
	char *plan = calloc(TSR_MAX_RANKS + 1, 1);
	const bool terminal = has_terminal(wishes);

	for (int rank = 0; plan && rank < wishes->ranks; rank++) {
		if (wishes->debug[rank])
			plan[rank] = terminal ? TERMINAL : BATCH;
		else
			plan[rank] = terminal ? BESIDE : PLAIN;
	}
	return plan;
}

/** The descriptors as a list; "-": none. */
static char *make_list(const run_wishes_t *wishes, const run_collector_t *collector)
{
	const size_t room = 2 * TSR_MAX_RANKS * 12;
	char *list = calloc(room, 1);
	size_t used = 0;

	if (list && collector->process == 0)
		list[0] = '-';
	for (int i = 0; list && collector->process != 0 && i < 2 * wishes->ranks; i++)
		used += (size_t)snprintf(list + used, room - used, "%s%d", i ? "," : "",
					 collector->fds[i]);
	return list;
}

char **run_rank_command(const run_wishes_t *wishes, const run_collector_t *collector,
			char **program)
{
	static char self[] = "/proc/self/exe", run[] = "run", mark[] = "--as-rank";
	const bool files = wishes->folder && !wishes->tag;
	int words = 0;

	while (program[words])
		words++;
	char **command = calloc((size_t)words + PROGRAM + 2, sizeof *command);
	if (!command)
		return NULL;
	command[0] = self;
	command[1] = run;
	command[1 + MARK] = mark;
	command[1 + PLAN] = make_plan(wishes);
	command[1 + FDS] = make_list(wishes, collector);
	command[1 + FOLDER] = strdup(files ? wishes->folder : "-");
	if (!command[1 + PLAN] || !command[1 + FDS] || !command[1 + FOLDER]) {
		run_rank_command_free(command);
		return NULL;
	}
	memcpy(command + 1 + PROGRAM, program, (size_t)words * sizeof *program);
	if (wishes->debug_count > 0) /* who looks at a rank makes its peers wait */
		setenv("TESSERA_DEADLINE", "168h", 0);
	return command;
}

void run_rank_command_free(char **command)
{
	if (!command)
		return;
	free(command[1 + PLAN]);
	free(command[1 + FDS]);
	free(command[1 + FOLDER]);
	free(command);
}

void run_take_terminal(const run_wishes_t *wishes)
{
	if (!has_terminal(wishes))
		return;
	signal(SIGTTOU, SIG_IGN);
	tcsetpgrp(STDIN_FILENO, getpgrp());
}

/* ------------------------------------------------------------------ in the rank */

static int fail(int rank, const char *what)
{
	fprintf(stderr, "tessera run: rank %d: %s: %s\n", rank, what, strerror(errno));
	return TOOL_FAILED;
}

/** Its own two descriptors become output and errors; those of all others are closed. */
static void take_descriptors(char *list, int rank)
{
	char *rest = NULL;
	int index = 0;

	for (char *text = strtok_r(list, ",", &rest); text; text = strtok_r(NULL, ",", &rest)) {
		const int fd = atoi(text);
		if (index / 2 == rank)
			dup2(fd, index % 2 ? STDERR_FILENO : STDOUT_FILENO);
		close(fd);
		index++;
	}
}

/** Output and errors go to one file, in the order in which they are written. */
static bool open_file(const char *folder, int rank)
{
	char name[PATH_MAX];

	run_file_name(folder, rank, name, sizeof name);
	const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
	if (file < 0)
		return false;
	dup2(file, STDOUT_FILENO);
	dup2(file, STDERR_FILENO);
	close(file);
	return true;
}

/** The rank's debugger reads the terminal, from the group of ranks, which gets Ctrl-C too. */
static void get_terminal(void)
{
	const int terminal = open("/dev/tty", O_RDWR);

	if (terminal < 0)
		return;
	dup2(terminal, STDIN_FILENO);
	if (terminal > STDERR_FILENO)
		close(terminal);
	signal(SIGTTOU, SIG_IGN); /* or taking it would stop this process */
	tcsetpgrp(STDIN_FILENO, getpgrp());
}

/** Executes the debugger: with the terminal, or to print where a signal has ended the rank. */
static void execute_debugger(char **program, bool batch)
{
	static const char *const words[] = {"gdb", "-q", "-nx", "-batch", "-return-child-result"};
	const int script = batch ? memfd_create("tessera-gdb", 0) : -1;
	char file[64], gdb[5][24], flag[] = "-x", arguments[] = "--args";
	char *command[4096] = {NULL};
	int count = 0;

	for (int i = 0; i < (batch ? 5 : 2); i++) {
		snprintf(gdb[i], sizeof gdb[i], "%s", words[i]);
		command[count++] = gdb[i];
	}
	if (script >= 0) {
		(void)!write(script, batch_script, sizeof batch_script - 1);
		snprintf(file, sizeof file, "/proc/self/fd/%d", script);
		command[count++] = flag;
		command[count++] = file;
	}
	command[count++] = arguments;
	for (int i = 0; program[i] && count < 4095; i++)
		command[count++] = program[i];
	execvp(command[0], command);
}

int run_as_rank(int argc, char **argv)
{
	const char *number = getenv("TESSERA_RANK");
	const int rank = number ? atoi(number) : -1;

	if (argc <= PROGRAM || rank < 0 || rank >= (int)strlen(argv[PLAN]))
		return tool_misuse("run", "--as-rank is what 'tessera run' tells its ranks");
	const enum plan plan = (enum plan)argv[PLAN][rank];
	if (strcmp(argv[FDS], "-") != 0)
		take_descriptors(argv[FDS], rank);
	if (strcmp(argv[FOLDER], "-") != 0 && !open_file(argv[FOLDER], rank))
		return fail(rank, "cannot write its file of output");
	if (plan == BESIDE) /* Ctrl-C is the debugger's */
		signal(SIGINT, SIG_IGN);
	if (plan == TERMINAL)
		get_terminal();
	if (plan == TERMINAL || plan == BATCH)
		execute_debugger(argv + PROGRAM, plan == BATCH);
	else
		execvp(argv[PROGRAM], argv + PROGRAM);
	return fail(rank, "cannot execute the program");
}
