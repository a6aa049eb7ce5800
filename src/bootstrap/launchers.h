/* The variables by which each launcher identifies this process. */
#ifndef TESSERA_BOOTSTRAP_LAUNCHERS_H
#define TESSERA_BOOTSTRAP_LAUNCHERS_H

#include "src/base/settings/options.h"
#include "src/bootstrap/bootstrap.h"
#include "tessera/status.h"

typedef struct tsr_found {
	const char *launcher;
	int rank, size; /* 0: none of the launcher's variables is set */
	int local_size; /* ranks on this node; 0: unknown */
	int local_rank; /* rank among those of this node; -1: unknown */
	int node;       /* as in tsr_job_t; 0 if the launcher has no number for it */
	bool several;   /* the ranks are on several nodes */
	/* HOST:PORT where rank 0 listens for the other nodes; "": the launcher does not say it */
	char root[256];
	bool root_guessed;     /* `root` is made of what the launcher says of other things */
	bool asks_pmix;        /* PMIx knows the rest; size 0: the size too */
	bool named_by_process; /* `job` is a process of this node: no name for several */
	char job[256];         /* the job's name, which all its ranks share */
	/* A secret that the job's ranks share and other users can hardly guess, if the launcher
	 * provides one. If it is empty, the job's key is made of the name alone. Even then no other
	 * user's process can come in, because the kernel tells which user a process belongs to. But
	 * a user who guesses the name can take the job's address before rank 0 does, and the job
	 * then fails at once. And another process of the same user with the same name is taken for
	 * a rank. TESSERA_SECRET prevents both.
	 *   tessera run   128 random bits, in TESSERA_SECRET
	 *   Open MPI 4    the job's random key (OMPI_MCA_orte_precondition_transports)
	 *   torchrun      TORCHELASTIC_RUN_ID, as far as it is random: only --standalone
	 *                 makes torchrun invent one
	 *   the others    nothing
	 * Where ranks ask PMIx (pmix/pmix.h), rank 0 publishes 128 random bits there, and these
	 * are the secret. */
	char secret[256];
} tsr_found_t;

/*
 * Each reads the variables of one launcher. TSR_OK with size 0 if none is set;
 * TSR_ERR_CONFIG if only some are set, or a value cannot be read.
 */
tsr_status_t tsr_found_tessera(const tsr_options_t *options, tsr_found_t *found_out);
tsr_status_t tsr_found_torchrun(tsr_found_t *found_out);
tsr_status_t tsr_found_open_mpi(tsr_found_t *found_out);
tsr_status_t tsr_found_pmi(tsr_found_t *found_out);
tsr_status_t tsr_found_slurm(tsr_found_t *found_out);

/** Makes the job's name and key. `secret`: TESSERA_SECRET, or null. */
void tsr_job_of(const tsr_found_t *found, const char *secret, tsr_job_t *job_out);

/** PMIx's variables give a rank and the job's name, but no size. */
tsr_status_t tsr_found_pmix(tsr_found_t *found_out);

/** Whether PMIx's variables are those of this rank of a job. */
bool tsr_pmix_knows(int rank);

#endif
