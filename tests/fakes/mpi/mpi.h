/*
 * As much of MPI as tessera/mpi.h calls, for processes that a test has forked:
 * a communicator is a rank and a pipe to each rank.
 */
#ifndef TESSERA_FAKE_MPI_H
#define TESSERA_FAKE_MPI_H

#include <unistd.h>

enum { MPI_SUCCESS = 0, MPI_ERR_COMM = 5, FAKE_MPI_RANKS = 8 };

typedef int MPI_Datatype;
enum { MPI_BYTE = 1 };

struct fake_mpi_comm {
	int rank, size;
	int pipes[FAKE_MPI_RANKS][2];
	int broken; /* what MPI_Bcast returns, if it is not 0 */
};
typedef struct fake_mpi_comm *MPI_Comm;

#define MPI_COMM_NULL ((MPI_Comm)0)

static inline int MPI_Comm_rank(MPI_Comm comm, int *rank_out)
{
	if (comm == MPI_COMM_NULL)
		return MPI_ERR_COMM;
	*rank_out = comm->rank;
	return MPI_SUCCESS;
}

static inline int MPI_Comm_size(MPI_Comm comm, int *size_out)
{
	*size_out = comm->size;
	return MPI_SUCCESS;
}

static inline int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
	const size_t bytes = (size_t)count;
	if (comm->broken != 0 || type != MPI_BYTE)
		return MPI_ERR_COMM;
	for (int r = 0; comm->rank == root && r < comm->size; r++)
		if (r != root && write(comm->pipes[r][1], data, bytes) != (ssize_t)bytes)
			return MPI_ERR_COMM;
	if (comm->rank != root && read(comm->pipes[comm->rank][0], data, bytes) != (ssize_t)bytes)
		return MPI_ERR_COMM;
	return MPI_SUCCESS;
}

#endif
