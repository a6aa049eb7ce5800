/*
 * Bootstrap: how the ranks of a job find each other, agree, and notice a loss.
 * Knows nothing of devices.
 */
#ifndef TESSERA_BOOTSTRAP_H
#define TESSERA_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "src/base/secret.h"
#include "tessera/launcher.h"
#include "tessera/world.h"

/**
 * Who the environment says this process is. Read by tsr_job_detect from
 * TESSERA_*, torchrun, Open MPI / PMIx, PMI, Slurm.
 */
typedef struct tsr_job {
	int rank, size;
	/* the same on all ranks of the job, on no other job of this user and machine */
	char name[128];
	/* of what all processes of the job know, and others hardly: launchers.h says what that
	 * is */
	tsr_key_t key;
	const char *launcher; /* "tessera run", "torchrun", "Open MPI", "PMI", "Slurm", "none" */
} tsr_job_t;

/**
 * Errors: TSR_ERR_CONFIG where the variables contradict each other or show
 * ranks on other nodes.
 */
tsr_status_t tsr_job_detect(tsr_job_t *job_out);

/**
 * A rank's membership in a job: a control segment that all ranks map, and for
 * processes a socket to rank 0 over which descriptors travel.
 */
typedef struct tsr_boot tsr_boot_t;

/**
 * Enters `job` (processes): rank 0 opens the door, the others return when it
 * has let them in, within the deadline or with TSR_ERR_PEER_LOST. The first
 * exchange meets all ranks, or names who never arrived: from here on a rank's
 * failure is told to all.
 */
tsr_status_t tsr_boot_join(const tsr_job_t *job, uint64_t deadline_ns, tsr_boot_t **boot_out);

/**
 * The same for `size` ranks as threads of this process: makes them all;
 * boots_out[r] is for rank r's thread.
 */
tsr_status_t tsr_boot_threads(int size, uint64_t deadline_ns, tsr_boot_t **boots_out);

/**
 * The same for ranks that are fibres of an exploration: rounds are places where
 * others may run, and order what they order.
 */
tsr_status_t tsr_boot_fibres(struct tsr_exploration *exploration, int size, uint64_t deadline_ns,
			     tsr_boot_t **boots_out);

/** Whose fibre this rank is, or null. */
struct tsr_exploration *tsr_boot_exploration(const tsr_boot_t *boot);

/** Leaves. Not collective. A process that ends without it counts as lost. Null is nothing. */
void tsr_boot_leave(tsr_boot_t *boot);

/**
 * Before memory is unmapped that ranks as threads share, where no exchange
 * could say that they are done with it: waits until all ranks have called this
 * or left. Without a deadline, as the only wait: whoever started the threads
 * joins all of them, so that to leave a late one behind would leak the memory
 * and end nothing sooner. Processes: returns at once.
 */
void tsr_boot_quiesce(tsr_boot_t *boot);

int tsr_boot_rank(const tsr_boot_t *boot);
int tsr_boot_size(const tsr_boot_t *boot);
bool tsr_boot_in_threads(const tsr_boot_t *boot);

/**
 * Where a rank is lost: waits until the parent of its process has seen that it
 * has ended, two seconds at most. A launcher that ends all without a word,
 * since nobody reads what they print, has killed this process by then.
 */
void tsr_boot_await_burial(tsr_boot_t *boot);
tsr_shared_words_t *tsr_boot_words(tsr_boot_t *boot);

/**
 * Which process this rank is in: equal for ranks that are threads of one
 * process, different for all others of the world, whatever their numbers are.
 * (In PID namespaces of their own, such as containers, all ranks may have one
 * process number.)
 */
uint64_t tsr_boot_process(const tsr_boot_t *boot);

/**
 * The one collective under all others: every rank names its call (such as
 * "tsr_heap_alloc"), describes its arguments in a short text that must be equal
 * on all ranks ("" where nothing must), and gives `size_bytes` that all ranks
 * receive.
 * Any mismatch of call, arguments or size is TSR_ERR_MISMATCH on every rank,
 * with the same sentence: who called what.
 * A rank that is lost or does not come within the deadline: TSR_ERR_PEER_LOST
 * or TSR_ERR_TIMEOUT, which names it.
 * After PEER_LOST, TIMEOUT and MISMATCH of the call's name the world is
 * aborted. What ranks wrote to memory before it happens before what they read
 * after it.
 */
