/*
 * Bootstrap: the ranks of a job find each other, agree, and notice the loss of
 * a rank. Knows nothing of devices.
 */
#ifndef TESSERA_BOOTSTRAP_H
#define TESSERA_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend.h"
#include "src/base/os/secret.h"
#include "tessera/launcher.h"
#include "tessera/world.h"

/**
 * The identity of this process as the environment gives it. tsr_job_detect
 * reads TESSERA_*, and the variables of torchrun, Open MPI, PMIx, PMI and Slurm.
 */
typedef struct tsr_job {
	int rank, size;
	/* equal on all ranks of the job, different from all other jobs of this user and machine */
	char name[128];
	/* derived from what all processes of the job know and others can hardly know
	 * (launchers.h) */
	tsr_key_t key;
	/* "tessera run", "torchrun", "Open MPI", "PMI", "Slurm", "PMIx", "unique id", "none" */
	const char *launcher;
	bool by_id; /* ranks join by tsr_world_create_by_id, and not by tsr_init */
	/* tsr_boot_join asks PMIx for what the variables leave open (pmix/pmix.h) */
	bool asks_pmix;
	bool size_unknown;   /* asks_pmix: `size` is the least that it can be */
	bool secret_unknown; /* asks_pmix: `key` is not made of TESSERA_SECRET */
	bool root_given;     /* asks_pmix: `root` is TESSERA_ROOT, and no guess */
	/* The ranks are on several nodes, so far as the launcher knows. False: what follows is not
	 * used. */
	bool several;
	/* Ranks that share a node say the same, others another number where they may be on one
	 * machine. tsr_boot_node is another number: it counts nodes by their ranks. */
	int node;
	int local_rank; /* 0: the lowest rank of its node, which is its keeper */
	/* where rank 0 listens for the keepers of the other nodes: HOST:PORT, or several with
	 * commas in between (nodes/root.h) */
	char root[256];
	int root_fd;        /* rank 0: a socket that listens there already; 0: none */
	char interface[64]; /* rank 0: the interface or address to listen at; "": that of `root` */
} tsr_job_t;

/**
 * Detects the job. Errors: TSR_ERR_CONFIG (the variables contradict each other,
 * or show ranks on other nodes).
 */
tsr_status_t tsr_job_detect(tsr_job_t *job_out);

/**
 * A rank's membership in a job: a control segment that all ranks map, and for
 * processes a socket to rank 0 that carries descriptors.
 */
typedef struct tsr_boot tsr_boot_t;

/**
 * Joins `job` (ranks as processes). Where the job says so, asks PMIx first, for
 * at most the deadline. Rank 0 opens the door; the others return when it has let
 * them in, or with TSR_ERR_PEER_LOST at the deadline. The first
 * exchange waits for all ranks, or names those that never arrived. From then on
 * a rank's failure is reported to all.
 */
tsr_status_t tsr_boot_join(const tsr_job_t *job, uint64_t deadline_ns, tsr_boot_t **boot_out);

/**
 * The same for `size` ranks as threads of this process: makes all memberships.
 * boots_out[r] belongs to rank r's thread.
 */
tsr_status_t tsr_boot_threads(int size, uint64_t deadline_ns, tsr_boot_t **boots_out);

/**
 * The same for ranks that are fibres of an exploration. In a round other fibres
 * may run, and the rounds' order is reported to the exploration.
 */
tsr_status_t tsr_boot_fibres(struct tsr_exploration *exploration, int size, uint64_t deadline_ns,
			     tsr_boot_t **boots_out);

/** The exploration whose fibre this rank is, or null. */
struct tsr_exploration *tsr_boot_exploration(const tsr_boot_t *boot);

/**
 * Leaves the job. Not collective. A process that ends without leaving counts as
 * lost. Null is allowed.
 */
void tsr_boot_leave(tsr_boot_t *boot);

