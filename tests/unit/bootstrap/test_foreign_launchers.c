/*
 * Worlds started by launchers of others. This program is its own rank: started
 * with FOREIGN_RANK=1 it joins a world before any test runs, and exits. So the
 * real mpirun and mpiexec can start it, and what torchrun and Slurm would set
 * is set by hand.
 */
#include <criterion/criterion.h>

#include "clean_environment.h"
#include "foreign_ranks.h"
#include "tessera/tessera.h"

/**
 * Prints "rank of size sum" if all is well; the sum of all ranks shows that
 * they are in one world.
 */
static int rank_main(tsr_world_t *world, int argc, char **argv)
{
	const int me = tsr_world_rank(world), size = tsr_world_size(world);
	int all[TSR_MAX_RANKS], sum = 0;
	(void)argc, (void)argv;
	TSR_TRY(tsr_team_gather_all(tsr_world_team(world), &me, all, sizeof me));
	for (int r = 0; r < size; r++)
		sum += all[r];
	printf("[%d of %d: %d]\n", me, size, sum);
	return 0;
}

__attribute__((constructor)) static void be_a_rank(int argc, char **argv)
{
	if (getenv("FOREIGN_RANK") != NULL)
		exit(tsr_main(argc, argv, rank_main));
}

static bool installed(const char *program)
{
	char command[256], output[64];
	snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", program);
	return run(command, output, sizeof output) == 0;
}

static void begin(void)
{
	clean_environment();
	set_environment("TESSERA_HEAP_SIZE=1M TESSERA_DEADLINE=200s");
}

Test(foreign, open_mpi)
{
	char output[256];
	begin();
	if (!installed("mpirun") ||
	    run("mpirun --version 2>&1 | grep -q 'Open MPI'", output, sizeof output) != 0)
		cr_skip_test("Open MPI's mpirun is not installed");
	expect_world("timeout 600 mpirun --allow-run-as-root --oversubscribe -n 3 env "
		     "FOREIGN_RANK=1 $SELF 2>&1",
		     3);
	expect_world("timeout 600 mpirun --allow-run-as-root --oversubscribe -n 1 env "
		     "FOREIGN_RANK=1 $SELF 2>&1",
		     1);
}

Test(foreign, hydra)
{
	begin();
	if (!installed("mpiexec.hydra"))
		cr_skip_test("MPICH's mpiexec.hydra is not installed");
	expect_world("timeout 600 mpiexec.hydra -n 3 env FOREIGN_RANK=1 $SELF 2>&1", 3);
	/* wrappers between the launcher and the ranks */
	expect_world("timeout 600 mpiexec.hydra -n 2 sh -c 'FOREIGN_RANK=1 $SELF; exit $?' 2>&1",
		     2);
}

/* Two jobs at one time do not meet. */
Test(foreign, two_jobs_of_hydra_at_one_time)
{
	begin();
	if (!installed("mpiexec.hydra"))
		cr_skip_test("MPICH's mpiexec.hydra is not installed");
	expect_world("(timeout 600 mpiexec.hydra -n 2 env FOREIGN_RANK=1 $SELF & timeout 600 "
		     "mpiexec.hydra -n 2 env FOREIGN_RANK=1 "
		     "$SELF; wait) "
		     "2>&1",
		     2);
}

Test(foreign, torchrun)
{
	begin();
	expect_world("for r in 0 1 2; do RANK=$r WORLD_SIZE=3 LOCAL_RANK=$r LOCAL_WORLD_SIZE=3 "
		     "MASTER_ADDR=localhost MASTER_PORT=$$ "
		     "FOREIGN_RANK=1 $SELF & done 2>&1; wait",
		     3);
}

Test(foreign, slurm)
{
	begin();
	expect_world("for r in 0 1; do SLURM_JOB_ID=$$ SLURM_STEP_ID=0 SLURM_PROCID=$r "
		     "SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NUM_NODES=1 "
		     "FOREIGN_RANK=1 $SELF & done 2>&1; wait",
		     2);
}

/* Every rank of an inconsistent job refuses; none of them becomes a world of one. */
Test(foreign, a_job_that_cannot_be_one_world_starts_none)
{
	char output[4096];
	begin();
	const int code = run("PMI_RANK=0 PMI_SIZE=2 MPI_LOCALNRANKS=1 FOREIGN_RANK=1 $SELF 2>&1",
			     output, sizeof output);
	cr_expect_eq(code, 1);
	cr_expect(strstr(output, "several nodes") != NULL && strchr(output, '[') == NULL, "%s",
		  output);
}

Test(foreign, ranks_with_different_settings_say_so_once)
{
	char output[4096];
	begin();
	run("for r in 0 1 2; do TESSERA_HEAP_SIZE=$((1 + r / 2))M RANK=$r WORLD_SIZE=3 "
	    "MASTER_PORT=$$ FOREIGN_RANK=1 $SELF & done "
	    "2>&1; wait",
	    output, sizeof output);
	const char *sentence = "tessera: rank 2 called tsr_init(backend not set, heap of 2 MiB, "
			       "deadline 200 s) where rank 0 called "
			       "tsr_init(backend not set, heap of 1 MiB, deadline 200 s)";
	const char *first = strstr(output, sentence);
	cr_expect(first != NULL && strstr(first + 1, "tessera: ") == NULL &&
			  strchr(output, '[') == NULL,
		  "%s", output);
}

Test(foreign, the_log_says_which_backend_and_why)
{
	char output[4096];
	begin();
	const int code = run("TESSERA_LOG=info FOREIGN_RANK=1 $SELF 2>&1", output, sizeof output);
	cr_expect_eq(code, 0);
	cr_expect(strstr(output, "tessera: rank 0 of 1: info: backend cpuemu, because ") ==
				  output &&
			  strstr(output,
				 "\ntessera: rank 0 of 1: info: the world has ended well\n") &&
			  strstr(strstr(output + 1, "tessera:") + 1, "tessera:") == NULL,
		  "%s", output);
}
