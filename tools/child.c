#include "tools/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

void tool_child_add(tool_child_t *child, const char *format, ...)
{
	va_list values;
	if (child->argc + 1 == TOOL_CHILD_MOST_WORDS)
		return;
	va_start(values, format);
	(void)vsnprintf(child->text[child->argc], TOOL_CHILD_WORD_BYTES, format, values);
	va_end(values);
	child->argv[child->argc] = child->text[child->argc];
	child->argv[++child->argc] = NULL;
}

/** Waits for its end, and ends it where it takes too long. Null: it ended well. */
static const char *wait_for(pid_t pid, int seconds)
{
	const struct timespec look = {.tv_nsec = 5 * 1000 * 1000};
	int how = 0;
	for (long i = 0; i < seconds * 200L; i++) {
		const pid_t ended = waitpid(pid, &how, WNOHANG);
		if (ended == pid)
			return WIFEXITED(how) && WEXITSTATUS(how) == 0 ? NULL : "it failed";
		if (ended < 0)
			return "it cannot be waited for";
		(void)nanosleep(&look, NULL);
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, &how, 0);
	return "it takes too long";
}

/** Null: it ran, and ended well. */
static const char *run(const char *path, char **argv, int errors, int seconds)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	if (posix_spawn_file_actions_init(&actions) != 0)
		return "no memory";
	(void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
	const int error = posix_spawn(&pid, path, &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return error == 0 ? wait_for(pid, seconds) : strerror(error);
}

/** The last line of what a child has said, or `otherwise`. */
static void read_last_line(int fd, const char *otherwise, char *out, size_t bytes)
{
	char text[4096];
	const off_t end = lseek(fd, 0, SEEK_END);
	const size_t most = sizeof text - 1;
	ssize_t length = pread(fd, text, most, end > (off_t)most ? end - (off_t)most : 0);
	while (length > 0 && text[length - 1] == '\n')
		length--;
	text[length > 0 ? length : 0] = '\0';
	const char *line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	(void)snprintf(out, bytes, "%s", *line ? line : otherwise);
}

json_t *tool_child_json(tool_child_t *child, const char *path, int seconds, char *why_out,
			size_t why_bytes)
{
	/* files without names, which the program inherits: nothing can be left of them */
	const int fd = memfd_create("tessera-child", 0), errors = memfd_create("tessera-errors", 0);
	const char *why = "no memory for its files";
	json_t *root = NULL;
	if (fd >= 0 && errors >= 0) {
		tool_child_add(child, "--json");
		tool_child_add(child, "/proc/self/fd/%d", fd);
		why = run(path, child->argv, errors, seconds);
	}
	if (!why) {
		root = lseek(fd, 0, SEEK_SET) == 0 ? json_loadfd(fd, 0, NULL) : NULL;
		why = "it wrote no JSON";
	}
	if (!root && why_out)
		read_last_line(errors, why, why_out, why_bytes);
	if (fd >= 0)
		(void)close(fd);
	if (errors >= 0)
		(void)close(errors);
	return root;
}
