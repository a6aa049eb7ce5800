/* Membership: arriving, leaving, and noticing who has ended or does not come. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/error.h"
#include "src/base/text.h"
#include "src/bootstrap/control.h"
#include "src/explore/exploration.h"

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
	boot->deadline_ns = deadline_ns;
	boot->may_spin = processors() >= size;
	boot->control_fd = boot->door_fd = -1;
	for (int r = 0; r < TSR_MAX_RANKS; r++)
		boot->sockets[r] = -1;
	return boot;
}

static tsr_status_t no_memory(void)
{
	return tsr_error(TSR_ERR_NO_MEMORY, "the host has no memory for a rank's membership in its world");
}

tsr_status_t tsr_boot_threads(int size, uint64_t deadline_ns, tsr_boot_t **boots_out)
{
	if (size < 1 || size > TSR_MAX_RANKS)
		return tsr_error(TSR_ERR_ARGUMENT, "a world of %d ranks: a world has 1 to %d", size, TSR_MAX_RANKS);
	tsr_control_t *control;
	const tsr_status_t status = tsr_control_map(-1, &control);
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
		boots[r]->in_threads = true;
		/* relaxed, here and below: no thread has the segment yet */
		atomic_store_explicit(&control->member[r].state, TSR_MEMBER_PRESENT, memory_order_relaxed);
	}
	atomic_store_explicit(&control->users, (uint32_t)size, memory_order_relaxed);
	memcpy(boots_out, boots, (size_t)size * sizeof *boots);
	return TSR_OK;
}

tsr_status_t tsr_boot_fibres(tsr_exploration_t *exploration, int size, uint64_t deadline_ns, tsr_boot_t **boots_out)
{
	tsr_status_t status = tsr_boot_threads(size, deadline_ns, boots_out);
	for (int parity = 0; status == TSR_OK && parity < 2; parity++)
		status = tsr_exploration_edge(exploration, &boots_out[0]->control->edges[parity]);
	for (int r = 0; status == TSR_OK && r < size; r++)
		boots_out[r]->exploration = exploration;
	return status;
}

struct tsr_exploration *tsr_boot_exploration(const tsr_boot_t *boot)
{
	return boot->exploration;
}

/**
 * Byte [rank] of the segment's file: a POSIX lock that the kernel drops when the process ends, however it ends and before its
 * parent has noticed. (It also drops it when the process closes any descriptor of the file: control_fd is the only one.)
 */
static struct flock life_of(int rank)
{
	return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};
}

tsr_status_t tsr_boot_arrive(tsr_boot_t *boot)
{
	struct flock life = life_of(boot->rank);
	if (fcntl(boot->control_fd, F_SETLK, &life) != 0)
		return tsr_error(TSR_ERR_SYSTEM, "rank %d cannot lock its byte of the control segment: %s", boot->rank,
				 strerror(errno));
	/* release: partner is the acquire in tsr_boot_lost_rank; the lock is taken before it is looked at */
	atomic_store_explicit(&boot->control->member[boot->rank].state, TSR_MEMBER_PRESENT, memory_order_release);
	return TSR_OK;
}

void tsr_boot_leave(tsr_boot_t *boot)
{
	if (boot == NULL)
		return;
	tsr_control_t *control = boot->control;
	/* release: partner is the acquire in tsr_boot_lost_rank; it comes before the lock is dropped */
	atomic_store_explicit(&control->member[boot->rank].state, TSR_MEMBER_LEFT, memory_order_release);
	/* acq_rel: partner is itself; the last thread unmaps after all others' accesses */
	if (!boot->in_threads || atomic_fetch_sub_explicit(&control->users, 1, memory_order_acq_rel) == 1)
		munmap(control, sizeof *control);
	for (int r = 0; r < TSR_MAX_RANKS; r++)
		if (boot->sockets[r] >= 0)
			close(boot->sockets[r]);
	if (boot->door_fd >= 0)
		close(boot->door_fd);
	if (boot->control_fd >= 0)
		close(boot->control_fd);
	free(boot);
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
	/* acquire: partners are the releases in tsr_boot_arrive and tsr_boot_leave */
	return (tsr_member_state_t)atomic_load_explicit(&boot->control->member[rank].state, memory_order_acquire);
}

