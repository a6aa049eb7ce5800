/*
 * The messages that the processes of a job exchange before they share memory.
 * One connection, each message one packet:
 *
 *   the guest                    the door of its node's keeper
 *   knock (a nonce)          ->
 *                            <-  challenge (a nonce of its own; a proof that
 *                                it knows the job's key)
 *   hello (its identity; a
 *     proof of the same)     ->
 *                            <-  verdict (with TSR_OK: the control segment, and
 *                                in a job on several nodes the relay's bell)
 *
 * The kernel tells each end which user the other end belongs to; both ask
 * before they read or send anything. The key itself is never sent. A proof is
 * made of the key and both nonces, so a proof that was overheard is useless
 * later. Change nothing here without changing TSR_WIRE_MAGIC: ranks of two
 * builds learn from a verdict that they do not fit together.
 */
#ifndef TESSERA_BOOTSTRAP_WIRE_WIRE_H
#define TESSERA_BOOTSTRAP_WIRE_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "src/base/os/secret.h"
#include "src/bootstrap/bootstrap.h"

#define TSR_WIRE_MAGIC 0x33737274u /* "trs3" */

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
	TSR_HELLO_RANK = 1, /* a rank: `rank` of `size`; it wants to come in */
	/* the launcher: the process of `rank` of `size` has ended with `wait_status` */
	TSR_HELLO_ENDED = 2,
	/* the keeper of a node, over TCP (nodes/greeting.h): `rank` is its lowest rank */
	TSR_HELLO_NODE = 3
} tsr_hello_kind_t;

typedef struct tsr_wire_hello {
	uint32_t magic;
	uint32_t kind; /* tsr_hello_kind_t */
	uint32_t abi;  /* TSR_CONTROL_ABI */
	int32_t rank, size;
	int32_t wait_status; /* as from waitpid; 0 from a rank */
	uint64_t process;    /* tsr_boot_process of the sender */
	uint64_t proof;
} tsr_wire_hello_t;

typedef struct tsr_wire_verdict {
	int32_t status; /* tsr_status_t */
	/* not 0: the answering process prints the sentence, so the guest need not */
	uint32_t printed;
	char sentence[512];
} tsr_wire_verdict_t;

/**
 * The proofs of the door and of the guest. `hello` has all members but its
 * proof.
 */
uint64_t tsr_wire_door_proof(const tsr_key_t *key, uint64_t knock_nonce, uint64_t door_nonce);
uint64_t tsr_wire_hello_proof(const tsr_key_t *key, uint64_t knock_nonce, uint64_t door_nonce,
			      const tsr_wire_hello_t *hello);

/**
 * The address of the door of job->node. It is abstract: it is no file, and disappears when its
 * owner closes it or ends. The key is part of it, so that nobody without the
 * key can take it first. Returns its length.
 */
socklen_t tsr_wire_address(const tsr_job_t *job, struct sockaddr_un *address_out);

/**
 * Whether the process at the other end of `socket` belongs to this user. If
 * false and errno is 0, `*uid_out` is its user; otherwise errno says why the
 * kernel does not tell.
 */
bool tsr_wire_same_user(int socket, uid_t *uid_out);

/**
 * The process at the other end of `socket`, as this PID namespace numbers it; 0
 * if it has no number here.
 */
pid_t tsr_wire_peer_pid(int socket);

#endif
