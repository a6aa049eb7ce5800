/* Membership: arriving, leaving, and noticing who has ended or does not come. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/error.h"
#include "src/base/executor.h"
#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"
#include "src/base/place.h"
#include "src/base/text.h"
#include "src/bootstrap/control.h"
#include "src/bootstrap/nodes/relay.h"

#define BURIAL_NS 2000000000u

enum {
	/* from a process's first descriptor that is closed to its last, on a busy machine */
	CLOSING_NS = 1000 * 1000000,
	/* the keeper does not look at its door so long: it is stopped */
	DOOR_WATCH_NS = 1000 * 1000000,
	LAST_STEP_NS = 1000 * 1000000 /* from "I have come" to having come */
};

const char tsr_boot_in_one_network[] = ", in one network namespace: they meet at an abstract "
				       "socket, which no other namespace sees, "
				       "as in containers without --network=host";

static int processors(void)
{
	cpu_set_t set;
	return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

tsr_boot_t *tsr_boot_make(int rank, int size, uint64_t deadline_ns)
{
	tsr_boot_t *boot = calloc(1, sizeof *boot);
	if (boot == NULL)
		return NULL;
	boot->rank = rank;
	boot->size = size;
	boot->pid = getpid();
	boot->deadline_ns = deadline_ns;
	boot->may_spin = processors() >= size;
	boot->control_fd = boot->door.fd = boot->bell_fd = -1;
	for (int r = 0; r < TSR_MAX_RANKS; r++)
		boot->sockets[r] = -1;
	return boot;
}

tsr_status_t tsr_boot_name_process(unsigned kind, uint64_t *process_out)
{
	uint64_t bits;
	if (!tsr_random_bytes(&bits, sizeof bits))
		return tsr_error(
			TSR_ERR_SYSTEM,
			"the kernel gives no random number to tell this process from others: %s",
			strerror(errno));
	*process_out = bits << 8 | kind;
	return TSR_OK;
}

bool tsr_boot_is_forked(const tsr_boot_t *boot)
{
	return boot->exploration == NULL && boot->pid != getpid();
}

tsr_status_t tsr_boot_check_process(const tsr_boot_t *boot, const char *call)
{
	if (!tsr_boot_is_forked(boot))
		return TSR_OK;
	return tsr_error(TSR_ERR_UNSUPPORTED,
			 "%s was called in a process that was forked from rank %d and is no rank: "
			 "make the call in the rank's own process, or fork before it joins the "
			 "world",
			 call, boot->rank);
}

uint64_t tsr_boot_process(const tsr_boot_t *boot)
{
	return boot->process;
}

static tsr_status_t no_memory(void)
{
	return tsr_error(TSR_ERR_NO_MEMORY,
			 "the host has no memory for a rank's membership in its world; free some");
}

tsr_status_t tsr_boot_threads(int size, uint64_t deadline_ns, tsr_boot_t **boots_out)
{
	if (size < 1 || size > TSR_MAX_RANKS)
		return tsr_error(TSR_ERR_ARGUMENT, "a world of %d ranks: a world has 1 to %d", size,
				 TSR_MAX_RANKS);
	tsr_control_t *control;
	uint64_t process = 0;
	tsr_status_t status = tsr_boot_name_process(0, &process);
	if (status == TSR_OK)
		status = tsr_control_map(-1, &control);
	if (status != TSR_OK)
		return status;
	tsr_boot_t *boots[TSR_MAX_RANKS];
	for (int r = 0; r < size; r++) {
		boots[r] = tsr_boot_make(r, size, deadline_ns);
		if (boots[r] == NULL) {
			while (r-- > 0)
				free(boots[r]);
			munmap(control, sizeof *control);
			return no_memory();
		}
		boots[r]->control = control;
		tsr_meeting_place(&boots[r]->world, boots[r], 0);
		boots[r]->in_threads = true;
		boots[r]->process = process;
		/* relaxed, here and below: no thread has the segment yet */
		atomic_store_explicit(&control->member[r].state, TSR_MEMBER_PRESENT,
				      memory_order_relaxed);
	}
	atomic_store_explicit(&control->users, (uint32_t)size, memory_order_relaxed);
	memcpy(boots_out, boots, (size_t)size * sizeof *boots);
	return TSR_OK;
}

tsr_status_t tsr_boot_fibres(tsr_exploration_t *exploration, int size, uint64_t deadline_ns,
			     tsr_boot_t **boots_out)
{
	tsr_status_t status = tsr_boot_threads(size, deadline_ns, boots_out);
	for (int parity = 0; status == TSR_OK && parity < 2; parity++)
		status = tsr_executor.edge(exploration, &boots_out[0]->world.words->edges[parity]);
	for (int r = 0; status == TSR_OK && r < size; r++)
		boots_out[r]->exploration = exploration;
	return status;
}

struct tsr_exploration *tsr_boot_exploration(const tsr_boot_t *boot)
{
	return boot->exploration;
}

/**
 * Byte [rank] of the segment's file: a POSIX lock that the kernel drops when
 * the process ends, however it ends and before its parent has noticed. (It also
 * drops it when the process closes any descriptor of the file: control_fd is
 * the only one.)
 */
static struct flock life_of(int rank)
{
	return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};
}

