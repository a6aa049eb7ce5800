/* Descriptors from each rank to all ranks: through rank 0 for processes, by duplication for threads. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/bootstrap/control.h"

static const char call[] = "tsr_boot_exchange_fds";

/** What travels beside the descriptors: whose they are, in order. */
typedef struct owners {
	unsigned char has[TSR_MAX_RANKS];
} owners_t;

static void close_all(const int *fds, int count)
{
	for (int i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static tsr_status_t duplicate(int fd, int *copy_out)
{
	const int copy = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (fd >= 0 && copy < 0)
		return tsr_error(TSR_ERR_SYSTEM, "cannot duplicate a descriptor: %s", strerror(errno));
	*copy_out = copy;
	return TSR_OK;
}

/** Sends this rank's descriptors, `count` of them with holes (-1), over `socket`. */
static tsr_status_t send_fds(int socket, const int *fds, int count)
{
	owners_t owners = {.has = {0}};
	int present[TSR_MAX_RANKS], presents = 0;
	for (int r = 0; r < count; r++) {
		owners.has[r] = fds[r] >= 0;
		if (fds[r] >= 0)
			present[presents++] = fds[r];
	}
	return tsr_message_send(socket, &owners, sizeof owners, present, presents);
}

/** The reverse: fills the holes with -1. */
static tsr_status_t receive_fds(tsr_boot_t *boot, int socket, uint64_t begin_ns, int *fds_out, int count)
{
	owners_t owners;
	int present[TSR_MAX_RANKS], presents = 0;
	tsr_status_t status = tsr_boot_await_fd(boot, socket, call, begin_ns);
	if (status == TSR_OK)
		status = tsr_message_receive(socket, &owners, sizeof owners, present, TSR_MAX_RANKS, &presents);
	if (status != TSR_OK)
		return status;
	int wanted = 0;
	for (int r = 0; r < count; r++)
		wanted += owners.has[r] != 0;
	if (wanted != presents) {
		close_all(present, presents);
		return tsr_error(TSR_ERR_SYSTEM, "%d descriptors of %d arrived: is the limit of open files (ulimit -n) reached?",
				 presents, wanted);
	}
	for (int r = 0, next = 0; r < count; r++)
		fds_out[r] = owners.has[r] ? present[next++] : -1;
	return TSR_OK;
}

/** Rank 0 takes one from each, and gives all to each. */
static tsr_status_t collect_and_spread(tsr_boot_t *boot, int fd, int *fds)
{
	const uint64_t begin_ns = tsr_now_ns();
	tsr_status_t status = duplicate(fd, &fds[0]);
	for (int r = 1; status == TSR_OK && r < boot->size; r++)
		status = receive_fds(boot, boot->sockets[r], begin_ns, &fds[r], 1);
	for (int r = 1; status == TSR_OK && r < boot->size; r++)
		status = send_fds(boot->sockets[r], fds, boot->size);
	return status;
}

static tsr_status_t give_and_take(tsr_boot_t *boot, int fd, int *fds)
{
	const tsr_status_t status = send_fds(boot->sockets[0], &fd, 1);
	return status == TSR_OK ? receive_fds(boot, boot->sockets[0], tsr_now_ns(), fds, boot->size) : status;
}

/** Threads share their descriptors: each duplicates all, and nobody goes on, and closes, before all have. */
static tsr_status_t duplicate_all(tsr_boot_t *boot, int fd, int *fds)
{
	int theirs[TSR_MAX_RANKS];
	tsr_status_t status = tsr_boot_exchange(boot, call, "", &fd, theirs, sizeof fd);
	for (int r = 0; status == TSR_OK && r < boot->size; r++)
		status = duplicate(theirs[r], &fds[r]);
	return status;
}

tsr_status_t tsr_boot_exchange_fds(tsr_boot_t *boot, int fd, int *fds_out)
{
	int fds[TSR_MAX_RANKS];
	for (int r = 0; r < TSR_MAX_RANKS; r++)
		fds[r] = -1;
	tsr_status_t status = tsr_boot_exchange(boot, call, "", NULL, NULL, 0);
	if (status != TSR_OK)
		return status;
	if (boot->in_threads)
		status = duplicate_all(boot, fd, fds);
	else
		status = boot->rank == 0 ? collect_and_spread(boot, fd, fds) : give_and_take(boot, fd, fds);
	if (status != TSR_OK)
		tsr_boot_abort(boot, status, tsr_last_error());
	else
		status = tsr_boot_exchange(boot, call, "received", NULL, NULL, 0);
	if (status != TSR_OK) {
		close_all(fds, boot->size);
		return status;
	}
	memcpy(fds_out, fds, (size_t)boot->size * sizeof *fds);
	return TSR_OK;
}
