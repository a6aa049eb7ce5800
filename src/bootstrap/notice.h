/*
 * The launcher tells ranks that wait for others of one that has ended: it sees
 * the end of a process at once, and a rank that has not come to its world has
 * no other who would notice.
 */
#ifndef TESSERA_BOOTSTRAP_NOTICE_H
#define TESSERA_BOOTSTRAP_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/bootstrap/door.h"
#include "src/bootstrap/knock.h"

enum { TSR_NOTICE_BYTES = 256 };

typedef struct tsr_notice {
	tsr_job_t job; /* its rank means nothing */
	bool ended[TSR_MAX_RANKS];
	int wait_status[TSR_MAX_RANKS];
	bool printed; /* what became of rank 0, for all who were told of it */
	int next;     /* the rank that the knock is about */
	tsr_knock_t knock;
	tsr_door_t door; /* open where rank 0 has ended: in its place */
} tsr_notice_t;

void tsr_notice_begin(tsr_notice_t *notice, const tsr_job_t *job);

/** The process of `rank` has ended, with a status as waitpid has it. */
void tsr_notice_ended(tsr_notice_t *notice, int rank, int wait_status);

/**
 * Tells whoever can be told now; takes some milliseconds at most. To be called
 * again and again while ranks live: each world of the job that still waits for
 * an ended rank hears of it. True: there may be more to tell soon.
 */
bool tsr_notice_tell(tsr_notice_t *notice);

void tsr_notice_end(tsr_notice_t *notice);

/**
 * Writes "rank 3 of 5 was killed by signal 9 (Killed) before it joined the
 * world" to text; returns it.
 */
const char *tsr_notice_sentence(int rank, int size, int wait_status, char text[TSR_NOTICE_BYTES]);

#endif
