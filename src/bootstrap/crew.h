/* A crew: the processes of one launch, kept together so that none is left behind. */
#ifndef TESSERA_BOOTSTRAP_CREW_H
#define TESSERA_BOOTSTRAP_CREW_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tessera/types.h"

/**
 * One process group, led by a guardian: a process that does nothing but kill the group when the launcher's end of a pipe closes,
 * which it does however the launcher ends. So a rank's own children go with it too.
 */
typedef struct tsr_crew {
	pid_t guardian; /* also the group */
	int lifeline;   /* the launcher's end */
	int count;
	pid_t ranks[TSR_MAX_RANKS]; /* 0: reaped */
	bool one_process;           /* the ranks are threads of it */
	struct tsr_notice *notice;  /* tells ranks that wait of one that has ended (notice.h); null: nobody is told */
	uint64_t deadline_ns;
	sigset_t mask_before;
	struct sigaction child_before;
} tsr_crew_t;

/** Blocks the signals that the launcher waits for, and starts the guardian. False: errno says why. */
bool tsr_crew_begin(tsr_crew_t *crew, uint64_t deadline_ns);

/** Forks the process of the next rank. Returns as fork does; in the child everything of the launcher is undone. */
pid_t tsr_crew_fork(tsr_crew_t *crew);

/**
 * Waits for all. When one fails the others have the deadline to notice; then they are killed. SIGINT and the like are handed on,
 * and end the crew within two seconds. Prints who was killed by a signal. Returns the code of the first that failed.
 */
int tsr_crew_wait(tsr_crew_t *crew);

/** Kills what is left, reaps it, and restores the signals. */
void tsr_crew_end(tsr_crew_t *crew);

#endif
