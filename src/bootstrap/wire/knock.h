/*
 * Knocking at a job's door: used by a rank to come in, and by the launcher to
 * report a rank that has ended.
 */
#ifndef TESSERA_BOOTSTRAP_WIRE_KNOCK_H
#define TESSERA_BOOTSTRAP_WIRE_KNOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "src/bootstrap/wire/wire.h"

/**
 * One attempt. Initialise it with {.socket = -1}; it has that value again when
 * an attempt ends without an answer.
 */
typedef struct tsr_knock {
	int socket;
	bool connected;
	bool proved; /* the door has proved that it belongs to the job */
	uint64_t nonce;
} tsr_knock_t;

typedef enum tsr_knock_result {
	TSR_KNOCK_WAITS,  /* no answer before the given time: continue with the same knock */
	TSR_KNOCK_NOBODY, /* nobody listens: try again */
	/* the door is there, but too many guests wait: try again */
	TSR_KNOCK_BUSY,
	/* the door was shut after it had proved its identity: its owner has ended, or had too many
	 * guests */
	TSR_KNOCK_SHUT,
	TSR_KNOCK_STRANGER, /* the listener does not know the job's key, so it is not of this job */
	TSR_KNOCK_FOREIGN,  /* another user listens */
	TSR_KNOCK_FAILED,   /* errno says why */
	TSR_KNOCK_ANSWERED
} tsr_knock_result_t;

/** The result of an attempt. */
typedef struct tsr_knock_answer {
	uid_t uid; /* FOREIGN: the user who owns the door */
	tsr_wire_verdict_t verdict;
	int fd;   /* descriptor of the control segment, or -1 */
	int bell; /* that of the relay's bell, or -1: the job is on one node */
} tsr_knock_answer_t;

/**
 * Continues an attempt until `end_ns`; does not wait if `end_ns` has passed.
 * `hello` identifies this process; the call fills in its magic and proof. After
 * an answer the socket stays open, and the caller owns it.
 */
tsr_knock_result_t tsr_knock_step(tsr_knock_t *knock, const tsr_job_t *job, tsr_wire_hello_t *hello,
				  uint64_t end_ns, tsr_knock_answer_t *answer_out);

/** Cancels an attempt. */
void tsr_knock_cancel(tsr_knock_t *knock);

#endif
