#include "tools/input.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { PATIENCE_MS = 5000 };

/** Not the pipe of `| command` or `<(command)`, which has a writer and ends with it. */
static bool is_named_pipe(int fd)
{
	struct stat status;
	struct statfs system;
	return fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode) && fstatfs(fd, &system) == 0 &&
	       system.f_type != PIPEFS_MAGIC;
}

/** True: there is something to read, or the writer has gone. */
static bool await_writer(int fd)
{
	struct pollfd entry = {.fd = fd, .events = POLLIN};
	int ready;
	do
		ready = poll(&entry, 1, PATIENCE_MS);
	while (ready < 0 && errno == EINTR);
	if (ready == 0)
		errno = ENODATA;
	return ready > 0;
}

/** Moves what is written to a pipe into `memory`. */
static bool take_all(int fd, int memory)
{
	char bytes[1 << 16];
	ssize_t got;
	do {
		if (!await_writer(fd))
			return false;
		got = read(fd, bytes, sizeof bytes);
		if (got > 0 && write(memory, bytes, (size_t)got) != got)
			return false;
	} while (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN)));
	return got == 0 && lseek(memory, 0, SEEK_SET) == 0;
}

int tool_open_input(const char *path)
{
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (!is_named_pipe(fd))
		return fcntl(fd, F_SETFL, 0) == 0 ? fd : -1;
	int memory = memfd_create("tessera-input", MFD_CLOEXEC);
	if (memory >= 0 && !take_all(fd, memory)) {
		const int error = errno;
		close(memory);
		errno = error;
		memory = -1;
	}
	const int error = errno;
	close(fd);
	errno = error;
	return memory;
}

FILE *tool_fopen_input(const char *path)
{
	const int fd = tool_open_input(path);
	return fd >= 0 ? fdopen(fd, "r") : NULL;
}