/**
 * Called by ranks that are threads, before they unmap memory that they share:
 * no exchange could tell them that the others no longer use it. Waits until all
 * ranks have called this or left. It has no deadline of its own: the code that
 * started the threads ends the process if one is late (src/world/main.c). For
 * processes it returns at once.
 */
void tsr_boot_quiesce(tsr_boot_t *boot);

/** The call by which ranks join, for sentences: "tsr_init". */
const char *tsr_boot_call(const tsr_boot_t *boot);

/**
 * The node of a rank: 0 to tsr_boot_nodes - 1, counted by the lowest ranks of
 * nodes. Rank 0 is on node 0. Valid after the first exchange.
 */
int tsr_boot_node(const tsr_boot_t *boot, int rank);
int tsr_boot_nodes(const tsr_boot_t *boot);

/**
 * Emulated nodes have their ranks in blocks, the first nodes one rank more
 * where the numbers do not divide: the node of `rank`, and (`*first_out`) the
 * first rank of that node.
 */
int tsr_node_in_blocks(int rank, int ranks, int nodes, int *first_out);

/**
 * Where rank 0 listens for the other nodes, for a log; "" on all other ranks,
 * in a world of one node, and where ranks are threads.
 */
const char *tsr_boot_listens(const tsr_boot_t *boot);

int tsr_boot_rank(const tsr_boot_t *boot);
int tsr_boot_size(const tsr_boot_t *boot);
bool tsr_boot_in_threads(const tsr_boot_t *boot);

/**
 * When a rank is lost: waits until the parent of its process has noticed its
 * end, for at most two seconds. A launcher that ends all ranks silently,
 * because nobody reads their output, has killed this process by then.
 */
void tsr_boot_await_burial(tsr_boot_t *boot);
tsr_shared_words_t *tsr_boot_words(tsr_boot_t *boot);

/**
 * The identity of this rank's process: equal for ranks that are threads of one
 * process, different for all other ranks of the world, even if their process
 * numbers are equal. (In PID namespaces of their own, such as containers, all
 * ranks may have the same process number.)
 */
uint64_t tsr_boot_process(const tsr_boot_t *boot);

/**
 * The collective on which all others are built. Every rank names its call (such
 * as "tsr_heap_alloc"), describes its arguments in a short text that must be
 * equal on all ranks ("" if nothing must be), and gives `size_bytes` that all
 * ranks receive. What ranks wrote to memory before it happens before what they
 * read after it.
 *
 * Errors:     TSR_ERR_MISMATCH on every rank, with the same sentence, if calls,
 *             arguments or sizes differ; TSR_ERR_PEER_LOST or TSR_ERR_TIMEOUT
 *             if a rank is lost or does not arrive within the deadline; the
 *             sentence names it. PEER_LOST, TIMEOUT and a MISMATCH of the
 *             calls' names end the world.
 */
tsr_status_t tsr_boot_exchange(tsr_boot_t *boot, const char *call, const char *arguments,
			       const void *mine, void *all, size_t size_bytes);

/**
 * The same for data of one rank: `size_bytes` at `data` are sent from rank
 * `root` to all.
 */
tsr_status_t tsr_boot_broadcast(tsr_boot_t *boot, const char *call, const char *arguments,
				void *data, size_t size_bytes, int root);

/**
 * The meeting place of a team: its rounds are separate from those of the world
 * and of other teams. A rank may be in several meetings at the same time, but
 * makes one call at a time in each.
 */
typedef struct tsr_meeting tsr_meeting_t;

/** The meeting of all ranks. tsr_boot_exchange is an exchange in it. */
tsr_meeting_t *tsr_boot_everybody(tsr_boot_t *boot);

/**
 * Makes a meeting of a team's members that has no place yet, on this rank only.
 * ranks[i] is the world rank of member i. `ranks` and `name` (which reports
 * use) must live as long as the meeting. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_meeting_create(tsr_boot_t *boot, const int *ranks, int members, int me,
				const char *name, tsr_meeting_t **meeting_out);
void tsr_meeting_forget(tsr_meeting_t *meeting);

/**
 * Takes memory of the control segment for the meeting. One member makes the
 * call and tells the others `place_out`. Errors: TSR_ERR_NO_MEMORY.
 */
