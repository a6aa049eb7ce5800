/*
 * Descriptors from each rank to all ranks of its node: through the node's
 * keeper (on one node: rank 0) for processes, by duplication for threads.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/base/error.h"
#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"
#include "src/base/os/futex.h"
#include "src/base/text.h"
#include "src/bootstrap/control.h"
#include "src/bootstrap/wire/message.h"

static const char call[] = "tsr_boot_exchange_fds";

enum {
	LOOK_NS = 20 * 1000000, /* looks for lost ranks in between */
	/* The kernel lets a user who is not privileged have no more descriptors under way between
	 * processes than one process may have open (ulimit -n, often 1024): of all its jobs
	 * together. So few are sent at one time, whatever the number of ranks, and the next when
	 * those have arrived. */
	UNDER_WAY = 128,
	PART = TSR_MESSAGE_FDS /* ranks whose descriptors one message carries */
};

_Static_assert((int)TSR_MESSAGE_FDS >= (int)PART,
	       "one message carries a descriptor of each rank of a part");

/** What travels beside the descriptors: whose they are, in order. */
typedef struct owners {
	unsigned char has[PART];
} owners_t;

/* ------------------------------------------------------------------ who waits for whom */

static bool has_come(const _Atomic uint32_t *step, const tsr_boot_t *boot)
{
	/* acquire: partner is the release in come_to; only the count is read, and by rank 0 the
	 * socket */
	return (int32_t)(atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)step,
					      memory_order_acquire) -
			 boot->fds_exchanges) >= 0;
}

static void come_to(_Atomic uint32_t *step, const tsr_boot_t *boot)
{
	/* release: partner is the acquire in has_come */
	atomic_store_explicit(step, boot->fds_exchanges, memory_order_release);
	tsr_futex_wake_all(step);
}

/** Whether the keeper of this node takes the descriptor of `rank`, and gives it all. */
static bool is_served(const tsr_boot_t *boot, int rank)
{
	return rank != boot->keeper && !tsr_boot_is_far(boot, rank);
}

/**
 * The ranks that everybody waits for: those that have not sent theirs to the
 * keeper; or that have been given all and have not taken them; or, if there are
 * none, the keeper itself.
 */
static void find_late(const tsr_boot_t *boot, bool late[TSR_MAX_RANKS])
{
	const tsr_control_member_t *member = boot->control->member;
	int count = 0;
	for (int r = 0; r < boot->size; r++)
		count += late[r] = is_served(boot, r) && !has_come(&member[r].fds_sent, boot);
	for (int r = 0; count == 0 && r < boot->size; r++)
		late[r] = is_served(boot, r) && has_come(&member[r].fds_given, boot) &&
			  !has_come(&member[r].fds_taken, boot);
	for (int r = 0; r < boot->size; r++)
		count += late[r];
	late[boot->keeper] = count == 0;
}

/** Ends the world because the exchange of descriptors lasts too long. */
static tsr_status_t blame_late(tsr_boot_t *boot)
{
	bool late[TSR_MAX_RANKS];
	char ranks[TSR_RANKS_TEXT], deadline[32];
	find_late(boot, late);
	(void)tsr_boot_list_ranks(late, boot->size, ranks, sizeof ranks);
	return tsr_boot_end(boot, TSR_ERR_TIMEOUT,
			    "%s of %d did not pass on the descriptors of memory within %s, "
			    "where rank %d waited: is it stopped? "
			    "(TESSERA_DEADLINE sets how long a wait lasts)",
			    ranks, boot->size,
			    tsr_duration_text(boot->deadline_ns, deadline, sizeof deadline),
			    boot->rank);
}

tsr_status_t tsr_boot_expire_fds(tsr_boot_t *boot)
{
	for (int r = 0; r < boot->size && !boot->in_threads; r++)
		if (is_served(boot, r) && !has_come(&boot->control->member[r].fds_taken, boot))
			return blame_late(boot);
	return TSR_OK;
}

/**
 * Between two looks at what this rank waits for: the world's end, lost ranks
 * and the deadline end the wait.
 */
static tsr_status_t look_around(tsr_boot_t *boot, uint64_t begin_ns)
{
	const uint64_t now = tsr_now_ns();
	tsr_status_t status = tsr_boot_ended(boot);
	if (status == TSR_OK && now - boot->looked_ns >= tsr_boot_look_ns(boot)) {
		status = tsr_boot_check_ranks(boot, call);
		boot->looked_ns = now;
	}
	if (status == TSR_OK && tsr_now_ns() - begin_ns > boot->deadline_ns)
		status = blame_late(boot);
	return status;
}

/* ------------------------------------------------------------------ one message */

