/*
 * What the processes of a job say to each other before they share memory. Over
 * one connection, each message one packet:
 *
 *   whoever knocks            rank 0's door
 *   knock (a nonce)       ->
 *                         <-  challenge (a nonce of its own; a proof that it
 *                         knows the job's key)
 *   hello (who it is;
 *     a proof of the same) ->
 *                         <-  verdict (with TSR_OK comes the control segment)
 *
 * The kernel says whose user the other end is, and both ends ask it before they
 * read or send anything. The key itself is never sent: a proof is made of it
 * and of both nonces, so that one that was overheard proves nothing a second
 * time.
 * Nothing here may change but together with TSR_WIRE_MAGIC: that ranks of two
 * builds do not fit together is said in a verdict.
 */
#ifndef TESSERA_BOOTSTRAP_WIRE_H
#define TESSERA_BOOTSTRAP_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "src/base/secret.h"
#include "src/bootstrap/bootstrap.h"

#define TSR_WIRE_MAGIC 0x32737274u /* "trs2" */

typedef struct tsr_wire_knock {
	uint32_t magic;
	uint32_t zero;
	uint64_t nonce;
} tsr_wire_knock_t;

typedef struct tsr_wire_challenge {
	uint32_t magic;
	uint32_t zero;
	uint64_t nonce;
	uint64_t proof;
} tsr_wire_challenge_t;

typedef enum tsr_hello_kind {
	TSR_HELLO_RANK = 1, /* it is rank `rank` of `size`, and wants to be let in */
	/* it is the launcher: the process of rank `rank` of `size` ended with `wait_status` */
	TSR_HELLO_ENDED = 2
} tsr_hello_kind_t;

typedef struct tsr_wire_hello {
	uint32_t magic;
	uint32_t kind; /* tsr_hello_kind_t */
	uint32_t abi;  /* TSR_CONTROL_ABI */
	int32_t rank, size;
	int32_t wait_status; /* as waitpid has it; 0 from a rank */
	uint64_t process;    /* tsr_boot_process of the sender */
	uint64_t proof;
} tsr_wire_hello_t;

typedef struct tsr_wire_verdict {
	int32_t status; /* tsr_status_t */
	/* not 0: whoever answers prints the sentence, and who is turned away need not */
	uint32_t printed;
	char sentence[512];
} tsr_wire_verdict_t;

/** What the door proves, and what whoever knocks does: `hello` with all but its proof. */
uint64_t tsr_wire_door_proof(const tsr_key_t *key, uint64_t knock_nonce, uint64_t door_nonce);
uint64_t tsr_wire_hello_proof(const tsr_key_t *key, uint64_t knock_nonce, uint64_t door_nonce,
			      const tsr_wire_hello_t *hello);

/**
 * The door's address, which is abstract: it is no file, and it is gone when its
 * owner closes it or ends. It is made of the key too, so that nobody can take
 * it first who does not know that. Returns its length.
 */
socklen_t tsr_wire_address(const tsr_job_t *job, struct sockaddr_un *address_out);

/**
 * Whether the process at the other end of `socket` is of this user. False:
 * where errno is 0, `*uid_out` says whose it is; else errno says why the kernel
 * does not tell.
 */
bool tsr_wire_same_user(int socket, uid_t *uid_out);

#endif
