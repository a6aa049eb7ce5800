/* A crew: the processes of one launch, kept together so that none is left behind. */
#ifndef TESSERA_BOOTSTRAP_CREW_H
#define TESSERA_BOOTSTRAP_CREW_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tessera/types.h"

/**
 * One process group, led by a guardian: a process that does nothing but kill
 * the group when the launcher's end of a pipe closes, which it does however the
 * launcher ends. So a rank's own children go with it too.
 */
typedef struct tsr_crew {
	pid_t guardian; /* also the group */
	int lifeline;   /* the launcher's end */
	int count;
	pid_t ranks[TSR_MAX_RANKS]; /* 0: reaped */
	bool one_process;           /* the ranks are threads of it */
	bool unread;                /* a rank has ended by SIGPIPE, and all are killed */
	/* tells ranks that wait of one that has ended (notice.h); null: nobody is told */
	struct tsr_notice *notice;
	uint64_t deadline_ns;
	/* of each rank, in memory that all share: what it told of itself; -1: nothing */
	_Atomic int *results;
	/* what the launcher waits for: no signal that was ignored when it began */
	sigset_t awaited;
	uint64_t stopped_ns; /* how long the launcher and the ranks have been stopped */
	sigset_t mask_before;
	struct sigaction child_before;
} tsr_crew_t;

/**
 * Blocks the signals that the launcher waits for, and starts the guardian.
 * False: errno says why. SIGHUP, SIGINT, SIGQUIT and SIGTERM stay ignored in
 * the launcher and the ranks where they were (nohup, or a shell's job in the
 * background).
 */
bool tsr_crew_begin(tsr_crew_t *crew, uint64_t deadline_ns);

/**
 * Forks the process of the next rank. Returns as fork does; in the child
 * everything of the launcher is undone.
 */
pid_t tsr_crew_fork(tsr_crew_t *crew);

/**
 * In a rank's process, before it ends: its exit code, should somebody else of
 * the launching program take it from the kernel.
 */
void tsr_crew_tell(const tsr_crew_t *crew, int code);

/**
 * Waits for all. When one fails the others have the deadline to notice, or half
 * a second where all that are left are stopped; then they are killed. SIGINT
 * and the like are handed on, and end the crew within two seconds. SIGTSTP
 * (Ctrl-Z) stops the ranks and the launcher, SIGCONT continues them. Prints who
 * was killed by a signal, but for SIGPIPE: who reads what the ranks print has
 * gone, and they end without a word.
 * Returns the code of the first that failed.
 */
int tsr_crew_wait(tsr_crew_t *crew);

/** Kills what is left, reaps it, and restores the signals. */
void tsr_crew_end(tsr_crew_t *crew);

#endif
