/* Which job a process is of, by faked environments of every launcher. */
#include <criterion/criterion.h>

#include "clean_environment.h"
#include "src/bootstrap/bootstrap.h"

typedef struct good {
	const char *environment;
	const char *launcher;
	int rank, size;
} good_t;

#define OMPI(rank_, size_, local_)                                     \
	"OMPI_COMM_WORLD_RANK=" #rank_ " OMPI_COMM_WORLD_SIZE=" #size_ \
	" OMPI_COMM_WORLD_LOCAL_SIZE=" #local_ " PMIX_NAMESPACE=77 PMIX_RANK=" #rank_
#define TORCH(rank_, size_, local_)                                                             \
	"RANK=" #rank_ " WORLD_SIZE=" #size_ " LOCAL_RANK=" #rank_ " LOCAL_WORLD_SIZE=" #local_ \
	" MASTER_ADDR=h MASTER_PORT=29500"
#define HYDRA(rank_, size_, local_) \
	"PMI_RANK=" #rank_ " PMI_SIZE=" #size_ " MPI_LOCALNRANKS=" #local_
#define SRUN(rank_, size_, nodes_)                                                            \
	"SLURM_JOB_ID=9 SLURM_STEP_ID=0 SLURM_PROCID=" #rank_ " SLURM_STEP_NUM_TASKS=" #size_ \
	" SLURM_STEP_NUM_NODES=" #nodes_

static const good_t goods[] = {
	{"", "none", 0, 1},
	{"TESSERA_RANK=2 TESSERA_SIZE=3 TESSERA_JOB=j", "tessera run", 2, 3},
	{"TESSERA_RANK=0 TESSERA_SIZE=1", "tessera run", 0, 1},
	{TORCH(1, 4, 4), "torchrun", 1, 4},
	{"RANK=1 WORLD_SIZE=2 TORCHELASTIC_RUN_ID=x", "torchrun", 1, 2},
	{OMPI(2, 3, 3), "Open MPI", 2, 3},
	{"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_MCA_ess_base_jobid=5", "Open MPI", 0,
	 2},
	{HYDRA(1, 2, 2), "PMI", 1, 2},
	{SRUN(3, 4, 1), "Slurm", 3, 4},
	{"SLURM_JOBID=9 SLURM_STEPID=1 SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_NNODES=1", "Slurm", 1,
	 2},
	/* a world of one started by a launcher */
	{OMPI(0, 1, 1), "Open MPI", 0, 1},
	/* one process inside an allocation of many tasks: salloc, sbatch (old and new), an
	 * interactive step */
	{"SLURM_JOB_ID=9 SLURM_NTASKS=8 SLURM_NNODES=2", "none", 0, 1},
	{"SLURM_JOB_ID=9 SLURM_NTASKS=8 SLURM_PROCID=0 SLURM_NNODES=2", "none", 0, 1},
	{"SLURM_JOB_ID=9 SLURM_NTASKS=8 SLURM_PROCID=0 SLURM_STEP_ID=4294967291", "none", 0, 1},
	{"SLURM_JOB_ID=9 SLURM_NTASKS=8 SLURM_PROCID=0 SLURM_STEP_ID=4294967290", "none", 0, 1},
	/* a launcher inside another */
	{"TESSERA_RANK=1 TESSERA_SIZE=2 TESSERA_JOB=j " OMPI(0, 4, 4), "tessera run", 1, 2},
	{SRUN(0, 1, 1) " " TORCH(3, 8, 8), "torchrun", 3, 8},
	{SRUN(1, 2, 2) " " TORCH(3, 8, 8), "torchrun", 3, 8},
	{SRUN(1, 3, 1) " PMI_RANK=1 PMI_SIZE=3 PMI_JOBID=9.0", "PMI", 1, 3},
	{SRUN(1, 3, 1) " PMIX_RANK=1 PMIX_NAMESPACE=slurm.pmix.9.0", "Slurm", 1, 3},
	/* variables of a world of one that is over, under a launcher of more; and a part of one */
	{"RANK=0 WORLD_SIZE=1 MASTER_PORT=1 " OMPI(2, 4, 4), "Open MPI", 2, 4},
	{"LOCAL_RANK=2 " OMPI(2, 4, 4), "Open MPI", 2, 4},
	{"TESSERA_RANK=0 TESSERA_SIZE=1 LOCAL_RANK=2", "tessera run", 0, 1},
	/* ranks as threads */
	{"TESSERA_PLACEMENT=thread TESSERA_SIZE=8", "none", 0, 8},
	{"TESSERA_PLACEMENT=thread", "none", 0, 1},
	{"TESSERA_PLACEMENT=thread TESSERA_SIZE=8 " OMPI(0, 1, 1), "none", 0, 8},
};

