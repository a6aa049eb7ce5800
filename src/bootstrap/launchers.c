/* The variables of each launcher, as their sources and manuals have them. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/error.h"
#include "src/bootstrap/launchers.h"

/** A number from the environment, or `absent` where the variable is not set. */
static tsr_status_t read_number(const char *name, long low, long absent, int *value_out)
{
	const char *text = getenv(name);
	long value = absent;
	const tsr_status_t status =
		text != NULL ? tsr_parse_int(name, text, low, INT_MAX, &value) : TSR_OK;
	if (status == TSR_OK)
		*value_out = (int)value;
	return status;
}

/** Rank and size, which come together or not at all. */
static tsr_status_t read_pair(const char *launcher, const char *rank_name, const char *size_name,
			      tsr_found_t *found)
{
	*found = (tsr_found_t){.launcher = launcher, .local_rank = -1};
	int rank = -1, size = 0;
	tsr_status_t status = read_number(rank_name, 0, -1, &rank);
	if (status == TSR_OK)
		status = read_number(size_name, 1, 0, &size);
	if (status != TSR_OK)
		return status;
	if ((rank >= 0) != (size > 0))
		return tsr_error(TSR_ERR_CONFIG,
				 "%s is set but %s is not, so this looks like a part of a job of "
				 "%s: set both or neither",
				 rank >= 0 ? rank_name : size_name,
				 rank >= 0 ? size_name : rank_name, launcher);
	if (size > 0 && rank >= size)
		return tsr_error(TSR_ERR_CONFIG, "%s is %d, but with %s %d the last rank is %d",
				 rank_name, rank, size_name, size, size - 1);
	found->rank = rank;
	found->size = size;
	return TSR_OK;
}

static const char *or_empty(const char *text)
{
	return text != NULL ? text : "";
}

tsr_status_t tsr_found_tessera(const tsr_options_t *options, tsr_found_t *found)
{
	const tsr_status_t status = read_pair("tessera run", "TESSERA_RANK", "TESSERA_SIZE", found);
	if (status != TSR_OK)
		return status;
	if (found->size > 1 && options->job == NULL)
		return tsr_error(TSR_ERR_CONFIG,
				 "TESSERA_RANK and TESSERA_SIZE are set but TESSERA_JOB is not: "
				 "set it to one word on all "
				 "ranks of the job, or start the program with tessera run");
	if (found->size == 0 && options->job != NULL)
		return tsr_error(TSR_ERR_CONFIG, "TESSERA_JOB is set but TESSERA_RANK and "
						 "TESSERA_SIZE are not: set all three or none");
	snprintf(found->job, sizeof found->job, "%s", or_empty(options->job));
	if (found->size < 2 || options->node < 0)
		return TSR_OK;
	if (options->local_rank < 0 || options->root == NULL)
		return tsr_error(TSR_ERR_CONFIG,
				 "TESSERA_NODE is set but %s is not: a job on several nodes needs "
				 "TESSERA_NODE, TESSERA_LOCAL_RANK and TESSERA_ROOT on all ranks",
				 options->root == NULL ? "TESSERA_ROOT" : "TESSERA_LOCAL_RANK");
	found->several = true;
	found->node = options->node;
	found->local_rank = options->local_rank;
	return TSR_OK;
}

/**
 * torchrun's own store listens at MASTER_PORT of the node of rank 0: rank 0 of
 * the world takes the next port.
 */
static void find_torchrun_root(tsr_found_t *found)
{
	int port = 0;
	const char *host = getenv("MASTER_ADDR");
	if (host == NULL || read_number("MASTER_PORT", 1, 0, &port) != TSR_OK || port == 0 ||
	    port >= 65535)
		return;
	const bool colons = strchr(host, ':') != NULL && host[0] != '[';
	snprintf(found->root, sizeof found->root, "%s%.200s%s:%d", colons ? "[" : "", host,
		 colons ? "]" : "", port + 1);
}

