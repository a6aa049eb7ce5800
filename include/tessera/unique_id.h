/*
 * Worlds without a launcher: a program that has started its processes itself
 * gives all of them one id, and each joins by it. tessera/mpi.h does so for the
 * ranks of an MPI communicator.
 */
#ifndef TESSERA_UNIQUE_ID_H
#define TESSERA_UNIQUE_ID_H

#include "tessera/status.h"
#include "tessera/visibility.h"
#include "tessera/world.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TSR_UNIQUE_ID_BYTES 128

/**
 * The id of one world. It is plain bytes without pointers: send it by a pipe, a
 * file, MPI_Bcast or torch.distributed, and read it on the same machine. It is
 * a secret too: a process of the same user that has it can join the world.
 */
typedef struct tsr_unique_id {
	unsigned char bytes[TSR_UNIQUE_ID_BYTES];
} tsr_unique_id_t;

/**
 * Makes an id that no other call returns. It starts nothing, and needs no
 * world: the process that makes the call need not become a rank.
 *
 * Called by:  any thread of one process, which then sends the id to all ranks.
 * Errors:     TSR_ERR_ARGUMENT (null), TSR_ERR_SYSTEM (the kernel has no random
 *             bytes). `*id_out` is written only on success.
 * Source:     NCCL, ncclGetUniqueId.
 */
TSR_API tsr_status_t tsr_unique_id_get(tsr_unique_id_t *id_out);

/**
 * Joins the world of this id as `rank` of `size`. In all else it is tsr_init:
 * tsr_finalize ends the world. Variables of launchers are not read, so it works
 * in processes that fork, ssh, mpirun or torchrun started. Settings are
 * (TESSERA_BACKEND, TESSERA_DEADLINE, TESSERA_HEAP_SIZE and so on).
 *
 * A process may join several worlds, one after the other or at the same time,
 * each by an id of its own. Each of its ranks in one world is a process:
 * threads of one process cannot be ranks of the same world here (TSR_MAIN with
 * TESSERA_PLACEMENT=thread starts such worlds).
 *
 * Called by:  every rank, once for an id (collective), with the same id and
 *             size.
 * Completion: when every rank has joined, or the deadline (TESSERA_DEADLINE)
 *             has passed.
 * Errors:     TSR_ERR_ARGUMENT (a null pointer; a rank outside 0 .. size - 1; a
 *             size outside 1 .. TSR_MAX_RANKS; bytes that tsr_unique_id_get did
 *             not make), TSR_ERR_CONFIG (the id is from another machine; two
 *             processes have one rank; ranks have different sizes; two ranks
 *             are in one process), TSR_ERR_PEER_LOST (the sentence names the
 *             ranks that did not come), and those of tsr_init. `*world_out` is
 *             written only on success.
 * Source:     NCCL, ncclCommInitRank.
 */
TSR_API tsr_status_t tsr_world_create_by_id(const tsr_unique_id_t *id, int rank, int size,
					    tsr_world_t **world_out);

#ifdef __cplusplus
}
#endif
#endif