Test(detect, every_launcher)
{
	for (size_t i = 0; i < sizeof goods / sizeof *goods; i++) {
		const good_t *good = &goods[i];
		tsr_job_t job = {.rank = -7};
		clean_environment();
		set_environment(good->environment);
		cr_expect_eq(tsr_job_detect(&job), TSR_OK, "%s: %s", good->environment,
			     tsr_last_error());
		cr_expect(job.rank == good->rank && job.size == good->size, "%s: rank %d of %d",
			  good->environment, job.rank, job.size);
		cr_expect(job.launcher && strcmp(job.launcher, good->launcher) == 0, "%s: %s",
			  good->environment, job.launcher);
	}
}

typedef struct bad {
	const char *environment;
	const char *says;
} bad_t;

static const bad_t bads[] = {
	/* a part only */
	{"TESSERA_RANK=1", "TESSERA_SIZE is not"},
	{"TESSERA_SIZE=4", "TESSERA_RANK is not"},
	{"TESSERA_RANK=1 TESSERA_SIZE=4", "TESSERA_JOB is not"},
	{"TESSERA_JOB=j", "TESSERA_RANK and TESSERA_SIZE are not"},
	{"RANK=1", "WORLD_SIZE is not"},
	{"WORLD_SIZE=4", "RANK is not"},
	{"LOCAL_RANK=1", "RANK and WORLD_SIZE are not"},
	{"RANK=1 WORLD_SIZE=4", "MASTER_PORT"},
	{"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE is not"},
	{"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2", "PMIX_NAMESPACE"},
	{"PMIX_RANK=1", "PMIX_NAMESPACE is not"},
	{"PMIX_RANK=x PMIX_NAMESPACE=n", "PMIX_RANK is 'x'"},
	{"PMIX_RANK=256 PMIX_NAMESPACE=n", "at most 256"},
	{"PMIX_RANK=0 PMIX_NAMESPACE=n TESSERA_PLACEMENT=thread", "PMIX_RANK says"},
	{"PMI_RANK=0", "PMI_SIZE is not"},
	{"PMI_SIZE=2", "PMI_RANK is not"},
	{"SLURM_STEP_ID=0 SLURM_JOB_ID=1", "SLURM_PROCID"},
	{"SLURM_STEP_ID=0 SLURM_PROCID=1", "SLURM_PROCID is set"},
	/* not numbers, not ranks */
	{"PMI_RANK=x PMI_SIZE=2", "PMI_RANK is 'x'"},
	{"PMI_RANK=0 PMI_SIZE=0", "PMI_SIZE is '0'"},
	{"PMI_RANK=2 PMI_SIZE=2", "the last rank is 1"},
	{"TESSERA_RANK=3 TESSERA_SIZE=3 TESSERA_JOB=j", "the last rank is 2"},
	{"PMI_RANK=0 PMI_SIZE=257", "at most 256"},
	/* several nodes */
	{"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_SIZE=2 "
	 "OMPI_MCA_ess_base_jobid=5",
	 "several nodes"},
	/* PMIx speaks of another rank */
	{OMPI(0, 4, 2) " PMIX_RANK=1", "several nodes"},
	{"RANK=0 WORLD_SIZE=4 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 TORCHELASTIC_RUN_ID=x",
	 "torchrun started 4 ranks on several nodes, and does not say where rank 0 is: set "
	 "TESSERA_ROOT"},
	{"RANK=0 WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 MASTER_ADDR=h MASTER_PORT=1",
	 "does not say which rank of its node this is"},
	{"TESSERA_RANK=1 TESSERA_SIZE=2 TESSERA_JOB=j TESSERA_NODE=1", "TESSERA_ROOT is not"},
	{"TESSERA_RANK=1 TESSERA_SIZE=2 TESSERA_JOB=j TESSERA_NODE=1 TESSERA_ROOT=h:1",
	 "TESSERA_LOCAL_RANK is not"},
	{HYDRA(0, 4, 2), "several nodes"},
	{SRUN(0, 4, 2), "several nodes"},
	{SRUN(0, 2, 2), "several nodes"},
	{SRUN(1, 4, 2) " PMI_RANK=1 PMI_SIZE=4 PMI_JOBID=9.0", "several nodes"},
	/* contradictions that could make N worlds of one, or two halves of a world */
	{TORCH(0, 2, 2) " " OMPI(0, 4, 4), "unset those that are stale"},
	{TORCH(0, 4, 4) " " OMPI(1, 4, 4), "unset those that are stale"},
	{"TESSERA_RANK=0 TESSERA_SIZE=1 " OMPI(1, 4, 4), "TESSERA_SIZE is 1"},
	{"TESSERA_RANK=0 TESSERA_SIZE=1 " SRUN(1, 4, 1), "TESSERA_SIZE is 1"},
	{"TESSERA_PLACEMENT=thread TESSERA_SIZE=4 " OMPI(1, 4, 4), "would be a world"},
	{"TESSERA_PLACEMENT=thread TESSERA_SIZE=4 TESSERA_RANK=1", "TESSERA_RANK says"},
};

