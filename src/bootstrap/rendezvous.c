/* How processes of a job find each other: rank 0 opens a door that only this user's job knows, the others knock. */
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/base/text.h"
#include "src/bootstrap/control.h"

#define HELLO_MAGIC 0x74737221u /* "tsr!" */

typedef struct hello {
	uint32_t magic, abi;
	int32_t rank, size;
} hello_t;

/** Rank 0's answer; with TSR_OK comes the control segment. */
typedef struct verdict {
	int32_t status;
	char sentence[512];
} verdict_t;

/** An abstract address: it is no file, and it is gone when rank 0 closes it or ends. */
static socklen_t door_address(const tsr_boot_t *boot, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	const int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "%s", boot->name);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static bool is_same_user(int socket, uid_t *uid_out)
{
	struct ucred peer;
	socklen_t length = sizeof peer;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
		return false;
	*uid_out = peer.uid;
	return peer.uid == geteuid();
}

/* ------------------------------------------------------------------ rank 0 */

static tsr_status_t open_door(tsr_boot_t *boot)
{
	struct sockaddr_un address;
	const socklen_t length = door_address(boot, &address);
	boot->door_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (boot->door_fd >= 0 && bind(boot->door_fd, (struct sockaddr *)&address, length) == 0 &&
	    listen(boot->door_fd, 2 * TSR_MAX_RANKS) == 0)
		return TSR_OK;
	if (errno == EADDRINUSE)
		return tsr_error(TSR_ERR_CONFIG,
				 "another process is rank 0 of the job '%s' already: give each rank its own number and each job "
				 "its own name (TESSERA_JOB)",
				 boot->name);
	return tsr_error(TSR_ERR_SYSTEM, "cannot listen for the other ranks: %s", strerror(errno));
}

static tsr_status_t make_control(tsr_boot_t *boot)
{
	boot->control_fd = memfd_create("tessera-control", MFD_CLOEXEC);
	if (boot->control_fd < 0 || ftruncate(boot->control_fd, sizeof(tsr_control_t)) != 0)
		return tsr_error(TSR_ERR_SYSTEM, "cannot make the control segment: %s", strerror(errno));
	return tsr_control_map(boot->control_fd, &boot->control);
}

/** Judges a newcomer. What is wrong with it is wrong with the job, so it ends the world. */
static tsr_status_t judge(tsr_boot_t *boot, const hello_t *hello)
{
	if (hello->abi != TSR_CONTROL_ABI)
		return tsr_boot_end(
			boot, TSR_ERR_CONFIG,
			"rank %d runs another version of the library than rank 0 (control %u, not %u): build all ranks alike",
			hello->rank, hello->abi, TSR_CONTROL_ABI);
	if (hello->size != boot->size)
		return tsr_boot_end(boot, TSR_ERR_CONFIG,
				    "rank %d says that the job has %d ranks, rank 0 says %d: start all ranks alike", hello->rank,
				    hello->size, boot->size);
	if (hello->rank < 0 || hello->rank >= boot->size)
		return tsr_boot_end(boot, TSR_ERR_CONFIG, "a process says that it is rank %d, but the job has ranks 0 to %d",
				    hello->rank, boot->size - 1);
	if (hello->rank == 0 || boot->sockets[hello->rank] >= 0)
		return tsr_boot_end(boot, TSR_ERR_CONFIG,
				    "two processes say that they are rank %d of the same job: give each rank its own number and "
				    "each job its own "
				    "name (TESSERA_JOB)",
				    hello->rank);
	return TSR_OK;
}

/** Hears a newcomer and answers. One that says nothing sensible is not of this job, and is sent away. */
static tsr_status_t admit(tsr_boot_t *boot, int socket)
{
	const struct timeval patience = {.tv_usec = 500000}; /* a rank says hello as it connects */
	hello_t hello;
	uid_t uid;
	int count;
	(void)setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (!is_same_user(socket, &uid) || tsr_message_receive(socket, &hello, sizeof hello, NULL, 0, &count) != TSR_OK ||
	    hello.magic != HELLO_MAGIC) {
		close(socket);
		return TSR_OK;
	}
	const tsr_status_t status = judge(boot, &hello);
	verdict_t verdict = {.status = status};
	if (status != TSR_OK)
		snprintf(verdict.sentence, sizeof verdict.sentence, "%.500s", tsr_last_error());
	/* A newcomer that is gone already cannot hear it, and counts as in: it never arrives, and is named at the deadline. */
	(void)tsr_message_send(socket, &verdict, sizeof verdict, &boot->control_fd, status == TSR_OK);
	if (status != TSR_OK) {
		close(socket);
		return tsr_error(status, "%s", verdict.sentence);
	}
	boot->sockets[hello.rank] = socket;
	boot->connected++;
	return TSR_OK;
}

tsr_status_t tsr_boot_await_ranks(tsr_boot_t *boot, const char *call, uint64_t begin_ns)
{
	struct pollfd door = {.fd = boot->door_fd, .events = POLLIN};
	tsr_status_t status = TSR_OK;
	while (status == TSR_OK && boot->connected < boot->size) {
		const int socket = poll(&door, 1, 20) > 0 ? accept4(boot->door_fd, NULL, NULL, SOCK_CLOEXEC) : -1;
		if (socket >= 0) {
			status = admit(boot, socket);
			continue;
		}
		status = tsr_boot_ended(boot);
		if (status == TSR_OK)
			status = tsr_boot_check_ranks(boot, call);
		if (status == TSR_OK && tsr_now_ns() - begin_ns > boot->deadline_ns)
			status = tsr_boot_expire(boot, call, begin_ns);
	}
	close(boot->door_fd); /* who knocks later is of another world */
	boot->door_fd = -1;
	return status;
}