/** Sends descriptors, up to PART of them with holes (-1), to `rank`. */
static tsr_status_t send_part(tsr_boot_t *boot, int rank, uint64_t begin_ns, const int *fds,
			      int count)
{
	owners_t owners = {.has = {0}};
	int present[PART], presents = 0;
	for (int r = 0; r < count; r++) {
		owners.has[r] = fds[r] >= 0;
		if (fds[r] >= 0)
			present[presents++] = fds[r];
	}
	for (;;) {
		const uint64_t look_ns = tsr_now_ns() + LOOK_NS;
		const tsr_post_t post =
			tsr_message_send_until(tsr_boot_socket(boot, rank), &owners, sizeof owners,
					       present, presents, look_ns);
		const int error = errno;
		if (post == TSR_POST_DONE)
			return TSR_OK;
		if (post == TSR_POST_CLOSED)
			return tsr_boot_end_closed(boot, rank, call);
		if (post == TSR_POST_FAILED ||
		    (error == ETOOMANYREFS && tsr_now_ns() - begin_ns > boot->deadline_ns))
			return tsr_boot_end(
				boot, TSR_ERR_SYSTEM,
				"rank %d cannot send descriptors of memory to rank %d: %s",
				boot->rank, rank, tsr_message_fault(error));
		const tsr_status_t status = look_around(boot, begin_ns);
		if (status != TSR_OK)
			return status;
	}
}

/** Sends any number of them. */
static tsr_status_t send_fds(tsr_boot_t *boot, int rank, uint64_t begin_ns, const int *fds,
			     int count)
{
	tsr_status_t status = TSR_OK;
	for (int first = 0; status == TSR_OK && first < count; first += PART)
		status = send_part(boot, rank, begin_ns, fds + first,
				   count - first < PART ? count - first : PART);
	return status;
}

static tsr_status_t await_message(tsr_boot_t *boot, int rank, uint64_t begin_ns, owners_t *owners,
				  int *fds, int *count)
{
	for (;;) {
		struct pollfd entry = {.fd = tsr_boot_socket(boot, rank), .events = POLLIN};
		(void)tsr_fd_poll(&entry, 1, tsr_now_ns() + LOOK_NS);
		const tsr_post_t post =
			tsr_message_receive(entry.fd, owners, sizeof *owners, fds, PART, count);
		const int error = errno;
		if (post == TSR_POST_DONE)
			return TSR_OK;
		if (post == TSR_POST_CLOSED)
			return tsr_boot_end_closed(boot, rank, call);
		if (post == TSR_POST_FAILED)
			return tsr_boot_end(
				boot, TSR_ERR_SYSTEM,
				"rank %d cannot take the descriptors of memory of %d ranks: %s",
				boot->rank, boot->size, tsr_message_fault(error));
		const tsr_status_t status = look_around(boot, begin_ns);
		if (status != TSR_OK)
			return status;
	}
}

/** The reverse of send_part: fills the holes with -1. */
static tsr_status_t receive_part(tsr_boot_t *boot, int rank, uint64_t begin_ns, int *fds_out,
				 int count)
{
	owners_t owners;
	int present[PART], presents = 0, wanted = 0;
	const tsr_status_t status =
		await_message(boot, rank, begin_ns, &owners, present, &presents);
	if (status != TSR_OK)
		return status;
	for (int r = 0; r < count; r++)
		wanted += owners.has[r] != 0;
	if (wanted != presents) {
		tsr_fd_close(present, (size_t)presents);
		return tsr_boot_end(
			boot, TSR_ERR_SYSTEM,
			"rank %d took %d descriptors of memory, of %d: build all ranks alike",
			boot->rank, presents, wanted);
	}
	for (int r = 0, next = 0; r < count; r++)
		fds_out[r] = owners.has[r] ? present[next++] : -1;
	return TSR_OK;
}

static tsr_status_t receive_fds(tsr_boot_t *boot, int rank, uint64_t begin_ns, int *fds_out,
				int count)
{
	tsr_status_t status = TSR_OK;
	for (int first = 0; status == TSR_OK && first < count; first += PART)
		status = receive_part(boot, rank, begin_ns, fds_out + first,
				      count - first < PART ? count - first : PART);
	return status;
}

/* ------------------------------------------------------------------ processes */

/** The keeper: until `rank` has what it was given. */
static tsr_status_t await_taken(tsr_boot_t *boot, int rank, uint64_t begin_ns)
{
	_Atomic uint32_t *taken = &boot->control->member[rank].fds_taken;
	while (!has_come(taken, boot)) {
		/* relaxed: the futex compares it again; has_come acquires */
		const uint32_t seen = atomic_load_explicit(taken, memory_order_relaxed);
		if (has_come(taken, boot))
			break;
		tsr_futex_wait(taken, seen, LOOK_NS);
		const tsr_status_t status =
			has_come(taken, boot) ? TSR_OK : look_around(boot, begin_ns);
		if (status != TSR_OK)
			return status;
	}
	return TSR_OK;
}

