/* What the variables of one launcher say about this process. */
#ifndef TESSERA_BOOTSTRAP_LAUNCHERS_H
#define TESSERA_BOOTSTRAP_LAUNCHERS_H

#include "src/base/options.h"
#include "src/bootstrap/bootstrap.h"
#include "tessera/status.h"

typedef struct tsr_found {
	const char *launcher;
	int rank, size; /* size 0: none of the variables is there */
	int local_size; /* ranks on this node, 0: not said */
	char job[256];  /* what all ranks of the job share: its name */
	/*
	 * What they share and other users can hardly tell, where the launcher gives them anything
	 * of that kind; else empty, and the name alone makes the job's key. Then nobody of another
	 * user comes in all the same, since the kernel says whose user a process is; but one who
	 * guesses the name can take the job's address before rank 0 does, and the job fails at
	 * once. And another process of the same user that has the same name is taken for a rank.
	 * TESSERA_SECRET closes both.
	 *   tessera run   128 random bits, in TESSERA_SECRET
	 *   Open MPI 4    the job's random key (OMPI_MCA_orte_precondition_transports)
	 *   torchrun      TORCHELASTIC_RUN_ID, as far as it is random: torchrun makes up one with
	 *                 --standalone alone
	 *   the others    nothing
	 */
	char secret[256];
} tsr_found_t;

/*
 * Each reads one launcher's variables. TSR_OK with size 0 where there are none;
 * TSR_ERR_CONFIG where only a part is there, or a value cannot be read.
 */
tsr_status_t tsr_found_tessera(const tsr_options_t *options, tsr_found_t *found_out);
tsr_status_t tsr_found_torchrun(tsr_found_t *found_out);
tsr_status_t tsr_found_open_mpi(tsr_found_t *found_out);
tsr_status_t tsr_found_pmi(tsr_found_t *found_out);
tsr_status_t tsr_found_slurm(tsr_found_t *found_out);

/** The job that was found, by its name and its key. `secret`: TESSERA_SECRET, or null. */
void tsr_job_of(const tsr_found_t *found, const char *secret, tsr_job_t *job_out);

/**
 * PMIx says a rank, but no size: TSR_ERR_CONFIG where its variables are there
 * and nobody else explained them.
 */
tsr_status_t tsr_found_pmix_alone(void);

#endif
