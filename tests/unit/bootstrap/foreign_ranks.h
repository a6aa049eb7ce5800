/*
 * Ranks that a command of the shell starts: each prints "[rank of size: sum]",
 * where the sum of all ranks shows that they are in one world.
 */
#ifndef TESSERA_FOREIGN_RANKS_H
#define TESSERA_FOREIGN_RANKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/**
 * Runs a command of the shell, this program as $SELF; returns its exit code and
 * what it printed.
 */
static inline int run(const char *command, char *output, size_t size)
{
	char self[512] = "";
	cr_assert(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
	setenv("SELF", self, 1);
	FILE *pipe = popen(command, "r");
	cr_assert(pipe != NULL);
	const size_t length = fread(output, 1, size - 1, pipe);
	output[length] = '\0';
	const int status = pclose(pipe);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline void expect_world(const char *command, int size)
{
	char output[4096];
	const int code = run(command, output, sizeof output);
	cr_expect_eq(code, 0, "%s: exit code %d: %s", command, code, output);
	for (int r = 0; r < size; r++) {
		char line[64];
		snprintf(line, sizeof line, "[%d of %d: %d]", r, size, size * (size - 1) / 2);
		cr_expect(strstr(output, line) != NULL, "%s: no %s in: %s", command, line, output);
	}
}

#endif
