/* A world of a communicator's ranks, with an MPI that the test brings (tests/fakes/mpi). */
#include "ranks.h"
#include "tessera/mpi.h"

static void make_pipes(int size, void *ctx)
{
	struct fake_mpi_comm *comm = ctx;
	comm->size = size;
	for (int r = 0; r < size; r++)
		cr_assert_eq(pipe(comm->pipes[r]), 0);
}

static int join_and_use(int rank, int size, void *ctx, seen_t *seen)
{
	struct fake_mpi_comm comm = *(const struct fake_mpi_comm *)ctx;
	tsr_world_t *world;
	comm.rank = rank;
	NEED(note(seen, tsr_world_create_by_mpi(&comm, &world)) == TSR_OK);
	const int line = ranks_use(world, rank, size);
	NEED(tsr_finalize(world) == TSR_OK);
	return line;
}

Test(mpi, the_ranks_of_a_communicator_become_a_world)
{
	struct fake_mpi_comm comm = {.size = 0};
	ranks_settings();
	ranks_each(join_and_use, make_pipes, &comm);
}

Test(mpi, errors_of_mpi_are_sentences)
{
	struct fake_mpi_comm comm = {.size = 2, .broken = 1};
	tsr_world_t *world = NULL;
	ranks_settings();
	cr_expect_eq(tsr_world_create_by_mpi(MPI_COMM_NULL, &world), TSR_ERR_SYSTEM);
	cr_expect(strstr(tsr_last_error(), "call MPI_Init first") != NULL, "%s", tsr_last_error());
	cr_expect_eq(tsr_world_create_by_mpi(&comm, &world), TSR_ERR_SYSTEM);
	cr_expect(strstr(tsr_last_error(), "to rank 0 of 2") != NULL, "%s", tsr_last_error());
	cr_expect_eq(world, NULL);
}
