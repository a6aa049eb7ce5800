/*
 * Teams: ordered subsets of the world's ranks. A team has collective calls of
 * its own, and its kernels see only its ranks.
 */
#ifndef TESSERA_TEAM_H
#define TESSERA_TEAM_H

#include <stddef.h>

#include "tessera/status.h"
#include "tessera/visibility.h"
#include "tessera/world.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A team: some ranks of the world in an order. Its members are numbered from 0
 * in that order. A stream belongs to a team: in its kernels tsr_rank, tsr_size,
 * peers and `from` are numbers of members. A rank may be in any number of
 * teams, and the teams may work at the same time. The heap belongs to the
 * world: allocation is collective over the world, whatever teams use the
 * memory.
 */
typedef struct tsr_team tsr_team_t;

/**
 * The team of all ranks. Each rank has the same number in it as in the world.
 * It lives as long as the world. Null for null. Any thread.
 */
TSR_API tsr_team_t *tsr_world_team(tsr_world_t *world);

/** In place of a colour: the caller joins none of the new teams. */
#define TSR_NO_TEAM (-1)

/**
 * Splits `parent`: members with the same `colour` (0 or more) form a team, in
 * the order of their keys. Members with equal keys keep their order in
 * `parent`. A member that passes TSR_NO_TEAM gets a null team, which is no
 * error.
 *
 * Called by:  every member of `parent`, one thread a rank (collective).
 * @param name  the team's name in reports, the same on all members. The library
 *              copies at most 31 bytes, whole letters of UTF-8. Null means
 *              "team".
 * Errors:     TSR_ERR_ARGUMENT (a colour below TSR_NO_TEAM), TSR_ERR_NO_MEMORY,
 *             TSR_ERR_MISMATCH, and those of tsr_team_barrier. The call
 *             succeeds on all members or on none.
 * Source:     MPI_Comm_split; NVSHMEM's teams.
 */
TSR_API tsr_status_t tsr_team_split(tsr_team_t *parent, int colour, int key, const char *name,
				    tsr_team_t **team_out);

/**
 * Splits `parent` by nodes (tsr_world_node). `*node_out` becomes the team of the
 * members on my node, named "node". `*across_out` becomes the team of the members
 * that have the same number in their node's team as I have in mine, in the order
 * of their nodes, named "across". Where nodes have different numbers of members,
 * the last of these teams have none of the smaller nodes. Either pointer may be
 * null on all members; then that team is not made.
 *
 * Called by:  every member of `parent`, one thread a rank (collective).
 * Errors:     as tsr_team_split. If the second team cannot be made, the first is
 *             destroyed again.
 * Source:     NVSHMEMX_TEAM_NODE; MPI_Comm_split_type.
 */
TSR_API tsr_status_t tsr_team_split_node(tsr_team_t *parent, tsr_team_t **node_out,
					 tsr_team_t **across_out);

/**
 * Makes a team from a list: member i is rank ranks[i] of `parent`. Every member
 * of `parent` passes the same list. Members of `parent` that are not in the
 * list get a null team, which is no error.
 *
 * Called by:  every member of `parent`, one thread a rank (collective).
 * @param name  as in tsr_team_split.
 * Errors:     TSR_ERR_ARGUMENT (no ranks, a rank twice, or a rank outside
 *             `parent`), TSR_ERR_MISMATCH (the lists differ),
 *             TSR_ERR_NO_MEMORY, and those of tsr_team_barrier. The call
 *             succeeds on all members of `parent` or on none.
 */
TSR_API tsr_status_t tsr_team_create(tsr_team_t *parent, const int *ranks, int count,
				     const char *name, tsr_team_t **team_out);

/**
 * Destroys a team. Destroy its streams first. After TSR_OK `team` is invalid.
 * Null is TSR_OK. Teams that are not destroyed end with the world.
 *
 * Called by:  every member, one thread a rank (collective).
 * Errors:     TSR_ERR_ARGUMENT (a member still has a stream of the team, or it
 *             is the team of the world), and those of tsr_team_barrier. After
 *             an error the team still exists.
 */
TSR_API tsr_status_t tsr_team_destroy(tsr_team_t *team);

/**
 * This rank's number in the team, 0 .. tsr_team_size - 1. Any thread may make
 * this call, and the next five.
 */
TSR_API int tsr_team_rank(const tsr_team_t *team);

/** The number of members. */
TSR_API int tsr_team_size(const tsr_team_t *team);

/** The world rank of member `rank`; -1 if there is no such member. */
TSR_API int tsr_team_world_rank(const tsr_team_t *team, int rank);

/** The member number of world rank `world_rank`; -1 if it is not a member. */
TSR_API int tsr_team_rank_of(const tsr_team_t *team, int world_rank);

/** The team's name; "" for the world's team. Valid as long as the team. */
TSR_API const char *tsr_team_name(const tsr_team_t *team);

/** The world that the team belongs to. */
TSR_API tsr_world_t *tsr_team_world(const tsr_team_t *team);

/**
 * Waits for this rank's streams of the team, then for every member. What any
 * member did before the barrier happens before what any member does after it,
 * on hosts and on devices. Streams of other teams are not waited for, because
 * their kernels may wait for ranks that arrive later.
 *
 * Called by:  every member, one thread a rank (collective).
 * Errors:     TSR_ERR_TIMEOUT and TSR_ERR_PEER_LOST (both name the ranks that
 *             did not arrive), TSR_ERR_MISMATCH (another member made another
 *             collective call of this team; the sentence names both),
 *             TSR_ERR_KERNEL (a kernel of this rank failed), TSR_ERR_ABORTED. A
 *             rank that is lost or late ends the world, not only the team.
 */
TSR_API tsr_status_t tsr_team_barrier(tsr_team_t *team);

/**
 * Copies `size_bytes` of host memory at `data` from member `root` to every
 * member.
 *
 * Called by:  every member, one thread a rank (collective).
 * Errors:     as in tsr_team_barrier, and TSR_ERR_ARGUMENT (`root` is outside
 *             the team).
 */
TSR_API tsr_status_t tsr_team_broadcast(tsr_team_t *team, void *data, size_t size_bytes, int root);

/**
 * Gathers `size_bytes` of host memory from every member: the bytes at member
 * r's `mine` are copied to `all + r * size_bytes` on every member.
 *
 * Called by:  every member, one thread a rank (collective).
 * Errors:     as in tsr_team_barrier.
 */
TSR_API tsr_status_t tsr_team_gather_all(tsr_team_t *team, const void *mine, void *all,
					 size_t size_bytes);

/**
 * The size of the state of tsr_barrier_ranks, of tsr_all_gather, and of the
 * collectives on views, for a team of `ranks` ranks, in bytes: 8 and 8 for each
 * rank; 384 for each rank; 10 MiB, most of it room for values on their way, 384
 * and 768 for each rank. A state for a larger team can be used too. 0 if
 * `ranks` is below 1. Any thread.
 */
TSR_API size_t tsr_barrier_state_bytes(int ranks);
TSR_API size_t tsr_all_gather_state_bytes(int ranks);
TSR_API size_t tsr_collective_state_bytes(int ranks);

#ifdef __cplusplus
}
#endif
#endif
