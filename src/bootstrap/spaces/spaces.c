/* Namespaces of the network, one for each emulated node. */
#include "src/bootstrap/spaces/spaces.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/os/descriptor.h"
#include "src/bootstrap/wire/message.h"

static int open_mine(void)
{
	return tsr_fd_keep(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
}

static bool enter(int fd)
{
	return setns(fd, CLONE_NEWNET) == 0;
}

/** Makes a namespace, in which the calling thread is then. */
static bool make_one(int *fd_out)
{
	if (unshare(CLONE_NEWNET) != 0)
		return false;
	*fd_out = open_mine();
	return *fd_out >= 0;
}

static bool connect_all(tsr_spaces_t *spaces)
{
	for (int n = 0; n < spaces->count; n++)
		if (!make_one(&spaces->node[n]))
			return false;
	if (!make_one(&spaces->bridge) || !tsr_cable_make_bridge())
		return false;
	for (int n = 0; n < spaces->count; n++)
		if (!enter(spaces->bridge) || !tsr_cable_lay(n, spaces->node[n]) ||
		    !enter(spaces->node[n]) || !tsr_cable_connect(n))
			return false;
	for (int n = 0; n < spaces->count; n++)
		if (!enter(spaces->node[n]) || !tsr_cable_await())
			return false;
	return true;
}

/**
 * Whether a rank can live on a node: a process tries, because who has entered a
 * namespace of mounts cannot come back. False: errno.
 */
static bool can_live(const tsr_spaces_t *spaces)
{
	int status;
	const pid_t pid = fork();
	if (pid == 0)
		_exit(tsr_spaces_live(spaces, 0) ? 0 : errno);
	if (pid < 0)
		return false;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
	return errno == 0;
}

bool tsr_spaces_make(tsr_spaces_t *spaces, int nodes, char *why, size_t size)
{
	*spaces = (tsr_spaces_t){.count = nodes, .bridge = -1, .home = open_mine()};
	for (int n = 0; n < TSR_MAX_RANKS; n++)
		spaces->node[n] = -1;
	bool made = spaces->home >= 0 && connect_all(spaces);
	int error = errno;
	/* whoever came out of it can go back */
	if (spaces->home >= 0 && !enter(spaces->home))
		made = false;
	const bool connected = made;
	if (connected && !can_live(spaces)) {
		error = errno;
		made = false;
	}
	if (made)
		return true;
	(void)snprintf(why, size, "%s%s",
		       connected ? "a rank cannot have a /sys of its own (in a chroot it cannot): "
				 : "",
		       tsr_message_fault(error));
	tsr_spaces_end(spaces);
	return false;
}

void tsr_spaces_end(tsr_spaces_t *spaces)
{
	tsr_fd_close(spaces->node, TSR_MAX_RANKS);
	tsr_fd_close(&spaces->bridge, 1);
	tsr_fd_close(&spaces->home, 1);
	spaces->home = spaces->bridge = -1;
	for (int n = 0; n < TSR_MAX_RANKS; n++)
		spaces->node[n] = -1;
}

bool tsr_spaces_visit(const tsr_spaces_t *spaces, int node)
{
	return spaces == NULL || enter(node < 0 ? spaces->home : spaces->node[node]);
}

bool tsr_spaces_live(const tsr_spaces_t *spaces, int node)
{
	return enter(spaces->node[node]) && unshare(CLONE_NEWNS) == 0 &&
	       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
}
