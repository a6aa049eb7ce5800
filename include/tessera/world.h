/* The world: its ranks, its collective calls, and its end. */
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
 * N ranks, each with one device and one heap. A rank is a process; with
 * TESSERA_PLACEMENT=thread it is a thread.
 */
typedef struct tsr_world tsr_world_t;

/**
 * Joins the world that the environment describes: `tessera run`, torchrun, Open
 * MPI / PMIx, PMI or Slurm. Without any of them the world has one rank. If the
 * environment describes a job of N ranks that cannot be joined, the call fails;
 * it never makes N worlds of one. Chooses the backend (TESSERA_BACKEND, or the
 * best one present), opens its device, maps every rank's heap and checks each
 * mapping. tsr_world_create_by_id (tessera/unique_id.h) joins a world without
 * these variables.
 *
 * A process that a rank forks is no rank. There, calls that wait for others,
 * allocate, launch or leave return TSR_ERR_UNSUPPORTED, and the return from
 * TSR_MAIN's body ends that process alone.
 *
 * Called by:  every rank, once (collective). TSR_MAIN makes this call for its
 *             programs.
 * Completion: when every rank has joined, or the world's deadline
 *             (TESSERA_DEADLINE) has passed.
 * Errors:     TSR_ERR_CONFIG, TSR_ERR_NOT_FOUND (backend), TSR_ERR_NO_DEVICE,
 *             TSR_ERR_PEER_LOST (names the ranks that never joined),
 *             TSR_ERR_MISMATCH (the ranks have different settings),
 *             TSR_ERR_SYSTEM. `*world_out` is written only on success.
 * Source:     Iris paper, section 3.2.1.
 */
TSR_API tsr_status_t tsr_init(tsr_world_t **world_out);

/**
 * Leaves the world: waits for this rank's streams and for every rank, unmaps
 * the heaps, closes the device. Afterwards `world` is invalid, whatever the
 * call returns. Null is TSR_OK.
 *
 * Called by:  every rank (collective).
 * Errors:     TSR_ERR_MISMATCH, TSR_ERR_PEER_LOST, TSR_ERR_TIMEOUT,
 *             TSR_ERR_ABORTED. Everything local is released even then.
 *             TSR_ERR_ARGUMENT (the world of TSR_MAIN, which ends with its body);
 *             then the world goes on.
 */
TSR_API tsr_status_t tsr_finalize(tsr_world_t *world);

/** This rank's number, 0 .. tsr_world_size - 1. Any thread. */
TSR_API int tsr_world_rank(const tsr_world_t *world);

/** The number of ranks. Any thread. */
TSR_API int tsr_world_size(const tsr_world_t *world);

/**
 * The number of nodes that the ranks are on: 1 where all ranks share one
 * machine, or one (emulated) node of it (`tessera run --nodes`). Any thread.
 */
TSR_API int tsr_world_nodes(const tsr_world_t *world);

/**
 * The node of a rank, 0 .. tsr_world_nodes - 1; nodes are numbered in the order
 * of their lowest ranks. -1 if there is no such rank. The heap of a rank on
 * another node is not mapped: everything but a pointer reaches it. Any thread.
 * The team of my node: tsr_team_split_node (team.h).
 */
TSR_API int tsr_world_node(const tsr_world_t *world, int rank);

/**
 * 1 if the ranks are threads of one process, 0 if each is a process. Any
 * thread.
 */
TSR_API int tsr_world_in_threads(const tsr_world_t *world);

/** The name of the backend in use: "cpuemu", "cuda", "hip". Any thread. */
TSR_API const char *tsr_world_backend(const tsr_world_t *world);

/**
 * The default deadline of every wait of the library, in nanoseconds
 * (TESSERA_DEADLINE). A launch has none. Any thread.
 */
TSR_API uint64_t tsr_world_deadline_ns(const tsr_world_t *world);

/**
 * The properties of this rank's device. On the emulator they can be set
 * (TESSERA_CPUEMU_*). Initialise it with
 * `tsr_device_props_t props = {.size = sizeof props};`.
 */
