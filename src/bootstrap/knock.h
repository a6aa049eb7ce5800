/*
 * Knocking at a job's door: what a rank does to come in, and the launcher to
 * tell of a rank that has ended.
 */
#ifndef TESSERA_BOOTSTRAP_KNOCK_H
#define TESSERA_BOOTSTRAP_KNOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "src/bootstrap/wire.h"

/** One attempt. Begins as {.socket = -1}, and is again where an attempt ends without an answer. */
typedef struct tsr_knock {
	int socket;
	bool connected;
	bool proved; /* the door has proved that it is the job's */
	uint64_t nonce;
} tsr_knock_t;

typedef enum tsr_knock_result {
	TSR_KNOCK_WAITS,  /* no answer until the time that was given: go on with the same knock */
	TSR_KNOCK_NOBODY, /* nobody listens: try again */
	/* somebody listens, and more than enough wait there already: try again */
	TSR_KNOCK_BUSY,
	/* the door was shut after it had proved itself: whoever held it has ended, or had too many
	 * guests */
	TSR_KNOCK_SHUT,
	TSR_KNOCK_STRANGER, /* whoever listens is not of this job: it does not know the key */
	TSR_KNOCK_FOREIGN,  /* another user listens */
	TSR_KNOCK_FAILED,   /* errno says why */
	TSR_KNOCK_ANSWERED
} tsr_knock_result_t;

/** What came of it. */
typedef struct tsr_knock_answer {
	uid_t uid; /* FOREIGN: whose door it is */
	tsr_wire_verdict_t verdict;
	int fd; /* the control segment's, or -1 */
} tsr_knock_answer_t;

/**
 * Goes as far as it comes until `end_ns`; with an `end_ns` that has passed it
 * does not wait. `hello` says who knocks; this fills in its magic and proof.
 * After an answer the socket stays open: it is the caller's.
 */
tsr_knock_result_t tsr_knock_step(tsr_knock_t *knock, const tsr_job_t *job, tsr_wire_hello_t *hello,
				  uint64_t end_ns, tsr_knock_answer_t *answer_out);

/** Gives an attempt up. */
void tsr_knock_cancel(tsr_knock_t *knock);

#endif
