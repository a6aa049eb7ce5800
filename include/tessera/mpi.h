/*
 * A world of the ranks of an MPI communicator. The calls of MPI are the
 * program's: this header needs <mpi.h> of any MPI, and the library links none.
 * tessera/tessera.h does not include it.
 */
#ifndef TESSERA_MPI_H
#define TESSERA_MPI_H

#include <mpi.h>

#include "tessera/program.h"
#include "tessera/unique_id.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Joins a world whose ranks are those of `comm`, with the same numbers. Rank 0
 * makes the id, and MPI_Bcast sends it. The communicator is used during the
 * call only: it may be freed afterwards, and MPI and the world may be used side
 * by side. End the world with tsr_finalize, before or after MPI_Finalize. For a
 * communicator of several nodes, make one a node first
 * (MPI_Comm_split_type with MPI_COMM_TYPE_SHARED).
 *
 * Called by:  every rank of `comm` (collective), after MPI_Init.
 * Errors:     those of tsr_world_create_by_id. Where rank 0 cannot make an id,
 *             it returns that error, and the others TSR_ERR_ARGUMENT. An error
 *             of MPI is TSR_ERR_SYSTEM, if the communicator's error handler
 *             returns.
 */
static inline tsr_status_t tsr_world_create_by_mpi(MPI_Comm comm, tsr_world_t **world_out);

static inline tsr_status_t tsr_world_create_by_mpi(MPI_Comm comm, tsr_world_t **world_out)
{
	tsr_unique_id_t id = {{0}};
	tsr_status_t made = TSR_OK;
	int rank = 0, size = 0;
	if (MPI_Comm_rank(comm, &rank) != MPI_SUCCESS || MPI_Comm_size(comm, &size) != MPI_SUCCESS)
		return tsr_error(TSR_ERR_SYSTEM, "MPI does not say which rank of the communicator "
						 "this is: call MPI_Init first");
	if (rank == 0)
		made = tsr_unique_id_get(&id);
	if (MPI_Bcast(id.bytes, TSR_UNIQUE_ID_BYTES, MPI_BYTE, 0, comm) != MPI_SUCCESS)
		return tsr_error(TSR_ERR_SYSTEM,
				 "MPI_Bcast did not send the world's id to rank %d of %d: see the "
				 "error that MPI reports",
				 rank, size);
	return made != TSR_OK ? made : tsr_world_create_by_id(&id, rank, size, world_out);
}

#ifdef __cplusplus
}
#endif
#endif