tsr_status_t tsr_boot_exchange(tsr_boot_t *boot, const char *call, const char *arguments,
			       const void *mine, void *all, size_t size_bytes);

/**
 * The same where one rank has something to say: `size_bytes` at `data` travel
 * from rank `root` to all.
 */
tsr_status_t tsr_boot_broadcast(tsr_boot_t *boot, const char *call, const char *arguments,
				void *data, size_t size_bytes, int root);

/**
 * Where the members of a team exchange: its rounds are apart from those of the
 * world and of other teams. Ranks are in any number of meetings at the same
 * time; of one meeting a rank makes one call at a time.
 */
typedef struct tsr_meeting tsr_meeting_t;

/** The meeting of all ranks: tsr_boot_exchange is an exchange in it. */
tsr_meeting_t *tsr_boot_everybody(tsr_boot_t *boot);

/**
 * A meeting of a team's members that has no place yet: this rank's alone.
 * ranks[i] is the rank of member i in the world; `ranks` and `name`, which
 * reports use, live as long as the meeting. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_meeting_create(tsr_boot_t *boot, const int *ranks, int members, int me,
				const char *name, tsr_meeting_t **meeting_out);
void tsr_meeting_forget(tsr_meeting_t *meeting);

/**
 * Takes memory of the control segment for it: by one member, who tells the
 * others `place_out`. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_meeting_take_place(tsr_meeting_t *meeting, int32_t *place_out);

/** Gives back a place where nobody has met. */
void tsr_meeting_give_place(tsr_meeting_t *meeting, int32_t place);

/** From now on the members meet there. */
void tsr_meeting_enter(tsr_meeting_t *meeting, int32_t place);

/** By every member, behind its last exchange: the last one gives back the place. */
void tsr_meeting_leave(tsr_meeting_t *meeting);

/** As tsr_boot_exchange and tsr_boot_broadcast, by the members alone. A root is a member. */
tsr_status_t tsr_meeting_exchange(tsr_meeting_t *meeting, const char *call, const char *arguments,
				  const void *mine, void *all, size_t size_bytes);
tsr_status_t tsr_meeting_broadcast(tsr_meeting_t *meeting, const char *call, const char *arguments,
				   void *data, size_t size_bytes, int root);

/**
 * Gathers one descriptor of each rank (-1: none) over the sockets; fds_out[r]
 * is this process's to close. Collective.
 */
tsr_status_t tsr_boot_exchange_fds(tsr_boot_t *boot, int fd, int *fds_out);

/**
 * Aborts the world: the first status and sentence win, and every rank reports
 * them. Wakes all who wait.
 */
void tsr_boot_abort(tsr_boot_t *boot, tsr_status_t status, const char *sentence);

/**
 * Ends the world because this rank's program failed with `exit_code`: nobody
 * waits for it any more.
 */
void tsr_boot_fail(tsr_boot_t *boot, int exit_code);

/**
 * What a rank that fails in this world exits with: the code of the rank whose
 * failure ended it, or 1.
 */
int tsr_boot_exit_code(const tsr_boot_t *boot);

/** The status and sentence that ended the world; TSR_OK while it lives. */
tsr_status_t tsr_boot_abort_status(const tsr_boot_t *boot, const char **sentence_out);

/**
 * The status of a call that finds the world ended, with the sentence that ended
 *  it: the same on every rank, but that others call one rank's TSR_ERR_KERNEL
 *  and the like TSR_ERR_ABORTED. TSR_OK while the world lives.
 */
tsr_status_t tsr_boot_ended(const tsr_boot_t *boot);

/** A rank that has ended without leaving, or -1. */
int tsr_boot_lost_rank(tsr_boot_t *boot);

/** True for the first caller of the whole world with this sentence: so that one rank prints it. */
bool tsr_boot_claim_report(tsr_boot_t *boot, const char *sentence);

/** Wait records of all ranks, oldest first; at most 64. */
void tsr_boot_keep_wait_record(tsr_boot_t *boot, const tsr_wait_record_t *record);
tsr_status_t tsr_boot_wait_record(const tsr_boot_t *boot, int index, tsr_wait_record_t *record_out);

#endif