typedef struct tsr_device_props {
	size_t size; /* set by the caller: sizeof this struct */
	char name[64];
	/* index of the device among those that the vendor's runtime shows to this process; -1
	 * without such an index */
	int ordinal;
	int resident_blocks;   /* blocks that can be on the device at the same time */
	int workers_per_block; /* the largest number of workers in a block */
	size_t shared_bytes;   /* shared memory of a block, at most */
	/* K of the tiles of 16-bit elements for which tsr_gemm uses matrix units; 0: no K is better
	 * than another */
	int tile_depth;
	/* of the resident blocks, how many run at the same time: on a GPU all; on the emulator,
	 * where ranks share processors, this rank's part of them, but at least 2 (1 between nodes)
	 */
	int parallel_blocks;
} tsr_device_props_t;

/**
 * Reads the properties of this rank's device. Any thread.
 *
 * Errors:     TSR_ERR_ARGUMENT (a null pointer, or an invalid `size`).
 */
TSR_API tsr_status_t tsr_world_device(const tsr_world_t *world, tsr_device_props_t *props_out);

/**
 * Waits for all of this rank's streams, then for every rank. What any rank did
 * before the barrier happens before what any rank does after it, on hosts and
 * on devices. tsr_team_barrier waits for the streams of one team only.
 *
 * Called by:  every rank, one thread a rank (collective).
 * Errors:     TSR_ERR_TIMEOUT and TSR_ERR_PEER_LOST (both name the ranks that
 *             did not arrive), TSR_ERR_MISMATCH (another rank made another
 *             collective call; the sentence names both), TSR_ERR_KERNEL (a
 *             kernel of this rank failed), TSR_ERR_ABORTED.
 * Source:     Iris paper, section 3.2.2.
 */
TSR_API tsr_status_t tsr_barrier(tsr_world_t *world);

/**
 * A wait that expired: who waited, on which word, for which value, and for
 * whom. The world keeps it until it ends. Initialise it with
 * `tsr_wait_record_t record = {.size = sizeof record};`.
 */
typedef struct tsr_wait_record {
	size_t size;             /* set by the caller: sizeof this struct */
	int rank, block, worker; /* the waiter; block -1: the host */
	char team[32];           /* the waiter's team; "": the world */
	int team_rank;   /* the waiter's rank in that team; in the world the same as `rank` */
	char kernel[48]; /* the kernel, or the host call */
	char site[96];   /* file:line of the call */
	/* name of the allocation that holds the flag, "shared memory", or "" if the host waited */
	char allocation[32];
	uint64_t offset_bytes;   /* offset of the flag in its allocation */
	uint64_t expected, seen; /* values of the flag or word */
	/* tsr_cmp_t: how the word was compared with `expected`; TSR_CMP_GE for flags */
	int cmp;
	int owner; /* the world rank whose copy of the word was read */
	/* the world rank that should have signalled, or TSR_ANY_RANK */
	int from;
	int team_from; /* the same rank in the team */
	uint64_t waited_ns;
} tsr_wait_record_t;

/**
 * The `index`-th wait record of the world, of all ranks, oldest first. Waits up
 * to a second for a record that a rank is about to write.
 *
 * Called by:  any thread, also after a failure, until tsr_finalize.
 * Errors:     TSR_ERR_NOT_FOUND (past the last record; at most 64 are kept),
 *             TSR_ERR_ARGUMENT (a null pointer, or an invalid `size`).
 */
TSR_API tsr_status_t tsr_wait_record(const tsr_world_t *world, int index,
				     tsr_wait_record_t *record_out);

/**
 * Ends the world for a reason of the program's own: the waits of every rank
 * return, and later collective calls fail with TSR_ERR_ABORTED and `sentence`.
 *
 * Called by:  any thread (not collective).
 */
TSR_API void tsr_abort(tsr_world_t *world, const char *sentence);

#ifdef __cplusplus
}
#endif
#endif