Test(detect, what_cannot_be_one_world_is_an_error)
{
	for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
		const bad_t *bad = &bads[i];
		tsr_job_t job;
		clean_environment();
		set_environment(bad->environment);
		cr_expect_eq(tsr_job_detect(&job), TSR_ERR_CONFIG, "%s", bad->environment);
		cr_expect(strstr(tsr_last_error(), bad->says) != NULL, "%s: %s", bad->environment,
			  tsr_last_error());
	}
}

/* ------------------------------------------------------------------ several nodes */

typedef struct spread {
	const char *environment;
	int node, local_rank;
	const char *root;
} spread_t;

#define OWN_NODE(node_, local_)                                            \
	"TESSERA_RANK=5 TESSERA_SIZE=8 TESSERA_JOB=j TESSERA_NODE=" #node_ \
	" TESSERA_LOCAL_RANK=" #local_ " TESSERA_ROOT=[::1]:7"
#define SPREAD(rank_, size_, node_, local_) \
	SRUN(rank_, size_, 2) " SLURM_NODEID=" #node_ " SLURM_LOCALID=" #local_

static const spread_t spreads[] = {
	{OWN_NODE(3, 1), 3, 1, "[::1]:7"},
	/* the port beside that of torchrun's own store; TESSERA_ROOT goes before it */
	{TORCH(9, 16, 8) " GROUP_RANK=1", 1, 9, "h:29501"},
	{TORCH(9, 16, 8) " TESSERA_ROOT=n:8", 0, 9, "n:8"},
	{"RANK=1 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 GROUP_RANK=1 MASTER_ADDR=fe80::1 "
	 "MASTER_PORT=5",
	 1, 0, "[fe80::1]:6"},
	{OMPI(3, 4, 2) " OMPI_COMM_WORLD_LOCAL_RANK=1 TESSERA_ROOT=n:8", 0, 1, "n:8"},
	{HYDRA(3, 4, 2) " MPI_LOCALRANKID=1 TESSERA_ROOT=n:8", 0, 1, "n:8"},
	/* 9 * 31 + 0 */
	{SPREAD(3, 4, 1, 1) " SLURM_STEP_NODELIST=a[05-07,9]n[2,3],b", 1, 1, "a05n2:10279"},
	{SPREAD(3, 4, 1, 1) " SLURM_JOB_NODELIST=alone", 1, 1, "alone:10279"},
	{SPREAD(1, 4, 0, 1) " SLURM_NODELIST=x,y PMI_RANK=1 PMI_SIZE=4 PMI_JOBID=9.0", 0, 1,
	 "x:10279"},
};

Test(detect, ranks_on_several_nodes_know_where_rank_0_is)
{
	for (size_t i = 0; i < sizeof spreads / sizeof *spreads; i++) {
		const spread_t *spread = &spreads[i];
		tsr_job_t job = {.rank = -7};
		clean_environment();
		set_environment(spread->environment);
		cr_expect_eq(tsr_job_detect(&job), TSR_OK, "%s: %s", spread->environment,
			     tsr_last_error());
		cr_expect(job.several, "%s", spread->environment);
		cr_expect_eq(job.node, spread->node, "%s: %d", spread->environment, job.node);
		cr_expect_eq(job.local_rank, spread->local_rank, "%s: %d", spread->environment,
			     job.local_rank);
		cr_expect(strcmp(job.root, spread->root) == 0, "%s: %s", spread->environment,
			  job.root);
	}
}

Test(detect, ranks_on_one_node_are_not_spread)
{
	for (size_t i = 0; i < sizeof goods / sizeof *goods; i++) {
		tsr_job_t job = {.several = true};
		clean_environment();
		set_environment(goods[i].environment);
		cr_expect_eq(tsr_job_detect(&job), TSR_OK);
		cr_expect(!job.several, "%s", goods[i].environment);
	}
}

