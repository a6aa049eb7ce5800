/*
 * How the processes of a node find each other: the keeper, which is the lowest
 * rank of the node, opens a door (wire/door.h), the others knock at it
 * (wire/knock.h). On one node the keeper is rank 0. How nodes find each other
 * is in nodes/.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/error.h"
#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"
#include "src/base/text.h"
#include "src/bootstrap/control.h"
#include "src/bootstrap/nodes/relay.h"
#include "src/bootstrap/notice.h"
#include "src/bootstrap/pmix/pmix.h"
#include "src/bootstrap/wire/knock.h"
#include "src/bootstrap/wire/message.h"

enum {
	LOOK_NS = 20 * 1000000,     /* the keeper looks for lost ranks in between */
	NEAR_LOOK_NS = 2 * 1000000, /* and for ranks of other nodes, at which no door is */
	GOODBYE_NS = 100 * 1000000, /* for those who knock while the world ends */
	/* who has shut the door and does not open it again this long has ended */
	GONE_NS = 1000 * 1000000,
	FIRST_PAUSE_NS = 500 * 1000, /* between two knocks; doubles */
	LAST_PAUSE_NS = 16 * 1000000
};

/* ------------------------------------------------------------------ the keeper */

static tsr_status_t open_door(tsr_boot_t *boot, const tsr_job_t *job)
{
	if (tsr_door_open(&boot->door, job))
		return TSR_OK;
	if (errno != EADDRINUSE)
		return tsr_error(TSR_ERR_SYSTEM, "rank %d cannot listen for the other ranks: %s",
				 boot->rank, tsr_message_fault(errno));
	tsr_knock_t knock = {.socket = -1};
	tsr_wire_hello_t nobody = {.kind = 0};
	tsr_knock_answer_t answer = {.fd = -1, .bell = -1};
	const bool foreign = tsr_knock_step(&knock, job, &nobody, 0, &answer) == TSR_KNOCK_FOREIGN;
	tsr_knock_cancel(&knock);
	if (foreign)
		return tsr_error(TSR_ERR_CONFIG,
				 "the address of the job '%s' is held by user %ld: set "
				 "TESSERA_SECRET to one word on all ranks, which "
				 "makes an address that nobody can guess",
				 job->name, (long)answer.uid);
	if (boot->several)
		return tsr_error(TSR_ERR_CONFIG,
				 "another process is the first of its node of the job '%s' "
				 "already, and rank %d says so too: on each node, one rank has the "
				 "local rank 0, and nodes on one machine need different numbers "
				 "(TESSERA_NODE); and give %s",
				 job->name, boot->rank, tsr_boot_own_name(boot));
	return tsr_error(TSR_ERR_CONFIG,
			 "another process is rank 0 of the job '%s' already: give each rank its "
			 "own number and %s",
			 job->name, tsr_boot_own_name(boot));
}

/** A limit of file sizes counts for what ranks share too. */
static tsr_status_t no_room_for_control(void)
{
	return tsr_error(TSR_ERR_SYSTEM,
			 "ranks share files in memory, %s to agree and a heap of TESSERA_HEAP_SIZE "
			 "each, and files of this process may have %s at most: raise that limit "
			 "(ulimit -f unlimited)",
			 TSR_SIZE(sizeof(tsr_control_t)), TSR_SIZE(tsr_fd_size_limit()));
}