tsr_status_t tsr_boot_arrive(tsr_boot_t *boot)
{
	struct flock life = life_of(boot->rank);
	if (fcntl(boot->control_fd, F_SETLK, &life) != 0)
		return tsr_error(TSR_ERR_SYSTEM,
				 "rank %d cannot lock its byte of the control segment: %s",
				 boot->rank, strerror(errno));
	const tsr_event_t event = {
		.kind = TSR_EVENT_PRESENT, .rank = boot->rank, .place = boot->keeper};
	const int64_t number = tsr_event_claim(boot);
	tsr_control_member_t *member = &boot->control->member[boot->rank];
	/* relaxed, both: the next line orders them */
	atomic_store_explicit(&member->pid, getpid(), memory_order_relaxed);
	atomic_store_explicit(&member->keeper, boot->keeper, memory_order_relaxed);
	/* release: partner is the acquire in tsr_boot_lost_rank; the lock is taken before it is
	 * looked at */
	atomic_store_explicit(&member->state, TSR_MEMBER_PRESENT, memory_order_release);
	tsr_event_tell(boot, number, &event);
	return TSR_OK;
}

void tsr_boot_leave(tsr_boot_t *boot)
{
	if (boot == NULL)
		return;
	tsr_control_t *control = boot->control;
	const tsr_event_t event = {.kind = TSR_EVENT_LEFT, .rank = boot->rank};
	const int64_t number = tsr_event_claim(boot);
	/* release: partner is the acquire in tsr_boot_lost_rank; it comes before the lock is
	 * dropped */
	atomic_store_explicit(&control->member[boot->rank].state, TSR_MEMBER_LEFT,
			      memory_order_release);
	tsr_event_tell(boot, number, &event);
	tsr_relay_end(boot->relay, true);
	/* acq_rel: partner is itself; the last thread unmaps after all others' accesses */
	const bool last = !boot->in_threads ||
			  atomic_fetch_sub_explicit(&control->users, 1, memory_order_acq_rel) == 1;
	if (last && !(boot->exploration && tsr_executor.forgets(boot->exploration)))
		munmap(control, sizeof *control);
	tsr_fd_close(boot->sockets, TSR_MAX_RANKS);
	if (boot->door.fd >= 0)
		tsr_door_shut(&boot->door);
	tsr_fd_close(&boot->control_fd, 1);
	tsr_fd_close(&boot->bell_fd, 1);
	free(boot);
}

const char *tsr_boot_call(const tsr_boot_t *boot)
{
	return boot->by_id ? "tsr_world_create_by_id" : "tsr_init";
}

const char *tsr_boot_own_name(const tsr_boot_t *boot)
{
	return boot->by_id ? "each world its own id (tsr_unique_id_get)"
			   : "each job its own name (TESSERA_JOB)";
}

int tsr_boot_rank(const tsr_boot_t *boot)
{
	return boot->rank;
}

int tsr_boot_size(const tsr_boot_t *boot)
{
	return boot->size;
}

bool tsr_boot_in_threads(const tsr_boot_t *boot)
{
	return boot->in_threads;
}

