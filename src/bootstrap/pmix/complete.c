/* Asking PMIx in a thread, so that the deadline holds whatever it does. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/error.h"
#include "src/base/os/clock.h"
#include "src/base/os/descriptor.h"
#include "src/base/os/futex.h"
#include "src/bootstrap/pmix/pmix.h"

#define LOOK_NS 500000000u /* a stop of the process is no wait for more than that */

/** Belongs to the rank and to the thread; the last one frees it. */
typedef struct errand {
	tsr_pmix_calls_t calls;
	tsr_pmix_talk_t talk;
	char nspace[TSR_PMIX_NSPACE_BYTES];
	tsr_status_t status;
	char sentence[TSR_ERROR_BYTES];
	_Atomic uint32_t done;
	_Atomic int users;
} errand_t;

static void leave(errand_t *errand)
{
	/* acquire and release: partner is the other user's. What it wrote is freed afterwards. */
	if (atomic_fetch_sub_explicit(&errand->users, 1, memory_order_acq_rel) > 1)
		return;
	tsr_fd_close(&errand->talk.root_fd, 1);
	free(errand);
}

static void *run(void *context)
{
	errand_t *errand = context;
	errand->status = tsr_pmix_converse(&errand->calls, &errand->talk);
	snprintf(errand->sentence, sizeof errand->sentence, "%s", tsr_last_error());
	/* release: partner is the acquire in await, which then reads the answer */
	atomic_store_explicit(&errand->done, 1, memory_order_release);
	tsr_futex_wake_all(&errand->done);
	leave(errand);
	return NULL;
}

/** Starts the thread, with all signals blocked: they are for the program's own threads. */
static bool start(errand_t *errand)
{
	sigset_t all, before;
	pthread_t thread;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const bool started = pthread_create(&thread, NULL, run, errand) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (started)
		pthread_detach(thread);
	return started;
}

/** True with the answer, false at the deadline. */
static bool await(errand_t *errand)
{
	const uint64_t deadline_ns = errand->talk.deadline_ns;
	tsr_stopwatch_t watch = {.seen_ns = 0};
	/* acquire: partner is the release in run */
	while (atomic_load_explicit(&errand->done, memory_order_acquire) == 0) {
		const uint64_t passed_ns = tsr_stopwatch_look(&watch, tsr_now_ns());
		if (passed_ns >= deadline_ns)
			return false;
		const uint64_t left_ns = deadline_ns - passed_ns;
		tsr_futex_wait(&errand->done, 0, left_ns < LOOK_NS ? left_ns : LOOK_NS);
	}
	return true;
}

static errand_t *prepare(const tsr_job_t *job, const tsr_pmix_calls_t *calls, uint64_t deadline_ns)
{
	errand_t *errand = calloc(1, sizeof *errand);
	const char *nspace = getenv("PMIX_NAMESPACE");
	if (errand == NULL)
		return NULL;
	snprintf(errand->nspace, sizeof errand->nspace, "%s", nspace != NULL ? nspace : "");
	errand->calls = *calls;
	errand->users = 2;
	errand->talk = (tsr_pmix_talk_t){.rank = job->rank,
					 .size = job->size_unknown ? 0 : job->size,
					 .nspace = errand->nspace,
					 .call = "tsr_init",
					 .deadline_ns = deadline_ns,
					 .knows_root = job->root_given,
					 .root_fd = -1};
	memcpy(errand->talk.interface, job->interface, sizeof job->interface);
	return errand;
}

static void apply(const tsr_pmix_talk_t *talk, tsr_job_t *job)
{
	job->size = talk->size;
	job->several = talk->local_size < talk->size;
	job->node = talk->node;
	job->local_rank = talk->local_rank;
	if (job->secret_unknown)
		job->key = tsr_key_of(talk->secret);
	if (!job->several || job->root_given)
		return;
	memcpy(job->root, talk->root, sizeof job->root);
	job->root_fd = talk->root_fd > 0 ? talk->root_fd : 0;
}

/** There is no PMIx: some jobs make do without. */
static tsr_status_t do_without(const tsr_job_t *job, const char *why)
{
	if (!job->size_unknown && job->several && job->root[0] != '\0' && job->local_rank >= 0)
		return TSR_OK;
	return tsr_error(
		TSR_ERR_CONFIG,
		"%s started %s, and PMIx alone knows %s, but it cannot be loaded (%s): install "
		"libpmix2 (Debian) or pmix (Fedora), say where libpmix.so.2 is by LD_LIBRARY_PATH, "
		"or set %s",
		job->launcher, job->size_unknown ? "this rank of a job" : "ranks on several nodes",
		job->size_unknown ? "how many there are" : "where rank 0 is", why,
		job->size_unknown ? "TESSERA_RANK, TESSERA_SIZE and TESSERA_JOB"
				  : "TESSERA_ROOT on all ranks to HOST:PORT, the node of rank 0 "
				    "and a port that is free there");
}

tsr_status_t tsr_pmix_complete(tsr_job_t *job, uint64_t deadline_ns, int *root_fd_out)
{
	tsr_pmix_calls_t calls;
	char why[256];
	*root_fd_out = -1;
	if (!tsr_pmix_load(&calls, why, sizeof why))
		return do_without(job, why);
	errand_t *errand = prepare(job, &calls, deadline_ns);
	if (errand == NULL)
		return tsr_error(TSR_ERR_NO_MEMORY,
				 "the host has no memory to ask PMIx; free some");
	if (!start(errand)) {
		free(errand);
		return tsr_error(TSR_ERR_SYSTEM,
				 "cannot start a thread that asks PMIx: end other programs, or "
				 "raise their limit (ulimit -u)");
	}
	tsr_status_t status;
	if (!await(errand))
		status = tsr_pmix_expire(&errand->talk);
	else if (errand->status != TSR_OK)
		status = tsr_error(errand->status, "%s", errand->sentence);
	else {
		status = TSR_OK;
		apply(&errand->talk, job);
		*root_fd_out = errand->talk.root_fd;
		errand->talk.root_fd = -1;
	}
	leave(errand);
	return status;
}