tsr_status_t tsr_found_torchrun(tsr_found_t *found)
{
	tsr_status_t status = read_pair("torchrun", "RANK", "WORLD_SIZE", found);
	if (status == TSR_OK && found->size == 0 &&
	    (getenv("LOCAL_RANK") != NULL || getenv("LOCAL_WORLD_SIZE") != NULL))
		return tsr_error(TSR_ERR_CONFIG,
				 "%s is set but RANK and WORLD_SIZE are not, so this looks like a "
				 "part of a job of "
				 "torchrun: set both, or unset it",
				 getenv("LOCAL_RANK") != NULL ? "LOCAL_RANK" : "LOCAL_WORLD_SIZE");
	if (status == TSR_OK)
		status = read_number("LOCAL_WORLD_SIZE", 1, 0, &found->local_size);
	if (status == TSR_OK)
		status = read_number("LOCAL_RANK", 0, -1, &found->local_rank);
	if (status == TSR_OK)
		status = read_number("GROUP_RANK", 0, 0, &found->node);
	if (status != TSR_OK || found->size == 0)
		return status;
	const char *port = getenv("MASTER_PORT"), *run = getenv("TORCHELASTIC_RUN_ID");
	if (found->size > 1 && port == NULL && run == NULL)
		return tsr_error(TSR_ERR_CONFIG,
				 "RANK and WORLD_SIZE are set but neither MASTER_PORT nor "
				 "TORCHELASTIC_RUN_ID is, so the "
				 "job has no name: set MASTER_PORT to one number on all ranks");
	snprintf(found->job, sizeof found->job, "%.60s.%.12s.%.100s.%.12s",
		 or_empty(getenv("MASTER_ADDR")), or_empty(port), or_empty(run),
		 or_empty(getenv("TORCHELASTIC_RESTART_COUNT")));
	find_torchrun_root(found);
	return TSR_OK;
}

tsr_status_t tsr_found_open_mpi(tsr_found_t *found)
{
	tsr_status_t status =
		read_pair("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", found);
	if (status == TSR_OK)
		status = read_number("OMPI_COMM_WORLD_LOCAL_SIZE", 1, 0, &found->local_size);
	if (status == TSR_OK)
		status = read_number("OMPI_COMM_WORLD_LOCAL_RANK", 0, -1, &found->local_rank);
	if (status != TSR_OK || found->size == 0)
		return status;
	const char *job = getenv("PMIX_NAMESPACE");
	if (job == NULL)
		job = getenv("OMPI_MCA_ess_base_jobid");
	if (found->size > 1 && job == NULL)
		return tsr_error(
			TSR_ERR_CONFIG,
			"OMPI_COMM_WORLD_RANK and _SIZE are set but neither PMIX_NAMESPACE nor "
			"OMPI_MCA_ess_base_jobid is, so the "
			"job has no name: start the ranks with mpirun, or unset these variables");
	snprintf(found->job, sizeof found->job, "%.200s", or_empty(job));
	snprintf(found->secret, sizeof found->secret, "%.200s",
		 or_empty(getenv("OMPI_MCA_orte_precondition_transports")));
	return TSR_OK;
}

tsr_status_t tsr_found_pmix(tsr_found_t *found)
{
	*found = (tsr_found_t){.launcher = "PMIx", .local_rank = -1};
	const char *job = getenv("PMIX_NAMESPACE"), *rank = getenv("PMIX_RANK");
	if (rank == NULL)
		return TSR_OK;
	if (job == NULL)
		return tsr_error(
			TSR_ERR_CONFIG,
			"PMIX_RANK is %s but PMIX_NAMESPACE is not set, so this looks like "
			"a part of a job: start it with tessera run, torchrun, mpirun, "
			"prterun or srun, or unset PMIX_RANK for a world of one",
			rank);
	const tsr_status_t status = read_number("PMIX_RANK", 0, -1, &found->rank);
	if (status == TSR_OK && found->rank >= TSR_MAX_RANKS)
		return tsr_error(TSR_ERR_CONFIG, "PMIX_RANK is %s; a world has at most %d ranks",
				 rank, TSR_MAX_RANKS);
	snprintf(found->job, sizeof found->job, "%.200s", job);
	found->asks_pmix = status == TSR_OK;
	return status;
}

bool tsr_pmix_knows(int rank)
{
	int theirs = -1;
	return getenv("PMIX_NAMESPACE") != NULL &&
	       read_number("PMIX_RANK", 0, -1, &theirs) == TSR_OK && theirs == rank;
}

/**
 * The process that Hydra's ranks share: the proxy at the other end of the
 * socket PMI_FD. Wrappers between proxy and rank change the parent, not the
 * socket.
 */
static pid_t pmi_proxy(void)
{
	int fd = -1;
	struct ucred peer;
	socklen_t length = sizeof peer;
	if (read_number("PMI_FD", 0, -1, &fd) == TSR_OK && fd >= 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid > 0)
		return peer.pid;
	return getppid();
}