/** Where the launcher names a job by a process of each node, the root's address names it. */
Test(detect, ranks_on_several_nodes_share_their_jobs_name)
{
	tsr_job_t job = {.rank = -7};
	clean_environment();
	set_environment(HYDRA(3, 4, 2) " MPI_LOCALRANKID=1 TESSERA_ROOT=n:8");
	cr_expect_eq(tsr_job_detect(&job), TSR_OK, "%s", tsr_last_error());
	cr_expect(strcmp(job.name, "PMI-n:8") == 0, "%s", job.name);
}

/* ------------------------------------------------------------------ PMIx */

typedef struct asked {
	const char *environment, *launcher;
	bool asks, size_unknown, secret_unknown, root_given;
	int rank, size;
} asked_t;

#define OMPI_SPREAD OMPI(3, 4, 2) " OMPI_COMM_WORLD_LOCAL_RANK=1"
#define PMIX "PMIX_RANK=2 PMIX_NAMESPACE=n"

static const asked_t all_asked[] = {
	{PMIX, "PMIx", true, true, true, false, 2, 3},
	{PMIX " TESSERA_SECRET=s", "PMIx", true, true, false, false, 2, 3},
	{PMIX " TESSERA_ROOT=n:8", "PMIx", true, true, true, true, 2, 3},
	{PMIX " TESSERA_RANK=0 TESSERA_SIZE=1", "tessera run", false, false, false, false, 0, 1},
	{PMIX " " TORCH(0, 2, 2), "torchrun", false, false, false, false, 0, 2},
	/* on one node there is nothing to ask */
	{OMPI(3, 4, 4), "Open MPI", false, false, false, false, 3, 4},
	{OMPI_SPREAD, "Open MPI", true, false, true, false, 3, 4},
	{OMPI_SPREAD " TESSERA_SECRET=s", "Open MPI", true, false, false, false, 3, 4},
	{OMPI_SPREAD " TESSERA_ROOT=n:8", "Open MPI", false, false, false, true, 3, 4},
	/* it knows better than who guesses a port, and not better than who says one */
	{SPREAD(3, 4, 1, 1) " SLURM_JOB_NODELIST=a,b PMIX_RANK=3 PMIX_NAMESPACE=n", "Slurm", true,
	 false, true, false, 3, 4},
	{SPREAD(3, 4, 1, 1) " SLURM_JOB_NODELIST=a,b PMIX_RANK=0 PMIX_NAMESPACE=n", "Slurm", false,
	 false, false, false, 3, 4},
	{TORCH(3, 4, 2) " PMIX_RANK=3 PMIX_NAMESPACE=n", "torchrun", false, false, false, false, 3,
	 4},
};

Test(detect, pmix_is_asked_for_what_no_variable_says)
{
	for (size_t i = 0; i < sizeof all_asked / sizeof *all_asked; i++) {
		const asked_t *asked = &all_asked[i];
		tsr_job_t job;
		memset(&job, 0xa5, sizeof job);
		clean_environment();
		set_environment(asked->environment);
		cr_assert_eq(tsr_job_detect(&job), TSR_OK, "%s: %s", asked->environment,
			     tsr_last_error());
		cr_expect(strcmp(job.launcher, asked->launcher) == 0, "%s: %s", asked->environment,
			  job.launcher);
		cr_expect(job.asks_pmix == asked->asks && job.size_unknown == asked->size_unknown &&
				  job.secret_unknown == asked->secret_unknown &&
				  job.root_given == asked->root_given,
			  "%s: %d %d %d %d", asked->environment, job.asks_pmix, job.size_unknown,
			  job.secret_unknown, job.root_given);
		cr_expect(job.rank == asked->rank && job.size == asked->size, "%s: %d of %d",
			  asked->environment, job.rank, job.size);
	}
}

static void job_name(const char *environment, char name_out[128])
{
	tsr_job_t job = {.rank = -1};
	clean_environment();
	set_environment(environment);
	cr_assert_eq(tsr_job_detect(&job), TSR_OK, "%s: %s", environment, tsr_last_error());
	memcpy(name_out, job.name, sizeof job.name);
}