int tsr_boot_lost_rank(tsr_boot_t *boot)
{
	if (boot->control_fd < 0)
		return -1; /* threads do not end alone */
	for (int r = 0; r < boot->size; r++) {
		if (r == boot->rank || state_of(boot, r) != TSR_MEMBER_PRESENT)
			continue;
		struct flock life = life_of(r);
		/* Nobody holds the lock: it ended, unless it has left between the two looks. */
		if (fcntl(boot->control_fd, F_GETLK, &life) == 0 && life.l_type == F_UNLCK &&
		    state_of(boot, r) == TSR_MEMBER_PRESENT)
			return r;
	}
	return -1;
}

/** True where `rank` has not come to the round that this rank waits in. */
static bool is_missing(const tsr_boot_t *boot, int rank)
{
	/* relaxed: for the report alone */
	const uint32_t posted = atomic_load_explicit(&boot->control->member[rank].posted, memory_order_relaxed);
	return (int32_t)(posted - boot->round) < 0;
}

tsr_status_t tsr_boot_check_ranks(tsr_boot_t *boot, const char *call)
{
	const int lost = tsr_boot_lost_rank(boot);
	if (lost >= 0)
		return tsr_boot_end(boot, TSR_ERR_PEER_LOST,
				    "rank %d of %d is lost: its process ended without leaving the world (noticed in %s)", lost,
				    boot->size, call);
	for (int r = 0; r < boot->size; r++)
		if (state_of(boot, r) == TSR_MEMBER_LEFT && is_missing(boot, r))
			return tsr_boot_end(boot, TSR_ERR_PEER_LOST, "rank %d of %d has left the world and never comes to %s", r,
					    boot->size, call);
	return TSR_OK;
}

/** Writes "rank 3", "ranks 1 and 3" or "ranks 0, 1 and 3": those that are missing in this round, or those that never arrived. */
static int list_missing(const tsr_boot_t *boot, bool absent_only, char *text, size_t size)
{
	int ranks[TSR_MAX_RANKS], count = 0;
	for (int r = 0; r < boot->size; r++)
		if (absent_only ? state_of(boot, r) == TSR_MEMBER_ABSENT : is_missing(boot, r))
			ranks[count++] = r;
	size_t used = (size_t)snprintf(text, size, "rank%s ", count == 1 ? "" : "s");
	for (int i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%d", i == 0 ? "" : i == count - 1 ? " and " : ", ", ranks[i]);
	return count;
}

/** One wait record for each rank that did not come: the host call waited for it. */
static void keep_records(tsr_boot_t *boot, const char *call, uint64_t waited_ns)
{
	for (int r = 0; r < boot->size; r++) {
		if (!is_missing(boot, r) && state_of(boot, r) != TSR_MEMBER_ABSENT)
			continue;
		/* relaxed: for the report alone */
		const uint32_t posted = atomic_load_explicit(&boot->control->member[r].posted, memory_order_relaxed);
		tsr_wait_record_t record = {.rank = boot->rank,
					    .block = -1,
					    .worker = -1,
					    .expected = boot->round,
					    .seen = posted,
					    .from = r,
					    .waited_ns = waited_ns};
		snprintf(record.kernel, sizeof record.kernel, "%s", call);
		tsr_boot_keep_wait_record(boot, &record);
	}
}

tsr_status_t tsr_boot_expire(tsr_boot_t *boot, const char *call, uint64_t begin_ns)
{
	char missing[8 + 5 * TSR_MAX_RANKS], deadline[32];
	tsr_duration_text(boot->deadline_ns, deadline, sizeof deadline);
	keep_records(boot, call, tsr_now_ns() - begin_ns);
	if (list_missing(boot, true, missing, sizeof missing) > 0)
		return tsr_boot_end(
			boot, TSR_ERR_PEER_LOST,
			"%s of %d never arrived within %s: all ranks of the job must start and call tsr_init (TESSERA_DEADLINE "
			"sets how long the others wait)",
			missing, boot->size, deadline);
	if (list_missing(boot, false, missing, sizeof missing) == 0)
		return TSR_OK; /* the last one is in the door */
	return tsr_boot_end(
		boot, TSR_ERR_TIMEOUT,
		"%s of %d did not come to %s within %s, where rank %d waited: every rank must make the same collective calls "
		"(TESSERA_DEADLINE sets how long a wait lasts)",
		missing, boot->size, call, deadline, boot->rank);
}
