/* What the variables of one launcher say about this process. */
#ifndef TESSERA_BOOTSTRAP_FOUND_H
#define TESSERA_BOOTSTRAP_FOUND_H

#include "src/base/options.h"
#include "tessera/status.h"

typedef struct tsr_found {
	const char *launcher;
	int rank, size; /* size 0: none of the variables is there */
	int local_size; /* ranks on this node, 0: not said */
	char job[256];  /* what all ranks of the job share */
} tsr_found_t;

/*
 * Each reads one launcher's variables. TSR_OK with size 0 where there are none; TSR_ERR_CONFIG where only a part is there, or
 * a value cannot be read.
 */
tsr_status_t tsr_found_tessera(const tsr_options_t *options, tsr_found_t *found_out);
tsr_status_t tsr_found_torchrun(tsr_found_t *found_out);
tsr_status_t tsr_found_open_mpi(tsr_found_t *found_out);
tsr_status_t tsr_found_pmi(tsr_found_t *found_out);
tsr_status_t tsr_found_slurm(tsr_found_t *found_out);

/** PMIx says a rank, but no size: TSR_ERR_CONFIG where its variables are there and nobody else explained them. */
tsr_status_t tsr_found_pmix_alone(void);

#endif
