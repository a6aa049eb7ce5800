/*
 * The process as a client of PMIx. It becomes one with its first world, and
 * stays one until it ends: after PMIx_Finalize and another PMIx_Init, PMIx
 * 4.2.2 names the ranks of another node, and 5.0.11 does not survive. A client
 * that ends without PMIx_Finalize counts as lost, so exit calls it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "src/bootstrap/pmix/pmix.h"

/* Of the process, as PMIx's own state is. */
static struct {
	pthread_mutex_t lock; /* for all but `pid` */
	_Atomic pid_t pid;    /* the client; 0: none yet. A child made by fork is none. */
	tsr_pmix_calls_t calls;
	int worlds;
	uint64_t deadline_ns;
} client = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *finalize(void *unused)
{
	(void)unused;
	/* what it says changes nothing any more */
	(void)client.calls.finalize(NULL, 0);
	return NULL;
}

/** At exit. In a thread, because a server that is stopped would hold up the end of the process. */
static void leave(void)
{
	pthread_t thread;
	struct timespec end;
	sigset_t all;
	/* acquire: partner is the release in become_client */
	if (atomic_load_explicit(&client.pid, memory_order_acquire) != getpid())
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += (time_t)(client.deadline_ns / 1000000000u) + 1;
	if (pthread_create(&thread, NULL, finalize, NULL) == 0)
		(void)pthread_timedjoin_np(thread, NULL, &end);
}

/** The reference that the process keeps. */
static int become_client(const tsr_pmix_calls_t *calls, uint64_t deadline_ns)
{
	tsr_pmix_proc_t me;
	/* relaxed: written under the lock, which is held */
	if (atomic_load_explicit(&client.pid, memory_order_relaxed) == getpid())
		return TSR_PMIX_SUCCESS;
	const int status = calls->init(&me, NULL, 0);
	if (status == TSR_PMIX_ERR_UNREACH) /* no server; it is initialised all the same */
		(void)calls->finalize(NULL, 0);
	if (status != TSR_PMIX_SUCCESS)
		return status;
	client.calls = *calls;
	client.deadline_ns = deadline_ns;
	/* release: partner is the acquire in leave, which then reads `calls` */
	atomic_store_explicit(&client.pid, getpid(), memory_order_release);
	(void)atexit(leave);
	return TSR_PMIX_SUCCESS;
}

int tsr_pmix_enter(const tsr_pmix_calls_t *calls, uint64_t deadline_ns, tsr_pmix_proc_t *me_out,
		   int *world_out)
{
	pthread_mutex_lock(&client.lock);
	int status = become_client(calls, deadline_ns);
	if (status == TSR_PMIX_SUCCESS)
		status = calls->init(me_out, NULL, 0);
	*world_out = ++client.worlds;
	pthread_mutex_unlock(&client.lock);
	return status;
}
