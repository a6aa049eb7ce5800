/* The control segment: the memory through which the ranks of a world agree. Shared by the parts of src/bootstrap only. */
#ifndef TESSERA_BOOTSTRAP_CONTROL_H
#define TESSERA_BOOTSTRAP_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend.h"
#include "src/bootstrap/bootstrap.h"

/** Raised with every change of tsr_control_t: ranks of two builds must not meet. */
#define TSR_CONTROL_ABI 1u

enum {
	TSR_CALL_LENGTH = 48,
	TSR_ARGUMENTS_LENGTH = 208,
	TSR_CHUNK_BYTES = 16384, /* payload of a rank in one round */
	TSR_SENTENCE_LENGTH = 1024,
	TSR_WAIT_RECORDS = 64,
	TSR_REPORTS = 64
};

/** What one rank says in one round. Written by it before the round, read by all after it. */
typedef struct tsr_control_slot {
	char call[TSR_CALL_LENGTH];
	char arguments[TSR_ARGUMENTS_LENGTH]; /* as much as fits, for the sentence */
	uint64_t arguments_hash;              /* of all of it, for the comparison */
	uint64_t size_bytes;
	unsigned char payload[TSR_CHUNK_BYTES];
} tsr_control_slot_t;

typedef enum { TSR_MEMBER_ABSENT = 0, TSR_MEMBER_PRESENT = 1, TSR_MEMBER_LEFT = 2 } tsr_member_state_t;

typedef struct tsr_control_member {
	_Alignas(64) _Atomic uint32_t state; /* tsr_member_state_t */
	_Atomic uint32_t posted;             /* the last round it has come to: for reports, orders nothing */
	_Atomic uint32_t quiet;              /* not 0: it has called tsr_boot_quiesce */
} tsr_control_member_t;

/** Zero at first; a fresh segment of the kernel is. */
typedef struct tsr_control {
	tsr_shared_words_t words;

	_Alignas(64) _Atomic uint32_t arrived; /* arrivals of all ranks at all rounds */
	_Alignas(64) _Atomic uint32_t round;   /* futex: rounds that all ranks have come to */
	tsr_control_member_t member[TSR_MAX_RANKS];

	_Alignas(64) _Atomic uint32_t end_claimed; /* not 0: somebody writes, or has written, the next four */
	int32_t end_status;
	int32_t end_rank; /* who ended it */
	int32_t end_code; /* of the process of a rank that ended it by failing, else 0 */
	char end_sentence[TSR_SENTENCE_LENGTH];

	_Atomic uint64_t reports[TSR_REPORTS]; /* hashes of the sentences that were printed; 0: free */
	_Atomic uint32_t wait_records_taken;
	struct {
		_Atomic uint32_t ready;
		tsr_wait_record_t record;
	} wait_records[TSR_WAIT_RECORDS];

	_Atomic uint32_t users;           /* ranks as threads: the last one unmaps */
	struct tsr_views_token *edges[2]; /* ranks as fibres: what all did before a round, by the round's parity as below */

	/* Two slots a rank, by the parity of the round: who comes to round n+1 has read what was said in round n. */
	tsr_control_slot_t slots[TSR_MAX_RANKS][2];
} tsr_control_t;

struct tsr_boot {
	tsr_control_t *control;
	int rank, size;
	bool in_threads;
	uint64_t deadline_ns;
	uint32_t round;                      /* the last one this rank has come to */
	bool may_spin;                       /* there is a processor for every rank */
	struct tsr_exploration *exploration; /* null where ranks are threads or processes */
	int control_fd;                      /* keeps this rank's lock; -1 for threads */
	int door_fd;                         /* rank 0 listens; -1 where all have arrived */
	int connected;                       /* rank 0: ranks that have been let in, itself included */
	char name[108];                      /* the door's address */
	int sockets[TSR_MAX_RANKS];          /* rank 0: to each rank; others: [0] to rank 0; -1: none */
};

/** A fresh member; the caller gives it a segment. Null where the host has no memory. */
tsr_boot_t *tsr_boot_make(int rank, int size, uint64_t deadline_ns);

/** Maps the segment behind `fd`, or (-1) fresh memory of this process. */
tsr_status_t tsr_control_map(int fd, tsr_control_t **control_out);

/** Says that this rank is there: from now on its end is noticed. */
tsr_status_t tsr_boot_arrive(tsr_boot_t *boot);

/** Waits until `fd` can be read: world's end, lost ranks and the deadline end the wait. */
tsr_status_t tsr_boot_await_fd(tsr_boot_t *boot, int fd, const char *call, uint64_t begin_ns);

/** One message with `count` descriptors. Receiving: exactly `size_bytes` and at most `capacity` descriptors, or it is an error. */
tsr_status_t tsr_message_send(int socket, const void *bytes, size_t size_bytes, const int *fds, int count);
tsr_status_t tsr_message_receive(int socket, void *bytes_out, size_t size_bytes, int *fds_out, int capacity, int *count_out);

/** Rank 0: lets the others in until all are there. In rendezvous.c. */
tsr_status_t tsr_boot_await_ranks(tsr_boot_t *boot, const char *call, uint64_t begin_ns);

/** Ends the world because `call` has waited since `begin_ns` past the deadline; keeps wait records. Returns the world's end;
 *  TSR_OK where all have come at the last moment. */
tsr_status_t tsr_boot_expire(tsr_boot_t *boot, const char *call, uint64_t begin_ns);

/** Ends the world where a rank that `call` waits for has ended or left. TSR_OK: none has. */
tsr_status_t tsr_boot_check_ranks(tsr_boot_t *boot, const char *call);

/** Ends the world with a sentence made from `format`, and returns the status of the world's end. */
tsr_status_t tsr_boot_end(tsr_boot_t *boot, tsr_status_t status, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
