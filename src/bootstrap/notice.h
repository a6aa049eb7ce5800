/*
 * Notices of the launcher to waiting ranks that a rank has ended. The launcher
 * sees the end of a process at once. If a rank has not joined its world yet,
 * nobody else could notice its end.
 */
#ifndef TESSERA_BOOTSTRAP_NOTICE_H
#define TESSERA_BOOTSTRAP_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/bootstrap/spaces/spaces.h"
#include "src/bootstrap/wire/door.h"
#include "src/bootstrap/wire/knock.h"

enum { TSR_NOTICE_BYTES = 256 };

typedef struct tsr_notice {
	tsr_job_t job; /* its rank is not used, and its node is set for each knock */
	/* several nodes: the node of each rank, and the first rank there, its keeper */
	int node_of[TSR_MAX_RANKS], keeper_of[TSR_MAX_RANKS];
	bool ended[TSR_MAX_RANKS];
	int wait_status[TSR_MAX_RANKS];
	const tsr_spaces_t *spaces; /* the nodes' networks; null: they are the launcher's */
	bool printed; /* the fate of a keeper has been printed, for all who were told of it */
	/* what the knock tells: the keeper whose door it is at, times the size, plus the rank that
	 * it reports */
	int next;
	tsr_knock_t knock;
	/* open if a keeper has ended, in its place: the first one that has */
	tsr_door_t door;
} tsr_notice_t;

void tsr_notice_begin(tsr_notice_t *notice, const tsr_job_t *job);

/** The process of `rank` has ended, with a status as from waitpid. */
void tsr_notice_ended(tsr_notice_t *notice, int rank, int wait_status);

/**
 * Tells all who can be told now; takes at most some milliseconds. Call it
 * repeatedly while ranks live: each world of the job that still waits for an
 * ended rank is told, on each of its nodes. Returns true if there may be more to tell soon.
 */
bool tsr_notice_tell(tsr_notice_t *notice);

void tsr_notice_end(tsr_notice_t *notice);

/**
 * Writes "rank 3 of 5 was killed by signal 9 (Killed) before it joined the
 * world" to `text`; returns it.
 */
const char *tsr_notice_sentence(int rank, int size, int wait_status, char text[TSR_NOTICE_BYTES]);

#endif