/**
 * The keeper takes one from each, and gives all to each: to as many ranks at one
 * time as UNDER_WAY lets it.
 */
static tsr_status_t collect_and_spread(tsr_boot_t *boot, int fd, uint64_t begin_ns, int *fds)
{
	tsr_status_t status = TSR_OK;
	int served[TSR_MAX_RANKS], ranks = 0, presents = 0;
	const int me = boot->rank;
	fds[me] = fd >= 0 ? tsr_fd_copy(fd) : -1;
	if (fd >= 0 && fds[me] < 0)
		return tsr_boot_end(boot, TSR_ERR_SYSTEM,
				    "rank %d cannot duplicate a descriptor: %s", me,
				    tsr_message_fault(errno));
	for (int r = 0; r < boot->size; r++)
		if (is_served(boot, r))
			served[ranks++] = r;
	for (int i = 0; status == TSR_OK && i < ranks; i++)
		status = receive_fds(boot, served[i], begin_ns, &fds[served[i]], 1);
	for (int r = 0; r < boot->size; r++)
		presents += fds[r] >= 0;
	const int few = presents > 0 && UNDER_WAY / presents < boot->size ? UNDER_WAY / presents
									  : boot->size;
	const int together = few > 0 ? few : 1;
	for (int i = 0; status == TSR_OK && i < ranks; i++) {
		if (i >= together)
			status = await_taken(boot, served[i - together], begin_ns);
		if (status == TSR_OK)
			status = send_fds(boot, served[i], begin_ns, fds, boot->size);
		if (status == TSR_OK)
			come_to(&boot->control->member[served[i]].fds_given, boot);
	}
	return status;
}

static tsr_status_t give_and_take(tsr_boot_t *boot, int fd, uint64_t begin_ns, int *fds)
{
	tsr_control_member_t *self = &boot->control->member[boot->rank];
	tsr_status_t status = send_fds(boot, boot->keeper, begin_ns, &fd, 1);
	if (status != TSR_OK)
		return status;
	come_to(&self->fds_sent, boot);
	status = receive_fds(boot, boot->keeper, begin_ns, fds, boot->size);
	if (status == TSR_OK)
		come_to(&self->fds_taken, boot);
	return status;
}

/* ------------------------------------------------------------------ threads, and both */

/**
 * Threads share their descriptors: each duplicates all, and nobody goes on, and
 * closes, before all have.
 */
static tsr_status_t duplicate_all(tsr_boot_t *boot, int fd, int *fds)
{
	int theirs[TSR_MAX_RANKS];
	tsr_status_t status = tsr_boot_exchange(boot, call, "", &fd, theirs, sizeof fd);
	for (int r = 0; status == TSR_OK && r < boot->size; r++) {
		fds[r] = theirs[r] >= 0 ? tsr_fd_copy(theirs[r]) : -1;
		if (theirs[r] >= 0 && fds[r] < 0)
			status = tsr_error(TSR_ERR_SYSTEM, "cannot duplicate a descriptor: %s",
					   tsr_message_fault(errno));
	}
	return status;
}

static tsr_status_t exchange(tsr_boot_t *boot, int fd, int *fds)
{
	if (boot->in_threads)
		return duplicate_all(boot, fd, fds);
	const uint64_t begin_ns = tsr_now_ns();
	return boot->rank == boot->keeper ? collect_and_spread(boot, fd, begin_ns, fds)
					  : give_and_take(boot, fd, begin_ns, fds);
}

tsr_status_t tsr_boot_exchange_fds(tsr_boot_t *boot, int fd, int *fds_out)
{
	int fds[TSR_MAX_RANKS];
	for (int r = 0; r < TSR_MAX_RANKS; r++)
		fds[r] = -1;
	tsr_status_t status = tsr_boot_exchange(boot, call, "", NULL, NULL, 0);
	if (status != TSR_OK)
		return status;
	boot->fds_exchanges++;
	status = exchange(boot, fd, fds);
	if (status != TSR_OK)
		tsr_boot_abort(boot, status, tsr_last_error());
	else
		status = tsr_boot_exchange(boot, call, "received", NULL, NULL, 0);
	if (status != TSR_OK) {
		tsr_fd_close(fds, TSR_MAX_RANKS);
		return status;
	}
	memcpy(fds_out, fds, (size_t)boot->size * sizeof *fds);
	return TSR_OK;
}