tsr_status_t tsr_meeting_take_place(tsr_meeting_t *meeting, int32_t *place_out);

/** Returns a place in which nobody has met. */
void tsr_meeting_give_place(tsr_meeting_t *meeting, int32_t place);

/** From now on the members meet at this place. */
void tsr_meeting_enter(tsr_meeting_t *meeting, int32_t place);

/** A number of the meeting that no other one has as long as it lives; equal on all members. */
int32_t tsr_meeting_number(const tsr_meeting_t *meeting);

/**
 * Called by every member, after its last exchange. The last member returns the
 * place.
 */
void tsr_meeting_leave(tsr_meeting_t *meeting);

/**
 * As tsr_boot_exchange and tsr_boot_broadcast, among the members only. `root`
 * is a member.
 */
tsr_status_t tsr_meeting_exchange(tsr_meeting_t *meeting, const char *call, const char *arguments,
				  const void *mine, void *all, size_t size_bytes);
tsr_status_t tsr_meeting_broadcast(tsr_meeting_t *meeting, const char *call, const char *arguments,
				   void *data, size_t size_bytes, int root);

/**
 * Whether this process was forked from the rank's. It has the rank's sockets,
 * and none of its threads. False for explored ranks, which run in processes that
 * the library forks.
 */
bool tsr_boot_is_forked(const tsr_boot_t *boot);

/** Fails in a forked process, with TSR_ERR_UNSUPPORTED and a sentence about `call`. */
tsr_status_t tsr_boot_check_process(const tsr_boot_t *boot, const char *call);

/**
 * Gathers one descriptor of each rank of this node (-1: none) over the sockets;
 * fds_out[r] of a rank on another node is -1. The caller closes fds_out[r].
 * Collective, also among nodes.
 */
tsr_status_t tsr_boot_exchange_fds(tsr_boot_t *boot, int fd, int *fds_out);

/**
 * Aborts the world: the first status and sentence win, and every rank reports
 * them. Wakes all waiters.
 */
void tsr_boot_abort(tsr_boot_t *boot, tsr_status_t status, const char *sentence);

/**
 * Ends the world because this rank's program failed with `exit_code`. The other
 * ranks stop waiting for it.
 */
void tsr_boot_fail(tsr_boot_t *boot, int exit_code);

/**
 * The exit code for a rank that fails in this world: that of the rank whose
 * failure ended the world, or 1.
 */
int tsr_boot_exit_code(const tsr_boot_t *boot);

/** The status and the sentence that ended the world; TSR_OK while it lives. */
tsr_status_t tsr_boot_abort_status(const tsr_boot_t *boot, const char **sentence_out);

/**
 * The status and sentence of a call that finds the world ended. Every rank gets
 * the same, except that TSR_ERR_KERNEL and similar errors of one rank become
 * TSR_ERR_ABORTED on the others. TSR_OK while the world lives.
 */
tsr_status_t tsr_boot_ended(const tsr_boot_t *boot);

/** A rank of this node that has ended without leaving, or -1. */
int tsr_boot_lost_rank(tsr_boot_t *boot);

/**
 * Returns true to the first caller in the world with this sentence, so that
 * only one rank prints it. Sentences that differ in addresses alone (0x...) are
 * the same.
 */
bool tsr_boot_claim_report(tsr_boot_t *boot, const char *sentence);

/** The wait records of all ranks, oldest first; at most 64. */
void tsr_boot_keep_wait_record(tsr_boot_t *boot, const tsr_wait_record_t *record);
tsr_status_t tsr_boot_wait_record(const tsr_boot_t *boot, int index, tsr_wait_record_t *record_out);

#endif