static tsr_status_t make_control(tsr_boot_t *boot)
{
	boot->control_fd = tsr_fd_keep(memfd_create("tessera-control", MFD_CLOEXEC));
	if (boot->control_fd < 0 || tsr_fd_resize(boot->control_fd, sizeof(tsr_control_t)) != 0) {
		if (boot->control_fd >= 0 && errno == EFBIG)
			return no_room_for_control();
		return tsr_error(TSR_ERR_SYSTEM, "cannot make the control segment: %s",
				 tsr_message_fault(errno));
	}
	const tsr_status_t status = tsr_control_map(boot->control_fd, &boot->control);
	if (status != TSR_OK || !boot->several)
		return status;
	boot->control->keeper = boot->keeper;
	boot->bell_fd = tsr_fd_keep(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (boot->bell_fd < 0)
		return tsr_error(TSR_ERR_SYSTEM, "cannot make the bell of a node's relay: %s",
				 tsr_message_fault(errno));
	return TSR_OK;
}

/** Judges a newcomer. What is wrong with it is wrong with the job, so it ends the world. */
static tsr_status_t judge(tsr_boot_t *boot, const tsr_wire_hello_t *hello)
{
	if (hello->abi != TSR_CONTROL_ABI)
		return tsr_boot_end(boot, TSR_ERR_CONFIG,
				    "rank %d runs another version of the library than rank %d "
				    "(control %u, not %u): build all ranks alike",
				    hello->rank, boot->rank, hello->abi, TSR_CONTROL_ABI);
	if (hello->size != boot->size)
		return tsr_boot_end(
			boot, TSR_ERR_CONFIG,
			"rank %d says that the job has %d ranks, rank %d says %d: start "
			"all ranks alike",
			hello->rank, hello->size, boot->rank, boot->size);
	if (hello->rank < 0 || hello->rank >= boot->size)
		return tsr_boot_end(
			boot, TSR_ERR_CONFIG,
			"a process says that it is rank %d, but the job has ranks 0 to %d",
			hello->rank, boot->size - 1);
	if (hello->rank < boot->rank)
		return tsr_boot_end(boot, TSR_ERR_CONFIG,
				    "rank %d has the local rank 0, but rank %d is on its node too: "
				    "the lowest rank of each node has the local rank 0",
				    boot->rank, hello->rank);
	const bool mine = hello->rank == boot->rank;
	const bool known = mine || boot->sockets[hello->rank] >= 0;
	if (known && (mine || boot->processes[hello->rank] != hello->process))
		return tsr_boot_end(boot, TSR_ERR_CONFIG,
				    "two processes say that they are rank %d of the same job: give "
				    "each rank its own number and %s",
				    hello->rank, tsr_boot_own_name(boot));
	return TSR_OK;
}

/**
 * Judges the newcomer's process: locks by which ranks notice each other's end
 * belong to processes, so each rank must be one.
 */
static tsr_status_t judge_process(tsr_boot_t *boot, const tsr_wire_hello_t *hello, int socket)
{
	const pid_t pid = tsr_wire_peer_pid(socket);
	boot->pids[boot->rank] = getpid();
	for (int r = 0; pid > 0 && r < boot->size; r++)
		if (r != hello->rank && boot->pids[r] == pid)
			return tsr_boot_end(
				boot, TSR_ERR_CONFIG,
				"ranks %d and %d are in one process: start a process for each "
				"rank, or let TSR_MAIN start ranks as threads "
				"(TESSERA_PLACEMENT=thread)",
				r, hello->rank);
	boot->pids[hello->rank] = pid;
	return TSR_OK;
}

/**
 * The launcher says that a rank's process has ended. One that was a member is
 * noticed as all members are: by its lock.
 */
static tsr_status_t hear_of_end(tsr_boot_t *boot, const tsr_wire_hello_t *hello)
{
	char sentence[TSR_NOTICE_BYTES];
	if (hello->size != boot->size || hello->rank < 0 || hello->rank == boot->rank ||
	    hello->rank >= boot->size)
		return TSR_OK; /* of another world of the job */
	/* acquire: partner is the release in tsr_boot_arrive */
	if (atomic_load_explicit(&boot->control->member[hello->rank].state, memory_order_acquire) !=
	    TSR_MEMBER_ABSENT)
		return TSR_OK;
	return tsr_boot_end(boot, TSR_ERR_PEER_LOST, "%s",
			    tsr_notice_sentence(hello->rank, hello->size, hello->wait_status,
						sentence));
}

/** Gives a newcomer the control segment. Takes over `socket`. */
static tsr_status_t admit(tsr_boot_t *boot, const tsr_wire_hello_t *hello, int socket,
			  uint64_t end_ns)
{
	const int rank = hello->rank;
	const int fds[2] = {boot->control_fd, boot->bell_fd};
	if (!tsr_door_answer(socket, TSR_OK, "", fds, boot->several ? 2 : 1, end_ns)) {
		const int error = errno;
		tsr_fd_close(&socket, 1);
		if (error == EPIPE)
			return TSR_OK; /* it has gone; as if it had never come */
		return tsr_boot_end(boot, TSR_ERR_SYSTEM,
				    "rank %d cannot give the control segment to rank %d: %s",
				    boot->rank, rank, tsr_message_fault(error));
	}
	if (boot->sockets[rank] < 0)
		boot->connected++;
	/* the same process has knocked before: its last word counts */
	tsr_fd_close(&boot->sockets[rank], 1);
	boot->sockets[rank] = socket;
	boot->processes[rank] = hello->process;
	return TSR_OK;
}

static tsr_status_t hear(tsr_boot_t *boot, const tsr_wire_hello_t *hello, int socket,
			 uint64_t end_ns)
{
	const bool ended = hello->kind == TSR_HELLO_ENDED;
	tsr_status_t status = ended ? hear_of_end(boot, hello) : judge(boot, hello);
	if (status == TSR_OK && !ended)
		status = judge_process(boot, hello, socket);
	if (status == TSR_OK && !ended)
		return admit(boot, hello, socket, end_ns);
	char sentence[TSR_SENTENCE_LENGTH];
	snprintf(sentence, sizeof sentence, "%s", status == TSR_OK ? "" : tsr_last_error());
	(void)tsr_door_answer(socket, ended ? TSR_OK : status, sentence, NULL, 0, end_ns);
	tsr_fd_close(&socket, 1);
	return status == TSR_OK ? TSR_OK : tsr_error(status, "%s", sentence);
}

/**
 * No newcomer can be let in. Where the machine is short of something it may
 * pass; where this process is, it does not.
 */
static tsr_status_t bear_full_house(tsr_boot_t *boot, int error)
{
	if (error == EMFILE)
		return tsr_boot_end(boot, TSR_ERR_SYSTEM, "rank %d cannot let all %d ranks in: %s",
				    boot->rank, boot->size, tsr_message_fault(error));
	tsr_sleep_until(tsr_now_ns() + LOOK_NS / 2);
	return TSR_OK;
}

static tsr_status_t look_around(tsr_boot_t *boot, const char *call, uint64_t begin_ns)
{
	/* relaxed: for reports alone */
	atomic_fetch_add_explicit(&boot->control->door_looks, 1, memory_order_relaxed);
	tsr_status_t status = tsr_boot_ended(boot);
	if (status == TSR_OK)
		status = tsr_boot_check_ranks(boot, call);
	if (status == TSR_OK && tsr_now_ns() - begin_ns > boot->deadline_ns)
		status = tsr_meeting_expire(&boot->world, call, begin_ns);
	return status;
}

/**
 * Whether ranks are still to come. The keeper of one of several nodes does not
 * know which of them come to its own door: it waits until all are somewhere.
 */
static bool are_ranks_missing(const tsr_boot_t *boot)
{
	if (!boot->several)
		return boot->connected < boot->size;
	for (int r = 0; r < boot->size; r++)
		/* acquire: partners are the releases in tsr_boot_arrive and tsr_frame_apply */
		if (atomic_load_explicit(&boot->control->member[r].state, memory_order_acquire) ==
		    TSR_MEMBER_ABSENT)
			return true;
	return false;
}

tsr_status_t tsr_boot_await_ranks(tsr_boot_t *boot, const char *call, uint64_t begin_ns)
{
	const uint64_t end_ns = begin_ns + boot->deadline_ns;
	uint64_t look_ns = begin_ns + LOOK_NS;
	tsr_status_t status = TSR_OK;
	while (status == TSR_OK && are_ranks_missing(boot)) {
		const uint64_t until_ns = boot->several ? tsr_now_ns() + NEAR_LOOK_NS : look_ns;
		tsr_wire_hello_t hello;
		int socket;
		const tsr_door_event_t event =
			tsr_door_next(&boot->door, until_ns, &hello, &socket);
		if (event == TSR_DOOR_HELLO)
			status = hear(boot, &hello, socket, end_ns);
		else if (event == TSR_DOOR_FULL)
			status = bear_full_house(boot, errno);
		if (status == TSR_OK && tsr_now_ns() >= look_ns) {
			status = look_around(boot, call, begin_ns);
			look_ns = tsr_now_ns() + LOOK_NS;
		}
	}
	if (status != TSR_OK) {
		char sentence[TSR_SENTENCE_LENGTH];
		snprintf(sentence, sizeof sentence, "%s", tsr_last_error());
		(void)tsr_door_turn_away(&boot->door, status, sentence, tsr_now_ns() + GOODBYE_NS);
		status = tsr_error(status, "%s", sentence);
	}
	tsr_door_shut(&boot->door); /* who knocks later is of another world */
	return status;
}

/* ------------------------------------------------------------------ the others */

static tsr_status_t enter(tsr_boot_t *boot, const tsr_knock_answer_t *answer)
{
	if (answer->verdict.status != TSR_OK) {
		tsr_fd_close(&answer->fd, 1);
		tsr_fd_close(&answer->bell, 1);
		(void)tsr_error((tsr_status_t)answer->verdict.status, "%s",
				answer->verdict.sentence);
		if (answer->verdict.printed)
			tsr_error_mark_printed();
		return (tsr_status_t)answer->verdict.status;
	}
	boot->control_fd = answer->fd;
	boot->bell_fd = answer->bell;
	if (answer->fd < 0 || (answer->bell >= 0) != boot->several)
		return tsr_error(
			TSR_ERR_SYSTEM,
			"rank 0 let rank %d in, but sent no control segment: build all ranks alike",
			boot->rank);
	const tsr_status_t status = tsr_control_map(boot->control_fd, &boot->control);
	if (status == TSR_OK)
		boot->keeper = boot->control->keeper;
	return status;
}

/** What is to be said when the deadline has passed, or sooner, by what came of the last knock. */
static tsr_status_t explain_no_entry(const tsr_boot_t *boot, const tsr_job_t *job,
				     tsr_knock_result_t last, uid_t uid, int error)
{
	char deadline[32];
	tsr_duration_text(boot->deadline_ns, deadline, sizeof deadline);
	const char *who = boot->several ? "the first rank of this rank's node" : "rank 0";
	switch (last) {
	case TSR_KNOCK_FOREIGN:
		return tsr_error(TSR_ERR_CONFIG,
				 "the address of the job '%s' is held by user %ld: set "
				 "TESSERA_SECRET to one word on all ranks, which "
				 "makes an address that nobody can guess",
				 job->name, (long)uid);
	case TSR_KNOCK_STRANGER:
		return tsr_error(TSR_ERR_CONFIG,
				 "the address of the job '%s' is held by a process that does not "
				 "know its secret: give each job its "
				 "own name (TESSERA_JOB)",
				 job->name);
	case TSR_KNOCK_FAILED:
		return tsr_error(TSR_ERR_SYSTEM, "rank %d cannot reach %s: %s", boot->rank, who,
				 tsr_message_fault(error));
	case TSR_KNOCK_SHUT:
		return tsr_error(TSR_ERR_PEER_LOST,
				 "%s of %d is lost: its process ended before it let rank %d in "
				 "(noticed in %s)",
				 who, boot->size, boot->rank, tsr_boot_call(boot));
	case TSR_KNOCK_WAITS:
	case TSR_KNOCK_BUSY:
		return tsr_error(TSR_ERR_PEER_LOST,
				 "%s of %d opened the job, but did not let rank %d in within "
				 "%s: is it stopped? (TESSERA_DEADLINE "
				 "sets how long the others wait)",
				 who, boot->size, boot->rank, deadline);
	default:
		return tsr_error(TSR_ERR_PEER_LOST,
				 "%s of %d never arrived within %s: all ranks of the job must "
				 "start and call %s%s (TESSERA_DEADLINE sets how long the others "
				 "wait)",
				 who, boot->size, deadline, tsr_boot_call(boot),
				 tsr_boot_in_one_network);
	}
}

static bool is_final(tsr_knock_result_t result)
{
	return result == TSR_KNOCK_ANSWERED || result == TSR_KNOCK_FOREIGN ||
	       result == TSR_KNOCK_FAILED;
}

static tsr_status_t find_keeper(tsr_boot_t *boot, const tsr_job_t *job)
{
	const uint64_t end_ns = tsr_now_ns() + boot->deadline_ns;
	tsr_wire_hello_t hello = {.kind = TSR_HELLO_RANK,
				  .abi = TSR_CONTROL_ABI,
				  .rank = boot->rank,
				  .size = boot->size,
				  .process = boot->process};
	tsr_knock_t knock = {.socket = -1};
	tsr_knock_answer_t answer = {.fd = -1, .bell = -1};
	tsr_knock_result_t result;
	/* since when a door that was ours is shut; 0: it is not */
	uint64_t pause_ns = FIRST_PAUSE_NS, now, shut_ns = 0;
	for (;;) {
		result = tsr_knock_step(&knock, job, &hello, end_ns, &answer);
		const int error = errno;
		now = tsr_now_ns();
		if (result != TSR_KNOCK_NOBODY)
			shut_ns = result == TSR_KNOCK_SHUT ? now : 0;
		const bool gone = shut_ns != 0 && now - shut_ns > GONE_NS;
		if (gone || is_final(result) || now >= end_ns) {
			result = gone ? TSR_KNOCK_SHUT : result;
			errno = error;
			break;
		}
		tsr_sleep_until(now + pause_ns < end_ns ? now + pause_ns : end_ns);
		if (pause_ns < LAST_PAUSE_NS)
			pause_ns *= 2;
	}
	if (result != TSR_KNOCK_ANSWERED) {
		const int error = errno;
		tsr_knock_cancel(&knock);
		return explain_no_entry(boot, job, result, answer.uid, error);
	}
	boot->sockets[0] = knock.socket;
	return enter(boot, &answer);
}

/* ------------------------------------------------------------------ all */

/** A member that came half way: it has no rank's state to give up. */
static void discard(tsr_boot_t *boot)
{
	tsr_relay_end(boot->relay, true);
	if (boot->control != NULL)
		munmap(boot->control, sizeof *boot->control);
	if (boot->door.fd >= 0)
		tsr_door_shut(&boot->door);
	tsr_fd_close(&boot->control_fd, 1);
	tsr_fd_close(&boot->bell_fd, 1);
	tsr_fd_close(&boot->sockets[0], 1);
	free(boot);
}

static tsr_status_t join(tsr_boot_t *boot, const tsr_job_t *job)
{
	tsr_status_t status = tsr_boot_name_process(1 + (unsigned)boot->rank, &boot->process);
	const bool keeps = job->several ? job->local_rank == 0 : boot->rank == 0;
	boot->connected = 1;
	boot->keeper = keeps ? boot->rank : 0; /* the others learn it at the door */
	if (status == TSR_OK && !keeps)
		status = find_keeper(boot, job);
	else if (status == TSR_OK)
		status = make_control(boot);
	if (status == TSR_OK && keeps && boot->size > 1)
		status = open_door(boot, job);
	if (status != TSR_OK)
		return status;
	tsr_meeting_place(&boot->world, boot, 0);
	if (boot->several && keeps)
		status = tsr_relay_begin(boot, job);
	if (status == TSR_OK)
		status = tsr_boot_arrive(boot);
	if (status != TSR_OK && boot->relay != NULL)
		tsr_boot_abort(boot, status, tsr_last_error());
	return status;
}

static tsr_status_t check_job(const tsr_job_t *job)
{
	if (job->size < 1 || job->size > TSR_MAX_RANKS || job->rank < 0 || job->rank >= job->size)
		return tsr_error(TSR_ERR_CONFIG,
				 "rank %d of %d: a world has 1 to %d ranks, counted from 0",
				 job->rank, job->size, TSR_MAX_RANKS);
	if (job->several && job->rank == 0 && job->local_rank != 0)
		return tsr_error(TSR_ERR_CONFIG,
				 "rank 0 has the local rank %d: the lowest rank of each node has "
				 "the local rank 0",
				 job->local_rank);
	return TSR_OK;
}

static tsr_status_t join_job(const tsr_job_t *job, uint64_t deadline_ns, tsr_boot_t **boot_out)
{
	tsr_status_t status = check_job(job);
	if (status != TSR_OK)
		return status;
	tsr_boot_t *boot = tsr_boot_make(job->rank, job->size, deadline_ns);
	if (boot == NULL)
		return tsr_error(
			TSR_ERR_NO_MEMORY,
			"the host has no memory for a rank's membership in its world; free some");
	boot->by_id = job->by_id;
	boot->several = job->several;
	status = join(boot, job);
	if (status != TSR_OK) {
		discard(boot);
		return status;
	}
	*boot_out = boot;
	return TSR_OK;
}

tsr_status_t tsr_boot_join(const tsr_job_t *job, uint64_t deadline_ns, tsr_boot_t **boot_out)
{
	tsr_job_t whole = *job;
	int root_fd = -1;
	tsr_status_t status = TSR_OK;
	if (job->asks_pmix)
		status = tsr_pmix_complete(&whole, deadline_ns, &root_fd);
	if (status == TSR_OK)
		status = join_job(&whole, deadline_ns, boot_out);
	tsr_fd_close(&root_fd, 1); /* the relay has a copy */
	return status;
}
