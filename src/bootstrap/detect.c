/* Which job this process belongs to: the choice between what several launchers say. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/bootstrap/bootstrap.h"
#include "src/bootstrap/launchers.h"

typedef tsr_status_t (*find_fn)(tsr_found_t *found_out);

/*
 * From the inside out: a job of Slurm often holds one process a node, which is
 * a launcher itself.
 */
static const find_fn finders[] = {tsr_found_torchrun, tsr_found_open_mpi, tsr_found_pmi,
				  tsr_found_slurm};
enum { FINDERS = sizeof finders / sizeof *finders };

/**
 * The first launcher that says more than one rank, or else the first that says
 * anything. Size 0: nobody does.
 */
static tsr_found_t choose(const tsr_found_t *found)
{
	tsr_found_t chosen = {.launcher = "none"};
	for (int i = 0; i < FINDERS; i++)
		if (found[i].size > chosen.size && chosen.size < 2)
			chosen = found[i];
	return chosen;
}

/**
 * torchrun, Open MPI and PMI start the same kind of process: where two of them
 * speak, one is stale, and to follow it could split the job. Slurm is left out:
 * it may have started the launchers of several jobs.
 */
static tsr_status_t check_agreement(const tsr_found_t *found, const tsr_found_t *chosen)
{
	for (int i = 0; i < FINDERS; i++)
		if (found[i].size > 1 && finders[i] != tsr_found_slurm &&
		    (found[i].size != chosen->size || found[i].rank != chosen->rank))
			return tsr_error(TSR_ERR_CONFIG,
					 "%s's variables say rank %d of %d, %s's say rank %d of "
					 "%d: unset those that are stale",
					 chosen->launcher, chosen->rank, chosen->size,
					 found[i].launcher, found[i].rank, found[i].size);
	return TSR_OK;
}

/** What one launcher leaves open, another that means the same rank may say. */
static void complete(const tsr_found_t *found, tsr_found_t *chosen)
{
	for (int i = 0; i < FINDERS; i++) {
		if (found[i].size != chosen->size || found[i].rank != chosen->rank)
			continue;
		if (chosen->local_size == 0)
			chosen->local_size = found[i].local_size;
		if (chosen->local_rank < 0)
			chosen->local_rank = found[i].local_rank;
		if (chosen->node == 0)
			chosen->node = found[i].node;
		if (chosen->root[0] == '\0') {
			memcpy(chosen->root, found[i].root, sizeof chosen->root);
			chosen->root_guessed = found[i].root_guessed;
		}
	}
}

/**
 * Whether the job is on several nodes, and then where rank 0 is. PMIx knows it
 * better than who guesses; it is asked when the rank joins.
 */
static tsr_status_t check_nodes(const tsr_options_t *options, tsr_found_t *chosen)
{
	chosen->several = chosen->local_size != 0 && chosen->local_size < chosen->size;
	if (chosen->size > TSR_MAX_RANKS)
		return tsr_error(TSR_ERR_CONFIG, "%s started %d ranks; a world has at most %d",
				 chosen->launcher, chosen->size, TSR_MAX_RANKS);
	if (!chosen->several)
		return TSR_OK;
	chosen->asks_pmix = options->root == NULL && tsr_pmix_knows(chosen->rank) &&
			    (chosen->root[0] == '\0' || chosen->root_guessed);
	if (chosen->asks_pmix)
		return TSR_OK;
	if (options->root == NULL && chosen->root[0] == '\0')
		return tsr_error(TSR_ERR_CONFIG,
				 "%s started %d ranks on several nodes, and does not say where "
				 "rank 0 is: set TESSERA_ROOT on all ranks to HOST:PORT, the node "
				 "of rank 0 and a port that is free there, or start all ranks on "
				 "one node",
				 chosen->launcher, chosen->size);
	if (chosen->local_rank < 0)
		return tsr_error(TSR_ERR_CONFIG,
				 "%s started %d ranks on several nodes, and does not say which "
				 "rank of its node this is: set TESSERA_RANK, TESSERA_SIZE, "
				 "TESSERA_JOB, TESSERA_NODE, TESSERA_LOCAL_RANK and TESSERA_ROOT",
				 chosen->launcher, chosen->size);
	if (chosen->named_by_process)
		snprintf(chosen->job, sizeof chosen->job, "%.200s",
			 options->root != NULL ? options->root : chosen->root);
	return TSR_OK;
}

/**
 * What launchers other than our own say. An incomplete set counts where no
 * complete one explains the process.
 */
static tsr_status_t find_foreign(const tsr_options_t *options, tsr_found_t *chosen_out)
{
	tsr_found_t found[FINDERS];
	for (int i = 0; i < FINDERS; i++)
		if (finders[i](&found[i]) != TSR_OK)
			found[i].size = 0;
	tsr_found_t chosen = choose(found);
	if (chosen.size == 0) {
		tsr_status_t status = TSR_OK;
		for (int i = 0; i < FINDERS && status == TSR_OK; i++)
			status = finders[i](&found[i]); /* once more, for its sentence */
		if (status == TSR_OK)
			status = tsr_found_pmix(&chosen);
		if (status != TSR_OK)
			return status;
	}
	if (chosen.size == 0 && !chosen.asks_pmix)
		chosen.launcher = "none";
	tsr_status_t status = check_agreement(found, &chosen);
	if (chosen.size > 1)
		complete(found, &chosen);
	if (status == TSR_OK && chosen.size > 1)
		status = check_nodes(options, &chosen);
	*chosen_out = chosen;
	return status;
}

