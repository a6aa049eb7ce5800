/*
 * Messages with descriptors over Unix sockets that preserve packets. Only
 * tsr_message_send_until waits.
 */
#ifndef TESSERA_BOOTSTRAP_WIRE_MESSAGE_H
#define TESSERA_BOOTSTRAP_WIRE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Most descriptors in one message. */
enum { TSR_MESSAGE_FDS = 64 };

typedef enum tsr_post {
	TSR_POST_DONE,
	/* nothing to receive yet; or the kernel accepts nothing now (see tsr_message_send); or a
	 * signal arrived */
	TSR_POST_LATER,
	TSR_POST_CLOSED, /* the other end is closed: its process has ended, or has given up */
	/* errno says why: EMSGSIZE for a message of an unexpected size, EMFILE if descriptors were
	 * lost */
	TSR_POST_FAILED
} tsr_post_t;

/**
 * Sends one message with `count` descriptors. TSR_POST_LATER, with errno: the
 * other end's buffer is full, memory is short, or (ETOOMANYREFS) more
 * descriptors of this user are in flight between processes than its limit of
 * open files allows. That limit counts all processes of the user; it is lifted
 * when others have received their descriptors.
 */
tsr_post_t tsr_message_send(int socket, const void *bytes, size_t size_bytes, const int *fds,
			    int count);

/** The same, repeated until `end_ns`. */
tsr_post_t tsr_message_send_until(int socket, const void *bytes, size_t size_bytes, const int *fds,
				  int count, uint64_t end_ns);

/**
 * Receives one message of exactly `size_bytes` bytes and at most `capacity`
 * descriptors. Writes the number of received descriptors to `*count_out`.
 */
tsr_post_t tsr_message_receive(int socket, void *bytes_out, size_t size_bytes, int *fds_out,
			       int capacity, int *count_out);

/**
 * Part of a sentence: the meaning of errno for a message with TSR_POST_FAILED,
 * or one that was not sent in time.
 */
const char *tsr_message_fault(int error);

#endif
