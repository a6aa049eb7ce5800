/*
 * Messages with descriptors over Unix sockets that keep packets apart. No call
 * here waits, but tsr_message_send_until.
 */
#ifndef TESSERA_BOOTSTRAP_MESSAGE_H
#define TESSERA_BOOTSTRAP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The most descriptors that one message carries. */
enum { TSR_MESSAGE_FDS = 64 };

typedef enum tsr_post {
	TSR_POST_DONE,
	/* nothing to receive yet; or the kernel takes nothing now: see tsr_message_send; or a
	 * signal came */
	TSR_POST_LATER,
	TSR_POST_CLOSED, /* the other end is closed: its process has ended, or gives us up */
	/* errno says why: EMSGSIZE for a message that is not of the expected size, EMFILE where
	 * descriptors are lost */
	TSR_POST_FAILED
} tsr_post_t;

/**
 * Sends one message with `count` descriptors. TSR_POST_LATER, with errno: the
 * other end's buffer is full, memory is short, or (ETOOMANYREFS) more
 * descriptors of this user are under way between processes than its limit of
 * open files allows. The last counts all processes of the user: it passes when
 * the others have received theirs.
 */
tsr_post_t tsr_message_send(int socket, const void *bytes, size_t size_bytes, const int *fds,
			    int count);

/** The same, tried again until `end_ns`. */
tsr_post_t tsr_message_send_until(int socket, const void *bytes, size_t size_bytes, const int *fds,
				  int count, uint64_t end_ns);

/**
 * Receives one message of exactly `size_bytes` and at most `capacity`
 * descriptors. `*count_out`: how many came.
 */
tsr_post_t tsr_message_receive(int socket, void *bytes_out, size_t size_bytes, int *fds_out,
			       int capacity, int *count_out);

/**
 * What errno means of a message that TSR_POST_FAILED, or that was not sent in
 * time, as a part of a sentence.
 */
const char *tsr_message_fault(int error);

#endif