tsr_shared_words_t *tsr_boot_words(tsr_boot_t *boot)
{
	return &boot->control->words;
}

static tsr_member_state_t state_of(const tsr_boot_t *boot, int rank)
{
	/* acquire: partners are the releases in tsr_boot_arrive and tsr_boot_leave, and in
	 * tsr_frame_apply for far ranks */
	return (tsr_member_state_t)atomic_load_explicit(&boot->control->member[rank].state,
							memory_order_acquire);
}

int tsr_boot_lost_rank(tsr_boot_t *boot)
{
	if (boot->control_fd < 0)
		return -1; /* threads do not end alone */
	for (int r = 0; r < boot->size; r++) {
		if (r == boot->rank || state_of(boot, r) != TSR_MEMBER_PRESENT)
			continue;
		if (tsr_boot_is_far(boot, r))
			continue; /* its lock is on its node, whose relay looks at it */
		struct flock life = life_of(r);
		/* Nobody holds the lock: it ended, unless it has left between the two looks. */
		if (fcntl(boot->control_fd, F_GETLK, &life) == 0 && life.l_type == F_UNLCK &&
		    state_of(boot, r) == TSR_MEMBER_PRESENT)
			return r;
	}
	return -1;
}

void tsr_boot_await_burial(tsr_boot_t *boot)
{
	const uint64_t end_ns = tsr_now_ns() + BURIAL_NS;
	for (int lost; (lost = tsr_boot_lost_rank(boot)) >= 0 && tsr_now_ns() < end_ns;) {
		/* relaxed: its state orders it */
		const int pid = atomic_load_explicit(&boot->control->member[lost].pid,
						     memory_order_relaxed);
		if (kill(pid, 0) != 0)
			return;
		tsr_sleep_until(tsr_now_ns() + 1000000);
	}
}

/** True where the member has not come to the round that this rank waits in. */
static bool is_missing(const tsr_meeting_t *meeting, int member)
{
	/* relaxed: for the report alone */
	const uint32_t posted =
		atomic_load_explicit(tsr_meeting_posted(meeting, member), memory_order_relaxed);
	return (int32_t)(posted - meeting->round) < 0;
}

static tsr_status_t end_for_lost(tsr_boot_t *boot, int lost, const char *call)
{
	bool chosen[TSR_MAX_RANKS] = {false};
	char node[TSR_NODES_TEXT];
	chosen[lost] = true;
	return tsr_boot_end(boot, TSR_ERR_PEER_LOST,
			    "rank %d of %d%s is lost: its process ended without leaving the world "
			    "(noticed in %s); let it return from TSR_MAIN in place of exit, or see "
			    "what ended it",
			    lost, boot->size, tsr_boot_on_nodes(boot, chosen, node, sizeof node),
			    call);
}

/** The keeper: one that was let in, and whose process ended before it took its lock; or -1. */
static int lost_on_arrival(const tsr_boot_t *boot)
{
	for (int r = 1; r < boot->size; r++) {
		struct pollfd entry = {.fd = boot->sockets[r]};
		if (boot->rank == boot->keeper && entry.fd >= 0 &&
		    state_of(boot, r) == TSR_MEMBER_ABSENT && tsr_fd_poll(&entry, 1, 0) > 0 &&
		    (entry.revents & POLLHUP) != 0 && state_of(boot, r) == TSR_MEMBER_ABSENT)
			return r;
	}
	return -1;
}

tsr_status_t tsr_boot_check_ranks(tsr_boot_t *boot, const char *call)
{
	return tsr_meeting_check_ranks(&boot->world, call);
}

tsr_status_t tsr_meeting_check_ranks(const tsr_meeting_t *meeting, const char *call)
{
	tsr_boot_t *boot = meeting->boot;
	int lost = tsr_boot_lost_rank(boot);
	if (lost < 0)
		lost = lost_on_arrival(boot);
	if (lost >= 0)
		return end_for_lost(boot, lost, call);
	for (int i = 0; i < meeting->size; i++) {
		const int rank = tsr_meeting_rank(meeting, i);
		if (state_of(boot, rank) == TSR_MEMBER_LEFT && is_missing(meeting, i))
			return tsr_boot_end(
				boot, TSR_ERR_PEER_LOST,
				"rank %d of %d has left the world and never comes to %s", rank,
				boot->size, call);
	}
	return TSR_OK;
}

