/*
 * PMIx: what a launcher tells the ranks that it starts, and what they tell each
 * other through it. Open MPI's mpirun, PRRTE and srun --mpi=pmix have servers of
 * it. It says how many ranks there are and which of them share a node; rank 0
 * publishes there where it listens, and a secret, which processes of the job
 * alone can read.
 */
#ifndef TESSERA_BOOTSTRAP_PMIX_H
#define TESSERA_BOOTSTRAP_PMIX_H

#include <stdatomic.h>

#include "src/bootstrap/bootstrap.h"
#include "src/bootstrap/pmix/abi.h"

/** What PMIx is asked, and what it answers. */
typedef struct tsr_pmix_talk {
	int rank, size; /* size 0: the answer is */
	const char *nspace;
	const char *call; /* for sentences: "tsr_init" */
	uint64_t deadline_ns;
	char interface[64]; /* rank 0: where it listens; "": at all addresses */
	bool knows_root;    /* rank 0 opens no port */
	_Atomic int meets;  /* for sentences: it waits for the other ranks */
	/* the answer */
	int node;       /* the lowest rank that is on this node too */
	int local_rank; /* how many lower ranks are on this node */
	int local_size;
	char root[256];
	char secret[40];
	int root_fd; /* rank 0: a socket that listens there; else -1 */
} tsr_pmix_talk_t;

/**
 * Completes a job that asks PMIx (job->asks_pmix). Collective among the ranks
 * of the job. Returns within the deadline, whatever PMIx does: it is asked in a
 * thread, which is left behind if a call of PMIx does not return. Such a call
 * cannot be ended; PMIx_Init, and PMIx_Fence among nodes, have no timeout that
 * servers keep. A job with a root that can do without PMIx (job->root) stays as
 * it is where there is no libpmix.so.2.
 *
 * Writes *root_fd_out: rank 0's socket, which the caller closes after it has
 * joined; else -1.
 * Errors: TSR_ERR_CONFIG (no PMIx, or another job than the variables say),
 * TSR_ERR_PEER_LOST (not all ranks came), TSR_ERR_SYSTEM.
 */
tsr_status_t tsr_pmix_complete(tsr_job_t *job, uint64_t deadline_ns, int *root_fd_out);

/* ------------------------------------------------------------------ its parts */

/** Loads libpmix.so.2. False: `why` says what is missing. */
bool tsr_pmix_load(tsr_pmix_calls_t *calls_out, char *why, size_t size);

/**
 * Begins a conversation: PMIx_Init, which each conversation ends by
 * PMIx_Finalize. With the first one the process becomes a client of PMIx until
 * it ends. Writes who it is, and which of its worlds this is, from 1 on: all
 * ranks of a job count alike, because joining a world is collective. Returns a
 * status of PMIx.
 */
int tsr_pmix_enter(const tsr_pmix_calls_t *calls, uint64_t deadline_ns, tsr_pmix_proc_t *me_out,
		   int *world_out);

/** What is to be said when the deadline has passed. */
tsr_status_t tsr_pmix_expire(const tsr_pmix_talk_t *talk);

/** The whole conversation, from PMIx_Init to PMIx_Finalize; may never return. */
tsr_status_t tsr_pmix_converse(const tsr_pmix_calls_t *calls, tsr_pmix_talk_t *talk);

/**
 * Reads the list of the ranks that share this node, such as "0,1,4" or "0-2,4".
 * False: it is no such list, or `rank` is not in it.
 */
bool tsr_pmix_read_peers(const char *list, int rank, int *lowest_out, int *local_rank_out,
			 int *local_size_out);

/**
 * Reads what rank 0 has published: "SECRET ROOT", ROOT "-" if the ranks are on
 * one node; or "! SENTENCE" if it has failed. False: it is none of these, and
 * `sentence` is "", or SENTENCE.
 */
bool tsr_pmix_read_published(const char *text, char secret[40], char root[256], char *sentence,
			     size_t size);

#endif