/* ------------------------------------------------------------------ the others */

/** Connects and says hello. False where nobody listens, or the door was shut in between: to be tried again. */
static bool knock(const tsr_boot_t *boot, int *socket_out)
{
	struct sockaddr_un address;
	const socklen_t length = door_address(boot, &address);
	const hello_t hello = {.magic = HELLO_MAGIC, .abi = TSR_CONTROL_ABI, .rank = boot->rank, .size = boot->size};
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, length) == 0 &&
	    tsr_message_send(fd, &hello, sizeof hello, NULL, 0) == TSR_OK) {
		*socket_out = fd;
		return true;
	}
	if (fd >= 0)
		close(fd);
	return false;
}

/** Waits for rank 0's answer until `end_ns`. `*again_out`: the door was shut before it answered. */
static tsr_status_t hear_verdict(tsr_boot_t *boot, int socket, uint64_t end_ns, bool *again_out)
{
	verdict_t verdict;
	int count = 0;
	uid_t uid = 0;
	struct pollfd entry = {.fd = socket, .events = POLLIN};
	const uint64_t now = tsr_now_ns();
	*again_out = true;
	if (poll(&entry, 1, now < end_ns ? (int)((end_ns - now) / 1000000) + 1 : 0) <= 0)
		return TSR_OK;
	if (!is_same_user(socket, &uid))
		return tsr_error(TSR_ERR_CONFIG,
				 "the address of the job '%s' is held by user %ld: name the job otherwise (TESSERA_JOB)",
				 boot->name, (long)uid);
	if (tsr_message_receive(socket, &verdict, sizeof verdict, &boot->control_fd, 1, &count) != TSR_OK)
		return TSR_OK;
	*again_out = false;
	if (verdict.status != TSR_OK)
		return tsr_error((tsr_status_t)verdict.status, "%.500s", verdict.sentence);
	if (count != 1)
		return tsr_error(TSR_ERR_SYSTEM,
				 "the control segment did not arrive: is the limit of open files (ulimit -n) reached?");
	return tsr_control_map(boot->control_fd, &boot->control);
}

static tsr_status_t find_rank_0(tsr_boot_t *boot)
{
	const uint64_t end_ns = tsr_now_ns() + boot->deadline_ns;
	struct timespec pause = {.tv_nsec = 500000};
	do {
		bool again = true;
		if (knock(boot, &boot->sockets[0])) {
			const tsr_status_t status = hear_verdict(boot, boot->sockets[0], end_ns, &again);
			if (status != TSR_OK || !again)
				return status;
			close(boot->sockets[0]);
			boot->sockets[0] = -1;
		}
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 16000000)
			pause.tv_nsec *= 2;
	} while (tsr_now_ns() < end_ns);
	char deadline[32];
	return tsr_error(TSR_ERR_PEER_LOST,
			 "rank 0 of %d never arrived within %s: all ranks of the job must start and call tsr_init "
			 "(TESSERA_DEADLINE sets how "
			 "long the others wait)",
			 boot->size, tsr_duration_text(boot->deadline_ns, deadline, sizeof deadline));
}

/* ------------------------------------------------------------------ all */

/** A member that came half way: it has no rank's state to give up. */
static void discard(tsr_boot_t *boot)
{
	if (boot->control != NULL)
		munmap(boot->control, sizeof *boot->control);
	if (boot->control_fd >= 0)
		close(boot->control_fd);
	if (boot->door_fd >= 0)
		close(boot->door_fd);
	if (boot->sockets[0] >= 0)
		close(boot->sockets[0]);
	free(boot);
}

tsr_status_t tsr_boot_join(const tsr_job_t *job, uint64_t deadline_ns, tsr_boot_t **boot_out)
{
	if (job->size < 1 || job->size > TSR_MAX_RANKS || job->rank < 0 || job->rank >= job->size)
		return tsr_error(TSR_ERR_CONFIG, "rank %d of %d: a world has 1 to %d ranks, counted from 0", job->rank, job->size,
				 TSR_MAX_RANKS);
	tsr_boot_t *boot = tsr_boot_make(job->rank, job->size, deadline_ns);
	if (boot == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a rank's membership in its world");
	snprintf(boot->name, sizeof boot->name, "tessera.%lu.%.85s", (unsigned long)geteuid(), job->name);
	boot->connected = 1;
	tsr_status_t status = TSR_OK;
	if (boot->rank == 0)
		status = make_control(boot);
	if (status == TSR_OK && boot->rank == 0 && boot->size > 1)
		status = open_door(boot);
	if (status == TSR_OK && boot->rank > 0)
		status = find_rank_0(boot);
	if (status == TSR_OK)
		status = tsr_boot_arrive(boot);
	if (status != TSR_OK) {
		discard(boot);
		return status;
	}
	*boot_out = boot;
	return TSR_OK;
}
