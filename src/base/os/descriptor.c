/* Descriptors above the standard ones, and waits that signals do not end. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"

enum { FIRST_OWN = STDERR_FILENO + 1, RETRY_NS = 1000000 };

int tsr_fd_copy(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, FIRST_OWN);
}

int tsr_fd_keep(int fd)
{
	if (fd < 0 || fd >= FIRST_OWN)
		return fd;
	const int moved = tsr_fd_copy(fd);
	tsr_fd_close(&fd, 1);
	return moved;
}

int tsr_fd_pipe(int fds_out[2], int flags)
{
	int fds[2];
	if (pipe2(fds, flags | O_CLOEXEC) != 0)
		return -1;
	for (int i = 0; i < 2; i++)
		fds[i] = tsr_fd_keep(fds[i]);
	if (fds[0] < 0 || fds[1] < 0) {
		tsr_fd_close(fds, 2);
		return -1;
	}
	fds_out[0] = fds[0];
	fds_out[1] = fds[1];
	return 0;
}

void tsr_fd_close(const int *fds, size_t count)
{
	const int error = errno;
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]); /* Linux has closed it, also where it says EINTR */
	errno = error;
}

static struct timespec as_timespec(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
				 .tv_nsec = (long)(ns % 1000000000u)};
}

int tsr_fd_poll(struct pollfd *entries, size_t count, uint64_t end_ns)
{
	for (;;) {
		const uint64_t now = tsr_now_ns();
		const struct timespec left = as_timespec(now < end_ns ? end_ns - now : 0);
		const int ready = ppoll(entries, (nfds_t)count, &left, NULL);
		if (ready >= 0)
			return ready;
		if (now >= end_ns)
			return 0;
		if (errno != EINTR)
			tsr_sleep_until(now + RETRY_NS);
	}
}

ssize_t tsr_fd_read(int fd, void *bytes_out, size_t size_bytes)
{
	ssize_t got;
	do
		got = read(fd, bytes_out, size_bytes);
	while (got < 0 && errno == EINTR);
	return got;
}

ssize_t tsr_fd_write(int fd, const void *bytes, size_t size_bytes)
{
	ssize_t put;
	do
		put = write(fd, bytes, size_bytes);
	while (put < 0 && errno == EINTR);
	return put;
}

size_t tsr_fd_size_limit(void)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < SIZE_MAX
		       ? (size_t)limit.rlim_cur
		       : SIZE_MAX;
}

int tsr_fd_resize(int fd, size_t size_bytes)
{
	int failed;
	if (size_bytes > tsr_fd_size_limit()) {
		errno = EFBIG;
		return -1;
	}
	do
		failed = ftruncate(fd, (off_t)size_bytes);
	while (failed != 0 && errno == EINTR);
	return failed;
}

void tsr_sleep_until(uint64_t end_ns)
{
	const struct timespec end = as_timespec(end_ns);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
		continue;
}