/** A word of few bytes for any job: what does not fit is hashed, not cut. */
static void name_job(const tsr_found_t *found, tsr_job_t *job)
{
	char name[400];
	snprintf(name, sizeof name, "%s-%s", found->launcher, found->job);
	if (strlen(name) <= 80)
		snprintf(job->name, sizeof job->name, "%.80s", name);
	else
		snprintf(job->name, sizeof job->name, "%.60s-%016llx", name,
			 (unsigned long long)tsr_text_hash(name));
}

/**
 * TESSERA_SECRET makes the key. Without it what the launcher gives the ranks
 * does, and the name, which may be no secret at all; and the user's number, so
 * that two users may give their jobs one name. (In user namespaces of their
 * own, ranks of one user have several numbers: there they need TESSERA_SECRET,
 * which tessera run gives them.)
 */
static tsr_key_t key_of(const tsr_found_t *found, const char *secret)
{
	char text[sizeof found->secret + sizeof found->job + 32];
	if (secret != NULL)
		return tsr_key_of(secret);
	snprintf(text, sizeof text, "%lu\n%s\n%s", (unsigned long)geteuid(), found->secret,
		 found->job);
	return tsr_key_of(text);
}

void tsr_job_of(const tsr_found_t *found, const char *secret, tsr_job_t *job)
{
	const bool part = found->size > 0 || found->asks_pmix;
	job->rank = part ? found->rank : 0;
	job->size = found->size > 0 ? found->size : job->rank + 1;
	job->asks_pmix = found->asks_pmix;
	job->size_unknown = found->asks_pmix && found->size == 0;
	job->secret_unknown = found->asks_pmix && secret == NULL;
	job->root_given = false;
	job->launcher = found->launcher;
	job->by_id = false;
	job->several = found->several;
	job->node = found->node;
	job->local_rank = found->local_rank;
	job->root_fd = 0;
	job->interface[0] = '\0';
	memcpy(job->root, found->root, sizeof job->root);
	job->key = key_of(found, secret);
	name_job(found, job);
}

/**
 * TESSERA_PLACEMENT=thread: TESSERA_SIZE ranks, all in this process, which must
 * be the only one.
 */
static tsr_status_t detect_threads(const tsr_options_t *options, const tsr_found_t *foreign,
				   tsr_job_t *job)
{
	if (options->rank >= 0)
		return tsr_error(TSR_ERR_CONFIG, "TESSERA_PLACEMENT is thread, but TESSERA_RANK "
						 "says that this process is one rank: unset "
						 "one of them");
	if (foreign->asks_pmix && foreign->size == 0)
		return tsr_error(TSR_ERR_CONFIG,
				 "TESSERA_PLACEMENT is thread, but PMIX_RANK says that this "
				 "process is one rank: unset it, or use TESSERA_PLACEMENT=process");
	if (foreign->size > 1)
		return tsr_error(TSR_ERR_CONFIG,
				 "TESSERA_PLACEMENT is thread, but %s started %d processes, each "
				 "of which would be a world: start one "
				 "process, or use TESSERA_PLACEMENT=process",
				 foreign->launcher, foreign->size);
	const tsr_found_t threads = {.launcher = "none",
				     .size = options->size > 0 ? options->size : 1};
	tsr_job_of(&threads, NULL, job);
	return TSR_OK;
}

/** Where rank 0 listens: what the settings say goes before what the launcher says. */
static void place_root(const tsr_options_t *options, tsr_job_t *job)
{
	if (!job->several && !job->asks_pmix)
		return;
	if (options->root != NULL)
		snprintf(job->root, sizeof job->root, "%s", options->root);
	job->root_given = options->root != NULL;
	if (options->net_interface != NULL)
		snprintf(job->interface, sizeof job->interface, "%s", options->net_interface);
	job->root_fd = job->rank == 0 ? options->root_fd : 0;
}

tsr_status_t tsr_job_detect(tsr_job_t *job_out)
{
	tsr_options_t options;
	tsr_found_t own = {.size = 0}, foreign = {.size = 0};
	tsr_status_t status = tsr_options_read(&options);
	if (status == TSR_OK && !options.threads)
		status = tsr_found_tessera(&options, &own);
	if (status != TSR_OK)
		return status;
	/* started by tessera run, wherever that was started: nothing else matters */
	if (own.size > 1) {
		tsr_job_of(&own, options.secret, job_out);
		place_root(&options, job_out);
		return TSR_OK;
	}
	status = find_foreign(&options, &foreign);
	if (status != TSR_OK && own.size == 0)
		return status;
	if (options.threads)
		return detect_threads(&options, &foreign, job_out);
	if (own.size == 1 && foreign.size > 1)
		return tsr_error(TSR_ERR_CONFIG,
				 "TESSERA_SIZE is 1, but %s started %d ranks, each of which would "
				 "be a world of its own: unset TESSERA_RANK "
				 "and TESSERA_SIZE",
				 foreign.launcher, foreign.size);
	tsr_job_of(own.size == 1 ? &own : &foreign, options.secret, job_out);
	place_root(&options, job_out);
	return TSR_OK;
}
