/*
 * The door of a job: the socket at which its processes come in. Rank 0 owns it,
 * and on another node its keeper; the launcher does if that rank has ended
 * before it opened one. The door serves guests concurrently, so that a silent
 * guest does not delay the others. It listens only to guests that prove that
 * they know the job's key (wire.h).
 */
#ifndef TESSERA_BOOTSTRAP_WIRE_DOOR_H
#define TESSERA_BOOTSTRAP_WIRE_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "src/bootstrap/wire/wire.h"

/**
 * Most guests that are connected and not yet heard. If there are more, the
 * oldest is disconnected; it may knock again.
 */
enum { TSR_DOOR_GUESTS = 2 * TSR_MAX_RANKS };

typedef struct tsr_guest {
	int socket;
	uint64_t since_ns;
	bool challenged; /* it has knocked, and has been answered */
	uint64_t its_nonce, my_nonce;
} tsr_guest_t;

typedef struct tsr_door {
	int fd; /* -1: shut */
	tsr_key_t key;
	/* lets in nobody else before this time, because there was no room */
	uint64_t full_until_ns;
	int guests;
	tsr_guest_t guest[TSR_DOOR_GUESTS]; /* the oldest first */
} tsr_door_t;

/**
 * Opens the door. Returns false with errno; EADDRINUSE if another process has
 * it.
 */
bool tsr_door_open(tsr_door_t *door, const tsr_job_t *job);

typedef enum tsr_door_event {
	TSR_DOOR_NOBODY, /* nobody came before the given time */
	TSR_DOOR_HELLO,  /* a guest has proved its identity */
	/* a guest waits, but there is no room (for descriptors, for example), and no other guest
	 * can be sent away; see errno */
	TSR_DOOR_FULL
} tsr_door_event_t;

/**
 * Serves guests until one has proved its identity, or until `end_ns`. The
 * caller then owns that guest's socket.
 */
tsr_door_event_t tsr_door_next(tsr_door_t *door, uint64_t end_ns, tsr_wire_hello_t *hello_out,
			       int *socket_out);

/**
 * Answers a guest: with TSR_OK and `count` descriptors, or with an error, in
 * which case it also tells the guest that the caller prints the sentence. Returns false if
 * the answer could not be sent before `end_ns`; errno says why, EPIPE if the
 * guest is gone.
 */
bool tsr_door_answer(int socket, tsr_status_t status, const char *sentence, const int *fds,
		     int count, uint64_t end_ns);

/** Shuts the door and disconnects all guests that were not heard. */
void tsr_door_shut(tsr_door_t *door);

/**
 * Called before that when the world has ended: tells the reason to every guest
 * that comes before `end_ns`, and to all that are there. Returns the number of
 * guests told. The caller prints the sentence, because they do not.
 */
int tsr_door_turn_away(tsr_door_t *door, tsr_status_t status, const char *sentence,
		       uint64_t end_ns);

#endif
