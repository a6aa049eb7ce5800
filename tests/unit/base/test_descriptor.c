/* Descriptors of the library: above the standard ones; and waits that signals do not end. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"

#define MS 1000000u

/**
 * In a process of its own, whose standard descriptors are closed. Returns 0, or
 * the line that failed.
 */
static int in_a_closed_process(int (*body)(void))
{
	const pid_t pid = fork();
	if (pid == 0) {
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		_exit(body());
	}
	int status = 0;
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

#define NEED(cond_)                      \
	do {                             \
		if (!(cond_))            \
			return __LINE__; \
	} while (0)

static int make_some(void)
{
	int pipes[2];
	NEED(tsr_fd_pipe(pipes, O_NONBLOCK) == 0 && pipes[0] > 2 && pipes[1] > 2);
	NEED(write(pipes[1], "x", 1) == 1);
	char byte = 0;
	NEED(tsr_fd_read(pipes[0], &byte, 1) == 1 && byte == 'x');
	NEED(tsr_fd_read(pipes[0], &byte, 1) == -1 && errno == EAGAIN);
	const int plain = open("/dev/null", O_RDONLY);
	NEED(plain == 0);
	const int kept = tsr_fd_keep(plain), copy = tsr_fd_copy(kept);
	NEED(kept > 2 && copy > 2 && (fcntl(kept, F_GETFD) & FD_CLOEXEC) != 0 &&
	     (fcntl(copy, F_GETFD) & FD_CLOEXEC) != 0);
	for (int fd = 0; fd < 3; fd++)
		NEED(fcntl(fd, F_GETFD) == -1 && errno == EBADF);
	errno = ENFILE;
	NEED(tsr_fd_keep(-1) == -1 && errno == ENFILE);
	tsr_fd_close((const int[]){kept, -1, copy}, 3);
	NEED(errno == ENFILE && fcntl(kept, F_GETFD) == -1 && fcntl(copy, F_GETFD) == -1);
	return 0;
}

Test(descriptor, are_above_the_standard_ones)
{
	cr_expect_eq(in_a_closed_process(make_some), 0, "line %d", in_a_closed_process(make_some));
}

static void count_up(int number)
{
	(void)number;
}

/** A signal every millisecond, whose handler asks for no restart. */
static void begin_ticking(void)
{
	const struct sigaction action = {.sa_handler = count_up};
	const struct itimerval often = {{0, 1000}, {0, 1000}};
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

static int wait_among_signals(void)
{
	int pipes[2];
	char byte;
	NEED(tsr_fd_pipe(pipes, 0) == 0);
	begin_ticking();
	const uint64_t begin_ns = tsr_now_ns();
	struct pollfd entry = {.fd = pipes[0], .events = POLLIN};
	NEED(tsr_fd_poll(&entry, 1, begin_ns + 30 * MS) == 0);
	NEED(tsr_now_ns() >= begin_ns + 30 * MS);
	tsr_sleep_until(begin_ns + 60 * MS);
	NEED(tsr_now_ns() >= begin_ns + 60 * MS);
	if (fork() == 0) {
		tsr_sleep_until(begin_ns + 90 * MS);
		_exit(write(pipes[1], "x", 1) != 1);
	}
	NEED(tsr_fd_read(pipes[0], &byte, 1) == 1);
	NEED(tsr_fd_poll(&entry, 1, 0) == 0); /* a time that has passed looks once */
	return 0;
}

/** A pipe that is full, until somebody reads. */
static int write_among_signals(void)
{
	enum { FULL = 1 << 16 };
	static char bytes[FULL];
	int pipes[2];
	NEED(tsr_fd_pipe(pipes, 0) == 0 && fcntl(pipes[1], F_SETPIPE_SZ, FULL) == FULL);
	NEED(tsr_fd_write(pipes[1], bytes, FULL) == FULL);
	begin_ticking();
	const uint64_t begin_ns = tsr_now_ns();
	if (fork() == 0) {
		tsr_sleep_until(begin_ns + 30 * MS);
		_exit(read(pipes[0], bytes, FULL) != FULL);
	}
	NEED(tsr_fd_write(pipes[1], "x", 1) == 1 && tsr_now_ns() >= begin_ns + 30 * MS);
	return 0;
}

Test(descriptor, signals_end_no_wait)
{
	const int line = in_a_closed_process(wait_among_signals);
	cr_expect_eq(line, 0, "line %d", line);
	const int written = in_a_closed_process(write_among_signals);
	cr_expect_eq(written, 0, "line %d", written);
}

/** In a process whose files may have 8192 bytes. */
static int resize_some(void)
{
	const struct rlimit limit = {.rlim_cur = 8192, .rlim_max = 8192};
	const int fd = tsr_fd_keep(memfd_create("test", MFD_CLOEXEC));
	NEED(fd > 2 && tsr_fd_resize(fd, 1 << 20) == 0);
	NEED(setrlimit(RLIMIT_FSIZE, &limit) == 0 && tsr_fd_size_limit() == 8192);
	NEED(tsr_fd_resize(fd, 8192) == 0 && lseek(fd, 0, SEEK_END) == 8192);
	errno = 0;
	NEED(tsr_fd_resize(fd, 8193) == -1 && errno == EFBIG);
	return 0;
}

Test(descriptor, beyond_the_limit_of_files_is_an_error_and_no_signal)
{
	const int line = in_a_closed_process(resize_some);
	cr_assert_eq(line, 0, "line %d", line);
}
