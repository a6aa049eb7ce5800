#include "tools/cc/temp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/usage.h"

enum { TRIES = 500 }; /* a compiler that ends may still write for a moment: 5 s */

/** The folder holds files only. True: it is gone. */
static bool remove_folder(const char *path)
{
	DIR *folder = opendir(path);
	char file[sizeof(cc_temp_t) + 300];

	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlink(file);
	}
	if (folder)
		closedir(folder);
	return rmdir(path) == 0 || errno == ENOENT;
}

/** The keeper's life. It holds nothing of the command's that somebody might wait for. */
static void keep(const char *path, int lifeline)
{
	sigset_t all;
	char byte;
	const int nothing = open("/dev/null", O_RDWR);

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setpgid(0, 0);
	for (int fd = STDIN_FILENO; nothing >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(nothing, fd);
	while (read(lifeline, &byte, 1) < 0 && errno == EINTR)
		continue;
	kill(0, SIGTERM); /* compilers; it is blocked here */
	for (int i = 0; i < TRIES && !remove_folder(path); i++)
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	kill(0, SIGKILL);
}

static int fail(const char *what, const char *path)
{
	fprintf(stderr,
		"tessera cc: cannot make %s for the objects in %s: %s; set TMPDIR to a folder that "
		"can be written\n",
		what, path, strerror(errno));
	return TOOL_FAILED;
}

int cc_temp_make(cc_temp_t *temp)
{
	const char *folder = getenv("TMPDIR");
	int ends[2];

	if (!folder || strlen(folder) > sizeof temp->path - 24)
		folder = "/tmp";
	if (pipe2(ends, O_CLOEXEC) != 0)
		return fail("a pipe", folder);
	snprintf(temp->path, sizeof temp->path, "%s/tessera-cc-XXXXXX", folder);
	fflush(NULL);
	/* compilers write to the terminal from a group that is not the terminal's */
	signal(SIGTTOU, SIG_IGN);
	temp->keeper = mkdtemp(temp->path) ? fork() : -1;
	if (temp->keeper == 0) {
		close(ends[1]);
		keep(temp->path, ends[0]);
		_exit(0);
	}
	temp->lifeline = ends[1];
	close(ends[0]);
	if (temp->keeper > 0) {
		setpgid(temp->keeper, temp->keeper); /* also here: a compiler joins it at once */
		return TOOL_OK;
	}
	const int code = fail("a folder", folder);
	close(temp->lifeline);
	rmdir(temp->path);
	return code;
}

void cc_temp_remove(const cc_temp_t *temp)
{
	close(temp->lifeline);
	while (waitpid(temp->keeper, NULL, 0) < 0 && errno == EINTR)
		continue;
	remove_folder(temp->path); /* should the keeper have been killed */
}