tsr_status_t tsr_found_pmi(tsr_found_t *found)
{
	tsr_status_t status = read_pair("PMI", "PMI_RANK", "PMI_SIZE", found);
	if (status == TSR_OK)
		status = read_number("MPI_LOCALNRANKS", 1, 0, &found->local_size);
	if (status == TSR_OK)
		status = read_number("MPI_LOCALRANKID", 0, -1, &found->local_rank);
	if (status != TSR_OK || found->size == 0)
		return status;
	const char *job = getenv("PMI_PORT") != NULL ? getenv("PMI_PORT") : getenv("PMI_JOBID");
	if (job != NULL)
		snprintf(found->job, sizeof found->job, "%.200s", job);
	else if (pmi_proxy() > 0) {
		snprintf(found->job, sizeof found->job, "%ld", (long)pmi_proxy());
		found->named_by_process = true;
	} else if (found->size > 1)
		return tsr_error(TSR_ERR_CONFIG,
				 "PMI_RANK and PMI_SIZE are set, but nothing that this rank sees "
				 "names its job: its launcher is outside "
				 "of its PID namespace; set PMI_JOBID to one word on all ranks");
	return TSR_OK;
}

/**
 * Slurm numbers the steps that srun starts from 0. Batch scripts, interactive
 * shells and the like have no step, or one of the reserved numbers at the end
 * of the range: a program started there is one process inside an allocation,
 * whatever its size.
 */
static bool in_slurm_step(const char **step_out)
{
	const char *step =
		getenv("SLURM_STEP_ID") != NULL ? getenv("SLURM_STEP_ID") : getenv("SLURM_STEPID");
	*step_out = step;
	return step != NULL && strtoull(step, NULL, 10) < 0xfffffff0u;
}

static const char *first_set(const char *a, const char *b, const char *c)
{
	return getenv(a) != NULL ? a : getenv(b) != NULL ? b : c;
}

/**
 * The first host of a list as Slurm writes it: "a1,b2", or "rack[01-03,7]n[2,4]"
 * of which the first is rack01n2.
 */
static void first_host(const char *list, char *host, size_t size)
{
	size_t used = 0;
	for (const char *at = list; *at != '\0' && *at != ',' && used + 1 < size;) {
		if (*at != '[') {
			host[used++] = *at++;
			continue;
		}
		for (at++; *at != '\0' && strchr("-,]", *at) == NULL && used + 1 < size;)
			host[used++] = *at++;
		at += strcspn(at, "]");
		at += *at == ']';
	}
	host[used] = '\0';
}

/**
 * Slurm puts rank 0 on the first node, unless it is told otherwise. The port is
 * below those that Linux gives to connections, and each step has another one,
 * most often.
 */
static void find_slurm_root(tsr_found_t *found, const char *job, const char *step)
{
	const char *list =
		getenv(first_set("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"));
	char host[200];
	if (list == NULL || job == NULL)
		return;
	first_host(list, host, sizeof host);
	const unsigned long long number = strtoull(job, NULL, 10) * 31 + strtoull(step, NULL, 10);
	if (host[0] != '\0')
		snprintf(found->root, sizeof found->root, "%s:%u", host,
			 10000 + (unsigned)(number % 20000));
	found->root_guessed = true;
}

tsr_status_t tsr_found_slurm(tsr_found_t *found)
{
	*found = (tsr_found_t){.launcher = "Slurm", .local_rank = -1};
	const char *step;
	if (!in_slurm_step(&step))
		return TSR_OK;
	const char *size_name = first_set("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS");
	if (getenv("SLURM_PROCID") == NULL && getenv(size_name) == NULL)
		return tsr_error(TSR_ERR_CONFIG, "SLURM_STEP_ID is set but SLURM_PROCID and "
						 "SLURM_NTASKS are not, so this looks like a "
						 "part of a job of srun: set both, or unset it");
	tsr_status_t status = read_pair("Slurm", "SLURM_PROCID", size_name, found);
	int nodes = 0;
	if (status == TSR_OK)
		status = read_number(first_set("SLURM_STEP_NUM_NODES", "SLURM_NNODES",
					       "SLURM_JOB_NUM_NODES"),
				     1, 0, &nodes);
	if (status != TSR_OK)
		return status;
	/* exact counts a node would need parsing "2(x3)"; more than one node is all that matters */
	if (nodes > 0)
		found->local_size = nodes > 1 ? found->size - 1 : found->size;
	const char *job =
		getenv("SLURM_JOB_ID") != NULL ? getenv("SLURM_JOB_ID") : getenv("SLURM_JOBID");
	snprintf(found->job, sizeof found->job, "%.40s.%.40s", or_empty(job), step);
	status = read_number("SLURM_LOCALID", 0, -1, &found->local_rank);
	if (status == TSR_OK)
		status = read_number("SLURM_NODEID", 0, 0, &found->node);
	find_slurm_root(found, job, step);
	return status;
}
