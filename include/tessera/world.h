/* The world: ranks, their agreement, and its end. */
#ifndef TESSERA_WORLD_H
#define TESSERA_WORLD_H

#include <stddef.h>
#include <stdint.h>

#include "tessera/status.h"
#include "tessera/types.h"
#include "tessera/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * N ranks, each with one device and one heap. A rank is a process, or a thread
 * where TESSERA_PLACEMENT=thread.
 */
typedef struct tsr_world tsr_world_t;

/**
 * Joins the world that the environment describes: `tessera run`, torchrun, Open
 * MPI / PMIx, PMI or Slurm; without any of them a world of one. A job that
 * looks like N ranks never becomes N worlds of one: what cannot be joined is an
 * error.
 * Chooses the backend (TESSERA_BACKEND, or the best present), opens its device,
 * maps every rank's heap and checks each mapping.
 *
 * Called by:  collective; once a rank. Programs with TSR_MAIN do not call it.
 * Completion: when every rank has arrived, or within the world's deadline
 *             (TESSERA_DEADLINE).
 * Errors:     TSR_ERR_CONFIG, TSR_ERR_NOT_FOUND (backend), TSR_ERR_NO_DEVICE,
 *             TSR_ERR_PEER_LOST (names who never arrived), TSR_ERR_MISMATCH
 *             (ranks with different settings), TSR_ERR_SYSTEM. `*world_out` is
 *             written only on success.
 * Source:     Iris paper, section 3.2.1.
 */
TSR_API tsr_status_t tsr_init(tsr_world_t **world_out);

/**
 * Leaves the world: waits for this rank's streams and for every rank, unmaps
 * the heaps, closes the device.
 * Called by:  collective. `world` is invalid afterwards whatever is returned;
 *             null is TSR_OK.
 * Errors:     TSR_ERR_MISMATCH, TSR_ERR_PEER_LOST, TSR_ERR_TIMEOUT,
 *             TSR_ERR_ABORTED; everything local is released all the same.
 */
TSR_API tsr_status_t tsr_finalize(tsr_world_t *world);

/** This rank, 0 .. tsr_world_size - 1. Any thread. */
TSR_API int tsr_world_rank(const tsr_world_t *world);

/** The number of ranks. Any thread. */
TSR_API int tsr_world_size(const tsr_world_t *world);

/** 1 where the ranks are threads of one process, 0 where each is a process. Any thread. */
TSR_API int tsr_world_in_threads(const tsr_world_t *world);

/** The name of the backend in use: "cpuemu", "cuda", "hip". Any thread. */
TSR_API const char *tsr_world_backend(const tsr_world_t *world);

/** The world's default deadline of every wait, in nanoseconds (TESSERA_DEADLINE). Any thread. */
TSR_API uint64_t tsr_world_deadline_ns(const tsr_world_t *world);

/**
 * Device properties of this rank. They can be set on the emulator
 * (TESSERA_CPUEMU_*). Made by `tsr_device_props_t props = {.size = sizeof
 * props};`.
 */
typedef struct tsr_device_props {
	size_t size; /* sizeof this struct: set by the caller */
	char name[64];
	/* which of the devices that the vendor's runtime shows this process; -1 where it has no
	 * such count */
	int ordinal;
	int resident_blocks;   /* blocks that can be on the device at one time */
	int workers_per_block; /* the most workers a block can be split into */
	size_t shared_bytes;   /* shared memory a block can have */
	/* K of the tiles of 16-bit elements that tsr_gemm multiplies on matrix units; 0: no K is
	 * better than another */
	int tile_depth;
	/* blocks that fill the links when they do nothing but send, reading anew for each rank; 0:
	 * not known */
	int link_blocks;
	/* K of a product of 16-bit elements that keeps a block busy while another sends what comes
	 * of it to one rank; 0: not known */
	int send_depth;
	/* the part of send_depth in which it is read: once, for whatever number of ranks */
	int read_depth;
} tsr_device_props_t;

/** Any thread. Errors: TSR_ERR_ARGUMENT (null, or a size that is none). */
TSR_API tsr_status_t tsr_world_device(const tsr_world_t *world, tsr_device_props_t *props_out);

/**
 * Waits for all of this rank's streams, then for every rank. (tsr_team_barrier
 * waits for the streams of one team.) What any rank did before it happens
 * before what any rank does after it, on hosts and devices.
 *
 * Called by:  collective, one thread a rank.
 * Errors:     TSR_ERR_TIMEOUT, TSR_ERR_PEER_LOST (both name the ranks that did
 *             not arrive), TSR_ERR_MISMATCH (another rank made another
 *             collective call; the sentence names both), TSR_ERR_KERNEL (a
 *             kernel of this rank failed), TSR_ERR_ABORTED.
 * Source:     Iris paper, section 3.2.2.
 */
TSR_API tsr_status_t tsr_barrier(tsr_world_t *world);

/**
 * A wait that expired: who waited, on what, for what, for whom. Kept by the
 * world until it ends. Made by `tsr_wait_record_t record = {.size = sizeof
 * record};`.
 */
typedef struct tsr_wait_record {
	size_t size;             /* sizeof this struct: set by the caller */
	int rank, block, worker; /* who waited; block -1: the host */
	char team[32];           /* the team whose rank waited; "": the world */
	int team_rank;           /* of who waited, in that team; in the world the same as `rank` */
	char kernel[48];         /* the kernel, or the host call */
	char site[96];           /* file:line of the call */
	/* name of the allocation that holds the flag, "shared memory", or "" for the host */
	char allocation[32];
	uint64_t offset_bytes;   /* of the flag in its allocation */
	uint64_t expected, seen; /* values of the flag or word */
	/* tsr_cmp_t: how the word was compared with `expected`; flags: TSR_CMP_GE */
	int cmp;
	int owner; /* the rank of the world whose copy of the word was looked at */
	/* the rank of the world that should have signalled, or TSR_ANY_RANK */
	int from;
	int team_from; /* the same rank in the team */
	uint64_t waited_ns;
} tsr_wait_record_t;

/**
 * The `index`-th wait record of the world, of all ranks, oldest first. Any
 * thread, also after a failure, until tsr_finalize. Waits up to a second for
 * one that a rank is about to write.
 * Errors: TSR_ERR_NOT_FOUND past the last one (at most 64 are kept),
 * TSR_ERR_ARGUMENT (null, or a size that is none).
 */
TSR_API tsr_status_t tsr_wait_record(const tsr_world_t *world, int index,
				     tsr_wait_record_t *record_out);

/**
 * Ends the world for a reason of the program's own: every rank's waits return,
 * later collective calls fail with TSR_ERR_ABORTED and `sentence`. Any thread,
 * not collective.
 */
TSR_API void tsr_abort(tsr_world_t *world, const char *sentence);

#ifdef __cplusplus
}
#endif
#endif
