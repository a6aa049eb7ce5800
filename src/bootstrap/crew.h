/* A crew: the processes of one launch, which end together. */
#ifndef TESSERA_BOOTSTRAP_CREW_H
#define TESSERA_BOOTSTRAP_CREW_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/bootstrap/memory_limit.h"
#include "tessera/types.h"

/**
 * One process group, led by a guardian process. The guardian only waits, and
 * kills the group when the launcher's end of a pipe closes. The kernel closes
 * that end however the launcher ends. So the ranks' own children are killed
 * too.
 */
typedef struct tsr_crew {
	pid_t guardian; /* also the number of the group */
	int lifeline;   /* the launcher's end of the pipe */
	int count;
	pid_t ranks[TSR_MAX_RANKS]; /* 0: reaped */
	bool one_process;           /* the ranks are threads of one process */
	bool unread;                /* a rank has ended by SIGPIPE, so all are killed */
	/* tells waiting ranks that one has ended (notice.h); null: nobody is told */
	struct tsr_notice *notice;
	tsr_memory_limit_t memory; /* why a rank was killed, maybe */
	uint64_t deadline_ns;
	/* for each rank, in shared memory: the result that it reported; -1: none */
	_Atomic int *results;
	/* signals that the launcher waits for, without those that were ignored when it began */
	sigset_t awaited;
	uint64_t stopped_ns; /* how long the launcher and the ranks have been stopped */
	sigset_t mask_before;
	struct sigaction child_before;
} tsr_crew_t;

/**
 * Blocks the signals that the launcher waits for, and starts the guardian.
 * Returns false with errno on failure. If SIGHUP, SIGINT, SIGQUIT or SIGTERM
 * were ignored before (nohup, or a background job of a shell), they stay
 * ignored in the launcher and the ranks.
 */
bool tsr_crew_begin(tsr_crew_t *crew, uint64_t deadline_ns);

/**
 * Forks the process of the next rank. Returns as fork does. In the child
 * everything of the launcher is undone.
 */
pid_t tsr_crew_fork(tsr_crew_t *crew);

/**
 * Called in a rank's process before it ends: reports its exit code, in case
 * other code of the launching program reaps the process.
 */
void tsr_crew_tell(const tsr_crew_t *crew, int code);

/**
 * Waits for all ranks. When one fails, the others have until the deadline to
 * notice, or half a second if all that are left are stopped; then they are
 * killed. SIGINT and similar signals are passed on, and end the crew within two
 * seconds. SIGTSTP (Ctrl-Z) stops the ranks and the launcher; SIGCONT continues
 * them. Prints which rank was killed by a signal, except for SIGPIPE: then the
 * reader of the output is gone, and the ranks end silently. Returns the code of
 * the first rank that failed.
 */
int tsr_crew_wait(tsr_crew_t *crew);

/** Kills and reaps the remaining processes, and restores the signals. */
void tsr_crew_end(tsr_crew_t *crew);

#endif
