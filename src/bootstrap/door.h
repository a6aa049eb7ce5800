/*
 * The door of a job, where its processes come in: rank 0's; or the launcher's,
 * where rank 0 has ended before it opened one. Guests are served side by side,
 * so that one that says nothing keeps no other waiting. Only one that proves
 * that it knows the job's key is heard (wire.h).
 */
#ifndef TESSERA_BOOTSTRAP_DOOR_H
#define TESSERA_BOOTSTRAP_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "src/bootstrap/wire.h"

/**
 * Connected, and not heard yet. More than this many: the oldest is sent away,
 * and may knock again.
 */
enum { TSR_DOOR_GUESTS = 2 * TSR_MAX_RANKS };

typedef struct tsr_guest {
	int socket;
	uint64_t since_ns;
	bool challenged; /* it has knocked, and was answered */
	uint64_t its_nonce, my_nonce;
} tsr_guest_t;

typedef struct tsr_door {
	int fd; /* -1: shut */
	tsr_key_t key;
	uint64_t full_until_ns; /* nobody else is let in before: there was no room */
	int guests;
	tsr_guest_t guest[TSR_DOOR_GUESTS]; /* the oldest first */
} tsr_door_t;

/** False: errno says why; EADDRINUSE where another process has it. */
bool tsr_door_open(tsr_door_t *door, const tsr_job_t *job);

typedef enum tsr_door_event {
	TSR_DOOR_NOBODY, /* until the time that was given */
	TSR_DOOR_HELLO,  /* somebody has proved who it is */
	/* errno: somebody waits, there is no room (of descriptors, say), and no guest who would
	 * make some */
	TSR_DOOR_FULL
} tsr_door_event_t;

/**
 * Serves guests until one has said hello, or until `end_ns`. The guest's socket
 * is the caller's then.
 */
tsr_door_event_t tsr_door_next(tsr_door_t *door, uint64_t end_ns, tsr_wire_hello_t *hello_out,
			       int *socket_out);

/**
 * Answers a guest; with TSR_OK goes `fd`, else it is told that the caller
 * prints the sentence. False: it could not be told until `end_ns`; errno says
 * why, EPIPE where it is gone.
 */
bool tsr_door_answer(int socket, tsr_status_t status, const char *sentence, int fd,
		     uint64_t end_ns);

/** Shuts it, and sends everybody away who has not been heard. */
void tsr_door_shut(tsr_door_t *door);

/**
 * Before that, where the world has ended: tells everybody why who comes until
 * `end_ns`, and all who have come already. Returns how many were told. The
 * caller prints the sentence, as they do not.
 */
int tsr_door_turn_away(tsr_door_t *door, tsr_status_t status, const char *sentence,
		       uint64_t end_ns);

#endif