tsr_status_t tsr_boot_end_closed(tsr_boot_t *boot, int rank, const char *call)
{
	/* The kernel closes a process's descriptors one after the other: its lock may go a little
	 * later than its socket. And a rank may have closed it because it knows that the world has
	 * ended. */
	const uint64_t end_ns = tsr_now_ns() + CLOSING_NS;
	tsr_status_t status = TSR_OK;
	while (status == TSR_OK && tsr_now_ns() < end_ns) {
		status = tsr_boot_ended(boot);
		if (status == TSR_OK)
			status = tsr_boot_check_ranks(boot, call);
		if (status == TSR_OK)
			tsr_sleep_until(tsr_now_ns() + 1000000);
	}
	return status == TSR_OK ? end_for_lost(boot, rank, call) : status;
}

int tsr_boot_list_ranks(const bool *chosen, int ranks, char *text, size_t size)
{
	int listed[TSR_MAX_RANKS], count = 0;
	for (int r = 0; r < ranks; r++)
		if (chosen[r])
			listed[count++] = r;
	size_t used = (size_t)snprintf(text, size, "rank%s ", count == 1 ? "" : "s");
	for (int i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%d",
					 i == 0           ? ""
					 : i == count - 1 ? " and "
							  : ", ",
					 listed[i]);
	return count;
}

/** A wait record: the host call `call` of this rank waited for a member. */
static void record_wait(const tsr_meeting_t *meeting, const char *call, uint64_t begin_ns,
			int member)
{
	const tsr_place_t *place = tsr_place_here();
	tsr_wait_record_t record = {.rank = meeting->boot->rank,
				    .team_rank = meeting->me,
				    .block = -1,
				    .worker = -1,
				    .expected = meeting->round,
				    .owner = meeting->boot->rank,
				    .from = tsr_meeting_rank(meeting, member),
				    .team_from = member,
				    .waited_ns = tsr_now_ns() - begin_ns};
	/* relaxed: for the report alone */
	record.seen =
		atomic_load_explicit(tsr_meeting_posted(meeting, member), memory_order_relaxed);
	snprintf(record.team, sizeof record.team, "%s", meeting->name ? meeting->name : "");
	snprintf(record.kernel, sizeof record.kernel, "%s", place->file ? place->call : call);
	if (place->file)
		snprintf(record.site, sizeof record.site, "%s:%d", place->file, place->line);
	tsr_boot_keep_wait_record(meeting->boot, &record);
}

/** The sentence that ends the world because members of a team do not come. */
static tsr_status_t blame_members(const tsr_meeting_t *meeting, const char *call,
				  const char *deadline, const bool *late)
{
	bool late_ranks[TSR_MAX_RANKS] = {false};
	char members[TSR_RANKS_TEXT], ranks[TSR_RANKS_TEXT], me[TSR_WHO_TEXT];
	char nodes[TSR_NODES_TEXT];
	for (int i = 0; i < meeting->size; i++)
		late_ranks[tsr_meeting_rank(meeting, i)] = late[i];
	(void)tsr_boot_list_ranks(late, meeting->size, members, sizeof members);
	(void)tsr_boot_list_ranks(late_ranks, meeting->boot->size, ranks, sizeof ranks);
	return tsr_boot_end(
		meeting->boot, TSR_ERR_TIMEOUT,
		"%s of %d of team '%s' (%s of the world%s) did not come to %s within %s, "
		"where %s waited: every rank of a "
		"team must make the same collective calls (TESSERA_DEADLINE sets how "
		"long a wait lasts)",
		members, meeting->size, meeting->name, ranks,
		tsr_boot_on_nodes(meeting->boot, late_ranks, nodes, sizeof nodes), call, deadline,
		tsr_who_text(meeting->boot->rank, meeting->me, meeting->name, me));
}

/**
 * Ends the world because of the members in `late`, with a wait record for each:
 * the host call waited for it.
 */