Test(detect, ranks_of_a_job_share_its_name_and_other_jobs_do_not)
{
	static const char *const jobs[][3] = {
		/* two ranks of a job, one of another */
		{"TESSERA_RANK=0 TESSERA_SIZE=2 TESSERA_JOB=a",
		 "TESSERA_RANK=1 TESSERA_SIZE=2 TESSERA_JOB=a",
		 "TESSERA_RANK=1 TESSERA_SIZE=2 TESSERA_JOB=b"},
		{TORCH(0, 2, 2), TORCH(1, 2, 2),
		 "RANK=1 WORLD_SIZE=2 MASTER_ADDR=h MASTER_PORT=29501"},
		{TORCH(0, 2, 2) " TORCHELASTIC_RUN_ID=x", TORCH(1, 2, 2) " TORCHELASTIC_RUN_ID=x",
		 TORCH(1, 2, 2) " TORCHELASTIC_RUN_ID=y"},
		{TORCH(0, 2, 2) " TORCHELASTIC_RESTART_COUNT=0",
		 TORCH(1, 2, 2) " TORCHELASTIC_RESTART_COUNT=0",
		 TORCH(1, 2, 2) " TORCHELASTIC_RESTART_COUNT=1"},
		{OMPI(0, 2, 2), OMPI(1, 2, 2),
		 "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE=78"},
		{HYDRA(0, 2, 2), HYDRA(1, 2, 2), HYDRA(1, 2, 2) " PMI_PORT=host:5"},
		{SRUN(0, 2, 1), SRUN(1, 2, 1),
		 "SLURM_JOB_ID=9 SLURM_STEP_ID=1 SLURM_PROCID=1 SLURM_NTASKS=2"},
		/* names too long to keep whole are told apart all the same */
		{TORCH(0, 2, 2) " TORCHELASTIC_RUN_ID="
				"012345678901234567890123456789012345678901234567890123456789012345"
				"6789-1",
		 TORCH(1, 2, 2) " TORCHELASTIC_RUN_ID="
				"012345678901234567890123456789012345678901234567890123456789012345"
				"6789-1",
		 TORCH(1, 2, 2) " TORCHELASTIC_RUN_ID="
				"012345678901234567890123456789012345678901234567890123456789012345"
				"6789-2"},
	};
	for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
		char first[128], second[128], other[128];
		job_name(jobs[i][0], first);
		job_name(jobs[i][1], second);
		job_name(jobs[i][2], other);
		cr_expect(strcmp(first, second) == 0, "%s and %s", first, second);
		cr_expect(strcmp(first, other) != 0, "%s twice", first);
		cr_expect(strlen(first) <= 85, "%s is too long for an address", first);
	}
}

static tsr_key_t job_key(const char *environment)
{
	tsr_job_t job = {.rank = -1};
	clean_environment();
	set_environment(environment);
	cr_assert_eq(tsr_job_detect(&job), TSR_OK, "%s: %s", environment, tsr_last_error());
	return job.key;
}

Test(detect, ranks_of_a_job_share_its_key_and_who_does_not_know_its_secret_has_another)
{
#define OWN(rank_) "TESSERA_RANK=" #rank_ " TESSERA_SIZE=2 TESSERA_JOB=a"
	static const char *const jobs[][3] = {
		/* two ranks of a job, and a process that knows its name alone */
		{OWN(0) " TESSERA_SECRET=s", OWN(1) " TESSERA_SECRET=s", OWN(1)},
		{OWN(0) " TESSERA_SECRET=s", OWN(1) " TESSERA_SECRET=s",
		 OWN(1) " TESSERA_SECRET=t"},
		{TORCH(0, 2, 2) " TESSERA_SECRET=s", TORCH(1, 2, 2) " TESSERA_SECRET=s",
		 TORCH(1, 2, 2)},
		{SRUN(0, 2, 1) " TESSERA_SECRET=s", SRUN(1, 2, 1) " TESSERA_SECRET=s",
		 SRUN(1, 2, 1)},
		{TORCH(0, 2, 2) " TORCHELASTIC_RUN_ID=x", TORCH(1, 2, 2) " TORCHELASTIC_RUN_ID=x",
		 TORCH(1, 2, 2)},
		{OMPI(0, 2, 2) " OMPI_MCA_orte_precondition_transports=1-2",
		 OMPI(1, 2, 2) " OMPI_MCA_orte_precondition_transports=1-2", OMPI(1, 2, 2)},
		/* and where there is no secret: of another name */
		{OMPI(0, 2, 2), OMPI(1, 2, 2),
		 "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMIX_NAMESPACE=78"},
	};
	for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
		const tsr_key_t first = job_key(jobs[i][0]), second = job_key(jobs[i][1]),
				other = job_key(jobs[i][2]);
		cr_expect(memcmp(&first, &second, sizeof first) == 0, "%s", jobs[i][0]);
		cr_expect(memcmp(&first, &other, sizeof first) != 0, "%s", jobs[i][2]);
	}
}
