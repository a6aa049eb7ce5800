/*
 * Looking for devices in a child process, so that nothing of a vendor's runtime
 * is left in this one.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/gpu.h"
#include "src/base/error.h"
#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"

/* a machine of many GPUs that nobody keeps awake takes many seconds */
enum { LONGEST_LOOK_S = 120 };

/** What the child has to say. */
typedef struct look {
	tsr_status_t status;
	int count;
	char sentence[640];
} look_t;

static tsr_status_t read_look(int fd, const char *driver, const char *see, int *count_out)
{
	struct pollfd entry = {.fd = fd, .events = POLLIN};
	look_t look;
	if (tsr_fd_poll(&entry, 1, tsr_now_ns() + (uint64_t)LONGEST_LOOK_S * 1000000000u) == 0)
		return tsr_error(TSR_ERR_NO_DEVICE, "%s did not start within %d s: see %s", driver,
				 LONGEST_LOOK_S, see);
	if (tsr_fd_read(fd, &look, sizeof look) != (ssize_t)sizeof look)
		return tsr_error(TSR_ERR_NO_DEVICE,
				 "%s ended the process that looked for GPUs: see %s, or use "
				 "TESSERA_BACKEND=cpuemu",
				 driver, see);
	if (look.status != TSR_OK)
		return tsr_error(look.status, "%s", look.sentence);
	*count_out = look.count;
	return TSR_OK;
}

static void look_and_tell(tsr_status_t (*look)(const void *ctx, int *count_out), const void *ctx,
			  int fd)
{
	look_t seen = {.count = 0};
	seen.status = look(ctx, &seen.count);
	if (seen.status != TSR_OK)
		snprintf(seen.sentence, sizeof seen.sentence, "%s", tsr_last_error());
	_exit(write(fd, &seen, sizeof seen) == (ssize_t)sizeof seen ? 0 : 1);
}

tsr_status_t tsr_gpu_look_in_child(tsr_status_t (*look)(const void *ctx, int *count_out),
				   const void *ctx, const char *driver, const char *see,
				   int *count_out)
{
	int fds[2];
	if (tsr_fd_pipe(fds, 0) != 0)
		return tsr_error(TSR_ERR_SYSTEM,
				 "looking for GPUs needs a pipe: %s; raise the limit on open files",
				 strerror(errno));
	const pid_t child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		look_and_tell(look, ctx, fds[1]);
	}
	const int cause = errno;
	close(fds[1]);
	const tsr_status_t status =
		child < 0 ? tsr_error(TSR_ERR_SYSTEM,
				      "looking for GPUs needs a process: %s; end others",
				      strerror(cause))
			  : read_look(fds[0], driver, see, count_out);
	close(fds[0]);
	if (child > 0) {
		(void)kill(child, SIGKILL); /* it has told all it knows, or never will */
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	return status;
}