static tsr_status_t blame(const tsr_meeting_t *meeting, const char *call, uint64_t begin_ns,
			  const bool *late, bool absent)
{
	tsr_boot_t *boot = meeting->boot;
	char ranks[TSR_RANKS_TEXT], nodes[TSR_NODES_TEXT], deadline[32];
	tsr_duration_text(boot->deadline_ns, deadline, sizeof deadline);
	for (int i = 0; i < meeting->size; i++)
		if (late[i])
			record_wait(meeting, call, begin_ns, i);
	if (meeting->name)
		return blame_members(meeting, call, deadline, late);
	(void)tsr_boot_list_ranks(late, boot->size, ranks, sizeof ranks);
	if (absent)
		return tsr_boot_end(boot, TSR_ERR_PEER_LOST,
				    "%s of %d never arrived within %s: all ranks of the job must "
				    "start and call %s%s (TESSERA_DEADLINE "
				    "sets how long the others wait)",
				    ranks, boot->size, deadline, tsr_boot_call(boot),
				    boot->several ? "" : tsr_boot_in_one_network);
	return tsr_boot_end(boot, TSR_ERR_TIMEOUT,
			    "%s of %d%s did not come to %s within %s, where rank %d waited: every "
			    "rank must make the same collective calls "
			    "(TESSERA_DEADLINE sets how long a wait lasts)",
			    ranks, boot->size, tsr_boot_on_nodes(boot, late, nodes, sizeof nodes),
			    call, deadline, boot->rank);
}

/**
 * Whether those who are absent had the chance to come in: the keeper looks at its
 * door fifty times a second, where it is not stopped itself. Watches it for a
 * second at most, as the machine may be busy.
 */
static bool door_is_served(const tsr_boot_t *boot)
{
	if (boot->rank == boot->keeper || !is_missing(&boot->world, boot->keeper))
		return true;
	/* relaxed: for the report alone */
	const uint32_t seen =
		atomic_load_explicit(&boot->control->door_looks, memory_order_relaxed);
	const uint64_t end_ns = tsr_now_ns() + DOOR_WATCH_NS;
	const char *sentence;
	while (tsr_now_ns() < end_ns) {
		if (atomic_load_explicit(&boot->control->door_looks, memory_order_relaxed) !=
			    seen ||
		    tsr_boot_abort_status(boot, &sentence) != TSR_OK)
			return true;
		tsr_sleep_until(tsr_now_ns() + 5000000);
	}
	return false;
}

/**
 * Nothing comes through node 0, so who is missing here may have come: the relay
 * of this node says so soon, if it is not heard again.
 */
static bool is_hub_silent(const tsr_boot_t *boot, uint64_t begin_ns)
{
	/* relaxed: for the report alone */
	return atomic_load_explicit(&boot->control->silent, memory_order_relaxed) == 1 &&
	       tsr_now_ns() - begin_ns < 2 * boot->deadline_ns;
}

tsr_status_t tsr_meeting_expire(const tsr_meeting_t *meeting, const char *call, uint64_t begin_ns)
{
	tsr_boot_t *boot = meeting->boot;
	bool absent[TSR_MAX_RANKS], missing[TSR_MAX_RANKS];
	int absents = 0, missings = 0;
	const tsr_status_t status = tsr_boot_expire_fds(boot);
	if (status != TSR_OK || is_hub_silent(boot, begin_ns))
		return status;
	for (int i = 0; i < meeting->size; i++) {
		absents += absent[i] =
			state_of(boot, tsr_meeting_rank(meeting, i)) == TSR_MEMBER_ABSENT;
		missings += missing[i] = is_missing(meeting, i);
	}
	if (absents > 0 && door_is_served(boot))
		return blame(meeting, call, begin_ns, absent, true);
	if (absents > 0) {
		for (int r = 0; r < boot->size; r++)
			missing[r] = r == boot->keeper; /* the others could not come in */
		missings = 1;
	}
	if (missings > 0)
		return blame(meeting, call, begin_ns, missing, false);
	if (tsr_now_ns() - begin_ns < boot->deadline_ns + LAST_STEP_NS)
		return TSR_OK; /* the last one is in the door */
	return tsr_boot_end(boot, TSR_ERR_TIMEOUT,
			    "all %d ranks came to %s, but one was stopped on its way in, and rank "
			    "%d waited past the deadline",
			    meeting->size, call, boot->rank);
}
